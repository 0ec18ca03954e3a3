//! Whether a trace is right: real kernels hold themselves non-preemptible for durations that are
//! known (kmod/hold), and every one of these holds has to be found again.
//!
//! Packages and snapshots are kept in the user's own store, or in `PREEMPTLAB_STORE`, so that only
//! the first run on a machine downloads and boots.

mod common;

use std::{io::Read, ops::Range, path::Path, process::Command};

use common::{Desk, Finished};
use preemptlab_model::{CellRecord, Outcome};
use preemptlab_protocol::trace::stream::SiteKind;
use preemptlab_recording::Recording;
use preemptlab_trace::{Decoder, Ended, Event, Item, Kernel, Machine, SectionKind};

/// The module's durations, in nanoseconds, in its order.
const DURATIONS_NS: [u64; 5] = [5_000, 20_000, 100_000, 1_000_000, 5_000_000];

/// The module sleeps at least this long between two holds.
const GAP_NS: u64 = 7_000_000;

/// What a hold may be off by: the instructions between the section's ends and the TSC that the
/// module waits by, and what the guest's own calibration of the TSC is off by.
const TOLERANCE_NS: u64 = 1_000;

/// How the module holds, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Preempt,
    Irq,
    Spin,
    RawSpin,
    Softirq,
}

const KINDS: [Kind; 5] = [Kind::Preempt, Kind::Irq, Kind::Spin, Kind::RawSpin, Kind::Softirq];

impl Kind {
    /// The function that waits.
    fn function(self) -> &'static str {
        match self {
            Self::Preempt => "preemptlab_hold_preempt",
            Self::Irq => "preemptlab_hold_irq",
            Self::Spin => "preemptlab_hold_spin",
            Self::RawSpin => "preemptlab_hold_raw_spin",
            Self::Softirq => "preemptlab_hold_softirq",
        }
    }

    /// What a trace has to call it, and a timeline.
    fn section(self) -> (SectionKind, &'static str) {
        match self {
            Self::Preempt | Self::Spin | Self::RawSpin => (SectionKind::PreemptOff, "preempt_off"),
            Self::Irq => (SectionKind::IrqsOff, "irqs_off"),
            Self::Softirq => (SectionKind::Softirq, "softirq"),
        }
    }

    /// Whether it holds anything: with PREEMPT_RT a `spinlock_t` sleeps, and a tasklet runs in a
    /// thread.
    fn holds(self, is_realtime: bool) -> bool {
        !is_realtime || !matches!(self, Self::Spin | Self::Softirq)
    }

    fn of(function: &str) -> Option<Self> {
        KINDS.into_iter().find(|kind| kind.function() == function)
    }
}

/// A section that is the module's.
#[derive(Clone, Copy, Debug)]
struct Hold {
    kind: Kind,
    section: SectionKind,
    ns: (u64, u64),
    /// When an interrupt was over that came in it, the last one; its beginning where there was none.
    resumed_ns: u64,
}

impl Hold {
    /// What the section's length is more than the duration, or less.
    fn off_by_ns(&self, duration_ns: u64) -> i64 {
        (self.ns.1 - self.ns.0) as i64 - duration_ns as i64
    }

    /// Whether it is a hold of that duration. Interrupts are handled in it and do not make it
    /// longer, since the module looks at the clock; but the last one may end after it should.
    fn is_of(&self, duration_ns: u64) -> bool {
        let due_ns = self.ns.0 + duration_ns;
        let until_ns = due_ns.max(self.resumed_ns) + TOLERANCE_NS;
        // A billionth of the TSC's rate is lost in `tsc_khz`.
        (due_ns - duration_ns / 1_000..=until_ns).contains(&self.ns.1)
    }
}

/// What a trace says of the module.
#[derive(Debug, Default)]
struct Found {
    /// In the order in which they end.
    holds: Vec<Hold>,
    /// All sections of a millisecond or more, whoever is to blame.
    long: Vec<(SectionKind, (u64, u64))>,
    miscounts: u64,
}

