//! The functions that keep preemption and interrupts off for longest, per configuration.

use std::collections::BTreeMap;

use preemptlab_experiment::Recording;
use preemptlab_model::{Factors, MetricName, of_machine};
use preemptlab_stats::Baseline;
use preemptlab_trace::{Ranked, SectionKind};
use schemars::JsonSchema;
use serde::Serialize;

use super::choice::completed;
use crate::{Error, Result};

/// The longest sections of each configuration.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Ranking {
    /// Version of the document.
    pub format: u32,
    /// The configurations that have a traced cell.
    pub configurations: Vec<RankedConfiguration>,
}

/// The longest sections of a configuration.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RankedConfiguration {
    /// Name of its workload.
    pub workload: String,
    /// Kernel, mode and settings of the configuration.
    pub configuration: String,
    /// Number of its traced cells.
    pub cells: usize,
    /// Number of these cells whose findings hold only the functions with the longest sections, because an
    /// earlier version of preemptlab has recorded them.
    pub cells_in_part: usize,
    /// Sections by function, the longest first.
    pub sections: Vec<Ranked>,
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
        let mut configurations: Vec<RankedConfiguration> = Vec::new();
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
                configurations.push(RankedConfiguration {
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
