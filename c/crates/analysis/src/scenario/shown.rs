use std::{collections::BTreeSet, path::Path};

use preemptlab_experiment::Recording;
use preemptlab_model::CellCost;
use preemptlab_scenario::Scenario;

use super::{
    asked::Under,
    played::{self, Column, Played, State},
};
use crate::{Result, boot_kernels::BootKernels, cells::cost};

/// Scenario with the outcomes of its variants under each model.
pub struct Shown<'a> {
    /// Scenario; of several variants, the first.
    pub scenario: &'a Scenario,
    /// Columns in the order of the models, and then of the variants.
    pub columns: Vec<Column>,
    /// Costs that virtual time counts in its cells.
    pub costs: BTreeSet<CellCost>,
}

impl<'a> Shown<'a> {
    /// Reads the outcomes of a scenario from a recording.
    ///
    /// # Errors
    ///
    /// When the recording cannot be read.
    pub fn read(
        recording: &Recording,
        kernels: &mut BootKernels,
        scenario: &'a Scenario,
        under: Under<'_>,
    ) -> Result<Self> {
        let columns = played::columns(recording, kernels, scenario, under)?;
        let planned = recording.planned().map(|(_, planned)| planned);
        let costs = planned.filter_map(|planned| cost(recording.manifest(), planned)).collect();
        Ok(Self { scenario, columns, costs })
    }

    /// Returns the command that opens it in Perfetto, if it was played into that recording.
    pub fn next(&self, out: &Path) -> Option<String> {
        let column = self.columns.iter().rfind(|column| column.played().is_some())?;
        Some(format!(
            "preemptlab explain {} trace --out trace.pftrace --cell '{} {} {}'",
            out.display(),
            column.kernel,
            column.model.mode(),
            column.scenario
        ))
    }
}

/// Puts the variants of a file beside each other.
pub fn side_by_side(shown: Vec<Shown<'_>>) -> Vec<Shown<'_>> {
    let mut families: Vec<Shown<'_>> = Vec::new();
    for each in shown {
        let family = families.iter_mut().find(|known| {
            each.scenario.variant().is_some() && known.scenario.family() == each.scenario.family()
        });
        match family {
            Some(family) => {
                family.columns.extend(each.columns);
                family.costs.extend(each.costs);
            }
            None => families.push(each),
        }
    }
    for Shown { columns, .. } in &mut families {
        let mut models = Vec::new();
        for column in columns.iter() {
            if !models.contains(&column.model) {
                models.push(column.model);
            }
        }
        columns.sort_by_key(|column| models.iter().position(|model| *model == column.model));
    }
    families
}

/// Verdict over scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every expectation is met.
    Met,
    /// A kernel disagrees.
    NotMet,
    /// Some failed, though others may have been played.
    Failed,
    /// None was played.
    NothingPlayed,
}

impl Verdict {
    /// Judges scenarios.
    pub fn of(shown: &[Shown<'_>]) -> Self {
        let columns = || shown.iter().flat_map(|shown| &shown.columns);
        let is_met = |played: &Played| played.met() == played.checked.len();
        if columns().all(|column| column.played().is_none()) {
            Self::NothingPlayed
        } else if columns().any(|column| matches!(column.state, State::Failed { .. })) {
            Self::Failed
        } else if columns().filter_map(Column::played).all(is_met) {
            Self::Met
        } else {
            Self::NotMet
        }
    }
}
