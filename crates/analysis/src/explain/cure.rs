//! The models and options that remove a cause.

use preemptlab_experiment::Recording;
use preemptlab_model::{Flavour, KernelRef, MetricName, PreemptMode};
use preemptlab_trace::{Cause, Segment, Timeline, arch};

use super::choice::{Chosen, completed};
use crate::Result;

/// Something to do about a cause. For each of them a test makes the cause, follows the advice and sees an earlier
/// wakeup (`crates/cli/tests/vm_advice.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cure {
    /// Full preemption, for real-time tasks.
    FullPreemption,
    /// PREEMPT_RT, for sections with preemption off.
    RtPreemptOff,
    /// PREEMPT_RT, for sections with interrupts off.
    RtIrqsOff,
    /// PREEMPT_RT, for softirqs.
    RtSoftirqs,
    /// PREEMPT_RT, for the timers of other tasks.
    RtTimers,
    /// PREEMPT_RT, for the interrupts of devices.
    RtInterrupts,
    /// Another order of priorities.
    Priority,
    /// A real-time policy, beside fair tasks.
    RealtimePolicy,
    /// A real-time policy, beside real-time tasks.
    RealtimePriority,
    /// A policy with a priority for the other task.
    NoDeadlinePolicy,
    /// The fair server switched off.
    FairServerRuntime,
    /// RT throttling switched off.
    RtRuntime,
    /// A smaller timer slack.
    TimerSlack,
}

impl Cure {
    /// Every advice.
    pub const ALL: [Self; 13] = [
        Self::FullPreemption,
        Self::RtPreemptOff,
        Self::RtIrqsOff,
        Self::RtSoftirqs,
        Self::RtTimers,
        Self::RtInterrupts,
        Self::Priority,
        Self::RealtimePolicy,
        Self::RealtimePriority,
        Self::NoDeadlinePolicy,
        Self::FairServerRuntime,
        Self::RtRuntime,
        Self::TimerSlack,
    ];

    /// Returns the advice in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FullPreemption => {
                "preempt=full lets the scheduler switch inside such kernel code (lazy does so for \
                 real-time tasks only)"
            }
            Self::RtPreemptOff => {
                "no mode of this kernel; PREEMPT_RT, if the section is that of a spinlock: under it most \
                 spinlocks become sleeping locks, and the section preemptible"
            }
            Self::RtIrqsOff => {
                "no mode of this kernel; PREEMPT_RT, if the section is that of a spinlock \
                 (spin_lock_irqsave) or of a handler in a thread (threadirqs): under it most of these leave \
                 interrupts on"
            }
            Self::RtSoftirqs => {
                "PREEMPT_RT, which serves softirqs in threads, less urgent than the task"
            }
            Self::RtTimers => {
                "PREEMPT_RT, which has the timers of ordinary tasks expire in a thread; threadirqs does not, \
                 because it leaves the local timer's interrupt as it is"
            }
            Self::RtInterrupts => {
                "PREEMPT_RT, which handles most interrupts of devices in threads of priority 50; threadirqs \
                 does not help, because such a thread keeps interrupts off"
            }
            Self::Priority => {
                "a higher priority for the task than the other one has, or a lower one for the other"
            }
            Self::RealtimePolicy => {
                "a real-time policy for the task: the scheduler let fair tasks run by their share"
            }
            Self::RealtimePriority => {
                "a real-time policy for the task, with a higher priority than the other one has"
            }
            Self::NoDeadlinePolicy => {
                "SCHED_FIFO or SCHED_RR with a lower priority for the other task, in the place of \
                 SCHED_DEADLINE, which precedes every priority"
            }
            Self::FairServerRuntime => {
                "a poller that sleeps, or a runtime of 0 for the fair server (debugfs \
                 sched/fair_server/cpuN/runtime; where that is EBUSY, set sysctl \
                 kernel.sched_rt_runtime_us=-1 first), which gives ordinary tasks 50 ms of each second \
                 in which they starve"
            }
            Self::RtRuntime => {
                "sysctl kernel.sched_rt_runtime_us=-1, which switches RT throttling off: before Linux \
                 6.12 it keeps 50 ms of each second from real-time tasks; or a poller that sleeps"
            }
            Self::TimerSlack => "a smaller timer slack: prctl(PR_SET_TIMERSLACK)",
        }
    }
}

/// Answer to the question for a remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Help {
    /// An advice.
    Cure(Cure),
    /// Why there is none.
    None(&'static str),
}

