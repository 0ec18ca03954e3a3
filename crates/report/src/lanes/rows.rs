//! The lanes of a panel, with everything that is drawn on them.

use preemptlab_analysis::wakeup::name;
use preemptlab_trace::{InstantKind, Lanes, SectionKind, ThreadLane};

use super::{
    LaneMark, LanesPanel,
    calm::{calm, is_long},
    look::Look,
    span::Span,
};

/// Other threads are shown if they ran for at least one part in this number of the axis.
const VISIBLE: u64 = 500;

/// Interrupts of a name are all shown if they are not more.
const FEW: usize = 40;

/// Owner of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    Thread(u32),
    OtherThreads,
    Interrupts,
}

/// Lane of a panel.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    pub name: String,
    pub of: Of,
    /// Without overlaps, in order.
    pub spans: Vec<Span>,
    /// Spans in which preemption or interrupts were off.
    pub off: Vec<Span>,
    pub marks: &'a [LaneMark<'a>],
    /// Times at which the thread was woken, with the thread that woke it.
    pub woken: Vec<(u64, Option<u32>)>,
    /// Times at which the scheduler asked the running thread for the CPU, and whether lazily.
    pub asked: Vec<(u64, bool)>,
}

/// Returns a panel's lanes on an axis with cells of `cell_ns`, the resolution of the picture.
pub fn rows<'a>(panel: &'a LanesPanel<'a>, end_ns: u64, cell_ns: u64) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    for thread in &panel.threads {
        let lane = panel.lanes.threads.iter().find(|lane| lane.pid == thread.pid);
        let mut row = lane.map_or_else(
            || empty(Of::Thread(thread.pid)),
            |lane| thread_row(lane, panel, thread.until_ns.unwrap_or(end_ns).min(end_ns), cell_ns),
        );
        row.name = name(thread.name);
        row.marks = &thread.marks;
        rows.push(row);
    }
    let is_shown = |lane: &ThreadLane| panel.threads.iter().any(|thread| thread.pid == lane.pid);
    let is_named =
        |lane: &ThreadLane| panel.kernel_threads.iter().any(|name| lane.comm.starts_with(name));
    let others = panel.lanes.threads.iter().filter(|lane| lane.pid != 0 && !is_shown(lane));
    let (named, others): (Vec<_>, Vec<_>) = others.partition(|lane| is_named(lane));
    for lane in named {
        let row = thread_row(lane, panel, end_ns, cell_ns);
        if runs(&row.spans).next().is_some() {
            rows.push(row);
        }
    }
    let spans = others_spans(&others, panel, end_ns);
    if runs(&spans).map(Span::len_ns).sum::<u64>() > end_ns / VISIBLE {
        rows.push(Row { name: "other".to_owned(), spans, ..empty(Of::OtherThreads) });
    }
    rows.extend(interrupts(panel, end_ns, cell_ns));
    rows
}

fn empty<'a>(of: Of) -> Row<'a> {
    Row {
        name: String::new(),
        of,
        spans: Vec::new(),
        off: Vec::new(),
        marks: &[],
        woken: Vec::new(),
        asked: Vec::new(),
    }
}

/// Returns a stretch of the lanes as one of the axis; `None` when it is outside.
fn span(
    panel: &LanesPanel<'_>,
    end_ns: u64,
    from_ns: u64,
    to_ns: u64,
    look: Look,
    what: String,
) -> Option<Span> {
    let offset = |ns: u64| ns.saturating_sub(panel.zero_ns).min(end_ns);
    let (start_ns, end_ns) = (offset(from_ns), offset(to_ns));
    (end_ns > start_ns).then_some(Span { start_ns, end_ns, look, what })
}

