//! Lanes of small traces: the textbook's two threads on one CPU.

use preemptlab_protocol::trace::stream::SiteKind::{
    ExceptionReturn, IrqsOff, IrqsOn, NeedReschedClear, NeedReschedSet, PreemptAdd, Sysret,
};
use syscalls::Sysno;

use super::*;
use crate::{
    cpu::SectionKind,
    testing::{Stream, address, busy, kernel, task},
};

const IDLE: u64 = 0xa0;
const LO: u64 = 0xa1;
const HI: u64 = 0xa2;
const KERNEL_CS: u64 = 0x10;

const EVERYTHING: Window = Window { start_ns: 0, end_ns: u64::MAX };

fn stream() -> Stream {
    let mut stream = Stream::new();
    stream
        .task(&task(IDLE, 0, 0, 120, "swapper/0"))
        .task(&task(LO, 70, 70, 69, "lo"))
        .task(&task(HI, 71, 71, 49, "hi"))
        .on(0);
    stream
}

fn call(call: Sysno) -> u64 {
    call.id() as u64
}

/// Returns a trace in which `hi` sleeps. `lo` is at work in a system call when a timer wakes `hi`,
/// which has to wait until the call is over.
fn driver() -> Vec<u8> {
    stream()
        .probe(500, "__switch_to", &[LO, HI])
        .event(600, Sysret, "asm_exit", &[])
        .probe(1_000, "entry_SYSCALL_64", &[call(Sysno::clock_nanosleep)])
        .probe(1_100, "__schedule", &[])
        .probe(1_200, "__switch_to", &[HI, LO])
        .event(1_300, Sysret, "asm_exit", &[])
        .probe(2_000, "entry_SYSCALL_64", &[call(Sysno::ioctl)])
        .event(2_010, IrqsOn, "do_syscall_64", &[])
        .event(2_500, PreemptAdd(1), "_raw_spin_lock", &[])
        .probe(3_000, "asm_sysvec_apic_timer_interrupt", &[address("_raw_spin_lock"), KERNEL_CS])
        .event(3_010, PreemptAdd(0x1_0000), "irq_enter_rcu", &[])
        .probe(3_050, "try_to_wake_up", &[HI])
        .probe(3_060, "resched_curr", &[])
        .event(3_070, NeedReschedSet, "resched_curr", &[])
        .event(3_100, PreemptAdd(-0x1_0000), "irq_exit_rcu", &[])
        .event(3_200, ExceptionReturn, "asm_exit", &[0])
        .event(3_500, PreemptAdd(-1), "_raw_spin_unlock", &[])
        .probe(5_000, "__schedule", &[])
        .event(5_010, IrqsOff, "__schedule", &[])
        .event(5_020, NeedReschedClear, "__schedule", &[])
        .probe(5_100, "__switch_to", &[LO, HI])
        .event(5_110, IrqsOn, "finish_task_switch", &[])
        .event(5_200, Sysret, "asm_exit", &[])
        .probe(6_000, "entry_SYSCALL_64", &[call(Sysno::exit_group)])
        .probe(6_100, "__schedule", &[])
        .probe(6_200, "__switch_to", &[HI, LO])
        .event(6_300, Sysret, "asm_exit", &[])
        .probe(7_000, "entry_SYSCALL_64", &[call(Sysno::sched_yield)])
        .finish()
}

fn told(stretches: &[Stretch]) -> Vec<String> {
    let what = |stretch: &Stretch| stretch.what.clone().map(|what| format!(" {what}"));
    stretches
        .iter()
        .map(|stretch| {
            let Stretch { start_ns, end_ns, state, .. } = stretch;
            format!("{start_ns} {end_ns} {state:?}{}", what(stretch).unwrap_or_default())
        })
        .collect()
}

