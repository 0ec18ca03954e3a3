//! How a history calls things.

use preemptlab_model::{PreemptMode, counted, of_machine};
use preemptlab_stats::{History, HistoryGroup, HistoryKernel, HistoryStep, Verdict};

/// The line of kernels that needs no word.
const GENERIC: &str = "generic";

/// Names the subject of the history, and the number of its change points.
pub fn headline(history: &History) -> String {
    let changes = match history.changes().len() {
        0 => "no change point".to_owned(),
        count => counted(count, "change point"),
    };
    format!(
        "The latency history of {}: {changes} in {} between neighbours",
        counted(history.kernels.len(), "kernel"),
        counted(history.comparisons, "comparison")
    )
}

/// Returns the name of a kernel: `6.12`, `6.12-rt`, `6.12 source +HZ_1000=y`.
pub fn kernel(kernel: &HistoryKernel) -> String {
    let HistoryKernel { series, line, .. } = kernel;
    match line.as_str() {
        GENERIC | "others" | "" => series.clone(),
        line if line.starts_with('-') => format!("{series}{line}"),
        line => format!("{series} {line}"),
    }
}

/// Names the two kernels of a step.
pub fn step(history: &History, step: &HistoryStep) -> String {
    let [from, to] = [step.from, step.to].map(|at| kernel(&history.kernels[at]));
    format!("{from} to {to}")
}

/// Names the line of a mode in a picture: `full`, `full -rt`.
pub fn mode(preempt: PreemptMode, line: &str) -> String {
    match line {
        GENERIC | "" => preempt.to_string(),
        line => format!("{preempt} {line}"),
    }
}

/// Names cells that differ in kernel, mode and seed alone.
pub fn group(of: &HistoryGroup) -> String {
    let HistoryGroup { workload, machine, cpus, settings } = of;
    let with = if settings.is_empty() { String::new() } else { format!(" {settings}") };
    let machine = of_machine(machine.as_ref());
    format!("{workload} on {}{machine}{with}", counted(*cpus as usize, "CPU"))
}

/// Counts the verdicts of the comparisons.
pub fn counts(history: &History) -> String {
    let rows = || history.steps.iter().flat_map(|step| &step.gate.rows);
    let count = |is: fn(Verdict) -> bool| rows().filter(|row| is(row.verdict)).count();
    format!(
        "Of {} {} worse, {} better, {} within the margin, {} undecided.",
        counted(history.comparisons, "comparison"),
        verb(count(|verdict| verdict == Verdict::Worse)),
        count(|verdict| verdict == Verdict::Better),
        count(|verdict| verdict == Verdict::WithinMargin),
        count(|verdict| {
            matches!(verdict, Verdict::WithinResolution | Verdict::Undecided { .. })
        }),
    )
}

fn verb(count: usize) -> String {
    format!("{count} {}", if count == 1 { "is" } else { "are" })
}
