//! Which cell of a recording is meant.

use preemptlab_model::{CellId, CellInputs, Factors, Outcome};
use preemptlab_protocol::Report;
use preemptlab_recording::Recording;

use crate::{args::Explain, commands::run::recording_failure, exit};

/// A completed cell.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// Its place in the experiment.
    pub factors: Factors,
    /// Its identity.
    pub id: CellId,
    /// Everything that it depends on.
    pub inputs: CellInputs,
    /// What it said.
    pub report: Report,
    /// The largest latency that its probe saw, in microseconds.
    pub max_us: f64,
}

/// The cell that was named, or else the one with the worst wakeup.
pub fn choose(recording: &Recording, args: &Explain) -> exit::Result<Chosen> {
    let mut cells = completed(recording, args.fair)?;
    if let Some(name) = &args.cell {
        cells.retain(|cell| is_named(cell, name));
        let names: Vec<String> = cells.iter().map(name_of).collect();
        if cells.len() > 1 && names.iter().any(|other| other != &names[0]) {
            let shown = names.iter().take(8).map(|name| format!("\n  {name}")).collect::<String>();
            let worst = "the one with the worst wakeup is explained";
            if cells.iter().any(|cell| cell.factors.preempt != cells[0].factors.preempt) {
                return Err(exit::failure(
                    exit::UNUSABLE,
                    format!("`{name}` names {} cells; name one of them:{shown}", cells.len()),
                ));
            }
            let _ = worst;
        }
        if cells.is_empty() {
            let known = completed(recording, args.fair)?;
            let shown = known.iter().take(8).map(|cell| format!("\n  {}", name_of(cell)));
            return Err(exit::failure(
                exit::UNUSABLE,
                format!(
                    "no finished cell is called `{name}`; there are, among others:{}",
                    shown.collect::<String>()
                ),
            ));
        }
    }
    let worst = cells.into_iter().reduce(|a, b| if b.max_us > a.max_us { b } else { a });
    worst.ok_or_else(|| {
        exit::failure(exit::UNUSABLE, "the recording has no finished cell to explain")
    })
}

/// Every completed cell, in the order of the plan.
pub fn completed(recording: &Recording, is_fair: bool) -> exit::Result<Vec<Chosen>> {
    let metric = if is_fair { "wakeup.other.max" } else { "wakeup.fifo.max" };
    let mut cells = Vec::new();
    for cell in recording.cells() {
        let (planned, record) = cell.map_err(recording_failure)?;
        let Some(record) = record else { continue };
        let Outcome::Completed { report, .. } = record.outcome else { continue };
        let workload = recording.manifest().experiment.workload.get(&planned.factors.workload);
        let measured = workload.and_then(|workload| workload.measure(&record.inputs, &report).ok());
        let metrics = measured.map(|measured| measured.metrics()).unwrap_or_default();
        let max_us = metrics.iter().find(|found| found.name == metric).map_or(0.0, |m| m.value);
        cells.push(Chosen {
            factors: planned.factors.clone(),
            id: record.id,
            inputs: record.inputs,
            report: *report,
            max_us,
        });
    }
    Ok(cells)
}

/// How a cell is called.
pub fn name_of(cell: &Chosen) -> String {
    format!("{} ({:.8})", cell.factors, cell.id.to_string())
}

/// By the beginning of its identity, or by words of its name.
fn is_named(cell: &Chosen, name: &str) -> bool {
    let called = cell.factors.to_string();
    let is_id = name.len() >= 4 && cell.id.to_string().starts_with(name);
    let has_words =
        || name.split_whitespace().all(|word| called.split_whitespace().any(|part| part == word));
    is_id || has_words()
}
