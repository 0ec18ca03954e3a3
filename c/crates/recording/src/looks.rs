use std::path::{Path, PathBuf};

use preemptlab_model::{PlannedCell, RECORDING_FORMAT};
use serde::{Deserialize, Serialize};

use crate::{
    RecordingError,
    json::{PLAN_BOUNDS, read_json, write_json},
};

pub const UNTIL: &str = "until.json";
pub const LOOKS: &str = "looks";

/// Largest number of looks at a recording: from 5 replicates on the number of replicates grows by
/// half each time.
const LOOKS_MAX: u32 = 100;

/// Largest number of replicates, as in an experiment.
const REPLICATES_MAX: u32 = 10_000;

/// Largest number of margins, and of bytes of each.
const MARGINS_MAX: usize = 100;
const MARGIN_BYTES_MAX: usize = 200;

/// Until when replicates are added to a recording, written before its first look.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// See [`RECORDING_FORMAT`].
    pub format: u32,
    /// Differences up to which two configurations are called the same, each as `--until` takes it.
    pub margins: Vec<String>,
    /// Metrics that are to be decided; empty for those of the overview.
    pub metrics: Vec<String>,
    /// The configuration that ratios refer to; `None` for the first of each workload.
    pub baseline: Option<String>,
}

/// The cells that were added after the results had been looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Look {
    format: u32,
    cells: Vec<PlannedCell>,
}

/// Cells that were added to a recording, look by look.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Looks {
    pub until: Option<Until>,
    pub added: Vec<Vec<PlannedCell>>,
}

impl Looks {
    /// Reads the rule and the added cells, which most recordings do not have.
    ///
    /// # Errors
    ///
    /// When a file is damaged, of a newer format or cannot be read.
    pub fn read(recording: &Path) -> Result<Self, RecordingError> {
        let until = read_json::<Until>(&recording.join(UNTIL), PLAN_BOUNDS)?;
        // A rule of an older preemptlab stays in force.
        let until = until.map(|read| Until { format: RECORDING_FORMAT, ..read.value });
        let damaged = |path: PathBuf, reason: &str| RecordingError::Damaged {
            path,
            reason: reason.to_owned(),
        };
        let too_much = |until: &Until| {
            let margins = &until.margins;
            margins.len() > MARGINS_MAX || margins.iter().any(|text| text.len() > MARGIN_BYTES_MAX)
        };
        if until.as_ref().is_some_and(too_much) {
            return Err(damaged(recording.join(UNTIL), "its margins are none"));
        }
        let mut added = Vec::new();
        while until.is_some() && added.len() < LOOKS_MAX as usize {
            let path = file(recording, added.len() + 1);
            let Some(look) = read_json::<Look>(&path, PLAN_BOUNDS)? else { break };
            let look = look.value;
            if look.cells.iter().any(|cell| cell.factors.replicate > REPLICATES_MAX) {
                let reason = format!("it has a replicate beyond {REPLICATES_MAX}");
                return Err(RecordingError::Damaged { path, reason });
            }
            added.push(look.cells);
        }
        // Results must not depend on which of the files were removed.
        let files = std::fs::read_dir(recording.join(LOOKS)).into_iter().flatten().flatten();
        let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
        if names.filter(|name| name.ends_with(".json")).count() != added.len() {
            let reason = "a look is missing, or until.json is";
            return Err(damaged(recording.join(LOOKS), reason));
        }
        Ok(Self { until, added })
    }

    /// Writes the rule; a rule that is there already must be the same.
    ///
    /// # Errors
    ///
    /// When another rule is there, or it cannot be written.
    pub fn begin(&mut self, recording: &Path, until: &Until) -> Result<(), RecordingError> {
        match &self.until {
            None => drop(write_json(&recording.join(UNTIL), until, PLAN_BOUNDS)?),
            Some(before) if before == until => {}
            Some(before) => {
                let metrics = match before.metrics.as_slice() {
                    [] => String::new(),
                    metrics => format!(" for {}", metrics.join(", ")),
                };
                let baseline = match &before.baseline {
                    Some(baseline) => format!(" against {baseline}"),
                    None => String::new(),
                };
                let margins = before.margins.join(" and ");
                let what = format!("its looks were begun with {margins}{metrics}{baseline}");
                return Err(RecordingError::Other { path: recording.to_owned(), what });
            }
        }
        self.until = Some(until.clone());
        Ok(())
    }

    /// Adds the cells of the next look; `false` when there have been enough looks.
    ///
    /// # Errors
    ///
    /// When they cannot be written.
    pub fn add(
        &mut self,
        recording: &Path,
        cells: Vec<PlannedCell>,
    ) -> Result<bool, RecordingError> {
        if self.added.len() >= LOOKS_MAX as usize {
            return Ok(false);
        }
        let look = Look { format: RECORDING_FORMAT, cells };
        let file = file(recording, self.added.len() + 1);
        if let Some(folder) = file.parent() {
            crate::cells::create_folder(folder)?;
        }
        if !write_json(&file, &look, PLAN_BOUNDS)? {
            let reason = "it is left over from other looks".to_owned();
            return Err(RecordingError::Damaged { path: file, reason });
        }
        self.added.push(look.cells);
        Ok(true)
    }
}

/// Returns the path of the file of a look.
pub fn file(recording: &Path, look: usize) -> PathBuf {
    recording.join(LOOKS).join(format!("{look:03}.json"))
}
