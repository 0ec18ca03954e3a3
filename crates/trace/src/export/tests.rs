//! Both exports, of a trace in which everything happens once.

use std::{collections::BTreeMap, fmt::Write as _};

use preemptlab_protocol::trace::stream::SiteKind::{
    ExceptionReturn, Halt, IrqsOff, IrqsOn, NeedReschedClear, NeedReschedSet, PreemptAdd, Sysret,
};
use proptest::prelude::*;
use prost::Message;

use super::*;
use crate::{
    decode::Task,
    explain::Window,
    export::proto::{Ftrace, INSTANT, SLICE_BEGIN, SLICE_END, TracePacket},
    testing::{Stream, address, kernel, task},
};

const IDLE: u64 = 0xa0;
const WORKER: u64 = 0xa1;
const SLEEPER: u64 = 0xa2;
const OTHER_IDLE: u64 = 0xa3;
const THREAD: u64 = 0xa4;
const KERNEL_CS: u64 = 0x10;
const USER_CS: u64 = 0x33;

fn tasks() -> [Task; 5] {
    [
        task(IDLE, 0, 0, 120, "swapper/0"),
        task(WORKER, 70, 70, 120, "worker"),
        task(SLEEPER, 72, 71, 9, "sleeper x"),
        task(OTHER_IDLE, 0, 0, 120, "swapper/1"),
        task(THREAD, 21, 21, 120, "kworker/1:0"),
    ]
}

/// Returns a trace in which a worker sleeps in a system call. A timer interrupts the call and wakes
/// a task that is more urgent, to which the worker gives way; meanwhile another CPU goes idle.
fn trace() -> Vec<u8> {
    let mut stream = Stream::new();
    for task in tasks() {
        stream.task(&task);
    }
    stream
        .on(0)
        .event(1_000, IrqsOff, "_raw_spin_lock_irq", &[])
        .probe(1_010, "__switch_to", &[IDLE, WORKER])
        .event(1_020, IrqsOn, "finish_task_switch", &[])
        .event(1_090, IrqsOff, "syscall_exit_to_user_mode", &[])
        .event(1_100, Sysret, "asm_exit", &[])
        .probe(2_000, "entry_SYSCALL_64", &[35])
        .event(2_010, IrqsOn, "do_syscall_64", &[])
        .event(2_100, PreemptAdd(1), "_raw_spin_lock", &[])
        .probe(3_000, "asm_sysvec_apic_timer_interrupt", &[address("_raw_spin_lock"), KERNEL_CS])
        .stack(&["do_nanosleep", "do_syscall_64"])
        .event(3_010, PreemptAdd(0x1_0000), "irq_enter_rcu", &[])
        .probe(3_050, "try_to_wake_up", &[SLEEPER])
        .probe(3_060, "resched_curr", &[])
        .event(3_070, NeedReschedSet, "resched_curr", &[])
        .event(3_100, PreemptAdd(-0x1_0000), "irq_exit_rcu", &[])
        .event(3_110, PreemptAdd(0x100), "handle_softirqs", &[])
        .event(3_120, IrqsOn, "handle_softirqs", &[])
        .probe(3_130, "run_timer_softirq", &[])
        .probe(3_140, "workqueue_softirq_action", &[])
        .probe(3_200, "rcu_core_si", &[])
        .event(3_290, IrqsOff, "handle_softirqs", &[])
        .event(3_300, PreemptAdd(-0x100), "handle_softirqs", &[])
        .event(3_310, ExceptionReturn, "asm_exit", &[0])
        .event(14_000, PreemptAdd(-1), "_raw_spin_unlock", &[])
        .stack(&["do_nanosleep", "do_syscall_64"])
        .probe(14_010, "__schedule", &[])
        .event(14_015, IrqsOff, "__schedule", &[])
        .event(14_020, NeedReschedClear, "__schedule", &[])
        .probe(14_030, "__switch_to", &[WORKER, SLEEPER])
        .event(14_040, IrqsOn, "finish_task_switch", &[])
        .event(14_050, IrqsOff, "syscall_exit_to_user_mode", &[])
        .event(14_060, Sysret, "asm_exit", &[])
        .on(1)
        .event(15_000, IrqsOff, "__schedule", &[])
        .probe(15_010, "__switch_to", &[THREAD, OTHER_IDLE])
        .event(15_020, IrqsOn, "finish_task_switch", &[])
        .event(15_030, Halt, "default_idle", &[])
        .on(0)
        .probe(20_000, "entry_SYSCALL_64", &[230])
        .event(20_010, IrqsOn, "do_syscall_64", &[])
        .probe(20_020, "__schedule", &[])
        .event(20_030, IrqsOff, "__schedule", &[])
        .probe(20_040, "__switch_to", &[SLEEPER, WORKER])
        .event(20_050, IrqsOn, "finish_task_switch", &[])
        .event(20_100, IrqsOff, "syscall_exit_to_user_mode", &[])
        .event(20_110, Sysret, "asm_exit", &[])
        .probe(22_000, "asm_exc_page_fault", &[0x1000, USER_CS])
        .event(22_010, IrqsOn, "do_syscall_64", &[])
        .event(22_100, IrqsOff, "asm_exit", &[])
        .event(22_110, ExceptionReturn, "asm_exit", &[1])
        .on(1)
        .probe(23_000, "asm_common_interrupt", &[address("default_idle"), KERNEL_CS])
        .event(23_010, PreemptAdd(0x1_0000), "irq_enter_rcu", &[])
        .event(23_020, PreemptAdd(-0x1_0000), "irq_exit_rcu", &[])
        .event(23_030, ExceptionReturn, "asm_exit", &[0])
        .on(0)
        .probe(24_000, "entry_SYSCALL_64", &[231])
        .finish()
}

