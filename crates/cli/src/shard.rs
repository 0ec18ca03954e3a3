//! `run --prepare` and `run --shard`: one machine prepares a recording, others execute its shards.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    str::FromStr,
};

use clap::Args;
use preemptlab_cluster::{Cut, Workplace, newest, shard_of_variables};
use preemptlab_durable::OutFolder;
use preemptlab_experiment::{Derived, PartWriter, Recording};
use preemptlab_lab::Kernels;
use preemptlab_model::{CellId, CellInputs, Outcome, Shard, counted};
use preemptlab_provision::NodeStore;
use preemptlab_recording::{Part, PartOf, RecordingError, manifest_sha256};
use preemptlab_runner::{Kept, Options, Order, Summary, Traces};

use crate::{
    exit::{self, OrExit},
    lab,
    output::Output,
    progress::Progress,
    seed,
    session::{Session, scratch},
    twice::Twice,
};

/// How often a part is begun anew whose machine went away and cannot be asked.
const ATTEMPTS_MAX: u32 = 9;

/// Several machines.
#[derive(Args, Debug)]
#[command(next_help_heading = "On several machines")]
pub struct ShardArgs {
    /// Write the plan and pack what workers need into FOLDER.shards; execute nothing
    #[arg(long, conflicts_with_all = ["shard", "until", "retry_failed", "no_cache"])]
    pub prepare: bool,
    /// Execute this shard of a prepared recording into a part of its own, such as 3/8; `auto` or
    /// `auto/8` takes it from the variables of Slurm, Kubernetes or a CI
    #[arg(long, value_name = "I/N", conflicts_with_all = ["until", "retry_failed", "no_cache"])]
    pub shard: Option<ShardWanted>,
    /// Let two shards execute this share of the cells, at least one, so that `merge` compares them
    #[arg(long, value_name = "PERCENT", requires = "several")]
    pub twice: Option<Twice>,
}

/// Which shard to execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardWanted {
    /// This one.
    This(Shard),
    /// The one that an engine's variables name, of so many if they do not tell.
    Auto(Option<u32>),
}

impl FromStr for ShardWanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("auto") {
            Some("") => Ok(Self::Auto(None)),
            Some(count) => {
                let count = count.strip_prefix('/').and_then(|count| count.parse().ok());
                let count = count.filter(|count| Shard::new(1, *count).is_some());
                count.map(|count| Self::Auto(Some(count))).ok_or_else(|| {
                    format!("`{text}` is no shard: write auto, or auto/COUNT, such as auto/8")
                })
            }
            None => text.parse().map(Self::This).map_err(|error| format!("{error}")),
        }
    }
}

impl ShardWanted {
    fn shard(self) -> exit::Result<Shard> {
        match self {
            Self::This(shard) => Ok(shard),
            Self::Auto(count) => {
                let variable = |name: &str| std::env::var(name).ok();
                shard_of_variables(count, &variable).or_exit(exit::UNUSABLE)
            }
        }
    }
}

/// Prepares a recording for workers: writes it, and packs its seed.
pub fn prepare(session: &Session<'_>, output: &Output) -> exit::Result<ExitCode> {
    if !session.backend.is_vm() {
        return Err(exit::unusable(preemptlab_lab::PrepareError::NotSpread));
    }
    let (prepared, writer) = session.prepare(output)?;
    let recording = writer.recording();
    let seed = seed::pack(&prepared, recording.path(), output)?;
    let (_, boots) = newest(recording);
    let cells: usize = boots.iter().map(|boot| boot.cells.len()).sum();
    let bytes = seed.metadata().map_or(0, |metadata| metadata.len());
    output.note(format!(
        "prepared {} of {}; a worker needs {}, {} ({:.0} MB) and this preemptlab",
        counted(cells, "cell"),
        counted(boots.len(), "boot"),
        recording.path().display(),
        seed.display(),
        bytes as f64 / 1e6
    ));
    output.note(format!(
        "next: preemptlab run {0} --shard 1/2 and --shard 2/2, wherever you like, then preemptlab \
         merge {0}",
        recording.path().display()
    ));
    Ok(ExitCode::from(exit::OK))
}

/// A shard of a recording.
pub struct Work<'a> {
    /// The recording's folder, which is only read.
    pub recording: &'a Path,
    /// The shard.
    pub wanted: ShardWanted,
    /// Share of the cells that another shard executes, too.
    pub twice: Option<Twice>,
    /// Folder of the part, if it is not the one beside the recording.
    pub out: Option<&'a Path>,
    /// Store that was named.
    pub store: Option<PathBuf>,
    /// Virtual machines at a time.
    pub jobs: Option<u16>,
    /// Keeps what kernels do, besides what it tells of every instant.
    pub trace: bool,
}

