//! The models and options that remove a cause.

use preemptlab_experiment::Recording;
use preemptlab_model::{Flavour, KernelRef, PreemptMode};
use preemptlab_trace::Cause;

use super::choice::{Chosen, completed, latency};
use crate::Result;

/// Returns a sentence on the removal of a cause.
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
        Cause::IpiWait => {
            "the other CPU has to answer sooner, or not be asked: shorter sections with interrupts off \
             there, and this task on a CPU that shares no memory map with the load (isolcpus, cpusets)"
        }
        Cause::SpinWait if is_realtime_kernel => {
            "the section under this lock has to become shorter on the CPU that holds it"
        }
        Cause::SpinWait => {
            "a shorter section on the CPU that holds the lock; under PREEMPT_RT most spinlocks become \
             sleeping locks, and who waits for them can be preempted"
        }
        Cause::RemoteWakeup => {
            "nothing but waking the task on its own CPU: pin it, so that its timer expires there"
        }
        Cause::Scheduling => "nothing: the scheduler itself was at work",
        Cause::OtherTask if is_fair => {
            "a real-time policy or a smaller sched_attr slice for the task: the scheduler let \
             others run by their share"
        }
        Cause::OtherTask => {
            "a higher priority for the task than the other one has; if it has that already, no extension of the \
             other one's slice (rseq_slice_ext=0)"
        }
        Cause::TimerPending if is_fair => "a smaller timer slack: prctl(PR_SET_TIMERSLACK)",
        Cause::TimerPending => "nothing: the timer itself was late",
        Cause::Return => "nothing: this is the way back to user space",
    }
}

/// Part of a configuration that acts on a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remedy {
    /// A model that lets the scheduler switch in more places.
    StrongerModel,
    /// A build with PREEMPT_RT.
    Realtime,
}

/// Returns the remedies of a cause; none where no model and no build acts on it, as [`cure`]
/// explains.
fn remedy(
    cause: Cause,
    preempt: PreemptMode,
    is_realtime_kernel: bool,
    is_fair: bool,
) -> Option<Remedy> {
    let is_voluntary = matches!(preempt, PreemptMode::None | PreemptMode::Voluntary);
    match cause {
        _ if is_realtime_kernel && cause != Cause::NotPreemptible => None,
        Cause::NotPreemptible if is_voluntary && !is_realtime_kernel => Some(Remedy::StrongerModel),
        Cause::NotPreemptible if is_fair && preempt == PreemptMode::Lazy => {
            Some(Remedy::StrongerModel)
        }
        Cause::PreemptOff | Cause::IrqsOff | Cause::Softirq | Cause::HardIrq | Cause::SpinWait => {
            Some(Remedy::Realtime)
        }
        _ => None,
    }
}

/// The cell at the same seed under a configuration that acts on a cause.
pub(super) enum Sibling {
    /// No configuration acts on it.
    NoRemedy,
    /// Some do, but the recording has none of them.
    Missing,
    /// The strongest that the recording has.
    Found(Box<Chosen>),
}

/// Finds the cell at the same seed under a configuration that acts on a cause: another mode of the
/// same kernel where that is enough, or else its PREEMPT_RT build.
pub(super) fn sibling(
    recording: &Recording,
    cell: &Chosen,
    cause: Cause,
    is_fair: bool,
) -> Result<Sibling> {
    let (preempt, realtime) = (cell.factors.preempt, cell.report.system.realtime);
    let Some(remedy) = remedy(cause, preempt, realtime, is_fair) else {
        return Ok(Sibling::NoRemedy);
    };
    let is_like = |other: &Chosen| {
        let (a, b) = (&cell.factors, &other.factors);
        (&a.workload, a.cpus, &a.settings, a.replicate)
            == (&b.workload, b.cpus, &b.settings, b.replicate)
            && other.id != cell.id
    };
    let others: Vec<Chosen> =
        completed(recording, &latency(is_fair))?.into_iter().filter(is_like).collect();
    let strength = |cell: &Chosen| match cell.factors.preempt {
        PreemptMode::None => 0,
        PreemptMode::Voluntary => 1,
        PreemptMode::Lazy => 2,
        PreemptMode::Full => 3,
    };
    let same_kernel = others
        .iter()
        .filter(|_| remedy == Remedy::StrongerModel)
        .filter(|other| other.factors.kernel == cell.factors.kernel)
        .filter(|other| strength(other) > strength(cell))
        .max_by_key(|other| strength(other));
    let realtime = || {
        others
            .iter()
            .filter(|other| is_realtime_build(&cell.factors.kernel, &other.factors.kernel))
            .max_by_key(|other| strength(other))
    };
    let found = same_kernel.or_else(realtime).cloned();
    Ok(found.map_or(Sibling::Missing, |found| Sibling::Found(Box::new(found))))
}

/// Returns whether `other` is the PREEMPT_RT build of the same version and symbols, as
/// `debian:6.12-rt` is of `debian:6.12`.
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
    fn a_remedy_is_what_the_cure_says() {
        let causes = [
            Cause::TimerPending,
            Cause::IrqsOff,
            Cause::HardIrq,
            Cause::Softirq,
            Cause::PreemptOff,
            Cause::NotPreemptible,
            Cause::Scheduling,
            Cause::OtherTask,
            Cause::Return,
        ];
        use PreemptMode::{Full, Lazy, None, Voluntary};
        for cause in causes {
            for preempt in [None, Voluntary, Lazy, Full] {
                for (is_realtime, is_fair) in
                    [(false, false), (false, true), (true, false), (true, true)]
                {
                    let said = cure(cause, preempt, is_realtime, is_fair);
                    let remedy = remedy(cause, preempt, is_realtime, is_fair);
                    let names_model = said.contains("preempt=full");
                    let names_realtime = !is_realtime && said.contains("PREEMPT_RT");
                    assert_eq!(remedy == Some(Remedy::StrongerModel), names_model, "{said}");
                    assert_eq!(remedy == Some(Remedy::Realtime), names_realtime, "{said}");
                }
            }
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
