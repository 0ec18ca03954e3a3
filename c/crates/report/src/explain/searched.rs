//! The worst wakeups that a search found, for a terminal and as a table.

use preemptlab_analysis::{explain::Searched, in_us};

use crate::{Cell, Column, Table, Terminal, timeline_terminal};

/// Shows the worst wakeups for a terminal, and the timeline of the worst of all.
pub fn searched_terminal(searched: &Searched, terminal: Terminal) -> String {
    let mut text = searched_table(searched).terminal(terminal);
    if let Some(timeline) = searched.worst() {
        text.push('\n');
        text += &timeline_terminal(timeline, terminal);
    }
    text
}

/// Returns the worst wakeups of a search as a table.
pub fn searched_table(searched: &Searched) -> Table {
    let mut table = Table::new(
        "The worst wakeups of the real-time probe that were executed",
        [
            Column::left("configuration"),
            Column::right("recorded").with_unit("us"),
            Column::right("worst").with_unit("us"),
            Column::right("bound").with_unit("us"),
            Column::right("executions"),
            Column::left("because of"),
        ],
    );
    for found in &searched.configurations {
        let open = if found.exhausted { "" } else { "+" };
        table.row([
            Cell::from(found.configuration.clone()),
            Cell::from(in_us(found.recorded_ns)),
            Cell::from(in_us(found.worst_ns)),
            Cell::from(in_us(found.bound_ns)),
            Cell::from(format!("{}{open}", found.executions)),
            Cell::from(found.cause.clone().unwrap_or_default()),
        ]);
    }
    table.notes.push(
        "recorded: the largest latency of the recording's seeds. worst: the largest one of an \
         execution, with the probe's timer moved into a long stretch. bound: what the longest \
         stretch makes of it by calculation."
            .to_owned(),
    );
    if searched.configurations.iter().any(|found| !found.exhausted) {
        table.notes.push(
            "+: the budget ended before every stretch was tried that could make a wakeup later; \
             give a larger --budget."
                .to_owned(),
        );
    }
    table
}
