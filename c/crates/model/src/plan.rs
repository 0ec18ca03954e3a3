use serde::{Deserialize, Serialize};

use crate::{CellInputs, Factors, SnapshotInputs};

/// Every cell of an experiment, in the order of its factors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Plan {
    /// Cells of the plan.
    pub cells: Vec<PlannedCell>,
}

/// Cell of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedCell {
    /// Factors of the cell.
    pub factors: Factors,
    /// Task for the cell.
    pub planned: Planned,
}

/// Task for a cell of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Planned {
    /// The cell is to be executed.
    Execute(Box<CellInputs>),
    /// The cell cannot exist, as the kernel's config tells.
    Unavailable {
        /// Reason, in words.
        reason: String,
    },
}

impl PlannedCell {
    /// Returns the inputs of a cell that can be executed.
    pub fn inputs(&self) -> Option<&CellInputs> {
        match &self.planned {
            Planned::Execute(inputs) => Some(inputs),
            Planned::Unavailable { .. } => None,
        }
    }
}

impl Plan {
    /// Returns the inputs of every cell that can be executed, each once, in the plan's order.
    pub fn executable(&self) -> Vec<&CellInputs> {
        let mut seen = std::collections::BTreeSet::new();
        self.cells
            .iter()
            .filter_map(PlannedCell::inputs)
            .filter(|inputs| seen.insert(inputs.id()))
            .collect()
    }

    /// Returns the boots that the plan needs, each once, in the order of their first cells.
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
