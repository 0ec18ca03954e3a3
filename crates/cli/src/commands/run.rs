use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::ExitCode,
};

use preemptlab_experiment::Recording;
use preemptlab_model::{CellRecord, Outcome, Planned};
use preemptlab_report::View;
use preemptlab_runner::Summary;
use preemptlab_stats::Margin;

use crate::{
    args::Run,
    commands::{compare, until},
    disturbed,
    exit::{self, OrExit},
    lab, named,
    output::Output,
    session::{Session, recording_failure},
    traceable, unsound,
};

/// Runs an experiment, or goes on with it, and compares.
pub fn execute(args: &Run, store: Option<PathBuf>, output: &Output) -> exit::Result<ExitCode> {
    let (experiment, folders) = lab::experiment(&args.experiment)?;
    named::check_metrics(&args.metrics, &experiment, args.trace)?;
    if let Some(baseline) = &args.baseline {
        named::check_baseline(baseline, &experiment)?;
    }
    if args.trace {
        for note in traceable::notes(&experiment) {
            output.note(note);
        }
    }
    let out = args.out.clone().unwrap_or_else(|| Path::new("runs").join(experiment.name.as_str()));
    let session = Session {
        experiment,
        folders,
        out: &out,
        store,
        machines: &args.machines,
        packages: &args.packages,
        backend: args.backend,
        no_cache: args.no_cache,
        retry_failed: args.retry_failed,
        trace: args.trace,
    };
    session.open(output, |writer, jobs, execute| {
        if let Some(baseline) = &args.baseline {
            named::check_planned(baseline, writer.recording())?;
        }
        let summary = match args.until {
            Some(margin) => until::execute(margin, args, writer, jobs, output, execute)?,
            None => execute(writer)?.0,
        };
        let until = writer.recording().until();
        let margin = until.and_then(|until| Margin::new(until.margin)).unwrap_or_default();
        let before = until.and_then(|until| until.baseline.as_deref());
        let before = before.map(str::parse).transpose().or_exit(exit::UNUSABLE)?;
        let baseline = args.baseline.clone().or(before);
        for note in disturbed::notes(&[writer.recording()]).map_err(recording_failure)? {
            output.note(note);
        }
        for note in unsound::notes(&[writer.recording()]).map_err(recording_failure)? {
            output.warning(note);
        }
        let comparison = compare::comparison(&[writer.recording()], baseline.as_ref(), margin)?;
        let terminal = output.terminal();
        output.data(&preemptlab_report::terminal(&comparison, View::Overview, terminal))?;
        conclude(summary, args, writer.recording(), output)
    })
}

fn conclude(
    summary: Summary,
    args: &Run,
    recording: &Recording,
    output: &Output,
) -> exit::Result<ExitCode> {
    let Summary { completed, failed, unavailable, waiting } = summary;
    let out = recording.path();
    output.note(format!(
        "{completed} cells completed, {failed} failed, {unavailable} unavailable{}: {}/",
        if waiting > 0 { format!(", {waiting} waiting for a boot") } else { String::new() },
        out.display()
    ));
    output.note(format!("  {}    what was run", out.join("recording.json").display()));
    output.note(format!("  {}    one file a cell", out.join("cells/").display()));
    let code = if failed > 0 { exit::CELLS_FAILED } else { exit::OK };
    if completed == 0 {
        // What comes next would have nothing to look at.
        if failed == 0 && waiting == 0 {
            return Err(nothing_measured(recording));
        }
        return Ok(ExitCode::from(code));
    }
    if args.trace {
        output.note(format!("  {}    what their kernels did", out.join("traces/").display()));
        output.note(format!("next: {}", traceable::next(&recording.manifest().experiment, out)));
    }
    let verify = match args.backend.is_vm() {
        true => format!(", preemptlab verify {} --cells 3", out.display()),
        false => String::new(),
    };
    output.note(format!(
        "next: preemptlab compare {0} --all, preemptlab report {0}{verify}",
        out.display()
    ));
    Ok(ExitCode::from(code))
}

/// Says why no cell could be executed: each reason once.
fn nothing_measured(recording: &Recording) -> exit::Failure {
    let mut reasons = BTreeSet::new();
    for cell in recording.cells() {
        match cell {
            Err(error) => return recording_failure(error),
            Ok((planned, record)) => reasons.extend(match (&planned.planned, record) {
                (Planned::Unavailable { reason }, _) => Some(reason.clone()),
                (_, Some(CellRecord { outcome: Outcome::Unavailable { reason, .. }, .. })) => {
                    Some(reason)
                }
                _ => None,
            }),
        }
    }
    let reasons: Vec<_> = reasons.into_iter().collect();
    let message =
        format!("nothing was measured, because every cell is unavailable: {}", reasons.join("; "));
    exit::failure(exit::CELLS_FAILED, message)
}
