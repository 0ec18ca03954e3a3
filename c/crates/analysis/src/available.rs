//! The analyses that a kind of recording allows.

use std::collections::BTreeSet;

use preemptlab_experiment::Recording;
use preemptlab_model::{CellRecord, Outcome, Planned};

use crate::{Error, Result};

/// Refuses a recording in the machine's own time for an analysis that needs virtual time.
///
/// # Errors
///
/// When the recording is one; the text ends with the analyses that virtual time allows.
pub fn only_virtual(recording: &Recording, can: &str) -> Result<()> {
    let backend = recording.manifest().backend;
    if backend.is_vm() {
        return Ok(());
    }
    let path = recording.path().display();
    Err(Error::Unusable(format!(
        "{path} was made with --backend {backend}, and only virtual time {can}"
    )))
}

/// Names the reasons why planned cells are unavailable, which are known before any of them boots.
pub fn known_before(recording: &Recording) -> Vec<String> {
    let cells = recording.manifest().plan.cells.iter();
    let reasons: BTreeSet<&String> = cells
        .filter_map(|cell| match &cell.planned {
            Planned::Unavailable { reason } => Some(reason),
            Planned::Execute(_) => None,
        })
        .collect();
    reasons.into_iter().map(|reason| format!("unavailable: {reason}")).collect()
}

/// Returns why no cell could be executed: each reason once.
pub fn unmeasured(recording: &Recording) -> Error {
    let mut reasons = BTreeSet::new();
    for cell in recording.cells() {
        match cell {
            Err(error) => return error.into(),
            Ok((planned, record)) => reasons.extend(match (&planned.planned, record) {
                (Planned::Unavailable { reason }, _) => Some(reason.clone()),
                (_, Some(CellRecord { outcome: Outcome::Unavailable { reason, .. }, .. })) => {
                    Some(reason)
                }
                _ => None,
            }),
        }
    }
    let reasons: Vec<_> = reasons.into_iter().collect();
    Error::Unmeasured(format!(
        "nothing was measured, because every cell is unavailable: {}",
        reasons.join("; ")
    ))
}
