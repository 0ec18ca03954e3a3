//! Late wakeups that wait for other tasks, by the scheduler's decision.

use preemptlab_protocol::trace::stream::SiteKind::{
    ExceptionReturn, IrqsOff, IrqsOn, NeedReschedClear, NeedReschedSet, Sysret,
};

use crate::{
    Cause, Kernel, Point, Target, Task, Timeline, Window,
    testing::{ARCH, PROBE, Stream, address, kernel, layout, task},
    timelines, wakeups,
};

const IDLE: u64 = 0xa0;
const OTHER: u64 = 0xa1;
const SLEEPER: u64 = 0xa2;
const TIMER: u64 = 0xb0;
const KERNEL_CS: u64 = 0x10;
const USER_CS: u64 = 0x33;

/// Priority of the probe: that of `SCHED_FIFO` 50.
const PRIO: i32 = 49;

/// A trace of the probe, whose timer interrupts another task at 5 us, and which has the CPU from 9 us on.
struct Late {
    stream: Stream,
    sleeper: Task,
    other: Task,
}

impl Late {
    fn new(prio: i32, other: Task) -> Self {
        let mut stream = Stream::new();
        let sleeper = task(SLEEPER, 72, 71, prio, PROBE);
        stream.task(&task(IDLE, 0, 0, 120, "swapper/0")).task(&other).task(&sleeper);
        stream
            .probe(1_000, "__switch_to", &[IDLE, SLEEPER])
            .event(1_100, Sysret, "asm_exit", &[])
            .probe(2_000, "entry_SYSCALL_64", &[230])
            .probe(2_100, "__schedule", &[])
            .probe(2_200, "__switch_to", &[SLEEPER, other.address])
            .event(2_300, IrqsOn, "finish_task_switch", &[]);
        if other.comm == "program" {
            stream.event(2_400, Sysret, "asm_exit", &[]);
        }
        Self { stream, sleeper, other }
    }

    fn is_user(&self) -> bool {
        self.other.comm == "program"
    }

    /// The timer's interrupt: it wakes the probe and may tell the other task to give way.
    fn expires(mut self, tells: bool) -> Self {
        let cs = if self.is_user() { USER_CS } else { KERNEL_CS };
        self.stream
            .probe(5_000, "asm_sysvec_apic_timer_interrupt", &[address("default_idle"), cs])
            .probe(5_010, "hrtimer_wakeup", &[TIMER, 4_990, SLEEPER, 0, 0, 1, 0, 0])
            .probe(5_020, "try_to_wake_up", &[SLEEPER]);
        if tells {
            self.stream.probe(5_030, "resched_curr", &[]).event(
                5_040,
                NeedReschedSet,
                "resched_curr",
                &[],
            );
        }
        self
    }

    /// The scheduler chooses the other task again, on the way out of the interrupt.
    fn chosen_again(mut self, by_server: bool) -> Self {
        self.stream.probe(5_100, "__schedule", &[]).event(5_110, IrqsOff, "__schedule", &[]);
        if by_server {
            self.stream.probe(5_120, "fair_server_pick_task", &[]);
        }
        self.stream.event(5_130, NeedReschedClear, "__schedule", &[]).event(
            5_140,
            IrqsOn,
            "__schedule",
            &[],
        );
        self
    }

    /// The probe has the CPU, and sleeps again for a lock that the other task holds.
    fn sleeps_again(mut self) -> Self {
        let other = self.other.address;
        self.stream
            .probe(5_100, "__schedule", &[])
            .event(5_110, IrqsOff, "__schedule", &[])
            .probe(5_120, "__switch_to", &[other, SLEEPER])
            .event(5_130, IrqsOn, "finish_task_switch", &[])
            .probe(5_140, "__schedule", &[])
            .event(5_150, IrqsOff, "__schedule", &[])
            .probe(5_160, "__switch_to", &[SLEEPER, other])
            .event(5_170, IrqsOn, "finish_task_switch", &[]);
        self
    }

    fn leaves(mut self) -> Self {
        let user = u64::from(self.is_user());
        self.stream.event(5_200, ExceptionReturn, "asm_exit", &[user]);
        self
    }

