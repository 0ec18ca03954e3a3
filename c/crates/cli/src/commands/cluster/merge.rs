//! `cluster merge`: joins the parts of a recording.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use preemptlab_cluster::{
    Workplace,
    merge::{Conflict, Differing, Merged, merge, parts},
};
use preemptlab_lab::blame_of;
use preemptlab_model::{counted, plain};
use preemptlab_recording::RecordingWriter;
use serde::de::IgnoredAny;

use crate::{exit, output::Output};

/// Most shards, and most folders, that one line names.
const NAMED_MAX: usize = 8;

/// Join the parts that several machines made to the recording that one machine would have made
#[derive(Args, Debug)]
#[command(after_help = "\
Prints the cells that are still missing, one a line.

Examples:
  preemptlab cluster merge runs/quick
  preemptlab cluster merge runs/quick /mnt/usb/3-of-8 /mnt/usb/4-of-8")]
pub struct Merge {
    /// The recording, as `cluster prepare` made it
    #[arg(value_name = "RUN")]
    pub recording: PathBuf,
    /// The parts, or other recordings of the same plan [default: those in RUN.shards/parts]
    #[arg(value_name = "PART")]
    pub parts: Vec<PathBuf>,
}

/// Joins parts to a recording.
pub fn execute(args: &Merge, output: &Output) -> exit::Result<ExitCode> {
    let writer = RecordingWriter::<IgnoredAny>::resume(&args.recording)?;
    let workplace = Workplace::of(&args.recording);
    let parts = match args.parts.is_empty() {
        true => parts(&workplace)?,
        false => args.parts.clone(),
    };
    if parts.is_empty() {
        output.note(format!("there are no parts in {}", workplace.parts().display()));
    }
    let merged = merge(&writer, &parts)?;
    tell(&merged, &args.recording, output);
    let missing: String =
        merged.missing.iter().map(|cell| format!("{}\n", plain::line(&cell.name))).collect();
    if !missing.is_empty() {
        output.data(&missing)?;
    }
    Ok(ExitCode::from(blame_of(&merged).map_or(exit::OK, exit::code)))
}

/// Prints the outcome.
pub fn tell(merged: &Merged, recording: &Path, output: &Output) {
    for refused in &merged.refused {
        output.warning(format!("not merged: {}: {}", refused.path.display(), refused.reason));
    }
    for conflict in &merged.conflicts {
        output.warning(differing(conflict));
    }
    for overruled in &merged.overruled {
        output.note(format!(
            "{} failed in {} and not in {}, whose result is taken",
            overruled.cell.name,
            overruled.failed.display(),
            overruled.taken.display()
        ));
    }
    output.note(counts(merged, recording));
    let shards: Vec<_> = merged.shards.iter().map(ToString::to_string).collect();
    if !merged.at_work.is_empty() {
        let paths: Vec<_> = merged.at_work.iter().map(|path| path.display().to_string()).collect();
        output.note(format!("a process writes to {} now: merge again later", some(&paths)));
    }
    if let Some(first) = shards.first() {
        let run = recording.display();
        output.note(format!("cells are missing of {}", some(&shards)));
        output.note(format!(
            "next: preemptlab cluster work {run} {first}, then preemptlab cluster merge {run}; or \
             preemptlab run {run}, which executes what is missing here"
        ));
    } else if !merged.missing.is_empty() {
        output.note(format!(
            "next: preemptlab run {}, which executes what is missing here",
            recording.display()
        ));
    } else if merged.conflicts.is_empty() {
        output.note(format!(
            "next: preemptlab compare {0}, preemptlab verify {0} --cells 3",
            recording.display()
        ));
    }
}

fn differing(conflict: &Conflict) -> String {
    let [one, other] = conflict.between.each_ref().map(|path| path.display());
    let name = &conflict.cell.name;
    let (what, taken) = match (conflict.differing, conflict.is_recorded) {
        (Differing::Trace, _) => ("traces", "the recording keeps its own"),
        (Differing::Result, true) => ("results", "the recording keeps its own"),
        (Differing::Result, false) => ("results", "neither is taken"),
    };
    format!(
        "{name} has two {what}, in {one} and in {other}: {taken}. One of the machines or its preemptlab is \
         not like the others: remove its part and merge again (the cell's file is {}.json)",
        conflict.cell.id
    )
}

fn counts(merged: &Merged, recording: &Path) -> String {
    let Merged { planned, before, taken, traces, twice, failed, missing, .. } = merged;
    let there = planned - missing.len() - unsettled(merged);
    let mut text = format!(
        "{} of {} in {}: {before} before, {taken} taken now",
        there,
        counted(*planned, "cell"),
        recording.display()
    );
    let mut add = |count: usize, words: &str| {
        if count > 0 {
            text += &format!(", {count} {words}");
        }
    };
    add(*traces, "with new traces");
    add(*failed, "failed");
    add(missing.len(), "missing");
    if *twice > 0 {
        text += &format!("; {} executed twice with the same bytes", counted(*twice, "cell"));
    }
    text
}

/// Returns the number of cells that the recording lacks because two executions differ.
fn unsettled(merged: &Merged) -> usize {
    merged.conflicts.iter().filter(|conflict| !conflict.is_recorded).count()
}

/// Names the first of some things.
fn some(names: &[String]) -> String {
    let shown = names[..names.len().min(NAMED_MAX)].join(", ");
    match names.len().checked_sub(NAMED_MAX) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}