impl Help {
    /// Returns the answer as a part of a sentence.
    pub fn words(self) -> String {
        match self {
            Self::Cure(cure) => cure.as_str().to_owned(),
            Self::None(reason) => format!("nothing here removes it: {reason}"),
        }
    }
}

/// Everything about a late wakeup that an advice depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Situation {
    pub cause: Cause,
    pub preempt: PreemptMode,
    pub is_realtime_kernel: bool,
    pub task: Policy,
    /// Whether the hard interrupt that took longest was the local timer's.
    pub is_local_timer: bool,
    /// Whether most of the time in hard interrupts was for timers of other fair tasks.
    pub is_for_timers: bool,
}

/// Policy of a late task, as far as an advice depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    Deadline,
    RealTime,
    Fair,
}

impl Situation {
    pub fn new(cell: &Chosen, timeline: &Timeline, cause: Cause, is_fair: bool) -> Self {
        let system = &cell.report.system;
        let is_hard = |segment: &&Segment| segment.cause == Cause::HardIrq;
        let hard = timeline.segments.iter().filter(is_hard);
        let hard_ns: u64 = hard.clone().map(Segment::len_ns).sum();
        let longest = hard.max_by_key(|segment| segment.len_ns());
        let arch = arch::of(cell.inputs.snapshot.machine.arch);
        Self {
            cause,
            preempt: cell.factors.preempt,
            is_realtime_kernel: system.realtime,
            task: match timeline.wakeup.task.prio {
                _ if is_fair => Policy::Fair,
                ..0 => Policy::Deadline,
                _ => Policy::RealTime,
            },
            is_local_timer: longest
                .is_some_and(|segment| segment.function.as_deref() == Some(arch.timer_entry)),
            is_for_timers: hard_ns > 0 && timeline.other_timers_ns >= hard_ns.div_ceil(2),
        }
    }

    /// Returns the remedy against the cause.
    pub fn help(&self) -> Help {
        let is_voluntary = matches!(self.preempt, PreemptMode::None | PreemptMode::Voluntary);
        let is_rt = self.is_realtime_kernel;
        match self.cause {
            Cause::NotPreemptible if is_voluntary && !is_rt => Help::Cure(Cure::FullPreemption),
            Cause::NotPreemptible
                if self.task == Policy::Fair && self.preempt == PreemptMode::Lazy =>
            {
                Help::None(
                    "under lazy preemption a fair task that works in the kernel goes on until a tick, and \
                     under full preemption it has its slice all the same",
                )
            }
            Cause::NotPreemptible => Help::None("the kernel code there has to become shorter"),
            Cause::PreemptOff if is_rt => Help::None(
                "this section is non-preemptible even with PREEMPT_RT: it has to become shorter",
            ),
            Cause::PreemptOff => Help::Cure(Cure::RtPreemptOff),
            Cause::IrqsOff if is_rt => {
                Help::None("a section with interrupts off has to become shorter")
            }
            Cause::IrqsOff => Help::Cure(Cure::RtIrqsOff),
            Cause::Stolen => Help::None(
                "a hypervisor, the firmware or a device had the CPU, and no setting of this kernel changes \
                 that",
            ),
            Cause::Softirq if is_rt => Help::None(
                "PREEMPT_RT serves softirqs in threads already, and this one's work has to become shorter",
            ),
            Cause::Softirq => Help::Cure(Cure::RtSoftirqs),
            Cause::HardIrq => self.against_interrupts(),
            Cause::DeviceIrq if is_rt => Help::None(
                "interrupts of devices have threads here but for their first part, which has to \
                 become shorter",
            ),
            Cause::DeviceIrq => Help::Cure(Cure::RtInterrupts),
            Cause::IpiWait => Help::None("the other CPU has to answer sooner, or not be asked"),
            Cause::SpinWait => Help::None(
                "the section under this lock has to become shorter on the CPU that holds it",
            ),
            Cause::RemoteWakeup => {
                Help::None("the task's timer is that of another CPU, which has to tell this one")
            }
            Cause::Scheduling => Help::None("the scheduler itself was at work"),
            Cause::DeadlineTask | Cause::MoreUrgentTask | Cause::EqualTask => self.against_task(),
            Cause::LockHolder => Help::None(
                "the task slept again for a lock, whose section has to become shorter; `zoom` shows the lock",
            ),
            Cause::StopTask => Help::None(
                "the kernel stops the CPU by a thread that precedes every task, to migrate a task or to \
                 change its own code",
            ),
            Cause::FairShare => Help::Cure(Cure::RealtimePolicy),
            Cause::FairServer => Help::Cure(Cure::FairServerRuntime),
            Cause::Throttled => self.against_throttling(),
            Cause::OtherTask => {
                Help::None("the trace does not tell why the scheduler left the other task alone")
            }
            Cause::TimerPending if self.task == Policy::Fair => Help::Cure(Cure::TimerSlack),
            Cause::TimerPending => Help::None("the timer itself was late"),
            Cause::Return => Help::None("this is the way back to user space"),
        }
    }

