//! Cells that have no measurements, with their reasons.

use preemptlab_stats::History;

use super::{page::Part, words};
use crate::{Cell, Column, Table, Tone};

pub fn parts(history: &History) -> Vec<Part> {
    if history.troubles.is_empty() {
        return Vec::new();
    }
    let columns = [
        Column::left("kernel"),
        Column::left("modes"),
        Column::left("workloads"),
        Column::right("cells"),
        Column::left("status"),
        Column::left("reason"),
    ];
    let mut table = Table::new("Cells without measurements", columns);
    for trouble in &history.troubles {
        let modes: Vec<String> = trouble.modes.iter().map(ToString::to_string).collect();
        let tone = if trouble.status == "failed" { Tone::Worse } else { Tone::Faint };
        table.row([
            Cell::from(words::kernel(&history.kernels[trouble.kernel])),
            Cell::from(modes.join(", ")),
            Cell::from(trouble.workloads.join(", ")),
            Cell::from(trouble.cells.to_string()),
            Cell::new(trouble.status, tone),
            Cell::from(trouble.reason.clone()),
        ]);
    }
    vec![Part::Table(table)]
}
