//! The command line of `preemptlab gate`.

use std::path::PathBuf;

use clap::{Args, builder::ArgPredicate};
use preemptlab_files::OutFolder;
use preemptlab_lab::Budget;
use preemptlab_model::PreemptMode;
use preemptlab_stats::GivenMargin;

use crate::args::{Form, Format, Guests, Machines, forms, written_folder};

/// Decide whether a kernel is worse than another
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab gate debian:6.12 debian:7.2
  preemptlab gate git:../linux@HEAD~1 ../linux --format markdown
  preemptlab gate git:../linux@HEAD~1 ../linux --atlas
  preemptlab gate debian:7.2 debian:7.3 --arch arm64
  preemptlab gate runs/base runs/new
  preemptlab gate debian:6.12 debian:7.2 --format github --format junit=gate.xml
  preemptlab gate debian:6.12 debian:7.2 studies/postgres.toml --margin 5% --budget 200
  git bisect run preemptlab gate --bisect git:.@v6.12 .

Exit codes: 0 it is no worse, 1 it is worse, 3 the budget was too small to decide.
With --bisect: 0, 1, and 125 where it cannot be told; errors are above 128.")]
pub struct GateArgs {
    /// The kernel that the other is compared with; or a recording of one kernel
    #[arg(value_name = "BASE")]
    pub base: String,
    /// The kernel that may be worse; or a recording of one kernel
    #[arg(value_name = "NEW")]
    pub new: String,
    /// The experiment that measures both, a TOML file [default: a small one with hackbench,
    /// studies/gate.toml]
    #[arg(value_name = "EXPERIMENT")]
    pub experiment: Option<PathBuf>,
    /// Compare sections beside 48 of stress-ng's stressors, and not beside hackbench
    #[arg(long, conflicts_with = "experiment")]
    pub atlas: bool,
    /// Largest regression to accept: 3% for throughput and the like, 20us for latencies and
    /// sections; METRIC= before it for one metric; may be repeated [default: 3% and 20us]
    #[arg(long = "margin", value_name = "[METRIC=]SHARE|TIME")]
    pub margins: Vec<GivenMargin>,
    /// Decide on this metric; may be repeated [default: throughput and latency.p99.9, or the
    /// workload's own numbers]
    #[arg(long = "metric", value_name = "METRIC")]
    pub metrics: Vec<String>,
    /// Record at most this number of cells, of both kernels, every workload and mode together, or stop
    /// after a time such as 10m [default: 60, with --atlas 80]
    #[arg(
        long,
        value_name = "COUNT|TIME",
        default_value = "60",
        hide_default_value = true,
        default_value_if("atlas", ArgPredicate::IsPresent, "80")
    )]
    pub budget: Budget,
    /// Compare in these modes, such as full,lazy [default: the first of full, lazy, voluntary and none
    /// that both offer, or those of EXPERIMENT]
    #[arg(long = "preempt", value_name = "MODES", value_delimiter = ',')]
    pub preempt: Vec<PreemptMode>,
    #[command(flatten)]
    pub guests: Guests,
    /// The seed of the first pair of cells
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Keep no traces: a worse kernel's worst wakeup is not explained, and less is written
    #[arg(long)]
    pub no_trace: bool,
    /// Exit as `git bisect run` wants it
    #[arg(long)]
    pub bisect: bool,
    /// The recording's folder [default: runs/gate-DIGEST]
    #[arg(long, value_name = "FOLDER", value_parser = written_folder())]
    pub out: Option<OutFolder>,
    /// How to print it, or to write it to a file, as in --format junit=gate.xml; may be repeated, once
    /// without a file
    #[arg(long = "format", value_name = "FORMAT[=FILE]", default_value = "table", value_parser = forms(FORMATS))]
    pub forms: Vec<Form>,
    #[command(flatten)]
    pub machines: Machines,
}

/// The formats of a decision.
const FORMATS: [Format; 7] = [
    Format::Table,
    Format::Json,
    Format::Markdown,
    Format::Junit,
    Format::Github,
    Format::Kcidb,
    Format::Lkp,
];
