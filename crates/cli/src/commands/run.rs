use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use clap::{ArgGroup, Args};
use preemptlab_analysis::{
    available::unmeasured, named, repeated as repeated_runs, sampled, shown, traceable, unsound,
};
use preemptlab_experiment::{Experiment, Overrides, Recording};
use preemptlab_files::OutFolder;
use preemptlab_lab::{
    Budget, Execution, Lab, OnEngine, PrepareError, ShardWork, UntilDecided, Wanted, chosen,
};
use preemptlab_model::{BackendKind, Digest, HOST_UNITS, ParseTimeError, parse_ns};
use preemptlab_recording::Override;
use preemptlab_report::View;
use preemptlab_runner::Summary;
use preemptlab_stats::{Baseline, Share};

use crate::{
    args::{Machines, OverrideArgs, Packages, written_path},
    elsewhere::on_engine,
    emit::{self, Emission, EmitArgs, Kind},
    engine::EngineArgs,
    exit::{self, OrExit},
    finished, lab,
    output::Output,
    progress::Shown,
    repeated::{self, CommandArgs},
    shard::{self, ShardArgs, ShardWanted},
};

/// The options that take the place of an experiment.
const INSTEAD: [&str; 3] = ["command", "package", "window"];

/// Run an experiment and compare its configurations
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("several").args(["shard", "emit", "engine"]).multiple(true)))]
#[command(group(ArgGroup::new("elsewhere").args(["emit", "engine"]).multiple(true)))]
#[command(after_help = "\
Examples:
  preemptlab run studies/quick.toml
  preemptlab run studies/quick.toml --replicates 2 --kernel debian:7.2 --preempt lazy
  preemptlab run studies/quick.toml --kernel base=debian:6.12 --kernel head=../linux
  preemptlab run studies/quick.toml --until 5% --budget 30m
  preemptlab run studies/quick.toml --machine server-x86 --machine amd-epyc
  preemptlab run studies/quick.toml --out /tmp/a --jobs 1 --no-cache
  preemptlab run --command 'xz --threads=1 --keep --stdout /usr/bin/xz' --package xz-utils

Run the same command again to go on after an interruption.")]
pub struct Run {
    /// The experiment, a TOML file; or a recording, to go on with it
    #[arg(required_unless_present_any = INSTEAD, conflicts_with_all = INSTEAD)]
    pub experiment: Option<PathBuf>,
    #[command(flatten)]
    pub command: CommandArgs,
    /// The recording's folder [default: runs/NAME, or runs/NAME-DIGEST
    /// where options take the place of what the experiment says]
    #[arg(long, value_name = "FOLDER", value_parser = written_path())]
    pub out: Option<PathBuf>,
    /// What executes the cells: vm, in deterministic virtual time; kvm, a virtual machine in host
    /// time; host, the kernel that runs here, as root
    #[arg(long, value_name = "BACKEND", default_value = "vm")]
    pub backend: BackendKind,
    /// Execute every cell, whatever was executed before
    #[arg(long)]
    pub no_cache: bool,
    /// Execute the recording's failed cells again
    #[arg(long)]
    pub retry_failed: bool,
    /// Keep all that the kernel does in every cell, for `explain`, and not only what it tells of every
    /// instant; changes no cell's results
    #[arg(long)]
    pub trace: bool,
    /// Add replicates, where they are needed, until every comparison is decided: better, worse, or
    /// the same within this margin
    #[arg(long, value_name = "PERCENT")]
    pub until: Option<Share>,
    /// Decide this metric, such as wakeup.fifo.p99; may be repeated [default: what `compare` shows
    /// without --all]
    #[arg(long = "metric", value_name = "METRIC", requires = "until")]
    pub metrics: Vec<String>,
    /// Add no replicates that would not be finished within this time, such as 30m or 8h
    #[arg(long, value_name = "TIME", requires = "until", value_parser = budget)]
    pub budget: Option<Duration>,
    /// The configuration that the others are compared with, KERNEL/MODE or LABEL/MODE [default: the first of each
    /// workload]
    #[arg(long, value_name = "CONFIGURATION")]
    pub baseline: Option<String>,
    #[command(flatten)]
    pub shards: ShardArgs,
    #[command(flatten)]
    pub emit: EmitArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub overrides: OverrideArgs,
    #[command(flatten)]
    pub machines: Machines,
    #[command(flatten)]
    pub packages: Packages,
}

/// A duration in host time.
fn budget(text: &str) -> Result<Duration, ParseTimeError> {
    parse_ns(text, HOST_UNITS).map(Duration::from_nanos)
}

/// The recording's folder in `runs/`. A first look with other values leaves the experiment's own
/// folder to the experiment.
fn folder_name(experiment: &Experiment, overrides: &[Override]) -> String {
    match overrides.is_empty() {
        true => experiment.name.to_string(),
        false => format!("{}-{}", experiment.name, Digest::of_json(&overrides).short()),
    }
}

