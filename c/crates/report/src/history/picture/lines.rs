//! The lines of a panel: the values of a mode on a line of kernels.

use preemptlab_model::{MetricClass, PreemptMode, number};
use preemptlab_stats::{History, HistoryPanel, Verdict};

use crate::history::words;

/// A line with its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Name of the line: `full`, `full -rt`.
    pub name: String,
    /// Mode.
    pub preempt: PreemptMode,
    /// Whether it is of another line of kernels than the first.
    pub is_dashed: bool,
    /// Values from the oldest kernel to the newest.
    pub values: Vec<Value>,
}

/// A value in the scale of the panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// Position of the kernel in the history.
    pub kernel: usize,
    /// Median over the seeds.
    pub median: f64,
    /// Least and largest value of a seed.
    pub range: [f64; 2],
    /// Whether it differs from the value before for certain.
    pub is_change: bool,
    /// Kernel, mode and value in words.
    pub words: String,
}

/// Returns whether values are drawn as ratios to the first kernel: those of a latency are not.
pub fn is_relative(panel: &HistoryPanel) -> bool {
    panel.metric.class() != MetricClass::Statistic
}

/// Returns the lines of a panel, in the order of the kernels and modes.
pub fn lines(history: &History, panel: &HistoryPanel) -> Vec<Line> {
    let mut of_kernels: Vec<&str> = Vec::new();
    for kernel in &history.kernels {
        if !of_kernels.contains(&kernel.line.as_str()) {
            of_kernels.push(&kernel.line);
        }
    }
    let mut lines = Vec::new();
    for (place, of) in of_kernels.iter().enumerate() {
        for preempt in history.modes() {
            let values = values(history, panel, of, preempt);
            if !values.is_empty() {
                let name = words::mode(preempt, of);
                lines.push(Line { name, preempt, is_dashed: place > 0, values });
            }
        }
    }
    lines
}

fn values(history: &History, panel: &HistoryPanel, line: &str, preempt: PreemptMode) -> Vec<Value> {
    let mut points: Vec<_> = panel
        .points
        .iter()
        .filter(|point| point.preempt == preempt && history.kernels[point.kernel].line == line)
        .collect();
    points.sort_by_key(|point| point.kernel);
    let first = points.first().map_or(1.0, |point| point.median);
    let unit = if is_relative(panel) { first } else { 1.0 };
    if unit == 0.0 {
        return Vec::new();
    }
    let values = points.into_iter().map(|point| {
        let verdict = history.change(panel, point).map(|row| row.verdict);
        Value {
            kernel: point.kernel,
            median: point.median / unit,
            range: [point.min / unit, point.max / unit],
            is_change: matches!(verdict, Some(Verdict::Worse | Verdict::Better)),
            words: format!(
                "{} {preempt}: {} {} ({})",
                words::kernel(&history.kernels[point.kernel]),
                number::number(point.median),
                panel.unit,
                number::range(point.min, point.max)
            ),
        }
    });
    values.collect()
}
