//! How an experiment is executed, on this machine or on an engine.

use std::path::PathBuf;

use clap::Args;
use preemptlab_lab::{Budget, Config, OnEngine, Twice};
use preemptlab_model::BackendKind;
use preemptlab_stats::GivenMargin;

use crate::{
    args::{Form, Format, Machines, OverrideArgs, forms, written_path},
    engine::EngineArgs,
    exit,
};

/// The formats of what a run shows; pictures and pages are of scenarios.
const FORMATS: [Format; 6] =
    [Format::Table, Format::Json, Format::Csv, Format::Markdown, Format::Svg, Format::Html];

/// How an experiment or scenarios are executed, wherever their cells are.
#[derive(Args, Debug)]
pub struct Options {
    /// The recording's folder [default: runs/NAME, or runs/NAME-DIGEST
    /// where options take the place of what the experiment says]
    #[arg(long, short, value_name = "FOLDER", value_parser = written_path())]
    pub out: Option<PathBuf>,
    /// Execute the recording's failed cells again
    #[arg(long)]
    pub retry_failed: bool,
    /// Keep all that the kernel does in every cell, for `explain`, and not only what it tells of every
    /// instant; changes no cell's results
    #[arg(long)]
    pub trace: bool,
    /// Add replicates, where they are needed, until every comparison is decided: better, worse, or
    /// the same within this margin, such as 5%, or 20us for latencies; METRIC= before it for one metric; may
    /// be repeated
    #[arg(long, value_name = "[METRIC=]SHARE|TIME")]
    pub until: Vec<GivenMargin>,
    /// Decide this metric, such as wakeup.fifo.p99; may be repeated [default: what `compare` shows
    /// without --all]
    #[arg(long = "metric", value_name = "METRIC", requires = "until")]
    pub metrics: Vec<String>,
    /// Add no replicates beyond this number of cells, or that would not end within a time such as 8h
    #[arg(long, value_name = "COUNT|TIME", requires = "until")]
    pub budget: Option<Budget>,
    /// The configuration that the others are compared with, KERNEL/MODE or LABEL/MODE [default: the first of each
    /// workload]
    #[arg(long, value_name = "CONFIGURATION")]
    pub baseline: Option<String>,
    /// How to print it, or to write it to a file; may be repeated, once without a file. svg=FOLDER, svg=FILE.svg
    /// and html=FILE are of scenarios
    #[arg(long = "format", value_name = "FORMAT[=FILE]", default_value = "table", value_parser = forms(FORMATS))]
    pub forms: Vec<Form>,
    #[command(flatten)]
    pub overrides: OverrideArgs,
    #[command(flatten)]
    pub machines: Machines,
}

impl Options {
    /// Returns the only format in which something is printed that has no pictures.
    pub fn printed(&self) -> exit::Result<Format> {
        match &*self.forms {
            [Form { format, file: None }] if Format::TABLES.contains(format) => Ok(*format),
            _ => Err(exit::unusable(
                "what a run of an experiment shows is printed as one table: give --format once, as table, \
                 json, csv or markdown; `compare -o FILE` writes pages and pictures",
            )),
        }
    }
}

/// Executor of cells: this machine, in one of the ways it can, or an engine.
#[derive(Clone, Copy)]
pub struct Executor<'a> {
    /// The settings.
    pub config: &'a Config,
    /// How this machine does.
    pub backend: BackendKind,
    /// Executes cells even if the cache has their results.
    pub no_cache: bool,
    /// The engine that executes them elsewhere.
    pub engine: Option<&'a Elsewhere<'a>>,
}

/// An engine, and its task.
pub struct Elsewhere<'a> {
    /// The engine.
    pub engine: &'a EngineArgs,
    /// Share of the cells that two tasks execute.
    pub twice: Option<Twice>,
    /// Leaves the cells to the engine.
    pub detach: bool,
    /// Continues the submitted jobs.
    pub attach: bool,
}

impl Executor<'_> {
    /// Returns the task of an engine; `None` where this machine executes the cells.
    pub fn on(&self) -> exit::Result<Option<OnEngine<'_>>> {
        let Some(elsewhere) = self.engine else { return Ok(None) };
        let Elsewhere { engine, twice, detach, attach } = elsewhere;
        Ok(Some(OnEngine {
            twice: *twice,
            detach: *detach,
            attach: *attach,
            ..engine.on(self.config)?
        }))
    }
}