fn thread_row<'a>(lane: &ThreadLane, panel: &LanesPanel<'_>, end_ns: u64, cell_ns: u64) -> Row<'a> {
    let spans = lane.stretches.iter().filter_map(|stretch| {
        let what = stretch.what.as_deref().map(name).unwrap_or_default();
        span(panel, end_ns, stretch.start_ns, stretch.end_ns, Look::of(stretch.state), what)
    });
    let spans = calm(ordered(spans.collect()), cell_ns);
    let off = lane.sections.iter().filter_map(|section| {
        let look = match section.kind {
            SectionKind::PreemptOff => Look::PreemptOff,
            SectionKind::IrqsOff => Look::IrqsOff,
            SectionKind::Softirq | SectionKind::NotPreemptible => return None,
        };
        span(panel, end_ns, section.start_ns, section.end_ns, look, String::new())
    });
    let off = off.filter(|span| is_long(span.len_ns(), cell_ns)).collect();
    let mut row = Row { name: name(&lane.comm), spans, off, ..empty(Of::Thread(lane.pid)) };
    for instant in &lane.instants {
        let Some(ns) = instant.ns.checked_sub(panel.zero_ns).filter(|ns| *ns <= end_ns) else {
            continue;
        };
        match instant.kind {
            InstantKind::Woken { by } => row.woken.push((ns, by)),
            InstantKind::ReschedAsked { is_lazy } => row.asked.push((ns, is_lazy)),
        }
    }
    row
}

/// Returns the spans in which any of these threads ran.
fn others_spans(others: &[&ThreadLane], panel: &LanesPanel<'_>, end_ns: u64) -> Vec<Span> {
    let runs = others.iter().flat_map(|lane| {
        let runs = lane.stretches.iter().filter(|stretch| stretch.state.is_on_cpu());
        runs.filter_map(|stretch| {
            let (from_ns, to_ns) = (stretch.start_ns, stretch.end_ns);
            span(panel, end_ns, from_ns, to_ns, Look::Other, name(&lane.comm))
        })
    });
    ordered(runs.collect())
}

/// Returns the spans in order, each without the part that an earlier one covers: lanes may come
/// from anywhere.
fn ordered(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by(|left, right| {
        (left.start_ns, left.end_ns, &left.what).cmp(&(right.start_ns, right.end_ns, &right.what))
    });
    let mut reached_ns = 0;
    spans.retain_mut(|span| {
        span.start_ns = span.start_ns.max(reached_ns);
        reached_ns = reached_ns.max(span.end_ns);
        span.start_ns < span.end_ns
    });
    spans
}

fn runs(spans: &[Span]) -> impl Iterator<Item = &Span> {
    spans.iter().filter(|span| {
        matches!(span.look, Look::User | Look::Kernel | Look::Interrupted | Look::Other)
    })
}

/// Interrupts and softirqs by CPU. Many short ones, as those of the tick, are not shown.
fn interrupts<'a>(panel: &'a LanesPanel<'a>, end_ns: u64, cell_ns: u64) -> Vec<Row<'a>> {
    let lane_of = |lanes: &'a Lanes| lanes.cpus.iter();
    let rows = lane_of(panel.lanes).filter_map(|lane| {
        let spans = lane.stretches.iter().filter_map(|stretch| {
            let look = Look::of(stretch.state);
            let what = stretch.what.as_deref().map(name).unwrap_or_default();
            let is_shown = matches!(look, Look::Hardirq | Look::Softirq);
            let span = span(panel, end_ns, stretch.start_ns, stretch.end_ns, look, what);
            span.filter(|_| is_shown)
        });
        let spans = ordered(spans.collect());
        let count = |what: &str| spans.iter().filter(|span| span.what == what).count();
        let mut names: Vec<&str> = spans.iter().map(|span| span.what.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let few: Vec<String> =
            names.into_iter().filter(|name| count(name) <= FEW).map(str::to_owned).collect();
        let shown =
            spans.iter().filter(|span| is_long(span.len_ns(), cell_ns) || few.contains(&span.what));
        let spans: Vec<Span> = shown.cloned().collect();
        let name = match panel.lanes.cpus.len() {
            1 => "interrupts".to_owned(),
            _ => format!("interrupts {}", lane.cpu),
        };
        (!spans.is_empty()).then(|| Row { name, spans, ..empty(Of::Interrupts) })
    });
    rows.collect()
}
