use std::path::{Path, PathBuf};

use preemptlab_model::{PlannedCell, RECORDING_FORMAT};
use serde::{Deserialize, Serialize};

use crate::{
    RecordingError,
    cells::{read_json, write_json},
};

const UNTIL: &str = "until.json";
const LOOKS: &str = "looks";

/// No recording is looked at more often: from 5 replicates on the number grows by half each time.
const LOOKS_MAX: u32 = 100;

/// Until when replicates are added to a recording, written before its first look.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// See [`RECORDING_FORMAT`].
    pub format: u32,
    /// How much may differ and still be called the same, as a share of the baseline.
    pub margin: f64,
    /// What is to be decided; empty for the metrics of the overview.
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

/// What was added to a recording, look by look.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Looks {
    pub until: Option<Until>,
    pub added: Vec<Vec<PlannedCell>>,
}

impl Looks {
    /// Reads what is there; nothing in most recordings.
    pub fn read(recording: &Path) -> Result<Self, RecordingError> {
        let until = read_json(&recording.join(UNTIL))?;
        let mut added = Vec::new();
        while until.is_some() && added.len() < LOOKS_MAX as usize {
            let Some(look) = read_json::<Look>(&file(recording, added.len() + 1))? else { break };
            added.push(look.cells);
        }
        Ok(Self { until, added })
    }

    /// Writes the rule; one that is there already must be the same.
    pub fn begin(&mut self, recording: &Path, until: &Until) -> Result<(), RecordingError> {
        match &self.until {
            None => write_json(&recording.join(UNTIL), until)?,
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
                let margin = before.margin * 100.0;
                let what = format!("its looks were begun with {margin}%{metrics}{baseline}");
                return Err(RecordingError::Other { path: recording.to_owned(), what });
            }
        }
        self.until = Some(until.clone());
        Ok(())
    }

    /// Adds the cells of the next look; `false` when there have been enough.
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
        write_json(&file, &look)?;
        self.added.push(look.cells);
        Ok(true)
    }
}

fn file(recording: &Path, look: usize) -> PathBuf {
    recording.join(LOOKS).join(format!("{look:03}.json"))
}
