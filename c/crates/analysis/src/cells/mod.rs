//! Every cell of recordings, read once: comparisons, gates, histories, pages and notices are functions
//! of it.

pub(crate) mod parallel;
mod reading;
mod spread;

use std::collections::BTreeMap;

use preemptlab_experiment::Recording;
use preemptlab_model::MeasuredCell;
use preemptlab_recording::RecordingError;
use preemptlab_stats::{Configuration, Group};

pub use reading::{Reading, for_each_cell};
pub(crate) use reading::{cost, executed};
pub use spread::{Key, Spread, key_of, key_of_cell};

/// Measurements that are kept of every cell; sections and distributions take up much memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Its metrics.
    Metrics,
    /// Its metrics, and the sections of each function.
    Sections,
    /// Its metrics, and of each configuration the distributions of all its cells together.
    Distributions,
}

/// The cells of recordings, in the order of the recordings and of their plans.
pub struct Cells {
    cells: Vec<MeasuredCell>,
    /// Number of cells of each recording.
    counts: Vec<usize>,
    spreads: BTreeMap<Key, Spread>,
}

impl Cells {
    /// Reads every planned cell of recordings.
    ///
    /// # Errors
    ///
    /// When a cell or its findings cannot be read.
    pub fn read(recordings: &[&Recording], keep: Keep) -> Result<Self, RecordingError> {
        let counts = vec![0; recordings.len()];
        let mut all = Self { cells: Vec::new(), counts, spreads: BTreeMap::new() };
        for_each_cell(recordings, keep, |at, reading| {
            if keep == Keep::Distributions && reading.cell.result.is_ok() {
                all.spreads.entry(key_of_cell(&reading.cell)).or_default().add(&reading);
            }
            all.counts[at] += 1;
            all.cells.push(reading.cell);
        })?;
        Ok(all)
    }

    /// Returns the cells of all recordings.
    pub fn all(&self) -> &[MeasuredCell] {
        &self.cells
    }

    /// Returns the cells of each recording.
    pub fn by_recording(&self) -> impl Iterator<Item = &[MeasuredCell]> {
        let mut rest = self.cells.as_slice();
        self.counts.iter().map(move |count| {
            let (of, after) = rest.split_at(*count);
            rest = after;
            of
        })
    }

    /// Returns the distributions of a configuration; `None` where none were kept.
    pub fn spread(&self, group: &Group, configuration: &Configuration) -> Option<&Spread> {
        self.spreads.get(&key_of(group, configuration))
    }
}