fn text(trace: &[u8], window: Option<Window>) -> Result<String, ExportError> {
    let mut out = Vec::new();
    ftrace_text(trace, &kernel(), window, &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

/// `Trace` of trace/trace.proto.
#[derive(Clone, PartialEq, prost::Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<TracePacket>,
}

fn packets(trace: &[u8], window: Option<Window>) -> Result<Vec<TracePacket>, ExportError> {
    let mut out = Vec::new();
    perfetto(trace, &kernel(), window, &mut out)?;
    Ok(Trace::decode(&out[..]).unwrap().packet)
}

/// Reads packets like a viewer: returns the time, the track and the event of each slice, in order.
/// Fails where a viewer would complain.
fn slices(packets: &[TracePacket]) -> Vec<(u64, String, String)> {
    let (mut tracks, mut names) = (BTreeMap::new(), BTreeMap::new());
    let mut slices = Vec::new();
    for packet in packets {
        if let Some(track) = &packet.track_descriptor {
            let name = match (&track.thread, &track.name) {
                (Some(thread), _) => format!("thread {}", thread.tid.unwrap()),
                (None, Some(name)) => match track.parent_uuid {
                    Some(parent) => format!("{} {name}", tracks[&parent]),
                    None => name.clone(),
                },
                (None, None) => panic!("a track without a name"),
            };
            assert_eq!(tracks.insert(track.uuid.unwrap(), name), None, "a track twice");
        }
        for name in packet.interned_data.iter().flat_map(|data| &data.event_names) {
            let known = names.insert(name.iid.unwrap(), name.name.clone().unwrap());
            assert_eq!(known, None, "a name twice");
        }
        let Some(event) = &packet.track_event else { continue };
        let name = event.name_iid.map(|iid| names[&iid].clone()).unwrap_or_default();
        let what = match event.r#type.unwrap() {
            SLICE_BEGIN => format!("{{ {name}"),
            SLICE_END => "}".to_owned(),
            INSTANT => format!("! {name}"),
            other => panic!("a kind of event that is not used: {other}"),
        };
        let annotations = event.debug_annotations.iter().map(|annotation| {
            let value = annotation.string_value.as_deref().unwrap();
            format!(" [{}: {value}]", annotation.name.as_deref().unwrap())
        });
        let what = annotations.fold(what, |what, annotation| what + &annotation);
        let track = tracks[&event.track_uuid.unwrap()].clone();
        slices.push((packet.timestamp.unwrap(), track, what));
    }
    // Sections are written at their ends.
    slices.sort_by_key(|(ns, ..)| *ns);
    let mut open: BTreeMap<&str, u32> = BTreeMap::new();
    for (ns, track, what) in &slices {
        let open = open.entry(track).or_default();
        match what.as_bytes()[0] {
            b'{' => *open += 1,
            b'}' => *open = open.checked_sub(1).unwrap_or_else(|| panic!("{track} at {ns}")),
            _ => {}
        }
    }
    slices
}

