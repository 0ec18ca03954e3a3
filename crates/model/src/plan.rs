use serde::{Deserialize, Serialize};

use crate::{CellInputs, Factors, SnapshotInputs};

/// Every cell of an experiment, in the order of its factors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Plan {
    /// The cells.
    pub cells: Vec<PlannedCell>,
}

/// One cell of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedCell {
    /// Its place in the experiment.
    pub factors: Factors,
    /// What is to be done for it.
    pub planned: Planned,
}

/// What is to be done for a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Planned {
    /// Execute it.
    Execute(Box<CellInputs>),
    /// Nothing: the kernel's config says that it cannot exist.
    Unavailable {
        /// Why.
        reason: String,
    },
}

impl PlannedCell {
    /// The inputs of a cell that can be executed.
    pub fn inputs(&self) -> Option<&CellInputs> {
        match &self.planned {
            Planned::Execute(inputs) => Some(inputs),
            Planned::Unavailable { .. } => None,
        }
    }
}

impl Plan {
    /// The inputs of every cell that can be executed, each once, in the plan's order.
    pub fn executable(&self) -> Vec<&CellInputs> {
        let mut seen = std::collections::BTreeSet::new();
        self.cells
            .iter()
            .filter_map(PlannedCell::inputs)
            .filter(|inputs| seen.insert(inputs.id()))
            .collect()
    }

    /// The boots that the plan needs, each once, in the order of their first cells.
    pub fn snapshots(&self) -> Vec<&SnapshotInputs> {
        let mut seen = std::collections::BTreeSet::new();
        self.cells
            .iter()
            .filter_map(PlannedCell::inputs)
            .map(|inputs| &inputs.snapshot)
            .filter(|snapshot| seen.insert(snapshot.id()))
            .collect()
    }
}