/// Runs an experiment, or goes on with it, and compares.
pub fn execute(args: &Run, store: Option<PathBuf>, output: &Output) -> exit::Result<ExitCode> {
    let shown = Shown::new(output);
    let lab = lab::here(store, Some(&args.machines), &args.packages, &shown);
    if let Some(command) = &args.command.command {
        let out = args.out.as_deref();
        let (out, written) = repeated::write(command, &args.command, &args.overrides, out, &lab)?;
        // The files hold the values of the command line.
        let wanted = Wanted::read(&written.experiment, &Overrides::default())?;
        let place = Place { experiment: &written.experiment, out };
        return run(args, place, wanted, &lab, output)
            .inspect(|_| repeated::tell(&written, output));
    }
    // clap requires one or the other.
    let experiment = args.experiment.as_deref().unwrap_or(Path::new(""));
    let is_recording = preemptlab_recording::exists(experiment);
    if let Some(wanted) = args.shards.shard {
        return shard(args, (experiment, wanted), &lab, output);
    }
    let wanted = match is_recording {
        true => Wanted::recorded(experiment, &args.overrides.overrides())?,
        false => Wanted::read(experiment, &args.overrides.overrides())?,
    };
    let out = match (&args.out, is_recording) {
        (Some(out), _) => OutFolder::named(out),
        (None, true) => OutFolder::named(experiment),
        (None, false) => chosen(folder_name(&wanted.experiment, &wanted.overrides)),
    };
    run(args, Place { experiment, out }, wanted, &lab, output)
}

/// Where an experiment and its recording are.
struct Place<'a> {
    experiment: &'a Path,
    out: OutFolder,
}

/// Runs what is wanted, or goes on with it, and compares.
fn run(
    args: &Run,
    place: Place<'_>,
    wanted: Wanted,
    lab: &Lab<'_>,
    output: &Output,
) -> exit::Result<ExitCode> {
    let Place { experiment, out } = place;
    for change in &wanted.overrides {
        output.note(format!("not as the file says: {change}"));
    }
    let has_machines = !wanted.experiment.factors.machine.is_empty();
    if !args.backend.is_vm() && (has_machines || !args.overrides.machine.is_empty()) {
        let message = "only virtual time has the prices of a machine: leave --backend, or the factor \
                       `machine` and --machine, out";
        return Err(exit::unusable(message));
    }
    named::check_metrics(&args.metrics, &wanted.experiment, args.backend.is_vm())?;
    let baseline = args.baseline.as_ref().map(|name| {
        let name = named::unlabelled(name, [&wanted.experiment.factors]);
        name.parse::<Baseline>().or_exit(exit::UNUSABLE)
    });
    let baseline = baseline.transpose()?;
    let baseline = baseline.as_ref();
    if let Some(baseline) = baseline {
        named::check_baseline(baseline, &wanted.experiment)?;
    }
    if args.trace {
        for note in traceable::notes(&wanted.experiment) {
            output.note(note);
        }
    }
    let execution = Execution {
        wanted,
        out: &out,
        backend: args.backend,
        no_cache: args.no_cache,
        retry_failed: args.retry_failed,
        trace: args.trace,
        engine: engine(args)?,
    };
    if args.shards.prepare {
        return shard::prepare(lab, &execution, output);
    }
    if let Some(kind) = args.emit.emit {
        let emission = Emission {
            args: &args.emit,
            kind: kind.unwrap_or_else(|| Kind::of(args.engine.engine)),
            engine: &args.engine,
            experiment,
            trace: args.trace,
            twice: args.shards.twice.map(|twice| twice.to_string()),
        };
        return emit::print(&emission, lab, &execution, output);
    }
    if args.engine.detach {
        preemptlab_lab::submit(lab, &execution)?;
        return Ok(ExitCode::from(exit::OK));
    }
    let until = args.until.map(|margin| UntilDecided {
        margin,
        metrics: &args.metrics,
        baseline,
        budget: args.budget.map(Budget::Time),
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
    let comparison = finished::comparison(baseline, recording, &ran.cells)?;
    let terminal = output.terminal();
    output.data(&preemptlab_report::terminal(&comparison, View::Overview, terminal))?;
    conclude(ran.summary, args, recording, output)
}

/// Returns what is wanted of an engine; `None` where this machine executes the cells.
fn engine(args: &Run) -> exit::Result<Option<OnEngine<'_>>> {
    let twice = args.shards.twice;
    let Some(kind) = args.engine.engine.filter(|_| args.emit.emit.is_none()) else {
        return Ok(None);
    };
    if !args.backend.is_vm() {
        return Err(PrepareError::NotSpread.into());
    }
    let engine =
        on_engine(kind, &args.engine, (args.emit.volume.as_ref(), args.emit.image.as_ref()))?;
    Ok(Some(OnEngine { twice, ..engine }))
}

/// Executes a shard of a recording.
fn shard(
    args: &Run,
    (recording, wanted): (&Path, ShardWanted),
    lab: &Lab<'_>,
    output: &Output,
) -> exit::Result<ExitCode> {
    if args.overrides.overrides() != Overrides::default() || !args.backend.is_vm() {
        let message = "a shard is executed as its recording was prepared: leave the experiment's \
                       values and --backend out";
        return Err(exit::unusable(message));
    }
    if args.machines.qemu.is_some() {
        return Err(exit::unusable("a shard is executed by the seed's QEMU: leave --qemu out"));
    }
    let work = ShardWork {
        recording,
        shard: wanted.shard()?,
        twice: args.shards.twice,
        out: args.out.as_deref(),
        temporary: &std::env::temp_dir(),
        trace: args.trace,
    };
    shard::work(lab, &work, output)
}

fn conclude(
    summary: Summary,
    args: &Run,
    recording: &Recording,
    output: &Output,
) -> exit::Result<ExitCode> {
    finished::tell(&summary, recording, output);
    let (out, code) = (recording.path(), finished::code(&summary));
    let Summary { completed, failed, waiting, .. } = summary;
    if completed == 0 {
        // What comes next would have nothing to look at.
        if failed == 0 && waiting == 0 {
            return Err(unmeasured(recording).into());
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
