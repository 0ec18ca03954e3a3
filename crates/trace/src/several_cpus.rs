//! Late wakeups whose causes lie on another CPU.

use preemptlab_protocol::trace::stream::SiteKind::{
    ExceptionReturn, Halt, IrqsOff, IrqsOn, PreemptAdd, Return, Sysret,
};

use crate::{
    Cause, Target, Window,
    testing::{PROBE, Stream, address, kernel, task},
    timelines, wakeups,
};

const IDLE: u64 = 0xa0;
const WORKER: u64 = 0xa1;
const SLEEPER: u64 = 0xa2;
const OTHER_IDLE: u64 = 0xa3;
const TIMER: u64 = 0xb0;
const KERNEL_CS: u64 = 0x10;
const USER_CS: u64 = 0x33;

fn stream() -> Stream {
    let mut stream = Stream::with_clocks();
    stream
        .task(&task(IDLE, 0, 0, 120, "swapper/0"))
        .task(&task(OTHER_IDLE, 0, 0, 120, "swapper/1"))
        .task(&task(WORKER, 70, 70, 120, "worker"))
        .task(&task(SLEEPER, 72, 71, 9, PROBE));
    stream
}

/// Adds the probe's sleep on a CPU.
fn sleeps(stream: &mut Stream, cpu: u32, next: u64) {
    stream
        .on(cpu)
        .probe(1_000, "__switch_to", &[next, SLEEPER])
        .event(1_100, Sysret, "asm_exit", &[])
        .probe(2_000, "entry_SYSCALL_64", &[230])
        .probe(2_100, "__schedule", &[])
        .probe(2_200, "__switch_to", &[SLEEPER, next])
        .event(2_300, IrqsOn, "finish_task_switch", &[]);
}

/// Adds the expiry of the probe's timer, in the interrupt of a CPU.
fn expires(stream: &mut Stream, due_ns: u64, ns: u64, cs: u64) {
    stream
        .probe(ns, "asm_sysvec_apic_timer_interrupt", &[address("default_idle"), cs])
        .probe(ns + 50, "hrtimer_wakeup", &[TIMER, due_ns, SLEEPER, 0, 0, 1, 0, 0])
        .probe(ns + 60, "try_to_wake_up", &[SLEEPER]);
}

/// Adds the switch to the probe, and its first instruction in user space.
fn runs(stream: &mut Stream, ns: u64, previous: u64) {
    stream
        .probe(ns, "__schedule", &[])
        .event(ns + 10, IrqsOff, "__schedule", &[])
        .probe(ns + 20, "__switch_to", &[previous, SLEEPER])
        .event(ns + 30, IrqsOn, "finish_task_switch", &[])
        .event(ns + 50, Sysret, "asm_exit", &[]);
}

/// Cause, CPU, other CPU, start and end of a segment.
type Told = (Cause, Option<u32>, Option<u32>, u64, u64);

/// Returns the segments of the only wakeup.
fn explained(trace: &[u8]) -> Vec<Told> {
    let kernel = kernel();
    let target = Target { comm: PROBE, is_realtime: true, first_waits: true };
    let window = Window { start_ns: 0, end_ns: u64::MAX };
    let found = wakeups(trace, &kernel, target, window).unwrap();
    assert_eq!(found.len(), 1);
    let drawn = timelines(trace, &kernel, found).unwrap();
    let segments = drawn[0].segments.iter();
    segments
        .map(|segment| {
            let &crate::Segment { cause, cpu, other_cpu, start_ns, end_ns, .. } = segment;
            (cause, cpu, other_cpu, start_ns, end_ns)
        })
        .collect()
}

