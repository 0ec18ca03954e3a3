//! The worst wakeups of a cell, for a terminal and as a picture.

use std::fmt::Write;

use preemptlab_analysis::{
    explain::{Alike, Chosen, Explanation, Remedied, WorstInstant},
    in_ms, in_us,
    unsound::UNSOUND,
    wakeup::one_sentence,
};
use preemptlab_model::{WakeupPart, counted, number::number};
use preemptlab_trace::{Delay, Split, Splits, Timeline};

use crate::{
    Column, Lane, Table, Terminal, caption::cell_caption, timeline_svg, timeline_terminal,
};

/// Draws the worst wakeups as an SVG, and the same one of the sibling that lacks their cause.
pub fn explanation_svg(explanation: &Explanation<'_>) -> String {
    let mut lanes: Vec<(String, &Timeline)> = explanation
        .found
        .iter()
        .map(|timeline| (caption(explanation.cell, timeline), timeline))
        .collect();
    if let Some(beside) = explanation.beside().filter(|beside| beside.is_cure())
        && let Some(timeline) = &beside.timeline
    {
        lanes.push((caption(&beside.cell, timeline), timeline));
    }
    let lanes: Vec<Lane<'_>> =
        lanes.iter().map(|(caption, timeline)| Lane { caption, timeline }).collect();
    timeline_svg(&format!("The worst wakeups of {}", explanation.cell.factors), &lanes)
}

/// Shows the worst wakeups for a terminal, with their causes and the remedies.
pub fn explanation_terminal(explanation: &Explanation<'_>, terminal: Terminal) -> String {
    let cell = explanation.cell;
    let mut text =
        format!("{}: the worst of {}\n", cell.name(), counted(explanation.count, "wakeup"));
    if let Some(first) = explanation.found.first() {
        text += &terminal.note(&one_sentence(first));
    }
    text.push('\n');
    let causes = explanation.causes();
    if explanation.found.len() > 1 {
        text += &causes_table(&causes).terminal(terminal);
        text.push('\n');
    }
    for timeline in causes.iter().filter_map(|alike| alike.timelines.first()) {
        text += &timeline_terminal(timeline, terminal);
        text.push('\n');
    }
    text += &terminal.note(&format!("What would help: {}.", explanation.cure()));
    match &explanation.remedied {
        Remedied::Beside(beside) => {
            text += &terminal.note(&beside.words());
            if let Some(timeline) = beside.timeline.as_ref().filter(|_| beside.is_cure()) {
                text.push('\n');
                text += &timeline_terminal(timeline, terminal);
            }
        }
        Remedied::Missing => {
            text += &terminal.note(
                "The recording has no such configuration of this kernel with the same workload, \
                 CPUs, settings and seed.",
            );
        }
        Remedied::NoRemedy | Remedied::NotYet => {}
    }
    if let (Some(splits), Some(first)) = (&explanation.splits, explanation.found.first()) {
        text.push('\n');
        text += &splits_table(splits, first.wakeup.split()).terminal(terminal);
    }
    if let Some(WorstInstant { bound, timeline }) = &explanation.worst {
        let us = |ns: u64| ns as f64 / 1e3;
        let mut words = format!(
            "At every instant of the window: the most urgent task would have been late by {:.1} \
             us at worst, by {:.1} us at 99.9 % and {:.1} us at 99 % of all instants.",
            us(bound.max_ns()),
            us(bound.p99_9_ns),
            us(bound.p99_ns)
        );
        if !bound.is_sound() {
            let _ = write!(
                words,
                " The worst is what was observed: {UNSOUND}, which would allow {:.1} us.",
                us(bound.computed_ns())
            );
        }
        if let Some(timeline) = timeline {
            let _ = write!(
                words,
                " The worst instant is {}: {}",
                in_ms(timeline.wakeup.due_ns),
                one_sentence(timeline)
            );
        }
        text.push('\n');
        text += &terminal.note(&words);
    }
    text.push('\n');
    text += &terminal.note(&cell_caption(cell));
    text
}

fn causes_table(causes: &[Alike<'_>]) -> Table {
    let count: usize = causes.iter().map(|alike| alike.timelines.len()).sum();
    let columns = [
        Column::right("count"),
        Column::right("late").with_unit("us"),
        Column::left("what took most of it"),
    ];
    let title = format!("The {} worst wakeups by cause", count);
    let mut table = Table::new(title, columns);
    for alike in causes {
        let (worst_ns, least_ns) = (alike.max_ns(), alike.min_ns());
        let late = if alike.timelines.len() == 1 {
            in_us(worst_ns)
        } else {
            format!("{}–{}", in_us(least_ns), in_us(worst_ns))
        };
        table.row([alike.timelines.len().to_string(), late, alike.cause.clone()]);
    }
    if causes.len() < count {
        table
            .notes
            .push("Below is the worst of each cause; --format json has every wakeup.".to_owned());
    }
    table
}

/// Shows the parts of all wakeups' latencies, and of the worst one's.
fn splits_table(splits: &Splits, worst: Split) -> Table {
    let us = |ns: u64| number(ns as f64 / 1e3);
    let statistics = ["p50", "p99", "p99.9", "max", "the worst"];
    let columns = [Column::left("part")]
        .into_iter()
        .chain(statistics.map(|statistic| Column::right(statistic).with_unit("us")))
        .chain([Column::left("where it ends")]);
    let title = format!("The parts of the latency of {}", counted(splits.irq.wakeups, "wakeup"));
    let mut table = Table::new(title, columns);
    let parts = [
        (splits.irq, worst.irq_ns),
        (splits.thread, worst.thread_ns),
        (splits.user, worst.user_ns),
    ];
    for (part, (of, worst_ns)) in WakeupPart::ALL.into_iter().zip(parts) {
        let (name, end) = match part {
            WakeupPart::Irq => ("IRQ", "the timer's function runs"),
            WakeupPart::Thread => ("thread", "the CPU is given to the thread"),
            WakeupPart::User => ("user", "its first instruction in user space"),
        };
        let Delay { p50_ns, p99_ns, p99_9_ns, max_ns, .. } = of;
        let values = [p50_ns, p99_ns, p99_9_ns, max_ns, worst_ns].map(us);
        table.row([name.to_owned()].into_iter().chain(values).chain([end.to_owned()]));
    }
    table
}

fn caption(cell: &Chosen, timeline: &Timeline) -> String {
    format!("{} · {:.1} us", cell.factors, timeline.wakeup.latency_ns() as f64 / 1e3)
}