    fn against_interrupts(&self) -> Help {
        match (self.is_local_timer, self.is_for_timers && !self.is_realtime_kernel) {
            (true, true) => Help::Cure(Cure::RtTimers),
            (true, false) => Help::None(
                "the interrupt is that of the CPU's own timer, by which every such wakeup comes, and \
                 nothing moves it into a thread",
            ),
            (false, _) => Help::None(
                "the interrupt is that of the CPU itself or of another CPU, and nothing moves it into a \
                 thread",
            ),
        }
    }

    fn against_task(&self) -> Help {
        match (self.task, self.cause) {
            (Policy::Deadline, _) => {
                Help::None("both are deadline tasks, and the deadline of the other one came first")
            }
            (Policy::RealTime, Cause::DeadlineTask) => Help::Cure(Cure::NoDeadlinePolicy),
            (Policy::RealTime, _) => Help::Cure(Cure::Priority),
            (Policy::Fair, Cause::DeadlineTask) => {
                Help::None("a deadline task precedes every priority")
            }
            (Policy::Fair, _) => Help::Cure(Cure::RealtimePriority),
        }
    }

    fn against_throttling(&self) -> Help {
        match self.task {
            Policy::Deadline => {
                Help::None("the task has used up its own sched_runtime until its next period")
            }
            Policy::RealTime => Help::Cure(Cure::RtRuntime),
            Policy::Fair => {
                Help::None("the quota of the task's control group (cpu.max) is used up")
            }
        }
    }

