//! Timelines as a sentence, for a terminal and as a picture: small ones, and hostile ones.

use preemptlab_analysis::wakeup::{cause_in_words, one_sentence};
use preemptlab_report::{Lane, Terminal, timeline_svg, timeline_terminal};
use preemptlab_trace::{Cause, Folded, Segment, Task, Timeline, Wakeup};
use proptest::prelude::*;

const TERMINAL: Terminal = Terminal { width: 100, color: false };
const DUE_NS: u64 = 9_118_023_173;
const HOSTILE: &str = "</svg><script>alert('1')</script>\u{1b}[2J\n\u{202e}\u{0}&amp;\"|";

/// Returns a wakeup of a real-time task, whose timer's function runs a microsecond after the due
/// time, and which reaches user space a microsecond after the switch.
fn wakeup(latency_ns: u64) -> Wakeup {
    Wakeup {
        task: Task {
            address: 0xffff_8880_0123_4000,
            pid: 206,
            tgid: 204,
            prio: 9,
            comm: "cyclictest".to_owned(),
        },
        ordinal: 831,
        cpu: 0,
        due_ns: DUE_NS,
        due_monotonic_ns: DUE_NS,
        timer_cpu: 0,
        expire_ns: DUE_NS + latency_ns.min(1000),
        switch_ns: DUE_NS + latency_ns.saturating_sub(1000),
        user_ns: DUE_NS + latency_ns,
    }
}

/// Returns a timeline of segments that follow each other, with these lengths.
fn timeline(segments: impl IntoIterator<Item = (u64, Segment)>) -> Timeline {
    let mut end_ns = DUE_NS;
    let place = |(ns, segment): (u64, Segment)| {
        let start_ns = end_ns;
        end_ns += ns;
        Segment { start_ns, end_ns, ..segment }
    };
    let segments: Vec<Segment> = segments.into_iter().map(place).collect();
    Timeline { wakeup: wakeup(end_ns - DUE_NS), segments, other_timers_ns: 0 }
}

fn segment(cause: Cause, function: &str) -> Segment {
    Segment {
        start_ns: 0,
        end_ns: 0,
        cause,
        cpu: None,
        other_cpu: None,
        function: Some(function.to_owned()).filter(|function| !function.is_empty()),
        callers: Vec::new(),
        comm: "hackbench".to_owned(),
        pid: 187,
        context: "write()".to_owned(),
        since_ns: None,
        folded: None,
    }
}

fn of(comm: &str, pid: u32, segment: Segment) -> Segment {
    Segment { comm: comm.to_owned(), pid, ..segment }
}

fn within(context: &str, segment: Segment) -> Segment {
    Segment { context: context.to_owned(), ..segment }
}

fn small() -> Timeline {
    use Cause::*;
    let alloc = Segment {
        callers: vec!["alloc_skb_with_frags".to_owned(), "sock_alloc_send_pskb".to_owned()],
        ..segment(NotPreemptible, "__alloc_skb")
    };
    let slab = segment(PreemptOff, "___slab_alloc");
    let returning = |cause| of("cyclictest", 206, within("clock_nanosleep()", segment(cause, "")));
    timeline([
        (85, segment(TimerPending, "")),
        (3366, within("write() > apic_timer_interrupt", segment(HardIrq, "apic_timer_interrupt"))),
        (996, alloc.clone()),
        (68, slab.clone()),
        (38, segment(IrqsOff, "___slab_alloc")),
        (32, Segment { since_ns: Some(DUE_NS + 4447), ..slab }),
        (8682, alloc.clone()),
        (6256, Segment { since_ns: Some(DUE_NS - 1204), ..segment(IrqsOff, "get_random_u32") }),
        (1834, alloc),
        (3736, segment(Scheduling, "")),
        (406, returning(Scheduling)),
        (914, returning(Return)),
    ])
}

