//! `preemptlab bisect`: which commit made a kernel worse?

mod found;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use preemptlab_analysis::bisection::Found;
use preemptlab_lab::{
    Budget, Config,
    bisect::{Between, BisectRange, BisectRequest, bisect},
};
use preemptlab_model::PreemptMode;
use preemptlab_stats::GivenMargin;

use crate::{
    args::{Format, Guests, Machines, formats, gate_margins, refuse, written_path},
    exit, lab,
    output::Output,
    progress::Shown,
};

/// Find the commit, or the packaged kernel, that made a kernel worse
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab bisect v6.12..HEAD
  preemptlab bisect v6.12..v6.13 --repo ../linux --metric wakeup.fifo.max
  preemptlab bisect HEAD~40..HEAD mine.toml --cause tcp_v4_rcv
  preemptlab bisect debian:6.12..7.2
  preemptlab bisect debian:6.12-rt..7.3-rt --arch arm64
  preemptlab bisect debian:6.12-rt..7.2-rt --metric wakeup.fifo.p99

Exit codes: 0 the commit or kernel was found, 1 the bad revision is no worse than the good one, 3 it could not be
decided, or commits that cannot be tested hide it.")]
pub struct BisectArgs {
    /// A revision that is as it should be and a later one that is worse; or two packaged kernels of
    /// one flavour, between which every version on offer is searched
    #[arg(value_name = "GOOD..BAD")]
    pub range: BisectRange,
    /// The experiment that measures each commit or kernel, a TOML file [default: a small one with
    /// hackbench, studies/gate.toml]
    #[arg(value_name = "EXPERIMENT")]
    pub experiment: Option<PathBuf>,
    /// The repository of the revisions, which is only read [default: .]
    #[arg(long, value_name = "PATH")]
    pub repo: Option<PathBuf>,
    /// Configuration of the revisions' kernels: lab, debian or a file, and symbols, as in
    /// lab+HZ_1000=y
    #[arg(long, value_name = "CONFIG")]
    pub config: Option<String>,
    /// Look for the commit that made this metric worse [default: what is worse in the bad revision]
    #[arg(long, value_name = "METRIC", conflicts_with = "cause")]
    pub metric: Option<String>,
    /// Look for the commit that made this function's sections longer
    #[arg(long, value_name = "FUNCTION")]
    pub cause: Option<String>,
    /// Largest regression to accept, as for `gate`; may be repeated [default: 3% and 20us]
    #[arg(long = "margin", value_name = "[METRIC=]SHARE|TIME")]
    pub margins: Vec<GivenMargin>,
    /// Record at most this number of cells for a decision, of both kernels, every workload and mode
    /// together, or stop it after a time such as 10m
    #[arg(long, value_name = "COUNT|TIME", default_value = "60")]
    pub budget: Budget,
    /// Compare in these modes, such as full,lazy [default: as of `gate`]
    #[arg(long = "preempt", value_name = "MODES", value_delimiter = ',')]
    pub preempt: Vec<PreemptMode>,
    #[command(flatten)]
    pub guests: Guests,
    /// The seed of the first pair of cells
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// The folder of the search, which the same command goes on with [default: runs/bisect-DIGEST]
    #[arg(long, value_name = "FOLDER", value_parser = written_path())]
    pub out: Option<PathBuf>,
    /// How to print it
    #[arg(long, default_value = "table",
        value_parser = formats([Format::Table, Format::Json]))]
    pub format: Format,
    #[command(flatten)]
    pub machines: Machines,
}

impl BisectArgs {
    fn between(&self) -> exit::Result<Between<'_>> {
        match &self.range {
            BisectRange::Commits { good, bad } => {
                let repository = self.repo.as_deref().unwrap_or(Path::new("."));
                Ok(Between::Commits { good, bad, repository, config: self.config.as_deref() })
            }
            BisectRange::Kernels(range) => {
                let given = [(self.repo.is_some(), "--repo"), (self.config.is_some(), "--config")];
                refuse(&given, "packaged kernels are not built from a repository")?;
                Ok(Between::Kernels(range))
            }
        }
    }
}

/// Searches, and prints the result.
pub fn execute(args: &BisectArgs, config: &Config, output: &Output) -> exit::Result<ExitCode> {
    let request = BisectRequest {
        between: args.between()?,
        experiment: args.experiment.as_deref(),
        metric: args.metric.as_deref(),
        cause: args.cause.as_deref(),
        margins: gate_margins(&args.margins, config)?,
        budget: args.budget,
        preempt: &args.preempt,
        arch: args.guests.arch,
        seed: args.seed,
        out: args.out.as_deref(),
    };
    let shown = Shown::new(output);
    let lab = lab::here(config, Some(&args.machines), &shown);
    let outcome = bisect(&lab, &request)?;
    match args.format {
        Format::Table => output.data(&found::terminal(&outcome, output.terminal()))?,
        Format::Json => output.json(&outcome)?,
        other => return Err(other.is_not_written()),
    };
    Ok(ExitCode::from(match outcome.found {
        Found::Commit { .. } | Found::Kernel { .. } => exit::OK,
        Found::Hidden { .. } | Found::HiddenKernels { .. } => exit::CELLS_FAILED,
    }))
}