/// Executes the cells of a shard that neither the recording nor its part has.
pub fn work(work: &Work<'_>, output: &Output) -> exit::Result<ExitCode> {
    let shard = work.wanted.shard()?;
    let recording = Recording::open(work.recording)?;
    let (look, boots) = newest(&recording);
    let cut = Cut::new(&boots, shard.count());
    let cut = match work.twice {
        Some(twice) => cut.with_twice(twice.share()),
        None => cut,
    };
    let workplace = Workplace::of(work.recording);
    let of = PartOf::new(work.recording, look, shard)?;
    let place = work.out.map_or_else(|| workplace.part_folder(look, shard), OutFolder::named);
    let wanted: BTreeSet<CellId> = cut.of(shard).iter().copied().collect();
    let mut only = lacking(&recording, &wanted, work.trace)?;
    let there = wanted.len() - only.len();
    if there > 0 {
        output
            .note(format!("the recording has {} of shard {shard} already", counted(there, "cell")));
    }
    // What was derived before anything is asked for in its name.
    let derived = Derived::check(&recording).map_err(preemptlab_lab::PrepareError::from)?;
    let (part, path) = begin(work.recording, &place, &of, &mut only, work.trace)?;
    if lacking(part.cells().recording(), &only, work.trace)?.is_empty() {
        output.note(format!("shard {shard} has no cell left: {}/", path.display()));
        return Ok(ExitCode::from(exit::OK));
    }
    let store = Store::open(work.store.clone(), work.recording)?;
    let prepared = lab::from_seed(derived, &workplace.seed(), store.get(), output);
    let is_ready = prepared.is_ok();
    let result = prepared.and_then(|prepared| execute(work, &prepared, &part, &only));
    drop(part);
    // A store that could not be filled is of use to nobody.
    store.leave(!is_ready || all_begun(&workplace, look, shard.count()))?;
    let Summary { completed, failed, .. } = result?;
    output.note(format!(
        "shard {shard}: {} completed, {failed} failed: {}/",
        counted(completed, "cell"),
        path.display()
    ));
    // A failed cell is a result: an engine that executed the shard again would find the same.
    Ok(ExitCode::from(exit::OK))
}

/// Returns the cells that a recording, or a part, does not have yet. A completed cell needs its trace,
/// if traces are wanted.
fn lacking(
    recording: &Recording,
    cells: &BTreeSet<CellId>,
    trace: bool,
) -> exit::Result<BTreeSet<CellId>> {
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
    work: &Work<'_>,
    prepared: &preemptlab_lab::Prepared,
    part: &PartWriter,
    only: &BTreeSet<CellId>,
) -> exit::Result<Summary> {
    let writer = part.cells();
    let cancel = lab::cancel()?;
    let jobs = lab::jobs(work.jobs);
    let backend = prepared.backend(&[])?;
    let backend = backend.as_ref();
    let folder = writer.recording().traces();
    let scratch = scratch(prepared);
    let kernels = Kernels::new(prepared, backend, work.trace.then_some(&folder));
    let kernel = |cell: &CellInputs| kernels.of_cell(cell, &cancel);
    let kept = if work.trace { Kept::Stream } else { Kept::Findings(&scratch) };
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
    let progress = Progress::new(prepared, work.trace, jobs);
    let on_event = |event: preemptlab_runner::Event<'_>| progress.on_event(&event);
    let result = preemptlab_runner::run(writer, backend, &options, &on_event, &cancel);
    progress.finish();
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
) -> exit::Result<(PartWriter, PathBuf)> {
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
    fn open(named: Option<PathBuf>, recording: &Path) -> exit::Result<Self> {
        if let Some(path) = named {
            return Ok(Self::Named(lab::store(Some(path))?));
        }
        let user = rustix::process::geteuid().as_raw();
        let name = format!("preemptlab-{user}-{}", manifest_sha256(recording)?.short());
        let root = std::env::temp_dir().join(name);
        Ok(Self::Node(NodeStore::open(root, lab::cancel()?.flag())?))
    }

    fn get(&self) -> &preemptlab_provision::Store {
        match self {
            Self::Named(store) => store,
            Self::Node(store) => store.store(),
        }
    }

    /// Lets go of it. The last worker of the machine removes it, once no shard waits to be begun.
    fn leave(self, is_last: bool) -> exit::Result<()> {
        match self {
            Self::Node(store) if is_last => Ok(store.remove()?),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_named_or_taken_from_variables() {
        let wanted = |text: &str| text.parse::<ShardWanted>();
        assert_eq!(wanted("3/8"), Ok(ShardWanted::This(Shard::new(3, 8).unwrap())));
        assert_eq!(wanted("auto"), Ok(ShardWanted::Auto(None)));
        assert_eq!(wanted("auto/8"), Ok(ShardWanted::Auto(Some(8))));
        for text in ["", "0/3", "4/3", "x", "auto/0", "auto/x", "auto8", "autox"] {
            assert!(wanted(text).is_err(), "{text}");
        }
    }
}
