//! `preemptlab cluster`: the cells of a recording on several machines.

mod emit;
pub mod merge;
mod work;

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Subcommand};
use preemptlab_analysis::available::only_virtual;
use preemptlab_experiment::Recording;
use preemptlab_lab::{Config, Twice};

use self::{
    emit::EmitArgs,
    merge::Merge,
    work::{PrepareArgs, WorkArgs},
};
use crate::{
    args::{Format, Machines, formats},
    commands::{
        run::{
            self,
            options::{Elsewhere, Options},
        },
        verify,
    },
    engine::EngineArgs,
    exit, lab,
    output::Output,
    progress::Shown,
};

/// Execute cells on several machines: by an engine such as Slurm, or by workers of your own
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  preemptlab cluster submit slurm studies/quick.toml --tasks 200 --engine-arg=--partition=short
  preemptlab cluster prepare studies/quick.toml
  preemptlab cluster work runs/quick 1/2
  preemptlab cluster merge runs/quick

Only deterministic virtual time is the same on several machines. docs/cluster.md says more.")]
pub struct Cluster {
    /// Command
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs of a cluster.
#[derive(Debug, Subcommand)]
pub enum Verb {
    Submit(SubmitArgs),
    Attach(EngineRun),
    Verify(VerifyArgs),
    Prepare(PrepareArgs),
    Work(WorkArgs),
    Merge(Merge),
    Emit(EmitArgs),
}

/// Let an engine execute an experiment's cells, and join them; the same command resumes after an
/// interruption
#[derive(Args, Debug)]
pub struct SubmitArgs {
    #[command(flatten)]
    pub run: EngineRun,
    /// Submit, and return; the same command without it resumes later
    #[arg(long)]
    pub detach: bool,
}

/// Resume the jobs already submitted; submit no new ones at first
#[derive(Args, Debug)]
pub struct EngineRun {
    #[command(flatten)]
    pub engine: EngineArgs,
    /// An experiment, a recording, or scenarios, as of `run`
    #[arg(required = true, value_name = "FILE|RUN")]
    pub files: Vec<PathBuf>,
    /// Let two tasks execute this share of the cells, at least one, and compare them
    #[arg(long, value_name = "PERCENT")]
    pub twice: Option<Twice>,
    #[command(flatten)]
    pub options: Options,
}

/// Let an engine execute every cell of a recording again, and compare
#[derive(Args, Debug)]
pub struct VerifyArgs {
    #[command(flatten)]
    pub engine: EngineArgs,
    /// The recording
    #[arg(value_name = "RUN")]
    pub recording: PathBuf,
    /// How to print it
    #[arg(long, default_value = "table", value_parser = formats(Format::TABLES))]
    pub format: Format,
    #[command(flatten)]
    pub machines: Machines,
}

/// Executes the verb.
pub fn execute(args: &Cluster, config: &Config, output: &Output) -> exit::Result<ExitCode> {
    match &args.verb {
        Verb::Submit(SubmitArgs { run, detach }) => submit(run, (*detach, false), config, output),
        Verb::Attach(run) => submit(run, (false, true), config, output),
        Verb::Verify(args) => again(args, config, output),
        Verb::Prepare(args) => work::prepare(args, config, output),
        Verb::Work(args) => work::work(args, config, output),
        Verb::Merge(args) => merge::execute(args, output),
        Verb::Emit(args) => emit::execute(args, config, output),
    }
}

/// Submits cells to an engine, or continues their execution.
fn submit(
    args: &EngineRun,
    (detach, attach): (bool, bool),
    config: &Config,
    output: &Output,
) -> exit::Result<ExitCode> {
    let elsewhere = Elsewhere { engine: &args.engine, twice: args.twice, detach, attach };
    run::elsewhere(&args.files, &args.options, &elsewhere, config, output)
}

/// Verifies a recording on an engine.
fn again(args: &VerifyArgs, config: &Config, output: &Output) -> exit::Result<ExitCode> {
    let recording = Recording::open(&args.recording)?;
    only_virtual(&recording, verify::NOT_AGAIN)?;
    let engine = args.engine.on(config)?;
    let shown = Shown::new(output);
    let lab = lab::here(config, Some(&args.machines), &shown);
    let verdicts = preemptlab_lab::verify_elsewhere(&lab, &recording, engine)?;
    verify::tell(&verdicts, None, args.format, output)
}
