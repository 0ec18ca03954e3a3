//! Lanes for a terminal and as a picture: the textbook's two threads on one CPU, and hostile ones.

use preemptlab_report::{LaneMark, LanesPanel, ShownThread, Terminal, lanes_svg, lanes_terminal};
use preemptlab_trace::{
    CpuLane, Instant, InstantKind, LANES_FORMAT, LaneState, Lanes, LeftOut, Section, SectionKind,
    Stretch, ThreadLane,
};
use proptest::prelude::*;

const TERMINAL: Terminal = Terminal { width: 100, color: false };
const HI: u32 = 71;
const LO: u32 = 70;
const HOSTILE: &str = "</svg><script>alert('1')</script>\u{1b}[2J\n\u{202e}\u{0}&amp;\"|漢字";

/// Virtual time is ahead of the axis.
const ZERO_NS: u64 = 2_345_678_901;

fn ms(ms: u64) -> u64 {
    ZERO_NS + ms * 1_000_000
}

/// Returns a thread's lane of stretches that follow each other from the zero of the axis, each to a
/// time in milliseconds.
fn thread(pid: u32, comm: &str, stretches: &[(u64, LaneState, &str)]) -> ThreadLane {
    let mut from_ns = ZERO_NS;
    let stretches = stretches.iter().map(|(to_ms, state, what)| {
        let start_ns = from_ns;
        from_ns = ms(*to_ms);
        let what = Some((*what).to_owned()).filter(|what| !what.is_empty());
        Stretch { start_ns, end_ns: from_ns, state: *state, cpu: Some(0), what }
    });
    ThreadLane {
        pid,
        comm: comm.to_owned(),
        prio: 49,
        stretches: stretches.collect(),
        sections: Vec::new(),
        instants: Vec::new(),
        switches_voluntary: 1,
        switches_involuntary: 0,
        left_out: LeftOut::default(),
    }
}

fn lanes(threads: Vec<ThreadLane>, interrupts: &[(u64, u64, LaneState, &str)]) -> Lanes {
    let stretch = |(from_ms, to_ms, state, what): &(u64, u64, LaneState, &str)| Stretch {
        start_ns: ms(*from_ms),
        end_ns: ms(*to_ms),
        state: *state,
        cpu: Some(0),
        what: Some((*what).to_owned()),
    };
    let cpu = CpuLane {
        cpu: 0,
        stretches: interrupts.iter().map(stretch).collect(),
        stretches_left_out: 0,
        switches_between_threads: 4,
        switches_with_idle: 2,
        schedules: 7,
    };
    Lanes {
        format: LANES_FORMAT,
        start_ns: ZERO_NS,
        end_ns: ms(7_000),
        threads,
        cpus: vec![cpu],
        threads_left_out: 0,
    }
}

/// Returns lanes in which `hi` sleeps until 3 s, and runs at `wakes` ms; `lo` is busy in a system
/// call from 1 s on, for 5 s.
fn demo(wakes: u64) -> Lanes {
    use LaneState::{Gone, Kernel, Runnable, Sleeping, User};
    let mut hi = vec![(3_000, Sleeping, "clock_nanosleep")];
    if wakes > 3_000 {
        hi.push((wakes, Runnable, "woken"));
    }
    hi.extend([(wakes + 1, Kernel, "clock_nanosleep"), (wakes + 2, User, ""), (7_000, Gone, "")]);
    let mut hi = thread(HI, "hi", &hi);
    hi.instants.push(Instant { ns: ms(3_000), kind: InstantKind::Woken { by: None } });

    let mut lo = vec![(1_000, Sleeping, "clock_nanosleep"), (wakes, Kernel, "ioctl")];
    lo.extend([(wakes + 2, Runnable, "preempted"), (6_002, Kernel, "ioctl"), (7_000, Gone, "")]);
    let mut lo = thread(LO, "lo", &lo);
    lo.sections.push(Section {
        start_ns: ms(1_500),
        end_ns: ms(2_000),
        kind: SectionKind::PreemptOff,
    });
    lo.instants.push(Instant { ns: ms(1_000), kind: InstantKind::Woken { by: None } });
    let asked = InstantKind::ReschedAsked { is_lazy: false };
    lo.instants.push(Instant { ns: ms(3_000), kind: asked });
    let kworker =
        thread(9, "kworker/0:1", &[(400, Sleeping, ""), (430, Kernel, ""), (7_000, Sleeping, "")]);
    lanes(vec![kworker, lo, hi], &[(2_500, 2_520, LaneState::Hardirq, "nic")])
}

