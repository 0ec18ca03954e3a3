//! Which model or option removes a cause.

use preemptlab_experiment::Recording;
use preemptlab_model::{KernelRef, PreemptMode};
use preemptlab_trace::Cause;

use super::choice::{Chosen, completed};
use crate::exit;

/// What removes a cause, in one sentence.
pub fn cure(cause: Cause, cell: &Chosen, is_fair: bool) -> &'static str {
    let is_realtime_kernel = cell.report.system.realtime;
    let is_voluntary = matches!(cell.factors.preempt, PreemptMode::None | PreemptMode::Voluntary);
    match cause {
        Cause::NotPreemptible if is_voluntary && !is_realtime_kernel => {
            "preempt=full lets the scheduler switch inside such kernel code (lazy does so for \
             real-time tasks only)"
        }
        Cause::NotPreemptible if is_fair && cell.factors.preempt == PreemptMode::Lazy => {
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

/// The cell at the same seed under the next stronger model, where the recording has one: another
/// mode of the same kernel, or else its PREEMPT_RT build.
pub fn sibling(
    recording: &Recording,
    cell: &Chosen,
    is_fair: bool,
) -> exit::Result<Option<Chosen>> {
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

/// Whether `other` is the PREEMPT_RT build of the same series, as `debian:6.12-rt` is of
/// `debian:6.12`.
fn is_realtime_build(kernel: &KernelRef, other: &KernelRef) -> bool {
    other.to_string() == format!("{kernel}-rt")
}