/// Returns the events of ftrace, with their CPUs.
fn ftrace(packets: &[TracePacket]) -> Vec<(u64, u32, u32, Ftrace)> {
    let bundles = packets.iter().filter_map(|packet| packet.ftrace_events.as_ref());
    let mut events: Vec<_> = bundles
        .flat_map(|bundle| bundle.event.iter().map(|event| (bundle.cpu.unwrap(), event)))
        .map(|(cpu, event)| {
            let content = event.event.clone().unwrap();
            (event.timestamp.unwrap(), cpu, event.pid.unwrap(), content)
        })
        .collect();
    events.sort_by_key(|(ns, ..)| *ns);
    events
}

#[test]
fn the_text_is_what_a_kernel_shows() {
    insta::assert_snapshot!(text(&trace(), None).unwrap());
}

#[test]
fn perfetto_shows_slices() {
    let packets = packets(&trace(), None).unwrap();
    let mut shown = String::new();
    for (ns, track, what) in slices(&packets) {
        writeln!(shown, "{ns:>6} {track:<25} {what}").unwrap();
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn perfetto_is_told_of_the_scheduler() {
    let packets = packets(&trace(), None).unwrap();
    let mut shown = String::new();
    for (ns, cpu, pid, event) in ftrace(&packets) {
        writeln!(shown, "{ns:>6} [{cpu}] {pid:>3} {event:?}").unwrap();
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn perfetto_knows_the_clock_and_the_tasks() {
    let packets = packets(&trace(), None).unwrap();
    assert!(packets[0].trace_config.is_some());
    assert_eq!(packets[0].sequence_flags, Some(proto::INCREMENTAL_STATE_CLEARED));
    let clocks: Vec<_> =
        packets.iter().filter_map(|packet| packet.clock_snapshot.as_ref()).collect();
    assert_eq!(clocks.len(), 1);
    assert_eq!(clocks[0].primary_trace_clock, Some(proto::CLOCK_BOOTTIME));
    assert_eq!(clocks[0].clocks[0].timestamp, Some(1_000));
    let trees = packets.iter().filter_map(|packet| packet.process_tree.as_ref());
    let threads: Vec<_> = trees.flat_map(|tree| &tree.threads).collect();
    let known: Vec<_> = threads
        .iter()
        .map(|thread| (thread.tid.unwrap(), thread.tgid.unwrap(), thread.name.as_deref().unwrap()))
        .collect();
    // The idle tasks are known to every viewer.
    assert_eq!(known, [(70, 70, "worker"), (72, 71, "sleeper x"), (21, 21, "kworker/1:0")]);
}

#[test]
fn what_goes_on_at_the_start_of_a_window_begins_there() {
    let window = Window { start_ns: 3_020, end_ns: 14_000 };
    let packets = packets(&trace(), Some(window)).unwrap();
    let slices = slices(&packets);
    let begun: Vec<&str> = slices
        .iter()
        .filter(|(ns, ..)| *ns == window.start_ns)
        .map(|(_, track, _)| track.as_str())
        .collect();
    assert_eq!(
        begun,
        ["thread 70", "CPU 0 hard interrupt", "CPU 0 interrupts off", "CPU 0 preemption off"]
    );
    let (ns, track, what) = slices.last().unwrap();
    assert_eq!((*ns, track.as_str(), what.as_str()), (14_000, "CPU 0 preemption off", "}"));
    // The text lists events only.
    let text = text(&trace(), Some(window)).unwrap();
    let first = text.lines().find(|line| !line.starts_with('#')).unwrap();
    assert!(first.ends_with(": sched_waking: comm=sleeper x pid=72 prio=9"), "{first}");
}

#[test]
fn a_section_whose_end_was_not_seen_is_not_shown() {
    let mut stream = Stream::new();
    for task in tasks() {
        stream.task(&task);
    }
    let trace = stream
        .probe(10, "__switch_to", &[IDLE, WORKER])
        .event(20, Sysret, "asm_exit", &[])
        .probe(30, "entry_SYSCALL_64", &[1])
        .event(40, PreemptAdd(1), "_raw_spin_lock", &[])
        .event(50, Sysret, "asm_exit", &[])
        .finish();
    let slices = slices(&packets(&trace, None).unwrap());
    assert!(slices.iter().all(|(_, track, _)| track != "CPU 0 preemption off"), "{slices:?}");
    let text = text(&trace, None).unwrap();
    assert_eq!(text.matches("preempt_disable").count(), 1);
    assert_eq!(text.matches("preempt_enable").count(), 0);
}

#[test]
fn a_task_that_changes_is_told_again() {
    let mut stream = Stream::new();
    for task in tasks() {
        stream.task(&task);
    }
    let trace = stream
        .probe(10, "__switch_to", &[IDLE, WORKER])
        .task(&task(WORKER, 70, 70, 120, "renamed"))
        .probe(20, "__switch_to", &[WORKER, IDLE])
        .probe(30, "__switch_to", &[IDLE, WORKER])
        .finish();
    let packets = packets(&trace, None).unwrap();
    let trees = packets.iter().filter_map(|packet| packet.process_tree.as_ref());
    let names: Vec<_> = trees.flat_map(|tree| &tree.threads).map(|thread| &thread.name).collect();
    assert_eq!(names, [&Some("worker".to_owned()), &Some("renamed".to_owned())]);
    assert!(text(&trace, None).unwrap().contains("prev_comm=renamed prev_pid=70"));
}

#[test]
fn what_cannot_be_written_is_an_error() {
    struct Full;
    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let trace = trace();
    let error = perfetto(&trace[..], &kernel(), None, Full).unwrap_err();
    assert!(matches!(error, ExportError::Write(_)), "{error}");
    let error = ftrace_text(&trace[..], &kernel(), None, Full).unwrap_err();
    assert!(matches!(error, ExportError::Write(_)), "{error}");
    let error = text(&trace[..trace.len() - 4], None).unwrap_err();
    assert!(matches!(error, ExportError::Trace(TraceError::Truncated(_))), "{error}");
}

/// A CPU that is behind another one is in the window as long as its own clock is, and its state at the
/// start is that before its own first event there.
#[test]
fn a_window_ends_for_each_cpu_at_its_own_time() {
    let mut stream = Stream::with_clocks();
    for task in tasks() {
        stream.task(&task);
    }
    for (cpu, next) in [(0, WORKER), (1, THREAD)] {
        stream
            .on(cpu)
            .probe(1_000, "__switch_to", &[IDLE, next])
            .event(1_100, Sysret, "asm_exit", &[])
            .probe(1_200, "entry_SYSCALL_64", &[35])
            .event(1_300, IrqsOn, "do_syscall_64", &[]);
    }
    stream.on(0).event(5_100, PreemptAdd(1), "_raw_spin_lock", &[]);
    stream.event(6_100, PreemptAdd(-1), "_raw_spin_unlock", &[]);
    stream.on(1).event(4_900, PreemptAdd(1), "_raw_spin_lock", &[]);
    stream.event(5_900, PreemptAdd(-1), "_raw_spin_unlock", &[]);
    let trace = stream.finish();
    let window = Window { start_ns: 5_000, end_ns: 6_000 };
    let shown: Vec<_> = slices(&packets(&trace, Some(window)).unwrap())
        .into_iter()
        .filter(|(_, track, _)| track.ends_with("preemption off"))
        .map(|(ns, track, what)| format!("{ns} {track} {what}"))
        .collect();
    assert_eq!(
        shown,
        [
            "5000 CPU 1 preemption off { _raw_spin_lock",
            "5100 CPU 0 preemption off { _raw_spin_lock",
            "5900 CPU 1 preemption off }",
        ]
    );
    let text = text(&trace, Some(window)).unwrap();
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].contains("[000]") && lines[1].contains("[001]"), "{text}");
}

/// Generates an event at any time, however little sense it makes.
fn any_event() -> impl Strategy<Value = (u64, u32, usize, u64, u64)> {
    (0..40_u64, 0..3_u32, 0..22_usize, 0xa0..0xa6_u64, 0xa0..0xa6_u64)
}

/// Generates a trace of any events, at ascending times; where each CPU has a clock a CPU with a higher
/// number is behind, as far as it may be.
fn any_trace() -> impl Strategy<Value = Vec<u8>> {
    let events = prop::collection::vec(any_event(), 0..200);
    (events, any::<bool>()).prop_map(|(events, has_clocks)| {
        let mut stream = if has_clocks { Stream::with_clocks() } else { Stream::new() };
        for task in tasks() {
            stream.task(&task);
        }
        let mut first_ns = 1_000;
        for (later_ns, cpu, kind, one, two) in events {
            first_ns += later_ns;
            let behind_ns = if has_clocks { u64::from(cpu) * 450 } else { 0 };
            let ns = first_ns - behind_ns;
            stream.on(cpu);
            match kind {
                0..=2 => stream.probe(ns, "__switch_to", &[one, two]),
                3 => stream.probe(ns, "try_to_wake_up", &[one]),
                4 => stream.probe(ns, "__schedule", &[]),
                5 => stream.probe(ns, "resched_curr_lazy", &[]),
                6 => stream.probe(ns, "entry_SYSCALL_64", &[one * 100]),
                7 => stream.probe(ns, "run_timer_softirq", &[]),
                8 => stream.probe(ns, "asm_common_interrupt", &[0, one & 3]),
                9 => stream.probe(ns, "asm_exc_page_fault", &[0, one & 3]),
                10 => stream.event(ns, PreemptAdd(1), "_raw_spin_lock", &[]),
                11 => {
                    stream.event(ns, PreemptAdd(-1), "_raw_spin_unlock", &[]).stack(&["asm_exit"])
                }
                12 => stream.event(ns, PreemptAdd(0x100), "handle_softirqs", &[]),
                13 => stream.event(ns, PreemptAdd(-0x100), "handle_softirqs", &[]),
                14 => stream.event(ns, PreemptAdd(0x1_0000), "irq_enter_rcu", &[]),
                15 => stream.event(ns, PreemptAdd(-0x1_0000), "irq_exit_rcu", &[]),
                16 => stream.event(ns, IrqsOff, "_raw_spin_lock_irq", &[]),
                17 => stream.event(ns, IrqsOn, "finish_task_switch", &[]).stack(&["do_nanosleep"]),
                18 => stream.event(ns, NeedReschedSet, "resched_curr", &[]),
                19 => stream.event(ns, Halt, "default_idle", &[]),
                20 => stream.event(ns, ExceptionReturn, "asm_exit", &[one & 1]),
                _ => stream.event(ns, Sysret, "asm_exit", &[]),
            };
        }
        stream.finish()
    })
}

proptest! {
    #[test]
    fn slices_nest_and_stay_in_the_window(
        trace in any_trace(),
        start_ns in 0..5_000_u64,
        len_ns in 0..5_000_u64,
    ) {
        let window = Window { start_ns, end_ns: start_ns + len_ns };
        let packets = packets(&trace, Some(window)).unwrap();
        for (ns, ..) in slices(&packets) {
            prop_assert!(window.contains(ns));
        }
        for (ns, ..) in ftrace(&packets) {
            prop_assert!(window.contains(ns));
        }
        let mut last_ns = 0;
        for line in text(&trace, Some(window)).unwrap().lines().filter(|line| !line.starts_with('#')) {
            let time = line.split_whitespace().find_map(|word| {
                let (seconds, ns) = word.strip_suffix(':')?.split_once('.')?;
                Some(seconds.parse::<u64>().ok()? * 1_000_000_000 + ns.parse::<u64>().ok()?)
            });
            prop_assert!(time.is_some_and(|ns| window.contains(ns)), "{}", line);
            prop_assert!(time.is_some_and(|ns| ns >= last_ns), "{}", line);
            last_ns = time.unwrap_or(last_ns);
        }
    }

    #[test]
    fn damaged_traces_never_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut trace = trace();
        for (place, value) in flips {
            let place = place.index(trace.len());
            trace[place] = value;
        }
        let window = Window { start_ns: 3_000, end_ns: u64::MAX };
        for window in [None, Some(window)] {
            let _ = text(&trace, window);
            let _ = packets(&trace, window);
        }
    }
}
