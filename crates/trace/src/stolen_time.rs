//! Time that is stolen from a CPU: a cause of late wakeups, and no part of a section.

use preemptlab_protocol::trace::stream::SiteKind::{
    ExceptionReturn, IrqsOff, IrqsOn, Stolen, Sysret,
};

use crate::{
    Cause, Opportunities, Target, Window,
    cpu::Machine,
    decode::{Decoder, Item},
    findings,
    testing::{PROBE, Stream, kernel, task},
    timelines, wakeups, worst_instant,
};

const WORKER: u64 = 0xa1;
const SLEEPER: u64 = 0xa2;
const USER_CS: u64 = 0x33;
const WINDOW: Window = Window { start_ns: 900_000, end_ns: u64::MAX };

fn target() -> Target<'static> {
    Target { comm: PROBE, is_realtime: true, first_waits: true }
}

/// Returns a trace of the probe's wakeups, 1 ms apart, on a CPU with a worker from which time was stolen
/// until some times, for some nanoseconds.
fn trace(wakeups: u64, stolen: &[(u64, u64)]) -> Vec<u8> {
    let mut stream = Stream::new();
    stream.task(&task(WORKER, 70, 70, 120, "worker")).task(&task(SLEEPER, 72, 71, 9, PROBE));
    stream.on(0).probe(1_000, "__switch_to", &[WORKER, SLEEPER]);
    stream.event(2_000, Sysret, "asm_exit", &[]);
    for due_ns in (1..=wakeups).map(|ms| ms * 1_000_000) {
        stream
            .probe(due_ns - 900_000, "entry_SYSCALL_64", &[230])
            .probe(due_ns - 890_000, "__schedule", &[])
            .probe(due_ns - 880_000, "__switch_to", &[SLEEPER, WORKER])
            .event(due_ns - 870_000, Sysret, "asm_exit", &[]);
        let mut ns = due_ns;
        for &(until_ns, len_ns) in stolen {
            if (due_ns - 870_000..due_ns + 100_000).contains(&until_ns) {
                stream.event(until_ns, Stolen, "default_idle", &[len_ns]);
                ns = ns.max(until_ns);
            }
        }
        stream
            .probe(ns + 10, "asm_sysvec_apic_timer_interrupt", &[0x40_0000, USER_CS])
            .probe(ns + 60, "hrtimer_wakeup", &[1, due_ns, SLEEPER, 0, 0, 1, 0, 0])
            .probe(ns + 70, "try_to_wake_up", &[SLEEPER])
            .probe(ns + 200, "__switch_to", &[WORKER, SLEEPER])
            .event(ns + 300, Sysret, "asm_exit", &[]);
    }
    stream.finish()
}

#[test]
fn a_wakeup_that_comes_into_a_gap_waits_for_its_end() {
    let (trace, kernel) = (trace(1, &[(1_003_000, 3_500)]), kernel());
    let found = wakeups(trace.as_slice(), &kernel, target(), WINDOW).unwrap();
    assert_eq!(found[0].latency_ns(), 3_300);
    let drawn = timelines(trace.as_slice(), &kernel, found).unwrap();
    let first = &drawn[0].segments[0];
    assert_eq!((first.cause, first.start_ns, first.end_ns), (Cause::Stolen, 1_000_000, 1_003_000));
    assert_eq!((first.function.as_deref(), first.comm.as_str()), (None, "worker"));
    assert_eq!(drawn[0].causes()[0], (Cause::Stolen, 3_000));
    assert!(drawn[0].segments[1..].iter().all(|segment| segment.cause != Cause::Stolen));
}

/// A gap in which no wakeup was due: one that had been would have waited for all of it.
#[test]
fn every_instant_of_a_gap_waits_for_its_end() {
    let (trace, kernel) = (trace(3, &[(1_500_000, 50_000)]), kernel());
    let everywhere = Opportunities::Everywhere;
    let found = findings(trace.as_slice(), &kernel, target(), everywhere, WINDOW).unwrap();
    let bound = found.bound.unwrap();
    let longest = bound.longest[0];
    assert_eq!((longest.start_ns, longest.end_ns), (1_450_000, 1_500_000));
    let worst = worst_instant(|| Ok(trace.as_slice()), &kernel, target(), WINDOW, &bound);
    let worst = worst.unwrap().unwrap();
    assert_eq!((worst.ns, worst.to_string().as_str()), (1_450_000, "stolen time"));
}

#[test]
fn a_section_is_not_to_blame_for_what_was_stolen_in_it() {
    let mut stream = Stream::new();
    stream.task(&task(WORKER, 70, 70, 120, "worker"));
    stream
        .on(0)
        .probe(1_000, "__switch_to", &[SLEEPER, WORKER])
        .event(1_100, Sysret, "asm_exit", &[])
        .probe(2_000, "entry_SYSCALL_64", &[1])
        .event(2_010, IrqsOn, "do_syscall_64", &[])
        .event(3_000, IrqsOff, "do_syscall_64", &[])
        .event(7_000, Stolen, "default_idle", &[3_500])
        .event(7_200, IrqsOn, "do_syscall_64", &[])
        .event(8_000, IrqsOff, "do_syscall_64", &[])
        .event(8_100, ExceptionReturn, "asm_exit", &[1]);
    let (trace, kernel) = (stream.finish(), kernel());
    let mut decoder = Decoder::new(trace.as_slice(), kernel.program()).unwrap();
    let mut machine = Machine::default();
    let mut own_ns = Vec::new();
    while let Some(item) = decoder.next_item().unwrap() {
        match item {
            Item::Event(event) => {
                own_ns.extend(machine.follow(&kernel, &event).map(|ended| ended.own_ns()));
            }
            Item::Task(task) => machine.describe(task).unwrap(),
            Item::Stack(_) => {}
        }
    }
    assert_eq!(own_ns, [10, 700, 100]);
}