#[test]
fn a_late_wakeup_is_a_stretch_of_waiting() {
    let lanes = lanes(driver().as_slice(), &kernel(), EVERYTHING).unwrap();
    let [lo, hi] = lanes.threads.as_slice() else { panic!("{lanes:?}") };
    assert_eq!((hi.pid, hi.comm.as_str(), hi.prio), (71, "hi", 49));
    assert_eq!(
        told(&hi.stretches),
        [
            "500 600 Kernel",
            "600 1000 User",
            "1000 1200 Kernel clock_nanosleep",
            "1200 3050 Sleeping clock_nanosleep",
            "3050 5100 Runnable woken",
            "5100 5200 Kernel clock_nanosleep",
            "5200 6000 User",
            "6000 6200 Kernel exit_group",
            "6200 7000 Gone",
        ]
    );
    assert_eq!(hi.instants, [Instant { ns: 3_050, kind: InstantKind::Woken { by: None } }]);
    assert_eq!((hi.switches_voluntary, hi.switches_involuntary), (2, 0));
    assert_eq!(
        told(&lo.stretches),
        [
            "500 1200 Runnable preempted",
            "1200 1300 Kernel",
            "1300 2000 User",
            "2000 3010 Kernel ioctl",
            "3010 3100 Interrupted local_timer",
            "3100 5100 Kernel ioctl",
            "5100 6200 Runnable preempted",
            "6200 6300 Kernel ioctl",
            "6300 7000 User",
        ]
    );
    let asked = InstantKind::ReschedAsked { is_lazy: false };
    assert_eq!(lo.instants, [Instant { ns: 3_060, kind: asked }]);
    let preempt_off: Vec<_> = lo
        .sections
        .iter()
        .filter(|section| section.kind == SectionKind::PreemptOff)
        .map(|section| (section.start_ns, section.end_ns))
        .collect();
    assert_eq!(preempt_off, [(2_500, 3_010), (3_100, 3_500)]);

    let [cpu] = lanes.cpus.as_slice() else { panic!("{lanes:?}") };
    assert_eq!(
        told(&cpu.stretches),
        ["500 3010 Thread", "3010 3100 Hardirq local_timer", "3100 7000 Thread"]
    );
    assert_eq!((cpu.switches_between_threads, cpu.switches_with_idle, cpu.schedules), (4, 0, 3));
}

#[test]
fn a_window_shows_what_was_under_way() {
    let window = Window { start_ns: 2_600, end_ns: 3_080 };
    let lanes = lanes(driver().as_slice(), &kernel(), window).unwrap();
    assert_eq!((lanes.start_ns, lanes.end_ns), (2_600, 3_080));
    let [lo, hi] = lanes.threads.as_slice() else { panic!("{lanes:?}") };
    assert_eq!(
        told(&lo.stretches),
        ["2600 3010 Kernel ioctl", "3010 3080 Interrupted local_timer"]
    );
    assert_eq!(
        told(&hi.stretches),
        ["2600 3050 Sleeping clock_nanosleep", "3050 3080 Runnable woken"]
    );
    let off = |start_ns, end_ns| Section { start_ns, end_ns, kind: SectionKind::PreemptOff };
    assert_eq!(lo.sections, [off(2_600, 3_010)]);
    assert_eq!(lanes.cpus[0].switches_between_threads, 0);
}

/// A sleep looks like a preemption when the scheduler had asked before; a wakeup tells the
/// difference.
#[test]
fn who_is_woken_had_slept() {
    let trace = stream()
        .probe(500, "__switch_to", &[IDLE, LO])
        .event(600, Sysret, "asm_exit", &[])
        .probe(1_000, "entry_SYSCALL_64", &[call(Sysno::read)])
        .probe(1_050, "resched_curr", &[])
        .event(1_060, NeedReschedSet, "resched_curr", &[])
        .probe(1_100, "__schedule", &[])
        .event(1_110, NeedReschedClear, "__schedule", &[])
        .probe(1_200, "__switch_to", &[LO, HI])
        .event(1_300, Sysret, "asm_exit", &[])
        .probe(2_000, "entry_SYSCALL_64", &[call(Sysno::write)])
        .probe(2_100, "try_to_wake_up", &[LO])
        .event(3_000, Sysret, "asm_exit", &[])
        .finish();
    let lanes = lanes(trace.as_slice(), &kernel(), EVERYTHING).unwrap();
    let lo = lanes.threads.iter().find(|lane| lane.pid == 70).unwrap();
    assert_eq!(
        told(&lo.stretches)[2..],
        ["1000 1200 Kernel read", "1200 2100 Sleeping", "2100 3000 Runnable woken"]
    );
    assert!(
        lo.instants.contains(&Instant { ns: 2_100, kind: InstantKind::Woken { by: Some(71) } })
    );
}

#[test]
fn who_waits_for_a_lock_is_blocked() {
    let wait = |events: &dyn Fn(&mut Stream)| {
        let mut stream = stream();
        stream
            .probe(500, "__switch_to", &[HI, LO])
            .event(600, Sysret, "asm_exit", &[])
            .probe(1_000, "entry_SYSCALL_64", &[call(Sysno::ioctl)])
            .probe(1_100, "__mutex_lock", &[1]);
        events(&mut stream);
        let trace = stream
            .probe(1_200, "__schedule", &[])
            .probe(1_300, "__switch_to", &[LO, HI])
            .event(2_000, Sysret, "asm_exit", &[])
            .finish();
        let lanes = lanes(trace.as_slice(), &kernel(), EVERYTHING).unwrap();
        told(&lanes.threads[0].stretches).pop().unwrap()
    };
    assert_eq!(wait(&|_| {}), "1300 2000 Blocked __mutex_lock");
    let sleeps = wait(&|stream| {
        stream.probe(1_150, "hrtimer_start_range_ns", &[1, 2, 3, 4, 5]);
    });
    assert_eq!(sleeps, "1300 2000 Sleeping ioctl");
}

