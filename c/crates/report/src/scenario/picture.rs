//! The picture of a scenario.

use preemptlab_analysis::scenario::{Column, Shown};
use preemptlab_model::VirtualDuration;

use crate::{LaneMark, LanesPanel, ShownThread, lanes_svg};

/// Threads of the kernel that have lanes of their own: those of interrupts and of softirqs.
const KERNEL_THREADS: [&str; 3] = ["irq/", "ksoftirqd/", "ktimers/"];

/// A wait is marked when its latency is at least this part of the whole.
const MARKED_PART: u64 = 100;

/// Mark on a thread's lane where the thread was late.
struct Late {
    start_ns: u64,
    end_ns: u64,
    label: String,
}

/// Returns the marks, by thread.
fn marks(column: &Column) -> Vec<Vec<Late>> {
    let Some(played) = column.played() else { return Vec::new() };
    let least_ns = played.outcome.end_ns / MARKED_PART;
    let late = |wait: &preemptlab_scenario::Wait| {
        let (start_ns, end_ns) = (wait.due_ns?, wait.back_ns?);
        let late_ns = wait.latency_ns.filter(|late_ns| *late_ns > least_ns)?;
        let label = format!("{} late", VirtualDuration::from_ns(late_ns));
        Some(Late { start_ns, end_ns, label })
    };
    let threads = played.outcome.threads.iter();
    threads.map(|thread| thread.waits.iter().filter_map(late).collect()).collect()
}

/// Draws a scenario as an SVG; `None` where it was played under no model.
pub fn scenario_svg(shown: &Shown<'_>) -> Option<String> {
    let draw = |panels: &[LanesPanel<'_>]| lanes_svg(shown.scenario.description(), panels);
    drawn(&shown.columns, draw)
}

/// Draws the models under which a scenario was played; nothing when there is none.
pub(super) fn drawn(
    columns: &[Column],
    draw: impl FnOnce(&[LanesPanel<'_>]) -> String,
) -> Option<String> {
    let marks: Vec<_> = columns.iter().map(marks).collect();
    let panels = panels(columns, &marks);
    (!panels.is_empty()).then(|| draw(&panels))
}

/// Returns a panel for each model under which the scenario was played.
fn panels<'a>(columns: &'a [Column], marks: &'a [Vec<Vec<Late>>]) -> Vec<LanesPanel<'a>> {
    let panel = |(column, marks): (&'a Column, &'a Vec<Vec<Late>>)| {
        let played = column.played()?;
        let mark = |late: &'a Late| LaneMark {
            start_ns: late.start_ns,
            end_ns: Some(late.end_ns),
            label: &late.label,
        };
        let threads = played.outcome.threads.iter().zip(&played.record.threads).zip(marks);
        let threads = threads.map(|((thread, record), marks)| ShownThread {
            pid: record.pid.cast_unsigned(),
            name: &thread.name,
            // A finished thread waits for the others, which is the player's work.
            until_ns: thread.finished_ns,
            marks: marks.iter().map(mark).collect(),
        });
        Some(LanesPanel {
            title: &column.title,
            lanes: &played.lanes,
            zero_ns: played.lanes.start_ns,
            threads: threads.collect(),
            kernel_threads: &KERNEL_THREADS,
        })
    };
    columns.iter().zip(marks).filter_map(panel).collect()
}
