//! The functions that keep preemption and interrupts off for longest, per configuration.

use std::collections::BTreeMap;

use preemptlab_experiment::Recording;
use preemptlab_model::{Factors, MetricName, counted, of_machine};
use preemptlab_report::{Cell, Column, Table};
use preemptlab_stats::Baseline;
use preemptlab_trace::{Ranked, SectionKind};
use serde::Serialize;

use super::choice::completed;
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
    /// Number of these cells whose findings hold only the functions with the longest sections, because an
    /// earlier version of preemptlab has recorded them.
    cells_in_part: usize,
    sections: Vec<Ranked>,
}

/// First version of findings that holds the sections of all functions.
const WHOLE_FORMAT: u32 = 2;

impl Ranking {
    /// Ranks the functions that keep preemption and interrupts off in each configuration, over all
    /// of its traced cells.
    ///
    /// # Errors
    ///
    /// When no cell was traced, or the recording cannot be read.
    pub fn new(recording: &Recording, is_fair: bool) -> Result<Self> {
        let mut configurations: Vec<Configuration> = Vec::new();
        for cell in completed(recording, &MetricName::latest(is_fair))? {
            let Some(findings) = recording.explained().findings(cell.id)? else { continue };
            let workload = cell.factors.workload.clone();
            let Factors { kernel, preempt, settings, machine, .. } = cell.factors;
            let of = of_machine(machine.as_ref());
            let configuration = format!("{}{of}", Baseline { kernel, preempt, settings });
            let place = configurations.iter().position(|known| {
                (&known.workload, &known.configuration) == (&workload, &configuration)
            });
            let place = place.unwrap_or_else(|| {
                configurations.push(Configuration {
                    workload,
                    configuration,
                    cells: 0,
                    cells_in_part: 0,
                    sections: Vec::new(),
                });
                configurations.len() - 1
            });
            let configuration = &mut configurations[place];
            configuration.cells += 1;
            configuration.cells_in_part += usize::from(findings.format < WHOLE_FORMAT);
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
        let mut has_more = false;
        for Configuration { workload, configuration, cells, sections, .. } in &self.configurations {
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
            if let Some(next) = sections.get(SHOWN) {
                table.span(Cell::from(format!(
                    "  {} more, of at most {} us",
                    sections.len() - SHOWN,
                    in_us(next.max_ns)
                )));
                has_more = true;
            }
        }
        let in_part: usize = self.configurations.iter().map(|it| it.cells_in_part).sum();
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