fn threads(wakes_ns: u64) -> Vec<ShownThread<'static>> {
    let at = |start_ns, label| LaneMark { start_ns, end_ns: None, label };
    let busy = |from: u64, to: u64, label| LaneMark {
        start_ns: from * 1_000_000_000,
        end_ns: Some(to * 1_000_000_000),
        label,
    };
    let marks = vec![at(3_000_000_000, "due"), at(wakes_ns, "wakes")];
    vec![
        ShownThread { pid: HI, name: "hi", until_ns: None, marks },
        ShownThread {
            pid: LO,
            name: "lo",
            until_ns: None,
            marks: vec![busy(1, 5, "busy 4 s"), busy(5, 6, "busy 1 s")],
        },
    ]
}

/// Returns the three textbook models.
fn models() -> [(&'static str, u64, Lanes); 3] {
    [("none", 6_000), ("voluntary", 5_000), ("full", 3_000)]
        .map(|(model, wakes)| (model, wakes * 1_000_000, demo(wakes)))
}

fn with_panels<T>(draw: impl Fn(&[LanesPanel<'_>]) -> T) -> T {
    let models = models();
    let panels: Vec<LanesPanel<'_>> = models
        .iter()
        .map(|(title, wakes_ns, lanes)| LanesPanel {
            title,
            lanes,
            zero_ns: ZERO_NS,
            threads: threads(*wakes_ns),
            kernel_threads: &[],
        })
        .collect();
    draw(&panels)
}

#[test]
fn the_driver_demo_for_a_terminal() {
    insta::assert_snapshot!(with_panels(|panels| lanes_terminal(panels, TERMINAL)));
}

#[test]
fn the_driver_demo_with_colours_in_a_narrow_terminal() {
    let terminal = Terminal { width: 60, color: true };
    let text = with_panels(|panels| lanes_terminal(panels, terminal));
    insta::assert_snapshot!(text.replace('\u{1b}', "^"));
}

#[test]
fn the_driver_demo_as_a_picture() {
    let svg = with_panels(|panels| lanes_svg("driver-demo", panels));
    roxmltree::Document::parse(&svg).unwrap();
    insta::assert_snapshot!(svg);
}

#[test]
fn lines_are_no_longer_than_the_terminal() {
    for width in [0, 40, 77, 100, 250] {
        let text = with_panels(|panels| lanes_terminal(panels, Terminal { width, color: false }));
        let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(longest <= width.clamp(40, 100), "{width}: {longest}\n{text}");
    }
}

#[test]
fn a_thread_that_never_ran_has_an_empty_lane() {
    let lanes = lanes(Vec::new(), &[]);
    let panel = LanesPanel {
        title: "none",
        lanes: &lanes,
        zero_ns: ZERO_NS,
        threads: threads(3_000_000_000),
        kernel_threads: &[],
    };
    let text = lanes_terminal(std::slice::from_ref(&panel), TERMINAL);
    assert!(text.lines().any(|line| line == "hi"), "{text}");
    roxmltree::Document::parse(&lanes_svg("", &[panel])).unwrap();
    assert!(!lanes_terminal(&[], TERMINAL).is_empty());
    roxmltree::Document::parse(&lanes_svg("", &[])).unwrap();
}

#[test]
fn one_thread_that_is_left_out_is_singular() {
    let note = |count| {
        let lanes = Lanes { threads_left_out: count, ..lanes(Vec::new(), &[]) };
        let panel = LanesPanel {
            title: "none",
            lanes: &lanes,
            zero_ns: ZERO_NS,
            threads: threads(3_000_000_000),
            kernel_threads: &[],
        };
        lanes_terminal(&[panel], TERMINAL)
    };
    assert!(note(1).contains("none: 1 more thread ran"), "{}", note(1));
    assert!(note(2).contains("none: 2 more threads ran"), "{}", note(2));
}

#[test]
fn kernel_threads_that_are_named_have_lanes() {
    let lanes = demo(3_000);
    let drawn = |kernel_threads: &[&str]| {
        let panel = LanesPanel {
            title: "",
            lanes: &lanes,
            zero_ns: ZERO_NS,
            threads: threads(3_000_000_000),
            kernel_threads,
        };
        lanes_terminal(&[panel], TERMINAL)
    };
    let names = |text: String| -> Vec<String> {
        text.lines()
            .filter(|line| line.contains('▒') || line.contains('▓'))
            .map(|line| line.split(' ').next().unwrap_or_default().to_owned())
            .filter(|name| name.chars().all(|c| c.is_ascii() && !name.is_empty()))
            .collect()
    };
    assert_eq!(names(drawn(&[])), ["hi", "lo", "other"]);
    assert_eq!(names(drawn(&["kworker/"])), ["hi", "lo", "kworker/0:1"]);
}

fn any_state() -> impl Strategy<Value = LaneState> {
    use LaneState::*;
    prop::sample::select(vec![
        User,
        Kernel,
        Interrupted,
        Runnable,
        Sleeping,
        Blocked,
        Gone,
        Thread,
        Hardirq,
        Softirq,
        Idle,
    ])
}

/// Generates unchecked lanes: in any order, with overlaps, at any time.
fn any_lanes() -> impl Strategy<Value = Lanes> {
    let time = || prop_oneof![0..200_u64, any::<u64>()];
    let stretch = || {
        (time(), time(), any_state()).prop_map(|(start_ns, end_ns, state)| Stretch {
            start_ns,
            end_ns,
            state,
            cpu: None,
            what: Some(HOSTILE.to_owned()),
        })
    };
    let stretches = || prop::collection::vec(stretch(), 0..20);
    let instants = prop::collection::vec((time(), any::<bool>()), 0..20);
    let thread = (stretches(), instants, 0..3_u32).prop_map(|(stretches, instants, pid)| {
        let instant = |(ns, is_woken): (u64, bool)| Instant {
            ns,
            kind: match is_woken {
                true => InstantKind::Woken { by: Some(1) },
                false => InstantKind::ReschedAsked { is_lazy: ns % 2 == 0 },
            },
        };
        let sections = stretches.iter().map(|stretch| Section {
            start_ns: stretch.start_ns,
            end_ns: stretch.end_ns,
            kind: SectionKind::IrqsOff,
        });
        ThreadLane {
            pid,
            sections: sections.collect(),
            instants: instants.into_iter().map(instant).collect(),
            stretches,
            ..thread(pid, HOSTILE, &[])
        }
    });
    let threads = prop::collection::vec(thread, 0..4);
    (threads, stretches(), time(), time()).prop_map(|(threads, stretches, start_ns, end_ns)| {
        let mut lanes = lanes(threads, &[]);
        (lanes.start_ns, lanes.end_ns) = (start_ns, end_ns);
        lanes.cpus[0].stretches = stretches;
        lanes
    })
}

proptest! {
    #[test]
    fn whatever_lanes_hold_is_drawn(
        lanes in any_lanes(),
        zero_ns in prop_oneof![0..100_u64, any::<u64>()],
        marks in prop::collection::vec((any::<u64>(), any::<Option<u64>>()), 0..6),
    ) {
        let marks = marks.into_iter().map(|(start_ns, end_ns)| LaneMark {
            start_ns,
            end_ns,
            label: HOSTILE,
        });
        let panel = LanesPanel {
            title: HOSTILE,
            lanes: &lanes,
            zero_ns,
            threads: vec![ShownThread { pid: 1, name: HOSTILE, until_ns: None, marks: marks.collect() }],
            kernel_threads: &["<"],
        };
        let text = lanes_terminal(std::slice::from_ref(&panel), TERMINAL);
        prop_assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        let svg = lanes_svg(HOSTILE, &[panel]);
        let document = roxmltree::Document::parse(&svg);
        prop_assert!(document.is_ok_and(|it| it.descendants().all(|it| it.tag_name().name() != "script")));
    }
}