/// Reads a whole trace.
fn found(trace: impl Read, kernel: &Kernel) -> Found {
    let mut decoder = Decoder::new(trace, kernel.program()).unwrap();
    let mut machine = Machine::default();
    let mut found = Found::default();
    let mut last: Option<(Ended, Event)> = None;
    let mut resumed_ns = 0;
    let mut tasklet: Option<Hold> = None;
    loop {
        let item = decoder.next_item().unwrap();
        let words = if let Some(Item::Stack(words)) = &item { *words } else { &[] };
        // The words on the stack follow the event that ends a section, where it was long.
        if let Some((ended, event)) = last.take() {
            let Ended { kind: section, since, end_ns, softirq } = ended;
            let ns = (since.ns, end_ns);
            let hold = |kind| Hold { kind, section, ns, resumed_ns: resumed_ns.max(since.ns) };
            if end_ns - since.ns >= 1_000_000 {
                found.long.push((section, ns));
            }
            let who = who(kernel, &ended, &event, words);
            if let Some(softirq) = softirq {
                let is_tasklet = kernel.tracepoint(softirq).name == "tasklet_action";
                tasklet = is_tasklet.then(|| hold(Kind::Softirq));
            } else if who == Some("hold_by_tasklet") {
                // It turns softirqs off and on again, which serves the tasklet.
                found.holds.extend(tasklet.take().filter(|tasklet| tasklet.ns.0 >= since.ns));
            } else if let Some(kind) = who.and_then(Kind::of) {
                found.holds.push(hold(kind));
            }
        }
        match item {
            Some(Item::Task(task)) => machine.describe(task),
            Some(Item::Stack(_)) => {}
            Some(Item::Event(event)) => {
                if event.site.kind == SiteKind::Iret {
                    resumed_ns = event.ns;
                }
                last = machine.follow(kernel, &event).map(|ended| (ended, event));
            }
            None => break,
        }
    }
    found.miscounts = machine.miscounts;
    found
}

/// The function that a section belongs to: the one in which it begins, or the one that called the
/// function of a lock in which it begins.
fn who<'a>(kernel: &'a Kernel, ended: &Ended, event: &Event, words: &[u64]) -> Option<&'a str> {
    let is_wrapper = |function: &&str| {
        ["_raw_", "__raw_", "__local_bh_"].iter().any(|prefix| function.starts_with(prefix))
    };
    let inner = [ended.since.address, event.site.address].map(|at| kernel.function(at));
    let outer = words.iter().filter_map(|word| kernel.caller(*word));
    inner.into_iter().flatten().chain(outer).find(|function| !is_wrapper(function))
}

#[test]
fn scratch() {
    for name in ["6.12", "rt", "7.2"] {
        let recording = Recording::open(Path::new(&format!("/tmp/lab/truth/out-{name}"))).unwrap();
        for cell in recording.cells() {
            let (planned, record) = cell.unwrap();
            let Some(record) = record else { continue };
            let traces = recording.traces();
            let kernel = traces.kernel(record.inputs.snapshot.id()).unwrap().unwrap();
            let t = std::time::Instant::now();
            let found = found(traces.stream(record.id).unwrap().unwrap(), &kernel);
            println!("== {} miscounts {} {:?}", planned.factors, found.miscounts, t.elapsed());
            for hold in &found.holds {
                let len = hold.ns.1 - hold.ns.0;
                let d = DURATIONS_NS.into_iter().rev().find(|d| *d <= len + 100).unwrap_or(0);
                println!(
                    "{:>12} {:?} {:?} len {len} off {} resumed {} {}",
                    hold.ns.0,
                    hold.kind,
                    hold.section,
                    hold.off_by_ns(d),
                    hold.resumed_ns - hold.ns.0,
                    hold.is_of(d)
                );
            }
            println!("long {:?}", found.long);
        }
    }
}

#[test]
fn scratch2() {
    let recording = Recording::open(Path::new("/tmp/lab/truth/out-6.12")).unwrap();
    let (_, record) = recording.cells().next().unwrap().unwrap();
    let record = record.unwrap();
    let traces = recording.traces();
    let kernel = traces.kernel(record.inputs.snapshot.id()).unwrap().unwrap();
    let mut decoder =
        Decoder::new(traces.stream(record.id).unwrap().unwrap(), kernel.program()).unwrap();
    let mut machine = Machine::default();
    while let Some(item) = decoder.next_item().unwrap() {
        match item {
            Item::Event(event) => {
                let e = machine.follow(&kernel, &event);
                let show = (8323400000..8323410000).contains(&event.ns)
                    || (8324400000..8324408000).contains(&event.ns);
                if show {
                    let name = if let SiteKind::Probe(p) = event.site.kind {
                        kernel.tracepoint(p).name.clone()
                    } else {
                        String::new()
                    };
                    println!(
                        "{} {:?} {name} in {:?} {:x?} count {:x} {:?} frames {:?}",
                        event.ns,
                        event.site.kind,
                        kernel.function(event.site.address),
                        event.values(),
                        machine.cpu(0).preempt_count,
                        e.map(|e| (e.kind, e.since.ns)),
                        machine.cpu(0).frames.len()
                    );
                }
            }
            Item::Task(task) => machine.describe(task),
            _ => {}
        }
    }
}
