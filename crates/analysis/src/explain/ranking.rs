//! The functions that keep preemption and interrupts off for longest, per configuration.

use std::collections::BTreeMap;

use preemptlab_experiment::Recording;
use preemptlab_model::Factors;
use preemptlab_report::{Cell, Column, Table};
use preemptlab_stats::Baseline;
use preemptlab_trace::{Ranked, SectionKind};
use serde::Serialize;

use super::choice::{completed, latency};
use crate::{Error, Result, moment::in_us};

/// Functions shown of each configuration.
const SHOWN: usize = 12;

/// The longest sections of each configuration.
#[derive(Debug, Serialize)]
pub struct Ranking {
    format: u32,
    configurations: Vec<Configuration>,
}

#[derive(Debug, Serialize)]
struct Configuration {
    workload: String,
    /// Kernel, mode and settings of the configuration.
    configuration: String,
    cells: usize,
    sections: Vec<Ranked>,
}

impl Ranking {
    /// Ranks the functions that keep preemption and interrupts off in each configuration, over all
    /// of its traced cells.
    ///
    /// # Errors
    ///
    /// When no cell was traced, or the recording cannot be read.
    pub fn new(recording: &Recording, is_fair: bool) -> Result<Self> {
        let mut configurations: Vec<Configuration> = Vec::new();
        for cell in completed(recording, &latency(is_fair))? {
            let Some(findings) = recording.traces().findings(cell.id)? else { continue };
            let workload = cell.factors.workload.clone();
            let Factors { kernel, preempt, settings, machine, .. } = cell.factors;
            let of = machine.map(|machine| format!(" of {machine}")).unwrap_or_default();
            let configuration = format!("{}{of}", Baseline { kernel, preempt, settings });
            let place = configurations.iter().position(|known| {
                (&known.workload, &known.configuration) == (&workload, &configuration)
            });
            let place = place.unwrap_or_else(|| {
                let sections = Vec::new();
                configurations.push(Configuration { workload, configuration, cells: 0, sections });
                configurations.len() - 1
            });
            let configuration = &mut configurations[place];
            configuration.cells += 1;
            configuration.sections =
                merged(std::mem::take(&mut configuration.sections), findings.sections);
        }
        if configurations.is_empty() {
            return Err(Error::Unusable(format!(
                "no cell of {0} was traced; run the experiment with --trace, or explain a cell \
                 first: preemptlab explain {0}",
                recording.path().display()
            )));
        }
        Ok(Self { format: 1, configurations })
    }

    /// Returns the longest sections as a table.
    pub fn table(&self) -> Table {
        let columns = [
            Column::left("off"),
            Column::left("function < callers"),
            Column::right("count"),
            Column::right("total").with_unit("us"),
            Column::right("max").with_unit("us"),
        ];
        let mut table = Table::new("The longest sections by function", columns);
        for Configuration { workload, configuration, cells, sections } in &self.configurations {
            let plural = if *cells == 1 { "" } else { "s" };
            table.span(Cell::from(format!("{configuration} {workload}, {cells} cell{plural}")));
            for ranked in sections.iter().take(SHOWN) {
                let what = match ranked.kind {
                    SectionKind::PreemptOff => "preemption",
                    SectionKind::IrqsOff => "interrupts",
                    SectionKind::Softirq => "(softirq)",
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
        }
        table.notes.push(
            "Virtual time. A section that takes a lock for a caller counts for the caller where it \
             is longer than 5 us."
                .to_owned(),
        );
        table
    }
}

fn merged(ours: Vec<Ranked>, theirs: Vec<Ranked>) -> Vec<Ranked> {
    let mut by_function: BTreeMap<(SectionKind, String), Ranked> = BTreeMap::new();
    for ranked in ours.into_iter().chain(theirs) {
        let key = (ranked.kind, ranked.function.clone());
        match by_function.get_mut(&key) {
            None => {
                by_function.insert(key, ranked);
            }
            Some(known) => {
                // The numbers of a recording may be anything.
                let count = known.count.saturating_add(ranked.count);
                let total_ns = known.total_ns.saturating_add(ranked.total_ns);
                if ranked.max_ns > known.max_ns {
                    *known = ranked;
                }
                (known.count, known.total_ns) = (count, total_ns);
            }
        }
    }
    let mut merged: Vec<Ranked> = by_function.into_values().collect();
    merged.sort_by_key(|ranked| std::cmp::Reverse(ranked.max_ns));
    merged
}