#[test]
fn whoever_yields_still_wants_the_cpu() {
    let trace = stream()
        .probe(500, "__switch_to", &[HI, LO])
        .event(600, Sysret, "asm_exit", &[])
        .probe(1_000, "entry_SYSCALL_64", &[call(Sysno::sched_yield)])
        .probe(1_100, "__schedule", &[])
        .probe(1_200, "__switch_to", &[LO, HI])
        .event(2_000, Sysret, "asm_exit", &[])
        .finish();
    let lanes = lanes(trace.as_slice(), &kernel(), EVERYTHING).unwrap();
    assert_eq!(told(&lanes.threads[0].stretches).pop().unwrap(), "1200 2000 Runnable yielded");
    assert_eq!(lanes.threads[0].switches_involuntary, 1);
}

#[test]
fn a_lazy_request_that_sets_the_flag_was_none() {
    let asked = |flag_ns: u64| {
        let trace = stream()
            .probe(500, "__switch_to", &[HI, LO])
            .event(600, Sysret, "asm_exit", &[])
            .probe(1_000, "resched_curr_lazy", &[])
            .event(flag_ns, NeedReschedSet, "resched_curr", &[])
            .finish();
        let lanes = lanes(trace.as_slice(), &kernel(), EVERYTHING).unwrap();
        lanes.threads[0].instants.clone()
    };
    let instant = |is_lazy| [Instant { ns: 1_000, kind: InstantKind::ReschedAsked { is_lazy } }];
    assert_eq!(asked(1_020), instant(false));
    assert_eq!(asked(900_000), instant(true));
}

#[test]
fn lanes_have_no_gaps_and_are_kept() {
    let lanes = lanes(busy(40).as_slice(), &kernel(), EVERYTHING).unwrap();
    let threads = lanes.threads.iter().map(|lane| &lane.stretches);
    for stretches in threads.chain(lanes.cpus.iter().map(|lane| &lane.stretches)) {
        assert!(stretches.windows(2).all(|pair| pair[0].end_ns == pair[1].start_ns));
        assert!(stretches.iter().all(|stretch| stretch.end_ns > stretch.start_ns));
        assert_eq!(stretches.last().map(|stretch| stretch.end_ns), Some(lanes.end_ns));
    }
}

/// A thread sleeps on one CPU, is woken by another that is behind, and runs on a third: each has a clock.
#[test]
fn a_thread_that_moves_to_a_cpu_behind_has_one_state_at_a_time() {
    let mut stream = Stream::with_clocks();
    stream
        .task(&task(IDLE, 0, 0, 120, "swapper/0"))
        .task(&task(LO, 70, 70, 69, "lo"))
        .task(&task(HI, 71, 71, 49, "hi"));
    stream.on(1).probe(400, "__switch_to", &[IDLE, LO]).event(600, Sysret, "asm_exit", &[]);
    stream
        .on(0)
        .probe(500, "__switch_to", &[IDLE, HI])
        .event(600, Sysret, "asm_exit", &[])
        .probe(1_900, "entry_SYSCALL_64", &[call(Sysno::read)])
        .probe(1_950, "__schedule", &[])
        .probe(2_000, "__switch_to", &[HI, IDLE]);
    stream
        .on(1)
        .probe(1_600, "entry_SYSCALL_64", &[call(Sysno::write)])
        .probe(1_700, "try_to_wake_up", &[HI])
        .event(2_500, Sysret, "asm_exit", &[]);
    stream
        .on(2)
        .probe(1_800, "__switch_to", &[IDLE, HI])
        .event(1_850, Sysret, "asm_exit", &[])
        .probe(2_600, "entry_SYSCALL_64", &[call(Sysno::read)]);
    let trace = stream.finish();
    let lanes = lanes(trace.as_slice(), &kernel(), EVERYTHING).unwrap();
    let hi = lanes.threads.iter().find(|lane| lane.pid == 71).unwrap();
    assert_eq!(
        told(&hi.stretches)[1..],
        ["600 1900 User", "1900 2000 Kernel read", "2000 2600 User"]
    );
    assert_eq!(hi.instants, [Instant { ns: 2_000, kind: InstantKind::Woken { by: Some(70) } }]);
    assert_eq!(lanes.end_ns, 2_600);
}
