//! Which model or option removes a cause.

use preemptlab_experiment::Recording;
use preemptlab_model::{Flavour, KernelRef, PreemptMode};
use preemptlab_trace::Cause;

use super::choice::{Chosen, completed};
use crate::Result;

/// Says what removes a cause, in one sentence.
pub(super) fn cure(
    cause: Cause,
    preempt: PreemptMode,
    is_realtime_kernel: bool,
    is_fair: bool,
) -> &'static str {
    let is_voluntary = matches!(preempt, PreemptMode::None | PreemptMode::Voluntary);
    match cause {
        Cause::NotPreemptible if is_voluntary && !is_realtime_kernel => {
            "preempt=full lets the scheduler switch inside such kernel code (lazy does so for \
             real-time tasks only)"
        }
        Cause::NotPreemptible if is_fair && preempt == PreemptMode::Lazy => {
            "preempt=full does not wait for the tick before a fair task gives way"
        }
        Cause::NotPreemptible => "nothing but shorter kernel code there",
        Cause::PreemptOff if is_realtime_kernel => {
            "this section is non-preemptible even with PREEMPT_RT: it has to become shorter"
        }
        Cause::PreemptOff => {
            "no mode of this kernel: under PREEMPT_RT most spinlocks become sleeping locks, and \
             the section preemptible"
        }
        Cause::IrqsOff => {
            "no mode: a section with interrupts off has to become shorter; under PREEMPT_RT many \
             of them (spin_lock_irqsave) leave interrupts on"
        }
        Cause::Softirq if is_realtime_kernel => "threads of softirqs that are less urgent",
        Cause::Softirq => "PREEMPT_RT, which serves softirqs in threads, less urgent than the task",
        Cause::HardIrq => "threadirqs or PREEMPT_RT, which handle most interrupts in threads",
        Cause::Scheduling => "nothing: the scheduler itself was at work",
        Cause::OtherTask if is_fair => {
            "a real-time policy or a smaller sched_attr slice for the task: the scheduler let \
             others run by their share"
        }
        Cause::OtherTask => "a higher priority for the task",
        Cause::TimerPending if is_fair => "a smaller timer slack: prctl(PR_SET_TIMERSLACK)",
        Cause::TimerPending => "nothing: the timer itself was late",
        Cause::Return => "nothing: this is the way back to user space",
    }
}

/// Returns the cell at the same seed under the next stronger model, where the recording has one:
/// another mode of the same kernel, or else its PREEMPT_RT build.
///
/// # Errors
///
/// When the recording cannot be read.
pub fn sibling(recording: &Recording, cell: &Chosen, is_fair: bool) -> Result<Option<Chosen>> {
    let is_like = |other: &Chosen| {
        let (a, b) = (&cell.factors, &other.factors);
        (&a.workload, a.cpus, &a.settings, a.replicate)
            == (&b.workload, b.cpus, &b.settings, b.replicate)
            && other.id != cell.id
    };
    let others: Vec<Chosen> = completed(recording, is_fair)?.into_iter().filter(is_like).collect();
    let strength = |cell: &Chosen| match cell.factors.preempt {
        PreemptMode::None => 0,
        PreemptMode::Voluntary => 1,
        PreemptMode::Lazy => 2,
        PreemptMode::Full => 3,
    };
    let same_kernel = others
        .iter()
        .filter(|other| other.factors.kernel == cell.factors.kernel)
        .filter(|other| strength(other) > strength(cell))
        .max_by_key(|other| strength(other));
    let realtime = || {
        others
            .iter()
            .filter(|other| is_realtime_build(&cell.factors.kernel, &other.factors.kernel))
            .max_by_key(|other| strength(other))
    };
    Ok(same_kernel.or_else(realtime).cloned())
}

/// Whether `other` is the PREEMPT_RT build of the same version and symbols, as `debian:6.12-rt` is of
/// `debian:6.12`.
fn is_realtime_build(kernel: &KernelRef, other: &KernelRef) -> bool {
    other != kernel && *other == kernel.in_flavour(Flavour::Rt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_a_cure_that_the_kernel_has() {
        use PreemptMode::{Full, Lazy, None, Voluntary};
        let cured = |cause, preempt, is_realtime, is_fair, with: &str| {
            let said = cure(cause, preempt, is_realtime, is_fair);
            assert!(said.contains(with), "{cause:?} {preempt} {is_realtime} {is_fair}: {said}");
        };
        for preempt in [None, Voluntary] {
            cured(Cause::NotPreemptible, preempt, false, false, "preempt=full lets");
            cured(Cause::NotPreemptible, preempt, true, false, "nothing but shorter");
        }
        cured(Cause::NotPreemptible, Lazy, false, true, "does not wait for the tick");
        cured(Cause::NotPreemptible, Lazy, false, false, "nothing but shorter");
        cured(Cause::NotPreemptible, Full, false, true, "nothing but shorter");
        for cause in [Cause::PreemptOff, Cause::Softirq] {
            cured(cause, Full, false, false, "PREEMPT_RT");
        }
        cured(Cause::PreemptOff, Full, true, false, "even with PREEMPT_RT");
        cured(Cause::Softirq, Full, true, false, "threads of softirqs");
        cured(Cause::IrqsOff, Full, false, false, "has to become shorter");
        cured(Cause::HardIrq, Full, false, false, "threadirqs");
        cured(Cause::OtherTask, Full, false, true, "slice");
        cured(Cause::OtherTask, Full, false, false, "a higher priority");
        cured(Cause::TimerPending, Full, false, true, "PR_SET_TIMERSLACK");
        for cause in [Cause::TimerPending, Cause::Scheduling, Cause::Return] {
            cured(cause, Full, false, false, "nothing: ");
        }
    }

    #[test]
    fn a_kernel_has_its_realtime_build_whatever_its_symbols_are() {
        let is_build = |kernel: &str, other: &str| {
            is_realtime_build(&kernel.parse().unwrap(), &other.parse().unwrap())
        };
        assert!(is_build("debian:6.12", "debian:6.12-rt"));
        assert!(is_build("source:6.12", "source:6.12-rt"));
        assert!(is_build("source:6.12+HZ_1000=y", "source:6.12-rt+HZ_1000=y"));
        for (kernel, other) in [
            ("debian:6.12-rt", "debian:6.12-rt"),
            ("debian:6.12-rt", "debian:6.12"),
            ("debian:6.12", "debian:6.1-rt"),
            ("debian:6.12", "source:6.12-rt"),
            ("source:6.12+HZ_1000=y", "source:6.12-rt"),
            ("source:6.12+HZ_1000=y", "source:6.12-rt+HZ_250=y"),
            ("file:/a", "file:/a-rt"),
            ("host:6.12", "host:6.12-rt"),
        ] {
            assert!(!is_build(kernel, other), "{kernel} {other}");
        }
    }
}
