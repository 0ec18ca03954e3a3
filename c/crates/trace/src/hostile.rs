//! Traces that are none: whatever the bytes are, nothing panics.

use preemptlab_protocol::trace::stream::SiteKind;
use proptest::{prelude::*, sample::Index};

use crate::{
    Decoder, Item, Opportunities, Target, TraceError, Window, findings,
    testing::{PROBE, Stream, busy, kernel, read_in_every_way, task},
    timelines, wakeups, worst,
};

const EVERYTHING: Window = Window { start_ns: 0, end_ns: u64::MAX };

fn read(trace: &[u8]) -> Result<u64, TraceError> {
    let kernel = kernel();
    let mut decoder = Decoder::new(trace, kernel.program())?;
    let mut events = 0;
    while let Some(item) = decoder.next_item()? {
        events += u64::from(matches!(item, Item::Event(_)));
    }
    Ok(events)
}

#[test]
fn the_busy_trace_is_understood() {
    let (trace, kernel) = (busy(5), kernel());
    let target = Target { comm: PROBE, is_realtime: true, first_waits: true };
    let found = wakeups(trace.as_slice(), &kernel, target, EVERYTHING).unwrap();
    assert_eq!(found.len(), 5);
    assert!(found.iter().all(|wakeup| wakeup.latency_ns() == 21_050));
    let drawn = timelines(trace.as_slice(), &kernel, worst(found, 1)).unwrap();
    let segments: u64 = drawn[0].segments.iter().map(|segment| segment.len_ns()).sum();
    assert_eq!(segments, 21_050);
    let all = Opportunities::Everywhere;
    let findings = findings(trace.as_slice(), &kernel, target, all, EVERYTHING).unwrap();
    assert!(findings.bound.is_some_and(|bound| bound.max_ns() > 60_000));
}

#[test]
fn every_cut_is_noticed() {
    let trace = busy(2);
    for length in 0..trace.len() {
        let error = read(&trace[..length]).unwrap_err();
        assert!(matches!(error, TraceError::Truncated(_) | TraceError::Magic), "{length}: {error}");
    }
}

#[test]
fn what_follows_the_end_is_noticed() {
    let mut trace = busy(1);
    trace.push(0);
    assert!(matches!(read(&trace), Err(TraceError::Corrupted { .. })));
}

#[test]
fn a_probe_that_is_elsewhere_belongs_to_another_kernel() {
    let mut layout = crate::testing::layout();
    for probe in &mut layout.program.probes {
        probe.address += 0x1000;
    }
    let other = crate::Kernel::new(crate::testing::ARCH, layout).unwrap();
    let target = Target { comm: PROBE, is_realtime: true, first_waits: true };
    let error = wakeups(busy(1).as_slice(), &other, target, EVERYTHING).unwrap_err();
    assert!(matches!(error, TraceError::Program), "{error}");
}

/// A CPU that is behind is damage where the CPUs share a clock, and not where each has one.
#[test]
fn the_time_of_each_cpu_goes_forward() {
    let of = |mut stream: Stream| {
        stream.on(0).probe(1_000, "__schedule", &[]).on(8191).probe(700, "__schedule", &[]);
        stream.on(0).probe(1_100, "__schedule", &[]);
        stream.finish()
    };
    assert_eq!(read(&of(Stream::with_clocks())).unwrap(), 3);
    assert!(matches!(read(&of(Stream::new())), Err(TraceError::Corrupted { .. })));
    let mut stream = Stream::with_clocks();
    stream.on(0).probe(1_000, "__schedule", &[]).on(1).probe(1_000, "__schedule", &[]);
    stream.on(0).probe(900, "__schedule", &[]);
    assert!(matches!(read(&stream.finish()), Err(TraceError::Corrupted { .. })));
    // No kernel has a CPU of this number. Each CPU would take memory.
    let mut stream = Stream::with_clocks();
    stream.on(8192).probe(1_000, "__schedule", &[]);
    assert!(matches!(read(&stream.finish()), Err(TraceError::Corrupted { .. })));
}

/// Times that the guest tells may be any, and go back.
#[test]
fn wakeups_in_the_wrong_order_are_an_error_at_worst() {
    let mut stream = Stream::new();
    stream.task(&task(9, 72, 71, 9, PROBE)).on(0).probe(10, "__switch_to", &[8, 9]);
    for (ns, due_ns) in [(1_000, u64::MAX), (2_000, u64::MAX >> 1), (3_000, 500)] {
        stream.probe(ns, "hrtimer_wakeup", &[1, due_ns, 9, 0, 0, 1, 0, 0]);
        stream.event(ns + 1, SiteKind::Sysret, "asm_exit", &[]);
    }
    let trace = stream.finish();
    let target = Target { comm: PROBE, is_realtime: true, first_waits: true };
    let all = Opportunities::Everywhere;
    let findings = findings(trace.as_slice(), &kernel(), target, all, EVERYTHING).unwrap();
    assert!(findings.bound.is_some());
    read_in_every_way(&trace, &kernel());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_bytes_are_an_error_at_worst(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let mut trace = busy(0);
        trace.truncate(12);
        trace.extend(bytes);
        read_in_every_way(&trace, &kernel());
    }

    #[test]
    fn any_damage_is_an_error_at_worst(
        changes in prop::collection::vec((any::<Index>(), any::<u8>()), 1..20),
        cuts in prop::collection::vec((any::<Index>(), 0_usize..40), 0..4),
    ) {
        let mut trace = busy(6);
        for (index, byte) in changes {
            let place = index.index(trace.len());
            trace[place] = byte;
        }
        for (index, length) in cuts {
            let start = index.index(trace.len());
            let end = trace.len().min(start + length);
            trace.drain(start..end);
        }
        read_in_every_way(&trace, &kernel());
    }

    /// Traces of the right shape with any numbers are an error at worst.
    #[test]
    fn any_numbers_are_an_error_at_worst(
        events in prop::collection::vec((0_usize..16, 0..1_u64 << 60, any::<[u64; 8]>()), 0..200),
    ) {
        read_in_every_way(&crate::testing::events(&events), &kernel());
    }

    /// Likewise where each CPU has a clock, and the clocks are as far apart as may be.
    #[test]
    fn any_clocks_are_an_error_at_worst(
        cpus in 2_u32..5,
        events in prop::collection::vec((0_usize..16, 0..1_u64 << 60, any::<[u64; 8]>()), 0..200),
    ) {
        read_in_every_way(&crate::testing::events_of_cpus(cpus, &events), &kernel());
    }
}
