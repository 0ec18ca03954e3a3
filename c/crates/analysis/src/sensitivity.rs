//! Effect of the virtual CPUs' lookahead on measurements.

use preemptlab_experiment::Recording;
use preemptlab_model::{CellInputs, CellRecord, Factors, Lookahead, MeasuredCell, PlannedCell};
use preemptlab_stats::{Comparison, Looks, Rule, compare};

use crate::{
    Error,
    cells::{Cells, Keep, executed as measured},
    error::Result,
};

/// Compares the recorded cells of several CPUs with executions of them that had other lookaheads. Each
/// lookahead stands where a recording's name stands; ratios refer to the recorded one.
///
/// # Errors
///
/// When the recording cannot be read or has no finished cell of several CPUs.
pub fn sensitivity(
    recording: &Recording,
    executed: Vec<(Factors, Lookahead, CellRecord)>,
) -> Result<Comparison> {
    let recorded = Cells::read(&[recording], Keep::Metrics)?;
    let recorded = recording.planned().zip(recorded.all());
    let recorded = recorded.filter_map(|((_, planned), cell)| {
        Some(MeasuredCell { run: Some(name(lookahead(planned)?)), ..cell.clone() })
    });
    let mut cells: Vec<MeasuredCell> = recorded.collect();
    if executed.is_empty() {
        return Err(Error::unusable("the recording has no finished cell of several CPUs"));
    }
    for (factors, lookahead, record) in executed {
        let planned = recording.planned().map(|(_, planned)| planned);
        if let Some(planned) = planned.into_iter().find(|planned| planned.factors == factors) {
            let run = name(lookahead);
            cells.push(measured(recording, run, planned, record));
        }
    }
    Ok(compare(&cells, Rule { looks: Looks::One, ..Rule::default() })?)
}

fn lookahead(planned: &PlannedCell) -> Option<Lookahead> {
    planned.inputs().and_then(|CellInputs { snapshot, .. }| snapshot.machine.lookahead)
}

fn name(lookahead: Lookahead) -> String {
    format!("lookahead {lookahead} ns")
}
