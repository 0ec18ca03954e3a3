use std::{collections::BTreeSet, fs, path::PathBuf, process::ExitCode};

use clap::Args;
use preemptlab_analysis::available::only_virtual;
use preemptlab_cluster::Workplace;
use preemptlab_experiment::{Derived, Recording};
use preemptlab_model::Digest;
use preemptlab_recording::Claim;
use preemptlab_report::{Cell, Column, Table, Tone, View};
use preemptlab_runner::Verdict;
use serde::Serialize;

use crate::{
    args::{Format, Machines, Packages},
    elsewhere::ElsewhereArgs,
    exit::{self, OrExit},
    lab,
    output::Output,
    progress::Progress,
    session::Session,
};

/// Check that a recording says the same again, here and now or in another recording
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab verify runs/quick --cells 3
  preemptlab verify runs/quick --against /tmp/a
  preemptlab verify runs/smp --sensitivity")]
pub struct Verify {
    /// The recording
    #[arg(value_name = "RUN")]
    pub recording: PathBuf,
    /// Execute only so many cells, spread evenly
    #[arg(long, value_name = "N", conflicts_with_all = ["against", "engine"])]
    pub cells: Option<usize>,
    /// Compare with another recording instead of executing anything
    #[arg(long, value_name = "RUN", conflicts_with = "engine")]
    pub against: Option<PathBuf>,
    /// Execute the cells of several CPUs with a half and a quarter of their lookahead, and compare what
    /// they measure
    #[arg(long, conflicts_with_all = ["cells", "against", "engine"])]
    pub sensitivity: bool,
    /// How to print it
    #[arg(long, default_value = "table")]
    pub format: Format,
    #[command(flatten)]
    pub elsewhere: ElsewhereArgs,
    #[command(flatten)]
    pub machines: Machines,
    #[command(flatten)]
    pub packages: Packages,
}

/// One cell in the document that `--format json` prints.
#[derive(Serialize)]
struct CellDocument {
    cell: String,
    id: String,
    same: bool,
    recorded: String,
    other: String,
}

/// The document that `--format json` prints.
#[derive(Serialize)]
struct Document {
    format: u32,
    same: usize,
    different: usize,
    cells: Vec<CellDocument>,
}

/// Checks that a recording says the same again.
pub fn execute(args: &Verify, store: Option<PathBuf>, output: &Output) -> exit::Result<ExitCode> {
    let recording = Recording::open(&args.recording)?;
    only_virtual(&recording, "can say the same again; compare such recordings instead")?;
    if args.sensitivity {
        return sensitivity(args, &recording, store, output);
    }
    let verdicts = match &args.against {
        Some(other) => {
            let other = Recording::open(other)?;
            preemptlab_runner::against(&recording, &other)?
        }
        None if args.elsewhere.engine.is_some() => elsewhere(args, &recording, store, output)?,
        None => again(args, &recording, store, output)?,
    };
    let document = document(&verdicts);
    output.print(&table(&verdicts, &document), args.format, &document)?;
    if verdicts.is_empty() {
        return Err(exit::unusable("the recording has no finished cell to verify"));
    }
    Ok(ExitCode::from(if document.different > 0 { exit::NO } else { exit::OK }))
}

fn again(
    args: &Verify,
    recording: &Recording,
    store: Option<PathBuf>,
    output: &Output,
) -> exit::Result<Vec<Verdict>> {
    // Before anything is asked for in its name.
    let recording = Derived::check(recording).or_exit(exit::UNUSABLE)?;
    let cancel = lab::cancel()?;
    let prepared = lab::pinned(recording, store, &args.packages, &args.machines, output)?;
    let jobs = lab::jobs(args.machines.jobs);
    let progress = Progress::new(&prepared, false, jobs);
    let verdicts = preemptlab_runner::verify(
        recording,
        &prepared.vm(),
        args.cells,
        jobs,
        &|event| progress.on_event(&event),
        &cancel,
    );
    progress.finish();
    verdicts.map_err(exit::Failure::from)
}

