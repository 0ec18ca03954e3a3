//! The executions with moved timers, for a terminal.

use preemptlab_analysis::{explain::Confirmation, in_ms};

use crate::{Cell, Column, Table, Terminal, Tone, timeline_terminal};

/// Shows the observations of a confirmation for a terminal.
pub fn confirmation_terminal(confirmation: &Confirmation<'_>, terminal: Terminal) -> String {
    let (cell, confirmed) = (confirmation.cell(), confirmation.confirmed());
    let us = |ns: u64| format!("{:.3}", ns as f64 / 1e3);
    let mut table = Table::new(
        format!("{}: the probe's timer moved to the worst instants", cell.name()),
        [
            Column::left("from"),
            Column::right("at"),
            Column::right("predicted").with_unit("us"),
            Column::right("observed").with_unit("us"),
            Column::left("verdict"),
        ],
    );
    for attempt in &confirmed.attempts {
        let (verdict, tone) = if attempt.confirmed {
            ("confirmed", Tone::Better)
        } else if attempt.observed_ns < attempt.predicted_ns {
            ("the kernel noticed the waiting task", Tone::Plain)
        } else {
            ("NOT confirmed", Tone::Worse)
        };
        table.row([
            Cell::from(attempt.function.clone()),
            Cell::from(in_ms(attempt.at_ns)),
            Cell::from(us(attempt.predicted_ns)),
            Cell::from(us(attempt.observed_ns)),
            Cell::new(verdict, tone),
        ]);
    }
    if confirmed.attempts.is_empty() {
        table
            .notes
            .push("At none of them the probe's timer was one of the next to expire.".to_owned());
    }
    if confirmed.softirqs_left_out {
        table.notes.push(
            "Stretches with softirqs, the longest of all here, were left out: softirqs stop early \
             when a task waits."
                .to_owned(),
        );
    }
    let mut text = table.terminal(terminal);
    if let Some(timeline) = confirmed.attempts.last().and_then(|last| last.timeline.as_ref()) {
        text.push('\n');
        text += &timeline_terminal(timeline, terminal);
    }
    text
}