/// The timer is CPU 0's, which has interrupts off for a while; CPU 1 is idle, and has to be told.
#[test]
fn a_wakeup_from_another_cpu_waits_for_both() {
    let mut stream = stream();
    sleeps(&mut stream, 1, OTHER_IDLE);
    stream.event(2_400, Halt, "default_idle", &[]);
    stream
        .on(0)
        .probe(1_000, "__switch_to", &[IDLE, WORKER])
        .event(1_100, Sysret, "asm_exit", &[])
        .probe(4_000, "entry_SYSCALL_64", &[1])
        .event(9_000, IrqsOn, "do_syscall_64", &[]);
    expires(&mut stream, 5_000, 9_010, KERNEL_CS);
    stream.event(9_200, ExceptionReturn, "asm_exit", &[0]);
    // CPU 1 was behind.
    stream
        .on(1)
        .probe(9_150, "asm_sysvec_reschedule_ipi", &[address("default_idle"), KERNEL_CS])
        .event(9_300, ExceptionReturn, "asm_exit", &[0]);
    runs(&mut stream, 9_310, OTHER_IDLE);
    assert_eq!(
        explained(&stream.finish()),
        [
            (Cause::IrqsOff, Some(0), None, 5_000, 9_000),
            (Cause::TimerPending, Some(0), None, 9_000, 9_010),
            (Cause::HardIrq, Some(0), None, 9_010, 9_070),
            (Cause::RemoteWakeup, None, Some(0), 9_070, 9_150),
            (Cause::HardIrq, None, None, 9_150, 9_300),
            (Cause::OtherTask, None, None, 9_300, 9_310),
            (Cause::Scheduling, None, None, 9_310, 9_330),
            (Cause::Scheduling, None, None, 9_330, 9_340),
            (Cause::Return, None, None, 9_340, 9_360),
        ]
    );
}

/// Returns a trace in which a timer of the probe's CPU expires while a worker there calls CPU 1, or waits
/// for a lock, from 4 us on to 16 us.
fn waits(function: &str, values: &[u64], is_recorded: bool) -> Vec<u8> {
    let mut stream = stream();
    sleeps(&mut stream, 0, WORKER);
    stream
        .event(2_400, Sysret, "asm_exit", &[])
        .probe(3_000, "entry_SYSCALL_64", &[1])
        .event(3_010, IrqsOn, "do_syscall_64", &[])
        .event(3_900, PreemptAdd(1), "_raw_spin_lock", &[])
        .probe(4_000, function, values);
    expires(&mut stream, 5_000, 5_010, KERNEL_CS);
    stream.event(5_200, ExceptionReturn, "asm_exit", &[0]);
    stream
        .on(1)
        .probe(15_000, "asm_sysvec_call_function", &[0x40_0000, USER_CS])
        .event(15_900, ExceptionReturn, "asm_exit", &[1])
        .on(0);
    if is_recorded {
        stream.event(16_000, Return, function, &[0x1000]);
    }
    stream.event(17_000, PreemptAdd(-1), "_raw_spin_unlock", &[]);
    runs(&mut stream, 17_010, WORKER);
    stream.finish()
}

#[test]
fn waiting_for_another_cpus_answer_is_a_cause_of_its_own() {
    let found = explained(&waits("smp_call_function_many_cond", &[], true));
    let waited = (Cause::IpiWait, None, Some(1), 5_200, 16_000);
    assert!(found.contains(&waited), "{found:?}");
    assert!(found.contains(&(Cause::PreemptOff, None, None, 16_000, 17_000)), "{found:?}");
}

#[test]
fn waiting_for_another_cpus_lock_is_a_cause_of_its_own() {
    let found = explained(&waits("native_queued_spin_lock_slowpath", &[1], true));
    assert!(found.contains(&(Cause::SpinWait, None, None, 5_200, 16_000)), "{found:?}");
}

/// A trace of before tells when a wait begins, and not when it ends.
#[test]
fn a_wait_without_an_end_is_none() {
    let trace = waits("native_queued_spin_lock_slowpath", &[1], false);
    let mut layout = crate::testing::layout();
    layout.program.returns.clear();
    let kernel = crate::Kernel::new(crate::testing::ARCH, layout).unwrap();
    let target = Target { comm: PROBE, is_realtime: true, first_waits: true };
    let window = Window { start_ns: 0, end_ns: u64::MAX };
    let found = wakeups(trace.as_slice(), &kernel, target, window).unwrap();
    let drawn = timelines(trace.as_slice(), &kernel, found).unwrap();
    assert!(drawn[0].segments.iter().all(|segment| segment.cause != Cause::SpinWait));
}