/// Shows what the measurements of several CPUs owe to the lookahead of their clocks.
fn sensitivity(
    args: &Verify,
    recording: &Recording,
    store: Option<PathBuf>,
    output: &Output,
) -> exit::Result<ExitCode> {
    let derived = Derived::check(recording).or_exit(exit::UNUSABLE)?;
    let cancel = lab::cancel()?;
    let prepared = lab::pinned(derived, store, &args.packages, &args.machines, output)?;
    let jobs = lab::jobs(args.machines.jobs);
    let progress = Progress::new(&prepared, false, jobs);
    let executed = preemptlab_runner::sensitivity(
        derived,
        &prepared.vm(),
        jobs,
        &|event| progress.on_event(&event),
        &cancel,
    );
    progress.finish();
    let executed = executed?.into_iter();
    let executed = executed.map(|cell| (cell.factors, cell.lookahead, cell.record)).collect();
    let comparison = preemptlab_analysis::sensitivity(recording, executed)?;
    output.comparison(&comparison, args.format, View::Overview)
}

/// Executes the cells of the plan by an engine into a recording beside this one, and compares. The other
/// recording goes where all are the same.
fn elsewhere(
    args: &Verify,
    recording: &Recording,
    store: Option<PathBuf>,
    output: &Output,
) -> exit::Result<Vec<Verdict>> {
    // Before anything is asked for in its name.
    let derived = Derived::check(recording).or_exit(exit::UNUSABLE)?;
    let manifest = recording.manifest();
    let workplace = Workplace::of(recording.path());
    let name = workplace.root().with_extension("again");
    let folder = workplace.folder().beside(&name.file_name().unwrap_or_default().to_string_lossy());
    let out = folder.path();
    let engine = args.elsewhere.args();
    let session = Session {
        experiment: manifest.experiment.clone(),
        folders: derived.folders()?,
        overrides: manifest.overrides.clone(),
        out: &folder,
        store,
        machines: &args.machines,
        packages: &args.packages,
        backend: manifest.backend,
        no_cache: true,
        retry_failed: false,
        trace: false,
        engine: args.elsewhere.on(&engine, false, false)?,
    };
    // With exactly the kernels and packages of this one.
    drop(Claim::new(&folder)?.open(manifest)?);
    let verdicts = session.open(output, |writer, _, execute| {
        execute(writer)?;
        let planned: BTreeSet<_> = manifest.plan.executable().iter().map(|it| it.id()).collect();
        let mut verdicts = preemptlab_runner::against(recording, writer.recording())?;
        // Cells of looks are not planned there, and what failed says nothing again.
        verdicts.retain(|verdict| planned.contains(&verdict.id) && verdict.recorded.is_ok());
        Ok(verdicts)
    })?;
    if verdicts.iter().all(Verdict::is_same) {
        for folder in [&out, Workplace::of(&out).root()] {
            fs::remove_dir_all(folder).or_exit(exit::HOST)?;
        }
    } else {
        output.note(format!("the other recording stays: {}/", out.display()));
    }
    Ok(verdicts)
}

fn document(verdicts: &[Verdict]) -> Document {
    let text = |digest: &Result<Digest, String>| match digest {
        Ok(digest) => digest.to_string(),
        Err(reason) => reason.clone(),
    };
    let same = verdicts.iter().filter(|verdict| verdict.is_same()).count();
    Document {
        format: 1,
        same,
        different: verdicts.len() - same,
        cells: verdicts
            .iter()
            .map(|verdict| CellDocument {
                cell: verdict.factors.to_string(),
                id: verdict.id.to_string(),
                same: verdict.is_same(),
                recorded: text(&verdict.recorded),
                other: text(&verdict.other),
            })
            .collect(),
    }
}

fn table(verdicts: &[Verdict], document: &Document) -> Table {
    let columns = ["cell", "recorded", "other", "verdict"].map(Column::left);
    let mut table = Table::new("Digests", columns);
    let short = |digest: &Result<Digest, String>| match digest {
        Ok(digest) => digest.short(),
        Err(reason) => reason.clone(),
    };
    for verdict in verdicts {
        let (word, tone) =
            if verdict.is_same() { ("same", Tone::Better) } else { ("DIFFERENT", Tone::Worse) };
        table.row([
            Cell::from(verdict.factors.to_string()),
            Cell::from(short(&verdict.recorded)),
            Cell::from(short(&verdict.other)),
            Cell::new(word, tone),
        ]);
    }
    table.notes.push(format!("{} same, {} different.", document.same, document.different));
    table
}
