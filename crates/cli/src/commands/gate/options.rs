//! The command line of `preemptlab gate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use preemptlab_model::PreemptMode;
use preemptlab_stats::GivenMargin;

use crate::{
    args::{Machines, Packages},
    budget::Budget,
};

/// Decide whether a kernel is worse than another
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab gate debian:6.12 debian:7.2
  preemptlab gate git:../linux@HEAD~1 ../linux --format markdown
  preemptlab gate runs/base runs/new
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
    /// What both are measured with, a TOML file [default: a small one with hackbench,
    /// studies/gate.toml]
    #[arg(value_name = "EXPERIMENT")]
    pub experiment: Option<PathBuf>,
    /// How much worse is no worse: 3% of a metric that is no latency, 20us of a latency and of a
    /// section; METRIC=MARGIN for one metric; may be repeated [default: 3% and 20us]
    #[arg(long = "margin", value_name = "[METRIC=]MARGIN")]
    pub margins: Vec<GivenMargin>,
    /// Decide on this metric; may be repeated [default: throughput and wakeup.fifo.p99, or the
    /// workload's own numbers]
    #[arg(long = "metric", value_name = "METRIC")]
    pub metrics: Vec<String>,
    /// Stop after so many cells of both kernels, or after a time such as 10m
    #[arg(long, value_name = "CELLS|TIME", default_value = "60")]
    pub budget: Budget,
    /// Compare in this mode; may be repeated [default: the first of full, lazy, voluntary and none
    /// that both offer, or those of EXPERIMENT]
    #[arg(long = "preempt", value_name = "MODE")]
    pub preempt: Vec<PreemptMode>,
    /// The seed of the first pair of cells
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Record no traces: sections are not compared, and cells take less time
    #[arg(long)]
    pub no_trace: bool,
    /// Exit as `git bisect run` wants it
    #[arg(long)]
    pub bisect: bool,
    /// The recording's folder [default: runs/gate-DIGEST]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// How to print it
    #[arg(long, default_value = "table")]
    pub format: GateFormat,
    #[command(flatten)]
    pub machines: Machines,
    #[command(flatten)]
    pub packages: Packages,
}

/// Format of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GateFormat {
    /// For a terminal
    Table,
    /// One document
    Json,
    /// For a pull request
    Markdown,
    /// JUnit's XML, which most CI systems show
    Junit,
    /// Annotations of a GitHub workflow
    Github,
    /// KernelCI's reports (KCIDB)
    Kcidb,
    /// A block for a mail, as the kernel's performance bots send
    Lkp,
}
