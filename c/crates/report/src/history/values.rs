//! The values of a workload: a table for each metric, with a row for each kernel and columns for each
//! mode.

use preemptlab_model::{PreemptMode, number};
use preemptlab_stats::{GateRow, History, HistoryGroup, HistoryPanel, HistoryPoint, Verdict};

use super::words;
use crate::{Cell, Column, Table, Tone};

pub const HOW_TO_READ: &str = "Values are medians over the seeds, with the least and the largest of a \
    seed beside them. ! marks a change point: the value differs from that of the kernel above in its line.";

pub fn tables(history: &History, of: &HistoryGroup) -> Vec<Table> {
    let panels = history.panels.iter().filter(|panel| panel.of == *of);
    panels.map(|panel| table(history, panel)).collect()
}

fn table(history: &History, panel: &HistoryPanel) -> Table {
    let modes = modes(history, panel);
    let mut columns = vec![Column::left("kernel")];
    for mode in &modes {
        columns.push(Column::right("median").under(mode.to_string()));
        columns.push(Column::right("range").under(mode.to_string()));
    }
    let mut table = Table::new(format!("{}, {}", panel.title, panel.unit), columns);
    let lines = history.kernels.iter().enumerate().collect::<Vec<_>>();
    for of_line in lines.chunk_by(|(_, one), (_, other)| one.line == other.line) {
        if lines.len() > of_line.len() {
            table.span(Cell::new(of_line[0].1.line.clone(), Tone::Strong));
        }
        for (at, kernel) in of_line {
            let indent = if lines.len() > of_line.len() { "  " } else { "" };
            let mut cells = vec![Cell::from(format!("{indent}{}", words::kernel(kernel)))];
            cells.extend(modes.iter().flat_map(|mode| values(history, panel, *at, *mode)));
            table.row(cells);
        }
    }
    table
}

/// Returns the modes of which the metric was measured on a kernel.
fn modes(history: &History, panel: &HistoryPanel) -> Vec<PreemptMode> {
    let mut modes = history.modes();
    modes.retain(|mode| panel.points.iter().any(|point| point.preempt == *mode));
    modes
}

/// Returns the median of a kernel in a mode with its range, or the reason why there is none.
fn values(history: &History, panel: &HistoryPanel, kernel: usize, mode: PreemptMode) -> [Cell; 2] {
    let is_it = |point: &&HistoryPoint| (point.kernel, point.preempt) == (kernel, mode);
    let Some(point) = panel.points.iter().find(is_it) else {
        return [Cell::new(absence(history, panel, kernel, mode), Tone::Faint), Cell::default()];
    };
    let change = history.change(panel, point);
    let (mark, tone) = match change.map(|row: &GateRow| row.verdict) {
        Some(Verdict::Worse) => ("! ", Tone::Worse),
        Some(Verdict::Better) => ("! ", Tone::Better),
        _ => ("", Tone::Plain),
    };
    [
        Cell::new(format!("{mark}{}", number::number(point.median)), tone),
        Cell::from(match point.min == point.max {
            true => number::number(point.min),
            false => number::range(point.min, point.max),
        }),
    ]
}

/// Returns why a kernel has no value in a mode: the status of its cells, or a dash where none was
/// planned.
fn absence(
    history: &History,
    panel: &HistoryPanel,
    kernel: usize,
    mode: PreemptMode,
) -> &'static str {
    let troubles = history.troubles.iter().filter(|trouble| {
        trouble.kernel == kernel
            && trouble.modes.contains(&mode)
            && trouble.workloads.contains(&panel.of.workload)
    });
    // A failure tells more than a cell that was not executed yet.
    let trouble = troubles.max_by_key(|trouble| trouble.status == "failed");
    trouble.map_or("-", |trouble| trouble.status)
}
