//! One machine prepares a recording, others execute its shards.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use preemptlab_cluster::{Cut, Workplace, newest};
use preemptlab_experiment::{Derived, PartWriter, Recording};
use preemptlab_files::OutFolder;
use preemptlab_model::{CellId, CellInputs, Outcome, Shard, counted};
use preemptlab_provision::NodeStore;
use preemptlab_recording::{Part, PartOf, RecordingError, manifest_sha256};
use preemptlab_runner::{Kept, Options, Order, Summary, Traces};

use crate::{
    Event, Kernels, Lab, PrepareError, Prepared, Result, Twice, execution::scratch, from_seed,
    meter::Meter,
};

/// How often a part is begun anew whose machine went away and cannot be asked.
const ATTEMPTS_MAX: u32 = 9;

/// A shard of a recording.
pub struct ShardWork<'a> {
    /// The recording's folder, which is only read.
    pub recording: &'a Path,
    /// The shard.
    pub shard: Shard,
    /// Share of the cells that another shard executes, too.
    pub twice: Option<Twice>,
    /// Folder of the part, if it is not the one beside the recording.
    pub out: Option<&'a Path>,
    /// Folder for the store that this machine's workers share, where none was named.
    pub temporary: &'a Path,
    /// Keeps the traces of kernels, besides their findings about every instant.
    pub trace: bool,
}

/// Outcome of a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardDone {
    /// Outcome of its cells; `None` where none was left.
    pub summary: Option<Summary>,
    /// Folder of the part.
    pub part: PathBuf,
}

/// Executes the cells of a shard that neither the recording nor its part has.
///
/// # Errors
///
/// When the recording cannot be read, its seed cannot be used, or the machine or the user ends it.
pub fn shard(lab: &Lab<'_>, work: &ShardWork<'_>) -> Result<ShardDone> {
    let ShardWork { recording: path, shard, trace, .. } = *work;
    let recording = Recording::open(path)?;
    let (look, boots) = newest(&recording);
    let cut = Cut::new(&boots, shard.count());
    let cut = match work.twice {
        Some(twice) => cut.with_twice(twice.share()),
        None => cut,
    };
    let workplace = Workplace::of(path);
    let of = PartOf::new(path, look, shard)?;
    let place = work.out.map_or_else(|| workplace.part_folder(look, shard), OutFolder::named);
    let wanted: BTreeSet<CellId> = cut.of(shard).iter().copied().collect();
    let mut only = lacking(&recording, &wanted, trace)?;
    let there = wanted.len() - only.len();
    if there > 0 {
        let there = counted(there, "cell");
        lab.note(format!("the recording has {there} of shard {shard} already"));
    }
    // The plan is checked before anything is asked for in its name.
    let derived = Derived::check(&recording).map_err(PrepareError::from)?;
    let (writer, part) = begin(path, &place, &of, &mut only, trace)?;
    if lacking(writer.cells().recording(), &only, trace)?.is_empty() {
        return Ok(ShardDone { summary: None, part });
    }
    let store = Store::open(lab, work)?;
    let prepared = seeded(lab, derived, &workplace.seed(), store.get());
    let is_ready = prepared.is_ok();
    let result = prepared.and_then(|prepared| execute(lab, trace, &prepared, &writer, &only));
    drop(writer);
    // A store that could not be filled is of no use.
    store.leave(!is_ready || all_begun(&workplace, look, shard.count()))?;
    Ok(ShardDone { summary: Some(result?), part })
}

/// Fills a worker's store out of a recording's seed.
fn seeded(
    lab: &Lab<'_>,
    recording: Derived<'_>,
    seed: &Path,
    store: &preemptlab_provision::Store,
) -> Result<Prepared> {
    lab.watch.on(Event::Providing);
    let on_event = |event| lab.watch.on(Event::Provision(event));
    let prepared = from_seed(recording, seed, store, &on_event);
    lab.watch.on(Event::Provided);
    Ok(prepared?)
}

/// Returns the cells that a recording, or a part, does not have yet. A completed cell needs its trace,
/// if traces are wanted.
fn lacking(
    recording: &Recording,
    cells: &BTreeSet<CellId>,
    trace: bool,
) -> Result<BTreeSet<CellId>> {
    let traces = recording.traces();
    let mut lacking = BTreeSet::new();
    for cell in cells {
        let has = match recording.has(*cell) {
            true if trace && !traces.contains(*cell) => {
                let record = recording.cell(*cell)?;
                record.is_some_and(|it| !matches!(it.outcome, Outcome::Completed { .. }))
            }
            has => has,
        };
        if !has {
            lacking.insert(*cell);
        }
    }
    Ok(lacking)
}

