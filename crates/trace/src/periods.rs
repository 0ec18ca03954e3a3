//! Deadline tasks that wait for their next period: after `sched_yield()`, or with their runtime used up.

use preemptlab_protocol::trace::stream::SiteKind::{
    ExceptionReturn, IrqsOff, IrqsOn, NeedReschedClear, NeedReschedSet, Sysret,
};

use crate::{
    Cause, Opportunities, Target, Task, Timeline, Window, findings,
    testing::{PERIOD_TIMER_OFFSET, Stream, address, kernel, task},
    timelines, wakeups,
};

const IDLE: u64 = 0xa0;
const OTHER: u64 = 0xa1;
const YIELDER: u64 = 0xa_2000;
const KERNEL_CS: u64 = 0x10;
const USER_CS: u64 = 0x33;
const PROGRAM: &str = "servo";
const TARGET: Target<'_> = Target { comm: PROGRAM, is_realtime: true, first_waits: false };
const ALL: Window = Window { start_ns: 0, end_ns: u64::MAX };

/// A trace of a program with one thread, which yields at 2 us; the other task has the CPU then.
fn yields(other: &Task) -> Stream {
    let mut stream = Stream::new();
    stream.task(&task(IDLE, 0, 0, 120, "swapper/0")).task(other);
    stream
        .task(&task(YIELDER, 72, 72, -1, PROGRAM))
        .probe(1_000, "__switch_to", &[IDLE, YIELDER])
        .event(1_100, Sysret, "asm_exit", &[])
        .probe(2_000, "entry_SYSCALL_64", &[24])
        .probe(2_100, "__schedule", &[])
        .probe(2_200, "__switch_to", &[YIELDER, other.address])
        .event(2_300, IrqsOn, "finish_task_switch", &[])
        .event(2_400, Sysret, "asm_exit", &[]);
    stream
}

fn other(prio: i32) -> Task {
    task(OTHER, 80, 80, prio, "program")
}

/// The timer of the task's next period, which was due at 4.99 us.
fn period_begins(stream: &mut Stream) -> &mut Stream {
    let timer = YIELDER + PERIOD_TIMER_OFFSET;
    stream
        .probe(5_000, "asm_sysvec_apic_timer_interrupt", &[address("default_idle"), USER_CS])
        .probe(5_010, "dl_task_timer", &[timer, 4_990, timer, 0, 0, 1, 0, 0])
}

fn is_told(stream: &mut Stream) -> &mut Stream {
    stream.probe(5_020, "resched_curr", &[]).event(5_030, NeedReschedSet, "resched_curr", &[])
}

/// Gives the CPU to the task at 9 us.
fn switches(stream: &mut Stream, from: u64) -> Vec<u8> {
    stream
        .probe(9_000, "__schedule", &[])
        .event(9_010, IrqsOff, "__schedule", &[])
        .event(9_015, NeedReschedClear, "__schedule", &[])
        .probe(9_020, "__switch_to", &[from, YIELDER])
        .event(9_030, IrqsOn, "finish_task_switch", &[])
        .event(9_050, Sysret, "asm_exit", &[])
        .finish()
}

fn drawn(trace: &[u8]) -> Timeline {
    let found = wakeups(trace, &kernel(), TARGET, ALL).unwrap();
    assert_eq!(found.len(), 1);
    timelines(trace, &kernel(), found).unwrap().remove(0)
}

fn count(trace: &[u8]) -> usize {
    wakeups(trace, &kernel(), TARGET, ALL).unwrap().len()
}

#[test]
fn a_period_is_due_when_its_timer_is() {
    let mut stream = yields(&other(120));
    is_told(period_begins(&mut stream)).event(5_100, ExceptionReturn, "asm_exit", &[1]);
    let trace = switches(&mut stream, OTHER);
    let timeline = drawn(&trace);
    let wakeup = &timeline.wakeup;
    assert_eq!((wakeup.due_ns, wakeup.expire_ns, wakeup.switch_ns), (4_990, 5_010, 9_020));
    assert_eq!((wakeup.latency_ns(), wakeup.task.prio), (4_060, -1));
    let segments: u64 = timeline.segments.iter().map(crate::Segment::len_ns).sum();
    assert_eq!(segments, 4_060);
    let all = Opportunities::Everywhere;
    let bound = findings(&*trace, &kernel(), TARGET, all, ALL).unwrap().bound.unwrap();
    assert_eq!(bound.observed_ns(), 4_060);
    let fair = Target { is_realtime: false, ..TARGET };
    assert_eq!(wakeups(&*trace, &kernel(), fair, ALL).unwrap(), []);
}

/// The timer's function puts the task into the queue; nothing wakes it.
#[test]
fn who_keeps_the_cpu_in_a_period_is_named() {
    let cause = |prio| {
        let mut stream = yields(&other(prio));
        period_begins(&mut stream)
            .probe(5_100, "__schedule", &[])
            .event(5_110, IrqsOff, "__schedule", &[])
            .event(5_140, IrqsOn, "__schedule", &[])
            .event(5_200, ExceptionReturn, "asm_exit", &[1]);
        let timeline = drawn(&switches(&mut stream, OTHER));
        let longest = timeline.segments.iter().max_by_key(|segment| segment.len_ns()).unwrap();
        assert_eq!((longest.start_ns, longest.end_ns), (5_200, 9_000), "{timeline:?}");
        longest.cause
    };
    assert_eq!(cause(-1), Cause::DeadlineTask);
    // A less urgent task has the CPU only where the scheduler chose it.
    assert_eq!(cause(10), Cause::Throttled);
    assert_eq!(cause(120), Cause::Throttled);
}

/// A task that blocks while it is throttled has no wakeup when its period begins.
#[test]
fn a_task_that_something_else_wakes_did_not_wait_for_its_period() {
    let mut stream = yields(&other(120));
    period_begins(&mut stream).event(5_100, ExceptionReturn, "asm_exit", &[1]);
    let waited = switches(&mut stream.clone(), OTHER);
    stream.probe(7_000, "try_to_wake_up", &[YIELDER]);
    assert_eq!((count(&waited), count(&switches(&mut stream, OTHER))), (1, 0));
}

#[test]
fn a_task_that_has_the_cpu_does_not_wait_for_its_period() {
    let mut stream = yields(&other(120));
    stream.probe(3_000, "__switch_to", &[OTHER, YIELDER]).event(3_100, Sysret, "asm_exit", &[]);
    period_begins(&mut stream).event(5_100, ExceptionReturn, "asm_exit", &[1]);
    assert_eq!(count(&stream.finish()), 0);
}

/// The fair server's timer has the same function, and belongs to no task.
#[test]
fn the_period_of_a_server_is_nobodys_wakeup() {
    let mut stream = yields(&other(120));
    let timer = 0xdead_0000;
    stream
        .probe(5_000, "asm_sysvec_apic_timer_interrupt", &[address("default_idle"), KERNEL_CS])
        .probe(5_010, "dl_task_timer", &[timer, 4_990, timer, 0, 0, 1, 0, 0])
        .event(5_100, ExceptionReturn, "asm_exit", &[1]);
    assert_eq!(count(&switches(&mut stream, OTHER)), 0);
}
