//! What a search for the worst wakeups came to, as a document and as a table.

use preemptlab_report::{Cell, Column, Table, Terminal, cause_in_words, timeline_terminal};
use serde::Serialize;

use super::hunt::{Hunt, Step};
use crate::moment::in_us;

/// The worst wakeups of a recording's configurations.
#[derive(Debug, Serialize)]
pub struct Searched {
    format: u32,
    configurations: Vec<Configuration>,
    #[serde(skip)]
    hunts: Vec<Hunt>,
}

#[derive(Debug, Serialize)]
struct Configuration {
    configuration: String,
    seeds: usize,
    /// The largest latency in the recording.
    recorded_ns: u64,
    /// The largest latency that was executed.
    worst_ns: u64,
    /// The replicate whose cell has it.
    replicate: u32,
    /// What took most of it; `None` where it is not known.
    cause: Option<String>,
    /// What the longest stretch makes a wakeup take, by calculation.
    bound_ns: u64,
    executions: usize,
    /// Whether no stretch is left that could make a wakeup later.
    exhausted: bool,
    growth: Vec<Step>,
}

impl Searched {
    /// Returns what searches came to, in their order.
    pub fn new(hunts: Vec<Hunt>) -> Self {
        let configurations = hunts.iter().map(|hunt| {
            let worst = hunt.worst();
            Configuration {
                configuration: hunt.name().to_owned(),
                seeds: hunt.seeds(),
                recorded_ns: hunt.recorded_ns(),
                worst_ns: worst.latency_ns,
                replicate: worst.replicate,
                cause: worst.timeline.as_ref().map(cause_in_words),
                bound_ns: hunt.bound_ns(),
                executions: hunt.executions(),
                exhausted: hunt.is_exhausted(),
                growth: hunt.growth().to_vec(),
            }
        });
        Self { format: 1, configurations: configurations.collect(), hunts }
    }

    /// Shows the worst wakeups, and the timeline of the worst of all.
    pub fn text(&self, terminal: Terminal) -> String {
        let mut text = self.table().terminal(terminal);
        let worst = self.hunts.iter().map(Hunt::worst).max_by_key(|worst| worst.latency_ns);
        if let Some(timeline) = worst.and_then(|worst| worst.timeline.as_ref()) {
            text.push('\n');
            text += &timeline_terminal(timeline, terminal);
        }
        text
    }

    /// Returns the worst wakeups as a table.
    pub fn table(&self) -> Table {
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
        for found in &self.configurations {
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
        if self.configurations.iter().any(|found| !found.exhausted) {
            table.notes.push(
                "+: the budget ended before every stretch was tried that could make a wakeup later; \
                 give a larger --budget."
                    .to_owned(),
            );
        }
        table
    }
}