/// Returns the timeline of a fair task that waits for many others.
fn long(turns: u32) -> Timeline {
    let turn = |index: u32| {
        let work = [
            (2438, segment(Cause::FairShare, "")),
            (302, segment(Cause::IrqsOff, "syscall_exit_to_user_mode")),
        ];
        let turn = work.into_iter().cycle().take(20 + index as usize * 4);
        turn.map(move |(ns, segment)| (ns, of("hackbench", 120 + index, segment)))
    };
    timeline((0..turns).flat_map(turn))
}

fn hostile() -> Timeline {
    let hostile = Segment {
        callers: vec!["g".repeat(300), HOSTILE.to_owned()],
        comm: HOSTILE.to_owned(),
        context: HOSTILE.to_owned(),
        ..segment(Cause::PreemptOff, HOSTILE)
    };
    let wide = of("漢字漢字漢字漢字", 1, segment(Cause::IrqsOff, &"漢".repeat(100)));
    let mut timeline = timeline([(9000, hostile), (0, segment(Cause::Softirq, "f")), (700, wide)]);
    timeline.wakeup.task.comm = HOSTILE.to_owned();
    timeline
}

fn svg(timelines: &[&Timeline]) -> String {
    let lane = |timeline| Lane { caption: "debian:6.12 none #1", timeline };
    timeline_svg("Why wakeups were late", &timelines.iter().map(|it| lane(it)).collect::<Vec<_>>())
}

