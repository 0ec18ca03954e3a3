//! Operations as the device takes them: kmod/scenario/preemptlab_scenario.h.

use alloc::vec::Vec;

use preemptlab_protocol::script::{LockKind, Operation, Step};

/// `struct scenario_operation`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Raw {
    op: u32,
    arg: u32,
    ns: u64,
}

impl From<Operation> for Raw {
    fn from(operation: Operation) -> Self {
        let plain = |op| Self { op, ..Self::default() };
        let ns = |op, ns| Self { op, ns, ..Self::default() };
        let arg = |op, arg| Self { op, arg, ..Self::default() };
        // The numbers are those of `enum scenario_op`.
        match operation {
            Operation::Busy(span) => ns(0, span),
            Operation::CondResched => plain(1),
            Operation::MightResched => plain(2),
            Operation::SleepFor(span) => ns(3, span),
            Operation::PreemptDisable => plain(4),
            Operation::PreemptEnable => plain(5),
            Operation::IrqsDisable => plain(6),
            Operation::IrqsEnable => plain(7),
            Operation::BhDisable => plain(8),
            Operation::BhEnable => plain(9),
            Operation::Lock(kind, number) => arg(10, lock(kind, number)),
            Operation::Unlock(kind, number) => arg(11, lock(kind, number)),
            Operation::WaitInterrupt(line) => arg(12, line.into()),
            Operation::ZeroPages(count) => arg(13, count),
        }
    }
}

fn lock(kind: LockKind, number: u8) -> u32 {
    // The numbers are those of `enum scenario_lock`.
    let kind = match kind {
        LockKind::Spin => 0,
        LockKind::RawSpin => 1,
        LockKind::Mutex => 2,
        LockKind::RtMutex => 3,
        LockKind::Read => 4,
        LockKind::Write => 5,
    };
    kind << 8 | u32::from(number)
}

/// The operations of each step; none of what is no system call.
pub fn of_steps(steps: &[Step]) -> Vec<Vec<Raw>> {
    let of_step = |step: &Step| match step {
        Step::Call(operations) => operations.iter().map(|&operation| operation.into()).collect(),
        _ => Vec::new(),
    };
    steps.iter().map(of_step).collect()
}

#[cfg(test)]
mod tests {
    use std::{format, string::String, vec};

    use super::*;

    /// The names of an enumeration of the header, in order.
    fn names(which: &str) -> Vec<String> {
        let header = include_str!("../../../kmod/scenario/preemptlab_scenario.h");
        let body = header.split(&format!("enum {which} {{")).nth(1).unwrap();
        let body = body.split('}').next().unwrap();
        body.lines()
            .filter_map(|line| line.trim().strip_prefix("SCENARIO_"))
            .map(|line| line.split(',').next().unwrap().into())
            .collect()
    }

    #[test]
    fn numbers_are_those_of_the_header() {
        let operations = [
            Operation::Busy(0),
            Operation::CondResched,
            Operation::MightResched,
            Operation::SleepFor(0),
            Operation::PreemptDisable,
            Operation::PreemptEnable,
            Operation::IrqsDisable,
            Operation::IrqsEnable,
            Operation::BhDisable,
            Operation::BhEnable,
            Operation::Lock(LockKind::Spin, 0),
            Operation::Unlock(LockKind::Spin, 0),
            Operation::WaitInterrupt(0),
            Operation::ZeroPages(0),
        ];
        // `SleepFor` and `SLEEP` are the only two that are not spelt alike.
        let spelt = |operation: &Operation| {
            let name: String = format!("{operation:?}").split('(').next().unwrap().into();
            name.to_uppercase().replace("SLEEPFOR", "SLEEP")
        };
        let wanted: Vec<_> = names("scenario_op").iter().map(|n| n.replace('_', "")).collect();
        assert_eq!(operations.iter().map(spelt).collect::<Vec<_>>(), wanted);
        for (number, operation) in operations.into_iter().enumerate() {
            assert_eq!(Raw::from(operation).op, number as u32, "{operation:?}");
        }
        let kinds = [
            LockKind::Spin,
            LockKind::RawSpin,
            LockKind::Mutex,
            LockKind::RtMutex,
            LockKind::Read,
            LockKind::Write,
        ];
        let spelt = kinds.map(|kind| format!("{kind:?}").to_uppercase());
        let wanted: Vec<_> = names("scenario_lock").iter().map(|n| n.replace('_', "")).collect();
        assert_eq!(spelt.to_vec(), wanted);
        for (number, kind) in kinds.into_iter().enumerate() {
            assert_eq!(lock(kind, 7), (number as u32) << 8 | 7);
        }
    }

    #[test]
    fn only_calls_have_operations() {
        let call = Step::Call(vec![Operation::Busy(5), Operation::CondResched]);
        let raw = of_steps(&[Step::Yield, call]);
        let busy = Raw { op: 0, arg: 0, ns: 5 };
        assert_eq!(raw, [vec![], vec![busy, Raw { op: 1, arg: 0, ns: 0 }]]);
    }
}
