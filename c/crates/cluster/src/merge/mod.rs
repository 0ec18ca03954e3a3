//! Joins parts to the recording that one machine would have made, byte for byte.
//!
//! Invariants: a cell that the recording has settled keeps its bytes; a cell of which two executions
//! differ is taken from neither; a taken file was read and found whole before it appears; the
//! order of the parts changes nothing in the recording. A killed merge continues when it is run
//! again.

mod cell;
mod merged;
mod source;

use std::{
    collections::{BTreeMap, BTreeSet, btree_map},
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use preemptlab_model::{Arch, RECORDING_FORMAT_MIN, Shard, SnapshotId};
use preemptlab_recording::{
    Copied, Recording, RecordingError, RecordingWriter, is_written, manifest_sha256,
};

use crate::{Cut, newest};
use cell::{CellMerged, merge_cell};
pub use merged::{Conflict, Differing, Merged, Named, Overruled, Refused};
pub use source::parts;
use source::{Source, Wanted};

/// Files that are flushed to the disk at a time: a disk flushes several together.
const WORKERS: usize = 8;

/// Joins parts, which may be ordinary recordings of the same plan, to the recording of a writer.
///
/// # Errors
///
/// When the recording cannot be read or written. The result tells the faults of parts.
pub fn merge<E>(writer: &RecordingWriter<E>, parts: &[PathBuf]) -> Result<Merged, RecordingError> {
    let recording = writer.recording();
    let (cells, boots) = plan(recording);
    let ids = cells.iter().map(|cell| cell.id).collect();
    let wanted = Wanted {
        recording: recording.path(),
        manifest_sha256: manifest_sha256(recording.path())?,
        // The oldest format has no seals.
        is_sealed: recording.manifest().format > RECORDING_FORMAT_MIN,
        look: recording.planned().map(|(look, _)| look).max().unwrap_or(0),
        ids: &ids,
    };
    let mut merged = Merged { planned: cells.len(), ..Merged::default() };
    let (sources, idle) = open(&wanted, recording, parts, &mut merged.refused)?;
    if sources[1..].iter().any(|source| source.has_traces) {
        sources[0].traces.create()?;
    }
    let outcomes = merge_cells(&cells, &sources)?;
    for (cell, outcome) in cells.into_iter().zip(outcomes) {
        merged.add(cell, outcome);
    }
    take_layouts(&boots, &sources, &mut merged.refused)?;
    if !merged.missing.is_empty() {
        merged.shards = lacking(recording, &sources, &merged.missing);
        let parts = sources[1..].iter().map(|source| source.path.clone()).chain(idle);
        merged.at_work = parts.filter(|path| is_written(path).unwrap_or(false)).collect();
    }
    Ok(merged)
}

/// Lists the distinct cells that a recording plans to execute, in the plan's order, and their boots.
fn plan<E>(recording: &Recording<E>) -> (Vec<Named>, BTreeMap<SnapshotId, Arch>) {
    let (mut cells, mut seen, mut boots) = (Vec::new(), BTreeSet::new(), BTreeMap::new());
    for (_, planned) in recording.planned() {
        let Some(inputs) = planned.inputs() else { continue };
        let id = inputs.id();
        if seen.insert(id) {
            cells.push(Named { id, name: planned.factors.to_string() });
            boots.insert(inputs.snapshot.id(), inputs.snapshot.machine.arch);
        }
    }
    (cells, boots)
}

/// Opens the recording and the parts, each once; returns parts that have not begun, too.
fn open<E>(
    wanted: &Wanted<'_>,
    recording: &Recording<E>,
    parts: &[PathBuf],
    refused: &mut Vec<Refused>,
) -> Result<(Vec<Source>, Vec<PathBuf>), RecordingError> {
    let (mut sources, mut idle) = (vec![wanted.recording(recording.traces())?], Vec::new());
    let mut seen = BTreeMap::from([(recording.path().canonicalize().ok(), ())]);
    for path in parts {
        let real = path.canonicalize().ok();
        if real.is_some() {
            match seen.entry(real) {
                btree_map::Entry::Occupied(_) => continue,
                btree_map::Entry::Vacant(entry) => entry.insert(()),
            };
        }
        match wanted.open(path, refused) {
            Ok(Some(source)) => sources.push(source),
            Ok(None) => idle.push(path.clone()),
            Err(reason) => refused.push(reason),
        }
    }
    Ok((sources, idle))
}

/// Takes every cell, several at a time.
fn merge_cells(cells: &[Named], sources: &[Source]) -> Result<Vec<CellMerged>, RecordingError> {
    let (next, large) = (AtomicUsize::new(0), Mutex::new(()));
    let work = || {
        let mut done = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(cell) = cells.get(place) else { return Ok(done) };
            match merge_cell(cell, sources, &large) {
                Ok(outcome) => done.push((place, outcome)),
                Err(error) => {
                    // The others end, too.
                    next.fetch_add(cells.len(), Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
    };
    let mut outcomes = Vec::with_capacity(cells.len());
    thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            outcomes.extend(worker.join().expect("no worker panicked")?);
        }
        Ok::<(), RecordingError>(())
    })?;
    outcomes.sort_unstable_by_key(|(place, _)| *place);
    Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
}

impl Merged {
    fn add(&mut self, cell: Named, outcome: CellMerged) {
        let CellMerged {
            was_there, is_there, is_taken, is_trace_taken, is_twice, has_failed, ..
        } = outcome;
        self.before += usize::from(was_there);
        self.taken += usize::from(is_taken);
        self.traces += usize::from(is_trace_taken);
        self.twice += usize::from(is_twice);
        self.failed += usize::from(has_failed);
        if !is_there && outcome.conflicts.is_empty() {
            self.missing.push(cell);
        }
        self.conflicts.extend(outcome.conflicts);
        self.overruled.extend(outcome.overruled);
        self.refused.extend(outcome.refused);
    }
}

/// Copies the layouts of the boots' kernels, with which traces are read.
fn take_layouts(
    boots: &BTreeMap<SnapshotId, Arch>,
    sources: &[Source],
    refused: &mut Vec<Refused>,
) -> Result<(), RecordingError> {
    let (recorded, parts) = (&sources[0], &sources[1..]);
    for source in parts.iter().filter(|source| source.has_traces) {
        for (boot, guest) in boots {
            let file = source.traces.layout_file(*boot);
            match cell::length(&file) {
                Ok(None) => continue,
                Ok(Some(_)) => {}
                Err(reason) => {
                    refused.push(reason);
                    continue;
                }
            }
            match recorded.traces.copy_layout(*boot, *guest, &source.traces) {
                Ok(Copied::Other) => {
                    let reason = "it differs from the recording's layout of this kernel".to_owned();
                    refused.push(Refused::new(&file, reason));
                }
                Ok(_) => {}
                Err(error) => refused.push(source.refuse(recorded, error)?),
            }
        }
    }
    Ok(())
}

/// Returns the shards of the newest cells that have missing ones: into as many as most of the parts say.
fn lacking<E>(recording: &Recording<E>, sources: &[Source], missing: &[Named]) -> Vec<Shard> {
    let (look, boots) = newest(recording);
    let mut counts = BTreeMap::<u32, usize>::new();
    for of in sources.iter().filter_map(|source| source.of.as_ref()) {
        if of.look == look {
            *counts.entry(of.shard.count()).or_default() += 1;
        }
    }
    let Some((&count, _)) = counts.iter().max_by_key(|(_, parts)| **parts) else {
        return Vec::new();
    };
    let cut = Cut::new(&boots, count);
    let missing: BTreeSet<_> = missing.iter().map(|cell| cell.id).collect();
    Shard::all(count).filter(|shard| cut.of(*shard).iter().any(|id| missing.contains(id))).collect()
}
