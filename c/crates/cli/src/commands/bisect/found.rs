//! The answer of a search, for terminals.

use preemptlab_analysis::{
    bisection::{Answer, Bisected, Commit, Found, TakenBack, Tested, WorstWakeups, short},
    explain::{Explanation, choose},
};
use preemptlab_experiment::Recording;
use preemptlab_lab::LABELS;
use preemptlab_model::{MetricName, plain};
use preemptlab_report::{Column, Table, Terminal, explanation_terminal, gate_terminal};

/// Renders the answer of a search for a terminal.
pub fn terminal(outcome: &Bisected, terminal: Terminal) -> String {
    let beside = |worst: &WorstWakeups| worst_wakeups(worst, outcome, terminal);
    let noun = match outcome.found {
        Found::Commit { .. } | Found::Hidden { .. } => "commit",
        Found::Kernel { .. } | Found::HiddenKernels { .. } => "kernel",
    };
    let columns = [noun, "answer", "why"].map(Column::left);
    let mut table = Table::new("", columns);
    for Tested { commit, answer, reason } in &outcome.steps {
        let answer = if *answer == Answer::Skip { "skipped" } else { answer.as_str() };
        let commit = if noun == "kernel" { commit } else { short(commit) };
        table.row([commit, answer, plain::line(reason).as_ref()]);
    }
    let mut parts = Vec::new();
    match &outcome.found {
        Found::Commit { commit, change, worst, cure } => {
            let words = format!("{} is the first bad commit: {}", short(&commit.id), named(commit));
            parts.push(terminal.note(&words));
            parts.push(gate_terminal(change, terminal));
            parts.extend(worst.iter().map(beside));
            parts.push(terminal.note(&cured(cure)));
        }
        Found::Kernel { kernel, before, change, worst } => {
            let words = format!("{kernel} is the first bad kernel; {before} came before it.");
            parts.push(terminal.note(&words));
            parts.push(gate_terminal(change, terminal));
            parts.extend(worst.iter().map(beside));
        }
        Found::Hidden { commits } => {
            let words = "Commits that cannot be tested hide the first bad one. It is one of these:";
            parts.push(terminal.note(words));
            let line = |commit: &Commit| {
                terminal.note(&format!("{} {}", short(&commit.id), named(commit)))
            };
            parts.extend(commits.iter().map(line));
        }
        Found::HiddenKernels { kernels } => {
            let words = "Kernels that cannot be tested hide the first bad one. It is one of these:";
            parts.push(terminal.note(words));
            parts.extend(kernels.iter().map(|kernel| terminal.note(kernel)));
        }
    }
    let folder = outcome.folder.display();
    let next = match outcome.found {
        Found::Commit { .. } | Found::Kernel { .. } => {
            format!("; next: preemptlab explain {folder}/steps/change")
        }
        Found::Hidden { .. } | Found::HiddenKernels { .. } => String::new(),
    };
    parts.push(terminal.note(&format!("Followed: {}.", outcome.mechanism)));
    if !outcome.steps.is_empty() {
        parts.push(table.terminal(terminal));
    }
    parts.push(terminal.note(&format!("The search is in {folder}{next}")));
    parts.join("\n")
}

fn worst_wakeups(worst: &WorstWakeups, outcome: &Bisected, terminal: Terminal) -> String {
    let words = [format!("Before: {}", worst.before), format!("After: {}", worst.after)];
    let [before, after] = words.map(|words| terminal.note(&words));
    let timeline = timeline(outcome, terminal).unwrap_or_default();
    format!("{before}\n{after}\n{timeline}")
}

/// Draws the worst wakeup of the first bad one.
fn timeline(outcome: &Bisected, terminal: Terminal) -> Option<String> {
    let recording = Recording::open(&outcome.change()).ok()?;
    let cell = choose(&recording, Some(LABELS[1]), &MetricName::latest(false)).ok()?;
    let explanation = Explanation::new(&recording, &cell, false, 1).ok()?;
    Some(explanation_terminal(&explanation, terminal))
}

fn cured(cure: &TakenBack) -> String {
    match cure {
        TakenBack::Cures => "Taking it back on top of the bad revision cures it.".to_owned(),
        TakenBack::Remains { words } => format!(
            "Taking it back on top of the bad revision does not cure it ({words}): something else \
                 has the same effect there."
        ),
        TakenBack::Unknown { why } => {
            format!("Whether taking it back cures it could not be told: {why}.")
        }
        TakenBack::Conflicts => {
            "It cannot be taken back cleanly: later commits changed the same lines.".to_owned()
        }
        TakenBack::Merge => "It is a merge, which is not taken back.".to_owned(),
    }
}

fn named(commit: &Commit) -> String {
    let Commit { subject, author, date, .. } = commit;
    plain::line(&format!("{subject} ({author}, {date})")).into_owned()
}
