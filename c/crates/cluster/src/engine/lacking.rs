//! Which cells no part has yet.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use preemptlab_model::{CellId, CellRecord, Digest, Outcome, Shard};
use preemptlab_recording::{
    CellFolder, Part, PartOf, Recording, RecordingError, TraceFolder, manifest_sha256,
};

use crate::{Cut, Workplace, engine::RoundError};

/// Most folders of parts that are searched.
const PARTS_MAX: usize = 1 << 20;

/// A cell that a part has, and nothing had before.
#[derive(Debug)]
pub struct Finished<'a>(pub &'a CellRecord);

/// Cells of each shard that neither the recording nor the shard's parts have.
pub struct Lacking {
    workplace: Workplace,
    manifest_sha256: Digest,
    look: u32,
    count: u32,
    is_traced: bool,
    shards: BTreeMap<Shard, BTreeSet<CellId>>,
    /// Cells that have been told of; one that two shards have is told of once.
    told: BTreeSet<CellId>,
    /// Parts whose content fits their names.
    parts: BTreeMap<PathBuf, (Shard, Part)>,
    damaged: BTreeSet<(PathBuf, CellId)>,
}

impl Lacking {
    /// Lists the cells of the cut that a recording lacks.
    ///
    /// # Errors
    ///
    /// When the recording cannot be read.
    pub fn new<E>(
        recording: &Recording<E>,
        cells: &CellFolder,
        look: u32,
        cut: &Cut,
        count: u32,
        is_traced: bool,
    ) -> Result<Self, RoundError> {
        let finished: BTreeSet<CellId> = {
            let all = Shard::all(count).flat_map(|shard| cut.of(shard).iter().copied());
            let mut finished = BTreeSet::new();
            for id in all.collect::<BTreeSet<_>>() {
                if cells.contains(id) && has_trace(cells, &recording.traces(), id, is_traced)? {
                    finished.insert(id);
                }
            }
            finished
        };
        let lacking = |shard: Shard| {
            let cells: BTreeSet<CellId> =
                cut.of(shard).iter().copied().filter(|id| !finished.contains(id)).collect();
            (!cells.is_empty()).then_some((shard, cells))
        };
        Ok(Self {
            workplace: Workplace::of(recording.path()),
            manifest_sha256: manifest_sha256(recording.path())?,
            look,
            count,
            is_traced,
            shards: Shard::all(count).filter_map(lacking).collect(),
            told: BTreeSet::new(),
            parts: BTreeMap::new(),
            damaged: BTreeSet::new(),
        })
    }