    /// Gives the CPU to the probe, and returns the cause of the time before.
    fn cause(mut self, kernel: &Kernel) -> Cause {
        self.stream
            .probe(9_000, "__schedule", &[])
            .event(9_010, IrqsOff, "__schedule", &[])
            .probe(9_020, "__switch_to", &[self.other.address, SLEEPER])
            .event(9_030, IrqsOn, "finish_task_switch", &[])
            .event(9_050, Sysret, "asm_exit", &[]);
        let is_realtime = self.sleeper.prio < 100;
        let timeline = drawn(&self.stream.finish(), kernel, is_realtime);
        let longest = timeline.segments.iter().max_by_key(|segment| segment.len_ns()).unwrap();
        assert_eq!((longest.start_ns, longest.end_ns), (5_200, 9_000), "{timeline:?}");
        longest.cause
    }
}

fn drawn(trace: &[u8], kernel: &Kernel, is_realtime: bool) -> Timeline {
    let window = Window { start_ns: 0, end_ns: u64::MAX };
    let found =
        wakeups(trace, kernel, Target { comm: PROBE, is_realtime, first_waits: true }, window)
            .unwrap();
    assert_eq!(found.len(), 1);
    timelines(trace, kernel, found).unwrap().remove(0)
}

fn program(prio: i32) -> Task {
    task(OTHER, 80, 80, prio, "program")
}

/// A kernel without the fair server; its traces have the same probes under other names.
fn kernel_before_6_12() -> Kernel {
    let mut layout = layout();
    layout.kallsyms = layout.kallsyms.replace("fair_server_pick_task", "pick_task");
    for tracepoint in &mut layout.tracepoints {
        if tracepoint.point == Point::ServerPick {
            tracepoint.point = Point::LockWait;
        }
    }
    Kernel::new(ARCH, layout).unwrap()
}

#[test]
fn a_task_that_precedes_the_woken_one_has_a_cause_of_its_own() {
    let late = |prio, other| Late::new(prio, other).expires(false).leaves().cause(&kernel());
    assert_eq!(late(PRIO, program(-1)), Cause::DeadlineTask);
    assert_eq!(late(PRIO, program(PRIO - 1)), Cause::MoreUrgentTask);
    assert_eq!(late(PRIO, program(PRIO)), Cause::EqualTask);
    assert_eq!(late(120, program(PRIO)), Cause::MoreUrgentTask);
    assert_eq!(late(120, program(-1)), Cause::DeadlineTask);
    assert_eq!(late(120, program(139)), Cause::FairShare);
    // The stop task has the priority of SCHED_FIFO 99. A program of the same name is a program.
    let stop = task(OTHER, 20, 20, 0, "migration/0");
    assert_eq!(late(0, stop), Cause::StopTask);
    assert_eq!(late(0, program(0)), Cause::EqualTask);
}

/// Under PREEMPT_RT a task may sleep for a spin lock behind its wakeup. The holder has its priority meanwhile.
#[test]
fn a_task_that_slept_again_waits_for_the_holder_of_a_lock() {
    let late = Late::new(PRIO, program(PRIO)).expires(true).sleeps_again();
    assert_eq!(late.leaves().cause(&kernel()), Cause::LockHolder);
}

/// A less urgent task has to give way, unless the scheduler has chosen it.
#[test]
fn a_task_that_chosen_again_is_throttled_or_behind_the_fair_server() {
    let late = |prio, other: i32, by_server, kernel: &Kernel| {
        let late = Late::new(prio, program(other)).expires(true);
        late.chosen_again(by_server).leaves().cause(kernel)
    };
    assert_eq!(late(PRIO, 120, true, &kernel()), Cause::FairServer);
    // As in a control group whose real-time runtime is used up.
    assert_eq!(late(PRIO, 120, false, &kernel()), Cause::Throttled);
    assert_eq!(late(PRIO, 120, false, &kernel_before_6_12()), Cause::Throttled);
    assert_eq!(late(-1, 120, false, &kernel()), Cause::Throttled);
    assert_eq!(late(-1, PRIO, false, &kernel()), Cause::Throttled);
    // It was told, and had not called the scheduler yet.
    let told = Late::new(PRIO, program(120)).expires(true).leaves().cause(&kernel());
    assert_eq!(told, Cause::OtherTask);
}