/// Tells whether every shard of a look was begun, as far as this machine sees.
fn all_begun(workplace: &Workplace, look: u32, shards: u32) -> bool {
    let names: BTreeSet<_> = fs::read_dir(workplace.parts())
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    Shard::all(shards).all(|shard| names.contains(&workplace.part(look, shard)))
}

fn execute(
    lab: &Lab<'_>,
    trace: bool,
    prepared: &Prepared,
    part: &PartWriter,
    only: &BTreeSet<CellId>,
) -> Result<Summary> {
    let writer = part.cells();
    let cancel = lab.watch.cancel()?;
    let jobs = lab.jobs();
    let backend = prepared.backend(&[])?;
    let backend = backend.as_ref();
    let folder = writer.recording().traces();
    let scratch = scratch(prepared);
    let kernels = Kernels::new(prepared, backend, trace.then_some(&folder));
    let kernel = |cell: &CellInputs| kernels.of_cell(cell, &cancel);
    let kept = if trace { Kept::Stream } else { Kept::Findings(&scratch) };
    folder.create()?;
    scratch.create()?;
    let traces = Some(Traces { folder: &folder, kernel: &kernel, kept });
    // Without a cache: a cell that two shards have is executed twice.
    let options = Options {
        jobs,
        cache: None,
        retry_failed: false,
        traces,
        order: Order::Planned,
        only: Some(only),
    };
    let meter = Meter::new(lab.watch, prepared, trace, jobs);
    let on_event = |event: preemptlab_runner::Event<'_>| meter.on_event(&event);
    let result = preemptlab_runner::run(writer, backend, &options, &on_event, &cancel);
    meter.finish();
    Ok(result?)
}

/// Opens the part of a shard. One that a machine has that went away is left to that machine, and
/// another one is begun beside it, without the cells that it has.
fn begin(
    recording: &Path,
    place: &OutFolder,
    of: &PartOf,
    only: &mut BTreeSet<CellId>,
    trace: bool,
) -> Result<(PartWriter, PathBuf)> {
    for attempt in 1..=ATTEMPTS_MAX {
        let folder = match attempt {
            1 => place.clone(),
            attempt => {
                let name = place.path().file_name().unwrap_or_default().to_owned();
                place.beside(&format!("{}.{attempt}", name.to_string_lossy()))
            }
        };
        let path = folder.path();
        let opened = PartWriter::open(Recording::open(recording)?, &folder, of);
        match opened {
            Ok(part) => return Ok((part, path)),
            Err(RecordingError::Busy { holder: Some(_), .. }) if attempt < ATTEMPTS_MAX => {
                if let Some(part) = Part::open(&path)? {
                    let traces = part.traces();
                    for cell in part.cell_ids()? {
                        if !trace || traces.contains(cell) {
                            only.remove(&cell);
                        }
                    }
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    unreachable!("the last attempt returns")
}

/// The store of a worker.
enum Store {
    /// One that the user named, and keeps.
    Named(preemptlab_provision::Store),
    /// One on this machine's own disk that its workers share.
    Node(NodeStore),
}

impl Store {
    fn open(lab: &Lab<'_>, work: &ShardWork<'_>) -> Result<Self> {
        if lab.store.is_some() {
            return Ok(Self::Named(lab.open_store()?));
        }
        let user = rustix::process::geteuid().as_raw();
        let name = format!("preemptlab-{user}-{}", manifest_sha256(work.recording)?.short());
        let root = work.temporary.join(name);
        Ok(Self::Node(NodeStore::open(root, lab.watch.cancel()?.flag())?))
    }

    fn get(&self) -> &preemptlab_provision::Store {
        match self {
            Self::Named(store) => store,
            Self::Node(store) => store.store(),
        }
    }

    /// Lets go of it. The last worker of the machine removes it, once no shard waits to be begun.
    fn leave(self, is_last: bool) -> Result<()> {
        match self {
            Self::Node(store) if is_last => Ok(store.remove()?),
            _ => Ok(()),
        }
    }
}
