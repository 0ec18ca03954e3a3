//! Scenarios in words: the picture, the waits, the score, and the expectations.

use std::fmt::Write;

use preemptlab_analysis::scenario::{Column, Played, Shown, State, scores};
use preemptlab_model::VirtualDuration;
use preemptlab_scenario::{Cause, Model, Resource, Scenario, Wait, WaitKind};

use super::picture;
use crate::{
    Cell, Column as TableColumn, Table, Terminal, Tone, caption::time_caption, lanes_terminal,
};

/// Writes the caption of the numbers, which states once how to read them.
pub(super) fn caption(shown: &[Shown<'_>]) -> String {
    time_caption(&shown.iter().flat_map(|shown| &shown.costs).cloned().collect())
}

/// Shows scenarios on a terminal.
pub fn scenarios_terminal(shown: &[Shown<'_>], terminal: Terminal) -> String {
    let mut text = String::new();
    for each in shown {
        let Shown { scenario, columns, .. } = each;
        let _ = writeln!(text, "{}: {}\n", scenario.family(), scenario.description());
        if let Some(picture) = picture::drawn(columns, |panels| lanes_terminal(panels, terminal)) {
            text += &picture;
            text.push('\n');
        }
        text += &numbers(each, terminal);
    }
    concluded(text, shown, |table| table.terminal(terminal)) + &terminal.note(&caption(shown))
}

/// Returns the waits, the score and the expectations.
pub(super) fn numbers(shown: &Shown<'_>, terminal: Terminal) -> String {
    waits_and_said(shown, |table| table.terminal(terminal))
}

/// Shows scenarios in Markdown; the pictures are files beside it.
pub fn scenarios_markdown(shown: &[Shown<'_>]) -> String {
    let mut text = String::new();
    for each in shown {
        let Shown { scenario, .. } = each;
        let _ = writeln!(text, "## {}\n\n{}\n", scenario.family(), scenario.description());
        text += &waits_and_said(each, Table::markdown);
    }
    concluded(text, shown, Table::markdown) + &caption(shown) + "\n"
}

fn waits_and_said(shown: &Shown<'_>, render: impl Fn(&Table) -> String) -> String {
    let mut text = String::new();
    if shown.columns.iter().any(|column| column.played().is_some()) {
        text = render(&waits(shown));
        text.push('\n');
    }
    said(shown, &mut text);
    text.push('\n');
    text
}

/// Adds the conclusion over all scenarios to the text.
fn concluded(mut text: String, shown: &[Shown<'_>], render: impl Fn(&Table) -> String) -> String {
    if shown.len() > 1 {
        text += &render(&summary(shown));
        text.push('\n');
    }
    text
}

/// Builds the table of waits: when each thread was back from each, and how long others held the locks
/// that it waited for, under each model and for each variant.
fn waits(shown: &Shown<'_>) -> Table {
    let Shown { scenario, columns, .. } = shown;
    let mut by_model: Vec<(Model, Vec<&Column>)> = Vec::new();
    for column in columns {
        match by_model.iter_mut().find(|(model, _)| *model == column.model) {
            Some((_, variants)) => variants.push(column),
            None => by_model.push((column.model, vec![column])),
        }
    }
    let has_variants = scenario.variant().is_some();
    let first = by_model.first().map_or(&[][..], |(_, variants)| variants);
    let heads: Vec<&str> = match has_variants {
        true => first.iter().filter_map(|column| column.variant.as_deref()).collect(),
        false => columns.iter().map(|column| column.model.as_str()).collect(),
    };
    let heads = heads.into_iter().map(TableColumn::right);
    let heads = ["thread", "waits for"].map(TableColumn::left).into_iter().chain(heads);
    let mut table = Table::new("When threads were back, and how late that was", heads);
    if has_variants {
        for (model, variants) in &by_model {
            table.span(Cell::new(format!("under {model}"), Tone::Strong));
            rows(&mut table, scenario, variants);
        }
    } else {
        rows(&mut table, scenario, &columns.iter().collect::<Vec<_>>());
    }
    table
}

fn rows(table: &mut Table, scenario: &Scenario, columns: &[&Column]) {
    let numbers = |of: &dyn Fn(&Played) -> Cell| -> Vec<Cell> {
        columns.iter().map(|column| column.played().map_or_else(|| "".into(), of)).collect()
    };
    for (place, thread) in scenario.script().threads.iter().enumerate() {
        let mut row = |what: String, cells: Vec<Cell>| {
            table.row([thread.name.as_str().into(), what.into()].into_iter().chain(cells));
        };
        let waits = |column: &&Column| {
            column.played().map(|played| played.outcome.threads[place].waits.len())
        };
        // A variant may have other steps.
        let count = columns.iter().filter_map(waits).max().unwrap_or(0);
        for wait in 0..count {
            let of = |played: &Played| played.outcome.threads[place].waits.get(wait).cloned();
            let all = columns.iter().filter_map(|column| column.played().and_then(of));
            let common = common_purpose(&all.collect::<Vec<_>>());
            let own = |wait: Wait| back(&wait, common.is_none());
            let cells = numbers(&|played| of(played).map_or_else(|| "".into(), own));
            row(common.clone().unwrap_or_else(|| "(each its own)".to_owned()), cells);
        }
        for resource in blocked_on(columns, place) {
            let of = |played: &Played| {
                let blocked = played.outcome.threads[place].blocked.iter();
                blocked.filter(|on| on.resource == resource).map(|on| on.blocked_ns).next()
            };
            let cells =
                numbers(&|played| of(played).map_or_else(|| "".into(), |ns| duration(ns).into()));
            row(format!("(blocked on {resource})"), cells);
        }
        let finished = numbers(&|played| match played.outcome.threads[place].finished_ns {
            Some(ns) => duration(ns).into(),
            None => Cell::new("never", Tone::Worse),
        });
        row("(finished)".to_owned(), finished);
    }
    let switches = numbers(&|played| played.counts().switches.to_string().into());
    table.row(["".into(), "context switches".into()].into_iter().chain(switches));
    let schedules = numbers(&|played| played.counts().schedule_calls.to_string().into());
    table.row(["".into(), "calls of schedule()".into()].into_iter().chain(schedules));
}

/// Returns the resources on which a thread was blocked in any column.
fn blocked_on(columns: &[&Column], thread: usize) -> Vec<Resource> {
    let played = columns.iter().filter_map(|column| column.played());
    let mut resources: Vec<Resource> = Vec::new();
    for on in played.flat_map(|played| &played.outcome.threads[thread].blocked) {
        if !resources.contains(&on.resource) {
            resources.push(on.resource.clone());
        }
    }
    resources
}

/// Returns the thread's cause of waiting in every column; `None` where that differs, as a variant's
/// own times do.
fn common_purpose(waits: &[Wait]) -> Option<String> {
    // A sleep begins when the thread comes to it, which differs with the model.
    let length = |wait: &Wait| {
        let is_sleep = wait.kind == WaitKind::Sleep;
        let length_ns = wait.due_ns?.checked_sub(wait.begin_ns?).filter(|_| is_sleep)?;
        Some(format!("{} of sleep", VirtualDuration::from_ns(length_ns)))
    };
    // A time that a thread never came to is that of the others.
    let is_known = |wait: &&Wait| wait.due_ns.is_some() || wait.cause != Cause::Time;
    let known: Vec<&Wait> = waits.iter().filter(is_known).collect();
    let waits = if known.is_empty() { waits.iter().collect() } else { known };
    let all_same = |of: &dyn Fn(&Wait) -> Option<String>| {
        let mut purposes = waits.iter().map(|wait| of(wait));
        let first = purposes.next()??;
        purposes.all(|other| other.as_ref() == Some(&first)).then_some(first)
    };
    all_same(&|wait| Some(purpose(wait))).or_else(|| all_same(&length))
}

fn purpose(wait: &Wait) -> String {
    match (&wait.cause, wait.kind) {
        (Cause::Futex { name, .. }, _) => format!("the futex {name}"),
        (Cause::Interrupt { name, .. }, _) => format!("the interrupt {name}"),
        (Cause::Time, _) => match wait.due_ns {
            Some(ns) => format!("{}", VirtualDuration::from_ns(ns)),
            None if wait.kind == WaitKind::Call => "a time, in a call".to_owned(),
            None => "a time".to_owned(),
        },
    }
}

/// Returns words such as `5 s +2 s`, short enough for four models beside each other, behind the
/// cause of waiting where its row does not say that.
fn back(wait: &Wait, says_purpose: bool) -> Cell {
    let purpose = if says_purpose { format!("{}: ", purpose(wait)) } else { String::new() };
    match (wait.back_ns, wait.latency_ns) {
        (None, _) => Cell::new(format!("{purpose}never"), Tone::Worse),
        (Some(back_ns), Some(late_ns)) => {
            format!("{purpose}{} +{}", duration(back_ns), rounded(late_ns, 3)).into()
        }
        (Some(back_ns), None) => format!("{purpose}{}", duration(back_ns)).into(),
    }
}

fn duration(ns: u64) -> String {
    rounded(ns, 4)
}

/// Rounds a time to `digits` significant digits.
fn rounded(ns: u64, digits: u32) -> String {
    let length = ns.checked_ilog10().unwrap_or(0) + 1;
    let unit = 10_u64.pow(length.saturating_sub(digits));
    VirtualDuration::from_ns((ns + unit / 2) / unit * unit).to_string()
}

/// Writes scores, expectations, and the places of stuck threads.
fn said(shown: &Shown<'_>, text: &mut String) {
    for (variant, score) in scores(&shown.columns) {
        let said = score.to_string();
        if !said.is_empty() {
            let of = variant.map(|variant| format!("{variant}, ")).unwrap_or_default();
            let _ = writeln!(text, "{of}{} against {}:\n{said}", score.model, score.reference);
        }
    }
    for column in &shown.columns {
        match &column.state {
            State::Played(played) => expectations(column, played, text),
            State::Failed { reason } => {
                let _ = writeln!(text, "{} failed: {reason}", column.title);
            }
            State::Unavailable { reason } => {
                let _ = writeln!(text, "{} is unavailable: {reason}", column.title);
            }
        }
    }
}

fn expectations(column: &Column, played: &Played, text: &mut String) {
    let model = &column.title;
    for cycle in &played.outcome.cycles {
        let _ = writeln!(text, "{model}: a deadlock: {cycle}");
    }
    if played.outcome.cycles.is_empty() {
        for thread in &played.outcome.threads {
            if let Some(stuck) = &thread.stuck {
                let _ = writeln!(text, "{model}: {} never finished: {stuck}", thread.name);
            }
        }
    }
    for checked in played.checked.iter().filter(|checked| !checked.met) {
        let _ = writeln!(text, "{model}: line {}: {checked}", checked.line);
    }
    if !played.checked.is_empty() {
        let (met, all) = (played.met(), played.checked.len());
        let _ = writeln!(text, "{model}: {met} of {all} expectations met");
    }
}

/// Builds the table with a row for each scenario, or for each variant of one.
fn summary(shown: &[Shown<'_>]) -> Table {
    let mut models: Vec<Model> = Vec::new();
    for column in shown.first().map_or(&[][..], |first| &first.columns) {
        if !models.contains(&column.model) {
            models.push(column.model);
        }
    }
    let heads = models.iter().map(|model| TableColumn::left(model.as_str()));
    let heads = std::iter::once(TableColumn::left("scenario")).chain(heads);
    let mut table = Table::new("Expectations met", heads);
    for Shown { columns, .. } in shown {
        let mut names: Vec<&str> = Vec::new();
        for column in columns {
            if !names.contains(&column.scenario.as_str()) {
                names.push(&column.scenario);
            }
        }
        for name in names {
            let columns = columns.iter().filter(|column| column.scenario == name);
            table.row(std::iter::once(name.into()).chain(columns.map(summed_up)));
        }
    }
    table
}

fn summed_up(column: &Column) -> Cell {
    match &column.state {
        State::Failed { .. } => Cell::new("failed", Tone::Worse),
        State::Unavailable { .. } => "-".into(),
        State::Played(played) if played.checked.is_empty() => "none to meet".into(),
        State::Played(played) => {
            let (met, all) = (played.met(), played.checked.len());
            let tone = if met == all { Tone::Better } else { Tone::Worse };
            Cell::new(format!("{met} of {all}"), tone)
        }
    }
}
