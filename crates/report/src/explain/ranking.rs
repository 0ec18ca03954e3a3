//! The functions that keep preemption and interrupts off for longest, as a table.

use preemptlab_analysis::{
    explain::{RankedConfiguration, Ranking},
    in_us,
};
use preemptlab_model::counted;
use preemptlab_trace::SectionKind;

use crate::{Cell, Column, Table};

/// Functions shown of each configuration.
const SHOWN: usize = 12;

/// Returns the longest sections of a ranking as a table.
pub fn ranking_table(ranking: &Ranking) -> Table {
    let columns = [
        Column::left("off"),
        Column::left("function < callers"),
        Column::right("count"),
        Column::right("total").with_unit("us"),
        Column::right("max").with_unit("us"),
    ];
    let mut table = Table::new("The longest sections by function", columns);
    let mut has_more = false;
    for RankedConfiguration { workload, configuration, cells, sections, .. } in
        &ranking.configurations
    {
        let plural = if *cells == 1 { "" } else { "s" };
        table.span(Cell::from(format!("{configuration} {workload}, {cells} cell{plural}")));
        for ranked in sections.iter().take(SHOWN) {
            let what = match ranked.kind {
                SectionKind::PreemptOff | SectionKind::IrqsOff => ranked.kind.as_str().to_owned(),
                kind => format!("({})", kind.as_str()),
            };
            let callers = ranked.callers.iter().take(2).map(|caller| format!(" < {caller}"));
            table.row([
                Cell::from(format!("  {what}")),
                Cell::from(format!("{}{}", ranked.function, callers.collect::<String>())),
                Cell::from(ranked.count.to_string()),
                Cell::from(in_us(ranked.total_ns)),
                Cell::from(in_us(ranked.max_ns)),
            ]);
        }
        if let Some(next) = sections.get(SHOWN) {
            table.span(Cell::from(format!(
                "  {} more, of at most {} us",
                sections.len() - SHOWN,
                in_us(next.max_ns)
            )));
            has_more = true;
        }
    }
    let in_part: usize = ranking.configurations.iter().map(|it| it.cells_in_part).sum();
    if in_part > 0 {
        table.notes.push(format!(
            "An earlier version recorded {}: it kept the 200 functions with the longest sections, and \
             none that delayed the first wakeup.",
            counted(in_part, "cell")
        ));
    }
    if has_more {
        table.notes.push("--format json has every function.".to_owned());
    }
    table.notes.push(
        "Virtual time. A section that takes a lock for a caller counts for the caller where it \
         is longer than 5 us. (call): the kernel works for this call, and none and voluntary do not \
         preempt it."
            .to_owned(),
    );
    table
}
