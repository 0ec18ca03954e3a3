use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use preemptlab_report::View;
use preemptlab_runner::Summary;
use preemptlab_stats::Margin;

use crate::{
    args::Run,
    commands::{compare, until},
    disturbed,
    exit::{self, OrExit},
    lab,
    output::Output,
    session::{Session, recording_failure},
};

/// Runs an experiment, or goes on with it, and compares.
pub fn execute(args: &Run, store: Option<PathBuf>, output: &Output) -> exit::Result<ExitCode> {
    let (experiment, folders) = lab::experiment(&args.experiment)?;
    let out = args.out.clone().unwrap_or_else(|| Path::new("runs").join(&experiment.name));
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
        let comparison = compare::comparison(&[writer.recording()], baseline.as_ref(), margin)?;
        let terminal = output.terminal();
        output.data(&preemptlab_report::terminal(&comparison, View::Overview, terminal))?;
        conclude(summary, args, &out, output)
    })
}

fn conclude(summary: Summary, args: &Run, out: &Path, output: &Output) -> exit::Result<ExitCode> {
    let Summary { completed, failed, unavailable, waiting } = summary;
    output.note(format!(
        "{completed} cells completed, {failed} failed, {unavailable} unavailable{}: {}/",
        if waiting > 0 { format!(", {waiting} waiting for a boot") } else { String::new() },
        out.display()
    ));
    output.note(format!("  {}    what was run", out.join("recording.json").display()));
    output.note(format!("  {}    one file a cell", out.join("cells/").display()));
    if args.trace {
        output.note(format!("  {}    what their kernels did", out.join("traces/").display()));
        output.note(format!("next: preemptlab explain {0}", out.display()));
    }
    let verify = match args.backend.is_vm() {
        true => format!(", preemptlab verify {} --cells 3", out.display()),
        false => String::new(),
    };
    output.note(format!(
        "next: preemptlab compare {0} --all, preemptlab report {0}{verify}",
        out.display()
    ));
    Ok(ExitCode::from(if failed > 0 { exit::CELLS_FAILED } else { exit::OK }))
}
