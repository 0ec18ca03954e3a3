//! Lanes of threads, interrupts and softirqs, for a terminal and as a picture. Several executions
//! of the same thing stand under each other on one axis of time.

mod axis;
mod calm;
mod cells;
mod look;
mod place;
mod rows;
mod span;
mod svg;
mod terminal;

use preemptlab_model::counted;
use preemptlab_trace::Lanes;

pub use svg::lanes_svg;
pub use terminal::lanes_terminal;

/// Panel of one execution.
#[derive(Clone, Debug)]
pub struct LanesPanel<'a> {
    /// Title that tells it from its neighbours: `debian:6.12 voluntary`.
    pub title: &'a str,
    /// Lanes of the execution.
    pub lanes: &'a Lanes,
    /// Start of the axis, in the time of the lanes.
    pub zero_ns: u64,
    /// The threads that have a lane, from top to bottom.
    pub threads: Vec<ShownThread<'a>>,
    /// First parts of the names of kernel threads that have a lane too, if they ran: `ksoftirqd/`.
    /// All others that ran for a time that can be seen share one lane.
    pub kernel_threads: &'a [&'a str],
}

/// A thread with a lane of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownThread<'a> {
    /// Number of the thread.
    pub pid: u32,
    /// Name of the thread in the picture.
    pub name: &'a str,
    /// End of its lane, in nanoseconds from the start of the axis; `None` for the end of the axis.
    pub until_ns: Option<u64>,
    /// Marks on its lane.
    pub marks: Vec<LaneMark<'a>>,
}

/// A named instant or stretch of a thread. Times are nanoseconds from the start of the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneMark<'a> {
    /// The instant, or where the stretch begins.
    pub start_ns: u64,
    /// End of the stretch; `None` for an instant.
    pub end_ns: Option<u64>,
    /// Name of the mark: `due`.
    pub label: &'a str,
}

/// Returns the length of the axis that panels share, in nanoseconds; not 0.
fn end_ns(panels: &[LanesPanel<'_>]) -> u64 {
    let ends = panels.iter().map(|panel| panel.lanes.end_ns.saturating_sub(panel.zero_ns));
    ends.max().unwrap_or(0).max(1)
}

/// Returns the notes on entries that bounded lanes leave out.
fn notes(panels: &[LanesPanel<'_>]) -> Vec<String> {
    let mut notes = Vec::new();
    for panel in panels {
        let shown = |pid: u32| panel.threads.iter().any(|thread| thread.pid == pid);
        let lanes = || panel.lanes.threads.iter().filter(|lane| shown(lane.pid));
        let joined: u64 = lanes().map(|lane| lane.left_out.stretches).sum();
        let title = preemptlab_analysis::wakeup::name(panel.title);
        if joined > 0 {
            let (joined, were) = match joined {
                1 => ("1 short stretch".to_owned(), "was"),
                _ => (format!("{joined} short stretches"), "were"),
            };
            notes.push(format!("{title}: {joined} {were} joined with others."));
        }
        let sections: u64 = lanes().map(|lane| lane.left_out.sections).sum();
        let instants: u64 = lanes().map(|lane| lane.left_out.instants).sum();
        for (count, what) in [(sections, "short section"), (instants, "mark")] {
            if count > 0 {
                let were = if count == 1 { "is" } else { "are" };
                notes.push(format!("{title}: {} {were} left out.", counted(count, what)));
            }
        }
        if panel.lanes.threads_left_out > 0 {
            let count = counted(panel.lanes.threads_left_out, "more thread");
            notes.push(format!("{title}: {count} ran, of which nothing is known."));
        }
    }
    notes
}
