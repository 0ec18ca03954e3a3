use std::collections::BTreeMap;

use preemptlab_analysis::{
    Compared,
    cells::{key_of, key_of_cell},
};
use preemptlab_model::{MeasuredCell, PlannedCell};
use preemptlab_stats::Comparison;

use super::data::CellRow;

/// Returns the distinct command lines, and a row per cell that refers to them and to the comparison.
pub fn rows(compared: &Compared, comparison: &Comparison) -> (Vec<String>, Vec<CellRow>) {
    let mut places = BTreeMap::new();
    for (at, group) in comparison.groups.iter().enumerate() {
        for (of, configuration) in group.configurations.iter().enumerate() {
            places.insert(key_of(group, configuration), (at, of));
        }
    }
    let mut command_lines: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    for (recording, cells) in compared.parts() {
        for ((_, planned), cell) in recording.planned().zip(cells) {
            let Some(place) = places.get(&key_of_cell(cell)) else { continue };
            rows.push(row(planned, cell, *place, &mut command_lines));
        }
    }
    (command_lines, rows)
}

fn row(
    planned: &PlannedCell,
    cell: &MeasuredCell,
    (group, configuration): (usize, usize),
    command_lines: &mut Vec<String>,
) -> CellRow {
    let command_line = planned.inputs().map(|inputs| {
        let wanted = &inputs.snapshot.cmdline;
        let known = command_lines.iter().position(|line| line == wanted);
        known.unwrap_or_else(|| {
            command_lines.push(wanted.clone());
            command_lines.len() - 1
        })
    });
    CellRow {
        group,
        configuration,
        replicate: cell.factors.replicate,
        no_result: cell.result.as_ref().err().cloned(),
        id: cell.id.map(|id| id.to_string()),
        digest: cell.digest.map(|digest| digest.to_string()),
        seed: cell.id.map(|_| cell.seed.to_string()),
        command_line,
    }
}