#[test]
fn an_idle_cpu_is_no_reason_to_wait() {
    let idle = || task(OTHER, 0, 0, 120, "swapper/0");
    let throttled = Late::new(PRIO, idle()).expires(true).chosen_again(false).leaves();
    assert_eq!(throttled.cause(&kernel_before_6_12()), Cause::Throttled);
    let woken = Late::new(PRIO, idle()).expires(true).leaves();
    assert_eq!(woken.cause(&kernel()), Cause::NotPreemptible);
}

/// Traces of layouts without the fair server's function tell by the kernel alone.
#[test]
fn an_older_trace_knows_the_fair_server_by_its_kernel() {
    let mut layout = layout();
    for tracepoint in &mut layout.tracepoints {
        if tracepoint.point == Point::ServerPick {
            tracepoint.point = Point::LockWait;
        }
    }
    let kernel = Kernel::new(ARCH, layout).unwrap();
    let late = Late::new(PRIO, program(120)).expires(true).chosen_again(false).leaves();
    assert_eq!(late.cause(&kernel), Cause::FairServer);
}

/// A program makes itself more urgent, and nothing has described it since.
#[test]
fn a_priority_that_has_changed_is_not_judged_by_the_old_one() {
    let changed = |described: bool| {
        let mut late = Late::new(PRIO, program(120));
        late.stream.probe(3_000, "__sched_setscheduler", &[OTHER]);
        if described {
            late.stream.task(&program(PRIO - 10));
        }
        late.expires(false).leaves().cause(&kernel())
    };
    assert_eq!(changed(true), Cause::MoreUrgentTask);
    assert_eq!(changed(false), Cause::OtherTask);
}

#[test]
fn the_handlers_of_devices_are_told_from_the_cpus_own_interrupts() {
    let mut late = Late::new(PRIO, program(120)).expires(true);
    late.stream.probe(5_100, "handle_irq_event", &[]);
    late.stream.event(5_190, ExceptionReturn, "asm_exit", &[1]);
    late.stream
        .probe(5_195, "asm_common_interrupt", &[0x40_0000, USER_CS])
        .event(5_290, ExceptionReturn, "asm_exit", &[1])
        .probe(5_300, "__schedule", &[])
        .event(5_310, IrqsOff, "__schedule", &[])
        .probe(5_320, "__switch_to", &[OTHER, SLEEPER])
        .event(5_330, IrqsOn, "finish_task_switch", &[])
        .event(5_350, Sysret, "asm_exit", &[]);
    let timeline = drawn(&late.stream.finish(), &kernel(), true);
    let ns = |cause| {
        let of = timeline.segments.iter().filter(|segment| segment.cause == cause);
        of.map(crate::Segment::len_ns).sum::<u64>()
    };
    assert_eq!(ns(Cause::HardIrq), 100, "{timeline:?}");
    assert_eq!(ns(Cause::DeviceIrq), 90 + 95, "{timeline:?}");
}

/// Those of real-time tasks expire in the interrupt under every kernel.
#[test]
fn the_time_of_other_fair_tasks_timers_is_summed() {
    for (prio, expected_ns) in [(120, 140), (PRIO, 0)] {
        let mut late = Late::new(PRIO, program(120)).expires(true);
        late.stream
            .task(&task(0xa4, 90, 90, prio, "sleeper"))
            .probe(5_060, "hrtimer_wakeup", &[TIMER, 4_990, 0xa4, 0, 0, 1, 0, 0])
            .event(5_200, ExceptionReturn, "asm_exit", &[1])
            .probe(5_300, "__schedule", &[])
            .event(5_310, IrqsOff, "__schedule", &[])
            .probe(5_320, "__switch_to", &[OTHER, SLEEPER])
            .event(5_330, IrqsOn, "finish_task_switch", &[])
            .event(5_350, Sysret, "asm_exit", &[]);
        let timeline = drawn(&late.stream.finish(), &kernel(), true);
        assert_eq!(timeline.other_timers_ns, expected_ns, "{timeline:?}");
    }
}