/// Checks that a picture is XML with nothing but the elements that a picture is made of.
fn check(svg: &str) {
    let document = roxmltree::Document::parse(svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
    let known = [
        "svg", "title", "desc", "style", "defs", "pattern", "rect", "path", "line", "text",
        "tspan", "g",
    ];
    for element in document.descendants().filter(roxmltree::Node::is_element) {
        assert!(known.contains(&element.tag_name().name()), "{svg}");
        assert!(element.attributes().all(|attribute| !attribute.name().starts_with("on")));
        for attribute in ["x", "y", "x1", "x2", "width", "height"] {
            let number = element.attribute(attribute).map(|text| text.parse::<f64>().unwrap());
            assert!(number.is_none_or(|number| (0.0..=10_000.0).contains(&number)), "{svg}");
        }
    }
    assert!(!svg.contains(|char: char| char != '\n' && char.is_control()));
}

/// Returns the sum of a terminal's table, in nanoseconds, without its last line, and that last
/// line. An indented line belongs to the line above.
fn sums(text: &str) -> (u64, u64) {
    let is_alike = text.lines().any(|line| line.starts_with("length, us"));
    let table = text.lines().skip_while(|line| !line.starts_with('─')).skip(1);
    let table = table.take_while(|line| !line.is_empty());
    let length = |line: &str| {
        let mut numbers = line.split_whitespace().filter_map(|word| {
            let (us, ns) = word.split_once('.')?;
            (ns.len() == 3).then_some(us.parse::<u64>().ok()? * 1000 + ns.parse::<u64>().ok()?)
        });
        match line.starts_with("       ") {
            _ if is_alike => numbers.next(),
            true if line.contains(" others   ") || line.ends_with("in all") => numbers.next(),
            true => None,
            false => numbers.nth(1),
        }
    };
    let mut lengths: Vec<u64> = table.filter_map(length).collect();
    let sum = lengths.pop().unwrap();
    (lengths.into_iter().sum(), sum)
}

#[test]
fn a_small_timeline_for_a_terminal() {
    let text = timeline_terminal(&small(), TERMINAL);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert_eq!(sums(&text), (26_413, 26_413), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn a_narrow_terminal_with_colours() {
    let text = timeline_terminal(&small(), Terminal { width: 60, color: true });
    insta::assert_snapshot!(text.replace('\u{1b}', "ESC"));
}

#[test]
fn a_long_timeline_lists_turns() {
    let text = timeline_terminal(&long(8), TERMINAL);
    insta::assert_snapshot!(text);
}

/// Interrupts and sections with interrupts off interrupt a section with preemption off.
#[test]
fn one_section_is_one_stretch() {
    let since_ns = Some(DUE_NS - 500);
    let section = |function: &str| Segment { since_ns, ..segment(Cause::PreemptOff, function) };
    let interrupt = within("write() > apic_timer_interrupt", segment(Cause::HardIrq, "apic"));
    let pieces = (0..30).flat_map(|index| {
        let off = segment(Cause::IrqsOff, if index % 2 == 0 { "f" } else { "g" });
        [(1000 + index, section("unmap_page_range")), (700, off)]
    });
    let returning = [(3736, segment(Cause::Scheduling, "")), (914, segment(Cause::Return, ""))];
    let all = std::iter::once((3366, interrupt)).chain(pieces).chain(returning);
    let timeline = timeline(all);
    let text = timeline_terminal(&timeline, TERMINAL);
    let latency_ns = timeline.wakeup.latency_ns();
    assert_eq!(sums(&text), (latency_ns, latency_ns), "{text}");
    assert_eq!(cause_in_words(&timeline), "preemption was off in unmap_page_range");
    insta::assert_snapshot!(text);
}

#[test]
fn what_is_alike_is_one_row() {
    let pieces = (0..30).flat_map(|index| {
        let of_task = |segment| of("postgres", 100 + index, segment);
        [
            (2000 + u64::from(index), of_task(segment(Cause::Scheduling, ""))),
            (700, of_task(segment(Cause::IrqsOff, "f"))),
        ]
    });
    let text = timeline_terminal(&timeline(pieces), TERMINAL);
    insta::assert_snapshot!(text);
}

/// Returns every number with three decimals that a text shows.
fn numbers(text: &str) -> Vec<&str> {
    let is_number = |word: &&str| {
        word.split_once('.').is_some_and(|(us, ns)| {
            ns.len() == 3 && [us, ns].iter().all(|it| it.chars().all(|it| it.is_ascii_digit()))
        })
    };
    text.split([' ', '\n', '–']).filter(is_number).collect()
}

/// Returns a segment that stands for `count` equal ones.
fn folded(count: u64, max_ns: u64, segment: Segment) -> Segment {
    let folded = Folded { count, min_ns: 2, max_ns, has_gaps: false, is_rest: false };
    Segment { folded: Some(folded), ..segment }
}

/// Returns a text with one space between words.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Each piece counts its segments, and the longest single segment is not the longest sum.
#[test]
fn a_thinned_timeline_says_so_and_keeps_its_sums() {
    let met = segment(Cause::NotPreemptible, "mas_wr_bnode");
    let section = segment(Cause::IrqsOff, "put_cpu_partial");
    let parts = [
        (4_000_000, folded(60_000, 2_500, met.clone())),
        (300_000, folded(50_000, 9_000, section.clone())),
        (5_000_000, folded(70_000, 2_600, met)),
        (80_000, segment(Cause::IrqsOff, "free_one_page")),
        (100_000, folded(19_999, 700, section)),
    ];
    let thinned = timeline(parts);
    assert_eq!(
        one_sentence(&thinned),
        "9,480 us late: the kernel was not preemptible in write() of hackbench/187 for 9,000 us (95 %), \
         having been interrupted in mas_wr_bnode."
    );
    let text = words(&timeline_terminal(&thinned, TERMINAL));
    for line in [
        "one stretch of 200000 pieces:",
        "9000.000 94.9 130000 0.002–2.600",
        "400.000 4.2 69999 0.002–9.000",
        "The bar is thinned: 5 pieces stand for 200000 segments;",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    let svg = svg(&[&thinned]);
    check(&svg);
    assert!(svg.contains(">thinned: 5 pieces stand for 200000 segments;"), "{svg}");
    let small = timeline_terminal(&small(), TERMINAL);
    assert!(!small.contains("thinned"), "{small}");
}

/// Where segments of several tasks are one piece there are no turns to count; an unknown segment belongs to
/// no task.
#[test]
fn what_is_not_known_of_a_timeline_is_not_said() {
    let with = |segment: Segment, has_gaps, is_rest| {
        let folded = Folded { count: 1_000, min_ns: 2, max_ns: 900, has_gaps, is_rest };
        Segment { folded: Some(folded), ..segment }
    };
    let of_task = |pid| with(of("worker", pid, segment(Cause::OtherTask, "")), true, false);
    let rest = with(within("", of("", 0, segment(Cause::OtherTask, ""))), true, true);
    let mixed = timeline([(50_000, of_task(1)), (30_000, of_task(2)), (500_000, rest)]);
    assert_eq!(
        one_sentence(&mixed),
        "580 us late: more than 2 other tasks ran for 580 us (100 %), the longest of them \
         worker/1 for 50 us."
    );
    let text = words(&timeline_terminal(&mixed, TERMINAL));
    assert!(text.contains("500.000 86.2 1000 0.002–0.900"), "{text}");
    assert!(text.contains("other (1000 segments)"), "{text}");
    assert!(!text.contains("turns of tasks"), "{text}");
    let rest = with(within("", of("", 0, segment(Cause::NotPreemptible, ""))), true, true);
    let nobodys = timeline([(900, segment(Cause::HardIrq, "irq")), (90_000, rest)]);
    assert_eq!(
        one_sentence(&nobodys),
        "90.9 us late: the kernel was not preemptible for 90 us (99 %)."
    );
    assert_eq!(cause_in_words(&nobodys), "the kernel was not preemptible");
}

#[test]
fn no_number_breaks_however_narrow_the_terminal_is() {
    for timeline in [small(), long(8)] {
        let wide = timeline_terminal(&timeline, TERMINAL);
        for width in [40, 60, 72, 80, 100] {
            let text = timeline_terminal(&timeline, Terminal { width, color: false });
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
            // The axis has marks by width.
            let mut shown = numbers(&text);
            let mut expected = numbers(&wide);
            shown.sort_unstable();
            expected.sort_unstable();
            assert_eq!(shown, expected, "{width}: {text}");
        }
        insta::assert_snapshot!(timeline_terminal(&timeline, Terminal { width: 40, color: false }));
    }
}

#[test]
fn a_small_timeline_as_a_picture() {
    let svg = svg(&[&small()]);
    check(&svg);
    insta::assert_snapshot!(svg);
}

#[test]
fn hostile_names_are_text() {
    let svg = timeline_svg(HOSTILE, &[Lane { caption: HOSTILE, timeline: &hostile() }]);
    check(&svg);
    insta::assert_snapshot!(svg);
    let text = timeline_terminal(&hostile(), TERMINAL);
    assert!(!text.contains(|char: char| char != '\n' && char.is_control()), "{text}");
    insta::assert_snapshot!(text);
    insta::assert_snapshot!(one_sentence(&hostile()));
}

#[test]
fn nothing_known_and_nothing_late() {
    let unknown = Timeline { wakeup: wakeup(29_079), segments: Vec::new(), other_timers_ns: 0 };
    insta::assert_snapshot!(timeline_terminal(&unknown, TERMINAL));
    assert_eq!(
        one_sentence(&unknown),
        "29.1 us late: the trace does not say what happened for 29.1 us (100 %)."
    );
    let punctual = timeline([(0, segment(Cause::Return, ""))]);
    insta::assert_snapshot!(timeline_terminal(&punctual, TERMINAL));
    assert_eq!(one_sentence(&punctual), "Not late.");
    check(&svg(&[]));
    check(&svg(&[&unknown, &punctual]));
    check(&svg(&[&punctual]));
}

#[test]
fn a_wakeup_that_did_not_happen() {
    let mut imagined = timeline([(735_415, segment(Cause::PreemptOff, "unmap_page_range"))]);
    imagined.wakeup.task =
        Task { address: 0, pid: 0, tgid: 0, prio: -1, comm: "the most urgent task".to_owned() };
    insta::assert_snapshot!(one_sentence(&imagined));
    insta::assert_snapshot!(timeline_terminal(&imagined, TERMINAL));
    let svg = svg(&[&imagined]);
    check(&svg);
    assert!(!svg.contains("class=\"mark\""), "{svg}");
}

#[test]
fn every_cause_has_a_sentence() {
    let told = |parts: &[(u64, Segment)]| one_sentence(&timeline(parts.to_vec()));
    use Cause::*;
    let sentences = [
        told(&[(51_200, segment(TimerPending, ""))]),
        told(&[(6256, segment(IrqsOff, "get_random_u32"))]),
        told(&[(600, segment(IrqsOff, "f")), (500, segment(IrqsOff, "g"))]),
        told(&[
            (400, segment(IrqsOff, "f")),
            (390, segment(IrqsOff, "g")),
            (380, segment(IrqsOff, "")),
        ]),
        told(&[(3366, segment(HardIrq, "apic_timer_interrupt"))]),
        told(&[(600, segment(HardIrq, "apic_timer_interrupt")), (500, segment(HardIrq, "x"))]),
        told(&[(600, segment(HardIrq, ""))]),
        told(&[(600, segment(DeviceIrq, "common_interrupt"))]),
        told(&[(909_000, segment(Softirq, "rcu_core_si"))]),
        told(&[(600, segment(Softirq, "net_rx_action")), (500, segment(Softirq, "rcu_core_si"))]),
        told(&[(735_415, segment(PreemptOff, "unmap_page_range"))]),
        told(&[(735_415, segment(PreemptOff, ""))]),
        told(&[(13_258, segment(NotPreemptible, "__alloc_skb"))]),
        told(&[(13_258, segment(NotPreemptible, ""))]),
        told(&[(900, within("write() > exc_page_fault", segment(NotPreemptible, "f")))]),
        told(&[(900, of("kworker/0:1", 11, within("kernel thread", segment(NotPreemptible, ""))))]),
        told(&[
            (600, segment(NotPreemptible, "f")),
            (500, within("read()", segment(NotPreemptible, "g"))),
        ]),
        told(&[(4142, segment(Scheduling, ""))]),
        told(&[(900, segment(FairShare, ""))]),
        one_sentence(&long(8)),
        told(&[(900, segment(DeadlineTask, ""))]),
        told(&[(900, segment(MoreUrgentTask, ""))]),
        told(&[
            (600, segment(MoreUrgentTask, "")),
            (300, of("irq/9-acpi", 60, segment(MoreUrgentTask, ""))),
        ]),
        told(&[(900, segment(EqualTask, ""))]),
        told(&[(900, of("migration/0", 20, segment(StopTask, "")))]),
        told(&[(900, segment(FairServer, ""))]),
        told(&[(600, segment(FairServer, "")), (300, of("sh", 60, segment(FairServer, "")))]),
        told(&[(900, segment(Throttled, ""))]),
        told(&[(600, of("swapper/0", 0, segment(Throttled, ""))), (300, segment(Throttled, ""))]),
        told(&[(900, segment(OtherTask, ""))]),
        told(&[(914, segment(Return, ""))]),
        one_sentence(&small()),
    ];
    insta::assert_snapshot!(sentences.join("\n"));
}

#[test]
fn waits_for_other_cpus_have_a_sentence() {
    let told = |parts: &[(u64, Segment)]| one_sentence(&timeline(parts.to_vec()));
    let answered =
        |cpu| Segment { other_cpu: cpu, ..segment(Cause::IpiWait, "flush_tlb_mm_range") };
    assert_eq!(
        told(&[(12_000, answered(Some(1)))]),
        "12 us late: its CPU waited for CPU 1 to answer an IPI in flush_tlb_mm_range for 12 us (100 %)."
    );
    assert_eq!(
        told(&[(6_000, answered(Some(1))), (6_000, answered(Some(2)))]),
        "12 us late: its CPU waited for others to answer IPIs in flush_tlb_mm_range for 12 us (100 %)."
    );
    assert_eq!(
        told(&[(400, segment(Cause::SpinWait, "__schedule"))]),
        "0.400 us late: its CPU waited for another one's lock in __schedule for 0.400 us (100 %)."
    );
    let woken = Segment { other_cpu: Some(3), ..segment(Cause::RemoteWakeup, "") };
    assert_eq!(
        told(&[(500, woken)]),
        "0.500 us late: the wakeup was on its way from CPU 3 for 0.500 us (100 %)."
    );
    let timer = Segment { cpu: Some(0), ..segment(Cause::IrqsOff, "f") };
    let shown =
        timeline_terminal(&timeline([(9_000, timer), (900, segment(Cause::Return, ""))]), TERMINAL);
    assert!(shown.contains("hackbench/187 in write() on CPU 0"), "{shown}");
}

#[test]
fn a_picture_has_a_bounded_size() {
    let once = [(37, segment(Cause::FairShare, "")), (5, segment(Cause::IrqsOff, "f"))];
    let timeline = timeline(once.into_iter().cycle().take(100_000));
    let svg = svg(&[&timeline]);
    check(&svg);
    assert!(svg.len() < 400_000, "{}", svg.len());
}

#[test]
fn instants_at_the_ends_of_time_are_drawn() {
    let mut timeline = small();
    timeline.wakeup.due_ns = 0;
    timeline.wakeup.user_ns = u64::MAX;
    timeline.segments[0].start_ns = 0;
    timeline.segments[0].end_ns = u64::MAX;
    check(&svg(&[&timeline]));
    timeline_terminal(&timeline, TERMINAL);
    one_sentence(&timeline);
    timeline.wakeup.due_ns = u64::MAX;
    timeline.wakeup.user_ns = 0;
    assert_eq!(one_sentence(&timeline), "Not late.");
    check(&svg(&[&timeline]));
}

fn any_cause() -> impl Strategy<Value = Cause> {
    prop::sample::select(Cause::ALL.to_vec())
}

/// Segments in any order, with gaps and overlaps, before and after the wakeup.
fn any_timeline() -> impl Strategy<Value = Timeline> {
    let segment = (0..40_000_u64, 0..40_000_u64, any_cause(), ".{0,80}", 0..3_u32).prop_map(
        |(start, end, cause, name, pid)| Segment {
            start_ns: DUE_NS - 5000 + start,
            end_ns: DUE_NS - 5000 + end,
            callers: vec![name.clone()],
            comm: name.clone(),
            pid,
            context: name.clone(),
            since_ns: (pid == 0).then_some(end),
            ..segment(cause, &name)
        },
    );
    (prop::collection::vec(segment, 0..60), 0..50_000_u64).prop_map(|(segments, latency_ns)| {
        Timeline { wakeup: wakeup(latency_ns), segments, other_timers_ns: 0 }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_timeline_is_drawn(timeline in any_timeline(), width in 0..200_usize) {
        check(&svg(&[&timeline, &timeline]));
        one_sentence(&timeline);
        let text = timeline_terminal(&timeline, Terminal { width, color: false });
        prop_assert!(!text.contains(|char: char| char != '\n' && char.is_control()));
        if width >= 20 && timeline.wakeup.latency_ns() > 0 {
            let bar = text.lines().skip_while(|line| !line.is_empty()).nth(1).unwrap();
            prop_assert_eq!(bar.len(), width);
        }
    }

    #[test]
    fn the_table_adds_up(lengths in prop::collection::vec((1..4000_u64, any_cause()), 1..80)) {
        let timeline = timeline(lengths.into_iter().map(|(ns, cause)| (ns, segment(cause, "f"))));
        let text = timeline_terminal(&timeline, TERMINAL);
        prop_assert_eq!(sums(&text), (timeline.wakeup.latency_ns(), timeline.wakeup.latency_ns()));
        prop_assert!(text.lines().all(|line| line.chars().count() <= 100));
    }
}