    /// Looks at the parts, and tells of each cell that is new.
    ///
    /// # Errors
    ///
    /// [`RecordingError::Io`] where the file system does not answer, [`RecordingError::OtherPart`] where
    /// a shard's folder holds a part of another plan.
    pub fn look(&mut self, on_finished: &mut dyn FnMut(Finished<'_>)) -> Result<(), RoundError> {
        self.find_parts()?;
        for (path, (shard, part)) in &self.parts {
            let Some(cells) = self.shards.get_mut(shard) else { continue };
            let there = part.cell_ids()?;
            for id in there.into_iter().filter(|id| cells.contains(id)).collect::<Vec<_>>() {
                if self.damaged.contains(&(path.clone(), id)) {
                    continue;
                }
                let record = match part.cell(id) {
                    Ok(Some(record)) => record,
                    Ok(None) => continue,
                    Err(error @ RecordingError::Io { .. }) => return Err(error.into()),
                    Err(_) => {
                        self.damaged.insert((path.clone(), id));
                        continue;
                    }
                };
                let is_whole = !self.is_traced
                    || !matches!(record.outcome, Outcome::Completed { .. })
                    || part.traces().contains(id);
                if is_whole {
                    cells.remove(&id);
                    if self.told.insert(id) {
                        on_finished(Finished(&record));
                    }
                }
            }
        }
        self.shards.retain(|_, cells| !cells.is_empty());
        Ok(())
    }

    /// Removes the damaged cells from the parts, so that they are executed again. No task may be at work.
    ///
    /// # Errors
    ///
    /// When a part cannot be written to.
    pub fn remove_damaged(&mut self) -> Result<usize, RoundError> {
        let damaged = std::mem::take(&mut self.damaged);
        for (path, id) in &damaged {
            if let Some((_, part)) = self.parts.get(path) {
                part.cells().remove(*id)?;
            }
        }
        Ok(damaged.len())
    }

    /// Removes the failed cells from the parts, so that they are executed again. No task may be at work.
    ///
    /// # Errors
    ///
    /// When a part cannot be read or written to.
    pub fn remove_failed(&mut self) -> Result<(), RoundError> {
        self.find_parts()?;
        for (_, part) in self.parts.values() {
            for id in part.cell_ids()? {
                if let Ok(Some(record)) = part.cell(id)
                    && matches!(record.outcome, Outcome::Failed { .. })
                {
                    part.cells().remove(id)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the shards that lack cells.
    pub fn shards(&self) -> Vec<Shard> {
        self.shards.keys().copied().collect()
    }

    /// Returns the cells that are lacking, each once.
    pub fn cells(&self) -> BTreeSet<CellId> {
        self.shards.values().flatten().copied().collect()
    }

    /// Opens the parts that have appeared.
    fn find_parts(&mut self) -> Result<(), RoundError> {
        let folder = self.workplace.parts();
        for name in names(&folder)? {
            let path = folder.join(&name);
            let Some(shard) = shard_of(&name, self.look, self.count) else { continue };
            if self.parts.contains_key(&path) {
                continue;
            }
            let Some(part) = Part::open(&path)? else { continue };
            let PartOf { manifest_sha256, look, shard: of_shard, .. } = part.of();
            if (*manifest_sha256, *look, *of_shard) != (self.manifest_sha256, self.look, shard) {
                return Err(RecordingError::OtherPart(path).into());
            }
            self.parts.insert(path, (shard, part));
        }
        Ok(())
    }
}

/// Returns the shard of a part's folder: `3-of-8`, or `look-002-3-of-8`, and `3-of-8.2` of a second part
/// where the first one's machine cannot be asked.
fn shard_of(name: &str, look: u32, count: u32) -> Option<Shard> {
    let name = match look {
        0 => name,
        look => name.strip_prefix(&format!("look-{look:03}-"))?,
    };
    let name = match name.split_once('.') {
        Some((name, number)) => number.parse::<u32>().ok().map(|_| name)?,
        None => name,
    };
    let (index, of) = name.split_once("-of-")?;
    let shard: Shard = format!("{index}/{of}").parse().ok()?;
    (shard.count() == count).then_some(shard)
}

/// Lists the names in a folder, in their order; a folder that does not exist has none.
fn names(folder: &Path) -> Result<Vec<String>, RoundError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(RoundError::from(unreadable(folder, error))),
    };
    let mut names = Vec::new();
    for (number, entry) in entries.enumerate() {
        if number >= PARTS_MAX {
            let reason = format!("it holds more than {PARTS_MAX} entries");
            return Err(RoundError::from(RecordingError::Damaged {
                path: folder.to_owned(),
                reason,
            }));
        }
        let entry = entry.map_err(|error| unreadable(folder, error))?;
        names.extend(entry.file_name().into_string());
    }
    names.sort_unstable();
    Ok(names)
}

fn unreadable(folder: &Path, error: io::Error) -> RecordingError {
    RecordingError::Io { action: "read", path: folder.to_owned(), error }
}

/// Returns whether a finished cell has its trace, if traces are wanted.
fn has_trace(
    cells: &CellFolder,
    traces: &TraceFolder,
    id: CellId,
    is_wanted: bool,
) -> Result<bool, RoundError> {
    if !is_wanted || traces.contains(id) {
        return Ok(true);
    }
    let record = cells.get(id)?;
    Ok(record.is_some_and(|record| !matches!(record.outcome, Outcome::Completed { .. })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parts_folder_names_its_shard() {
        let shard = |name: &str, look| shard_of(name, look, 8).map(|shard| shard.to_string());
        assert_eq!(shard("3-of-8", 0).as_deref(), Some("3/8"));
        assert_eq!(shard("3-of-8.2", 0).as_deref(), Some("3/8"));
        assert_eq!(shard("look-002-3-of-8", 2).as_deref(), Some("3/8"));
        for name in ["3-of-9", "9-of-8", "look-002-3-of-8", "3-of-8.x", "3-of-8/..", "x", "3-of-8-"]
        {
            assert_eq!(shard(name, 0), None, "{name}");
        }
        assert_eq!(shard("3-of-8", 2), None);
    }
}