    /// Returns the remedy; none where no model and no build acts on the cause.
    fn remedy(&self) -> Option<Remedy> {
        match self.help() {
            Help::Cure(Cure::FullPreemption) => Some(Remedy::StrongerModel),
            Help::Cure(
                Cure::RtPreemptOff
                | Cure::RtIrqsOff
                | Cure::RtSoftirqs
                | Cure::RtTimers
                | Cure::RtInterrupts,
            ) => Some(Remedy::Realtime),
            _ => None,
        }
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
    situation: &Situation,
) -> Result<Sibling> {
    let is_fair = situation.task == Policy::Fair;
    let Some(remedy) = situation.remedy() else { return Ok(Sibling::NoRemedy) };
    let is_like = |other: &Chosen| {
        let (a, b) = (&cell.factors, &other.factors);
        (&a.workload, &a.machine, a.cpus, &a.settings, a.replicate)
            == (&b.workload, &b.machine, b.cpus, &b.settings, b.replicate)
            && other.id != cell.id
    };
    let others: Vec<Chosen> =
        completed(recording, &MetricName::latest(is_fair))?.into_iter().filter(is_like).collect();
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

    fn situations() -> impl Iterator<Item = Situation> {
        use PreemptMode::{Full, Lazy, None, Voluntary};
        let modes = [None, Voluntary, Lazy, Full];
        let tasks = [Policy::Deadline, Policy::RealTime, Policy::Fair];
        let bits = |number: usize| [0, 1, 2].map(|bit| number >> bit & 1 == 1);
        let causes = Cause::ALL.into_iter();
        causes.flat_map(move |cause| {
            modes.into_iter().flat_map(move |preempt| {
                tasks.into_iter().flat_map(move |task| {
                    (0..8).map(bits).map(move |[realtime, local, timers]| Situation {
                        cause,
                        preempt,
                        is_realtime_kernel: realtime,
                        task,
                        is_local_timer: local,
                        is_for_timers: timers,
                    })
                })
            })
        })
    }

    fn of(cause: Cause) -> Situation {
        Situation {
            cause,
            preempt: PreemptMode::Full,
            is_realtime_kernel: false,
            task: Policy::RealTime,
            is_local_timer: true,
            is_for_timers: false,
        }
    }

    /// A test must follow each advice.
    #[test]
    fn every_advice_is_given_somewhere_and_tested() {
        let given: Vec<Help> = situations().map(|situation| situation.help()).collect();
        let tests = include_str!("../../../cli/tests/vm_advice.rs");
        for cure in Cure::ALL {
            assert!(given.contains(&Help::Cure(cure)), "{cure:?}");
            let tested = format!("follow(Cure::{cure:?}, ");
            assert_eq!(tests.matches(&tested).count(), 1, "{cure:?}");
        }
        let is_known = |help: &Help| match help {
            Help::Cure(cure) => Cure::ALL.contains(cure),
            Help::None(_) => true,
        };
        assert!(given.iter().all(is_known));
    }

    #[test]
    fn the_local_timer_has_no_thread() {
        let hard = of(Cause::HardIrq);
        for situation in situations().filter(|it| it.cause == Cause::HardIrq) {
            assert_ne!(situation.help(), Help::Cure(Cure::RtInterrupts));
        }
        assert!(
            hard.help().words().starts_with("nothing here removes it: the interrupt is that of")
        );
        let timers = Situation { is_for_timers: true, ..hard };
        assert_eq!(timers.help(), Help::Cure(Cure::RtTimers));
        let realtime = Situation { is_realtime_kernel: true, ..timers };
        assert!(matches!(realtime.help(), Help::None(_)));
        let other = Situation { is_local_timer: false, ..timers };
        assert!(matches!(other.help(), Help::None(_)));
    }

    #[test]
    fn devices_interrupts_have_threads_once() {
        let device = of(Cause::DeviceIrq);
        assert_eq!(device.help(), Help::Cure(Cure::RtInterrupts));
        let realtime = Situation { is_realtime_kernel: true, ..device };
        assert!(matches!(realtime.help(), Help::None(_)));
    }

    #[test]
    fn who_is_never_preceded_is_told_no_priority() {
        use Cause::{DeadlineTask, EqualTask, FairServer, FairShare, MoreUrgentTask, Throttled};
        let helps = |cause, task| Situation { task, ..of(cause) }.help();
        for cause in [EqualTask, MoreUrgentTask] {
            assert_eq!(helps(cause, Policy::RealTime), Help::Cure(Cure::Priority));
            assert_eq!(helps(cause, Policy::Fair), Help::Cure(Cure::RealtimePriority));
        }
        assert_eq!(helps(DeadlineTask, Policy::RealTime), Help::Cure(Cure::NoDeadlinePolicy));
        assert!(matches!(helps(DeadlineTask, Policy::Deadline), Help::None(_)));
        assert_eq!(helps(FairServer, Policy::RealTime), Help::Cure(Cure::FairServerRuntime));
        assert_eq!(helps(Throttled, Policy::RealTime), Help::Cure(Cure::RtRuntime));
        assert!(matches!(helps(Throttled, Policy::Deadline), Help::None(_)));
        assert!(matches!(helps(Throttled, Policy::Fair), Help::None(_)));
        assert_eq!(helps(FairShare, Policy::Fair), Help::Cure(Cure::RealtimePolicy));
        assert_eq!(helps(Cause::TimerPending, Policy::Fair), Help::Cure(Cure::TimerSlack));
        assert!(matches!(helps(Cause::TimerPending, Policy::RealTime), Help::None(_)));
    }

    #[test]
    fn models_differ_where_they_do() {
        use PreemptMode::{Full, Lazy, None, Voluntary};
        let helps = |preempt, is_realtime_kernel, task| {
            let of = of(Cause::NotPreemptible);
            Situation { preempt, is_realtime_kernel, task, ..of }.help()
        };
        for preempt in [None, Voluntary] {
            let help = helps(preempt, false, Policy::RealTime);
            assert_eq!(help, Help::Cure(Cure::FullPreemption));
            assert!(matches!(helps(preempt, true, Policy::RealTime), Help::None(_)));
        }
        for task in [Policy::Fair, Policy::RealTime] {
            assert!(matches!(helps(Lazy, false, task), Help::None(_)));
        }
        assert!(matches!(helps(Full, false, Policy::Fair), Help::None(_)));
    }

    #[test]
    fn a_remedy_is_what_the_advice_says() {
        for situation in situations() {
            let Help::Cure(cure) = situation.help() else {
                assert_eq!(situation.remedy(), None);
                continue;
            };
            let words = cure.as_str();
            let remedy = situation.remedy();
            assert_eq!(remedy == Some(Remedy::StrongerModel), words.contains("preempt=full"));
            assert_eq!(remedy == Some(Remedy::Realtime), words.contains("PREEMPT_RT"));
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
