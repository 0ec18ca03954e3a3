//! `preemptlab run`: executes an experiment or a scenario, or continues a recording.

mod finished;
pub mod options;
mod plan;
mod repeated;
mod scenario;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use preemptlab_analysis::{
    Atlas, available::unmeasured, meant, named, repeated as repeated_runs, sampled, shown,
    traceable, unsound,
};
use preemptlab_experiment::{Experiment, Overrides, Recording};
use preemptlab_files::OutFolder;
use preemptlab_lab::{Config, Execution, Lab, UntilDecided, Wanted, chosen};
use preemptlab_model::{BackendKind, Digest};
use preemptlab_recording::Override;
use preemptlab_report::{View, atlas_terminal};
use preemptlab_runner::Summary;
use preemptlab_stats::Baseline;
use preemptlab_workload::Workload;

use self::{
    options::{Elsewhere, Executor, Options},
    repeated::CommandArgs,
};
use crate::{
    args::{Format, refuse},
    exit::{self, OrExit},
    lab,
    output::Output,
    progress::Shown,
};

/// The options that take the place of an experiment.
const INSTEAD: [&str; 3] = ["command", "package", "window"];

/// Run an experiment and compare its configurations, or play scenarios
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab run studies/quick.toml
  preemptlab run studies/quick.toml -n
  preemptlab run studies/quick.toml --replicates 2 --kernel debian:7.2 --preempt lazy
  preemptlab run studies/quick.toml --kernel base=debian:6.12 --kernel head=../linux
  preemptlab run studies/quick.toml --until 5% --budget 30m
  preemptlab run studies/quick.toml --machine server-x86 --machine amd-epyc
  preemptlab run studies/quick.toml --out /tmp/a --jobs 1 --no-cache
  preemptlab run --command 'xz --threads=1 --keep --stdout /usr/bin/xz' --package xz-utils
  preemptlab run scenarios/lazy-tick.toml --kernel debian:7.2 --preempt full,lazy,rt
  preemptlab run scenarios/*.toml --format table --format svg=pictures --format html=page.html

Run the same command again to resume after an interruption. Of a scenario, exit code 1 means that a kernel
disagrees with what it expects; docs/scenario-format.md describes the files.")]
pub struct Run {
    /// An experiment, a TOML file; a recording, to resume it; or scenarios, TOML files, too
    #[arg(value_name = "FILE|RUN", required_unless_present_any = INSTEAD, conflicts_with_all = INSTEAD)]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub command: CommandArgs,
    /// Only show the cells and the time that they will take. A kernel from source that is not in the store
    /// is not built, only named
    #[arg(long, short = 'n')]
    pub dry_run: bool,
    /// Executor of the cells: vm, in deterministic virtual time; kvm, a virtual machine in host
    /// time; host, the kernel that runs here, as root
    #[arg(long, value_name = "BACKEND", default_value = "vm")]
    pub backend: BackendKind,
    /// Execute every cell, whatever was executed before
    #[arg(long)]
    pub no_cache: bool,
    #[command(flatten)]
    pub options: Options,
}

/// The recording's folder in `runs/`. A first look with other values leaves the experiment's own
/// folder to the experiment.
fn folder_name(experiment: &Experiment, overrides: &[Override]) -> String {
    match overrides.is_empty() {
        true => experiment.name.to_string(),
        false => format!("{}-{}", experiment.name, Digest::of_json(&overrides).short()),
    }
}

/// Kind of the files at the paths that `run` was given.
enum Given {
    /// An experiment, or that of a recording, and the recording's folder.
    Experiment(Box<Wanted>, OutFolder),
    /// Scenarios.
    Scenarios,
}

/// Reads the files that the user named: one experiment, one recording, or scenarios.
fn given(files: &[PathBuf], options: &Options) -> exit::Result<Given> {
    // The command line asks for one.
    let first = files.first().map_or(Path::new(""), PathBuf::as_path);
    let is_scenario = !preemptlab_recording::exists(first)
        && meant::is_scenario(&preemptlab_lab::read(first, meant::Kind::Run)?);
    if is_scenario {
        return Ok(Given::Scenarios);
    }
    if let [_, second, ..] = files {
        return Err(exit::unusable(format!(
            "{} is one too many: only scenarios are run several at a time",
            second.display()
        )));
    }
    let overrides = options.overrides.overrides()?;
    let (wanted, out) = wanted(first, &overrides, options.out.as_deref())?;
    Ok(Given::Experiment(Box::new(wanted), out))
}

/// Reads an experiment, or that of a recording, and returns it with the recording's folder.
pub fn wanted(
    experiment: &Path,
    overrides: &Overrides,
    out: Option<&Path>,
) -> exit::Result<(Wanted, OutFolder)> {
    let is_recording = preemptlab_recording::exists(experiment);
    let wanted = match is_recording {
        true => Wanted::recorded(experiment, overrides)?,
        false => Wanted::read(experiment, overrides)?,
    };
    let out = match (out, is_recording) {
        (Some(out), _) => OutFolder::named(out),
        (None, true) => OutFolder::named(experiment),
        (None, false) => chosen(folder_name(&wanted.experiment, &wanted.overrides)),
    };
    Ok((wanted, out))
}

/// Runs or continues an experiment, and compares; or plays scenarios.
pub fn execute(args: &Run, config: &Config, output: &Output) -> exit::Result<ExitCode> {
    let shown = Shown::new(output);
    let options = &args.options;
    let lab = lab::here(config, Some(&options.machines), &shown);
    let executor =
        Executor { config, backend: args.backend, no_cache: args.no_cache, engine: None };
    if let Some(command) = &args.command.command {
        let out = options.out.as_deref();
        let (out, written) =
            repeated::write(command, &args.command, &options.overrides, out, &lab)?;
        // The files hold the values of the command line.
        let wanted = Wanted::read(&written.experiment, &Overrides::default())?;
        let done = match args.dry_run {
            true => plan::show(&wanted, options.printed()?, &lab, &shown, output),
            false => run(options, executor, &out, wanted, &lab, output),
        };
        return done.inspect(|_| repeated::tell(&written, output));
    }
    match (given(&args.files, options)?, args.dry_run) {
        (Given::Experiment(wanted, out), false) => {
            run(options, executor, &out, *wanted, &lab, output)
        }
        (Given::Experiment(wanted, _), true) => {
            refuse(&[(!args.backend.is_vm(), "--backend")], "a plan is one of virtual time")?;
            plan::show(&wanted, options.printed()?, &lab, &shown, output)
        }
        (Given::Scenarios, true) => Err(exit::unusable(
            "a scenario is played in seconds and has no plan: leave --dry-run out",
        )),
        (Given::Scenarios, false) => scenario::play(&args.files, options, executor, &lab, output),
    }
}

/// Runs the user's experiment on an engine.
pub fn elsewhere(
    files: &[PathBuf],
    options: &Options,
    elsewhere: &Elsewhere<'_>,
    config: &Config,
    output: &Output,
) -> exit::Result<ExitCode> {
    refuse(&[(options.machines.jobs.is_some(), "--jobs")], "an engine has machines of its own")?;
    let shown = Shown::new(output);
    let lab = lab::here(config, Some(&options.machines), &shown);
    let executor =
        Executor { config, backend: BackendKind::Vm, no_cache: false, engine: Some(elsewhere) };
    match given(files, options)? {
        Given::Experiment(wanted, out) => run(options, executor, &out, *wanted, &lab, output),
        Given::Scenarios => {
            refuse(&[(elsewhere.detach, "--detach")], "scenarios are drawn when they were played")?;
            scenario::play(files, options, executor, &lab, output)
        }
    }
}

/// Runs or continues the experiment, and compares.
fn run(
    options: &Options,
    executor: Executor<'_>,
    out: &OutFolder,
    wanted: Wanted,
    lab: &Lab<'_>,
    output: &Output,
) -> exit::Result<ExitCode> {
    let format = options.printed()?;
    let backend = executor.backend;
    check(&wanted, options, backend, output)?;
    let baseline = options.baseline.as_ref().map(|name| {
        let name = named::unlabelled(name, [&wanted.experiment.factors]);
        name.parse::<Baseline>().or_exit(exit::UNUSABLE)
    });
    let baseline = baseline.transpose()?;
    let baseline = baseline.as_ref();
    if let Some(baseline) = baseline {
        named::check_baseline(baseline, &wanted.experiment)?;
    }
    let execution = Execution {
        wanted,
        out,
        backend,
        no_cache: executor.no_cache,
        retry_failed: options.retry_failed,
        trace: options.trace,
        engine: executor.on()?,
    };
    if executor.engine.is_some_and(|elsewhere| elsewhere.detach) {
        preemptlab_lab::submit(lab, &execution)?;
        return Ok(ExitCode::from(exit::OK));
    }
    let until = (!options.until.is_empty()).then(|| UntilDecided {
        margins: &options.until,
        metrics: &options.metrics,
        baseline,
        budget: options.budget,
    });
    let ran = preemptlab_lab::run(lab, &execution, baseline, until.as_ref())?;
    let recording = ran.writer.recording();
    for note in unsound::notes(&[recording], &ran.cells) {
        output.warning(note);
    }
    for note in sampled::notes(recording, &ran.cells)? {
        output.note(note);
    }
    for note in repeated_runs::notes(recording, &ran.cells) {
        output.warning(note);
    }
    for note in shown::notes(recording.manifest()) {
        output.note(note);
    }
    let mut workloads = recording.manifest().experiment.workload.values();
    let is_atlas = format == Format::Table && workloads.any(Workload::is_load_alone);
    // Where no cell has sections, the table says why.
    match is_atlas.then(|| Atlas::new(&[recording], None)) {
        Some(Ok(atlas)) => output.data(&atlas_terminal(&atlas, output.terminal()))?,
        Some(Err(_)) | None => {
            let comparison =
                finished::comparison(baseline, recording, &ran.cells, executor.config)?;
            output.comparison(&comparison, format, View::Overview)?
        }
    };
    conclude(ran.summary, options.trace, backend, recording, output)
}

/// Refuses values that the experiment cannot have, and names the differences from it.
fn check(
    wanted: &Wanted,
    options: &Options,
    backend: BackendKind,
    output: &Output,
) -> exit::Result<()> {
    for change in &wanted.overrides {
        output.note(format!("not as the file says: {change}"));
    }
    let has_machines = !wanted.experiment.factors.machine.is_empty();
    if !backend.is_vm() && (has_machines || !options.overrides.machine.is_empty()) {
        let message = "only virtual time has the prices of a machine: leave --backend, or the factor \
                       `machine` and --machine, out";
        return Err(exit::unusable(message));
    }
    named::check_metrics(&options.metrics, &wanted.experiment, backend.is_vm())?;
    if options.trace {
        for note in traceable::notes(&wanted.experiment) {
            output.note(note);
        }
    }
    Ok(())
}

fn conclude(
    summary: Summary,
    is_traced: bool,
    backend: BackendKind,
    recording: &Recording,
    output: &Output,
) -> exit::Result<ExitCode> {
    finished::tell(&summary, recording, output);
    let (out, code) = (recording.path(), finished::code(&summary));
    let Summary { completed, failed, waiting, .. } = summary;
    if completed == 0 {
        // The comparison needs a completed cell.
        if failed == 0 && waiting == 0 {
            return Err(unmeasured(recording).into());
        }
        return Ok(ExitCode::from(code));
    }
    if is_traced {
        output.note(format!("  {}    what their kernels did", out.join("traces/").display()));
        output.note(format!("next: {}", traceable::next(&recording.manifest().experiment, out)));
    }
    let verify = match backend.is_vm() {
        true => format!(", preemptlab verify {} --cells 3", out.display()),
        false => String::new(),
    };
    output.note(format!(
        "next: preemptlab compare {0} --all, preemptlab compare {0} -o report.html{verify}",
        out.display()
    ));
    Ok(ExitCode::from(code))
}
