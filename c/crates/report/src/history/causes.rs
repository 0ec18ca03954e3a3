//! Why each kernel was late at worst.

use preemptlab_stats::History;

use super::{page::Part, words};
use crate::{Cell, Column, Table, Tone};

pub fn parts(history: &History) -> Vec<Part> {
    let columns = [
        Column::left("mode"),
        Column::left("workload"),
        Column::left("wakeup"),
        Column::left("why a real-time task was late"),
    ];
    let mut table = Table::new("Why each kernel was late at worst", columns);
    for kernel in history.kernels.iter().filter(|kernel| !kernel.causes.is_empty()) {
        table.span(Cell::new(words::kernel(kernel), Tone::Strong));
        for cause in &kernel.causes {
            let of = if cause.is_bound { "bound" } else { "worst" };
            table.row([
                format!("  {}", cause.preempt),
                cause.workload.clone(),
                of.to_owned(),
                cause.sentence.clone(),
            ]);
        }
    }
    if table.rows.is_empty() {
        return Vec::new();
    }
    table.notes.push(
        "worst: the latest wakeup of the real-time probe in any cell of the kernel and mode. bound: how \
         late it would have been at the worst instant of a cell, due or not. `preemptlab explain` shows \
         more of each."
            .to_owned(),
    );
    vec![Part::Table(table)]
}
