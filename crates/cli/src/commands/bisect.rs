//! `preemptlab bisect`: which commit made a kernel worse?

mod explained;
mod found;
mod searched;

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, ValueEnum};
use preemptlab_analysis::meant;
use preemptlab_durable::OutFolder;
use preemptlab_lab::bisect::{Answer, Ends, Next, Revert, Search, Step};
use preemptlab_model::{Digest, MetricName, PreemptMode, counted};
use preemptlab_stats::{Followed, Gate, GateVerdict, GivenMargin, Mechanism};

use self::{
    explained::explained,
    found::{Cure, Found, Outcome},
    searched::{Between, Searched, kernel_in},
};
use super::gate::{self, options::GateArgs};
use crate::{
    args::{Machines, Packages, written_path},
    budget::Budget,
    exit, lab,
    output::Output,
};

/// The folder of the steps' recordings, in the folder of a search.
const STEPS: &str = "steps";

/// The recording of the first bad one beside the one before it.
const CHANGE: &str = "change";

/// Find the commit, or the packaged kernel, that made a kernel worse
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab bisect --good v6.12 --bad HEAD
  preemptlab bisect --good v6.12 --bad v6.13 --repo ../linux --metric wakeup.fifo.max
  preemptlab bisect --good HEAD~40 --bad HEAD --cause tcp_v4_rcv
  preemptlab bisect --kernels debian:6.12..7.2
  preemptlab bisect --kernels debian:6.12-rt..7.2-rt --metric wakeup.fifo.p99

Exit codes: 0 the commit or kernel was found, 1 the bad revision is no worse than the good one, 3 it could not be
decided, or commits that cannot be tested hide it.")]
pub struct BisectArgs {
    /// What each commit is measured with, a TOML file [default: a small one with hackbench,
    /// studies/gate.toml]
    #[arg(value_name = "EXPERIMENT")]
    pub experiment: Option<PathBuf>,
    #[command(flatten)]
    pub between: Between,
    /// Look for the commit that made this metric worse [default: what is worse in the bad revision]
    #[arg(long, value_name = "METRIC", conflicts_with = "cause")]
    pub metric: Option<String>,
    /// Look for the commit that made this function's sections longer
    #[arg(long, value_name = "FUNCTION")]
    pub cause: Option<String>,
    /// How much worse is no worse, as of `gate`; may be repeated [default: 3% and 20us]
    #[arg(long = "margin", value_name = "[METRIC=]MARGIN")]
    pub margins: Vec<GivenMargin>,
    /// Record no more than so many cells for a decision, of both kernels, every workload and mode
    /// together, or stop it after a time such as 10m
    #[arg(long, value_name = "CELLS|TIME", default_value = "60")]
    pub budget: Budget,
    /// Compare in this mode; may be repeated [default: as of `gate`]
    #[arg(long = "preempt", value_name = "MODE")]
    pub preempt: Vec<PreemptMode>,
    /// The seed of the first pair of cells
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// The folder of the search, which the same command goes on with [default: runs/bisect-DIGEST]
    #[arg(long, value_name = "FOLDER", value_parser = written_path())]
    pub out: Option<PathBuf>,
    /// How to print it
    #[arg(long, default_value = "table")]
    pub format: BisectFormat,
    #[command(flatten)]
    pub machines: Machines,
    #[command(flatten)]
    pub packages: Packages,
}

/// Format of what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BisectFormat {
    /// For a terminal
    Table,
    /// One document
    Json,
}

/// Searches, and prints what was found.
pub fn execute(
    args: &BisectArgs,
    store: Option<PathBuf>,
    output: &Output,
) -> exit::Result<ExitCode> {
    let (searched, search, out) = Searched::open(
        &args.between,
        args.out.as_deref(),
        &args.packages,
        store.clone(),
        question(args)?,
        args.machines.allow_build_scripts,
        output,
    )?;
    let mut bisection = Bisection { args, store, output, out, searched, search };
    let outcome = bisection.run()?;
    match args.format {
        BisectFormat::Table => output.data(&outcome.terminal(output.terminal()))?,
        BisectFormat::Json => output.json(&outcome)?,
    };
    Ok(ExitCode::from(match outcome.found {
        Found::Commit { .. } | Found::Kernel { .. } => exit::OK,
        Found::Hidden { .. } | Found::HiddenKernels { .. } => exit::CELLS_FAILED,
    }))
}

/// Returns everything that the answers depend on besides the commits.
fn question(args: &BisectArgs) -> exit::Result<String> {
    let experiment = match &args.experiment {
        Some(path) => Digest::of(lab::read(path, meant::Kind::Experiment)?.as_bytes()).to_string(),
        None => "the gate's own".to_owned(),
    };
    let config = &args.between.config;
    let BisectArgs { metric, cause, margins, budget, preempt, seed, .. } = args;
    Ok(format!(
        "experiment {experiment}, config {config:?}, metric {metric:?}, cause {cause:?}, margins \
         {margins:?}, budget {budget:?}, preempt {preempt:?}, seed {seed:?}"
    ))
}

struct Bisection<'a> {
    args: &'a BisectArgs,
    store: Option<PathBuf>,
    output: &'a Output,
    out: OutFolder,
    searched: Searched,
    search: Search,
}

impl Bisection<'_> {
    fn run(&mut self) -> exit::Result<Outcome> {
        let mechanism = match self.search.mechanism().map(str::parse) {
            Some(Ok(mechanism)) => mechanism,
            _ => self.find_mechanism()?,
        };
        self.output.note(format!(
            "bisect: looking for the {} that brought {mechanism}",
            self.searched.noun()
        ));
        let found = loop {
            match self.search.next()? {
                Next::Test { commit, candidates } => self.test(&mechanism, commit, candidates)?,
                Next::Found(commit) => break self.found(&mechanism, &commit)?,
                Next::Hidden(commits) => break self.hidden(&commits)?,
            }
        };
        let mut steps = self.search.steps().to_vec();
        if let Searched::Kernels(_) = self.searched {
            steps.iter_mut().for_each(|step| step.commit = self.searched.name(&step.commit));
        }
        let folder = self.out.path();
        Ok(Outcome { mechanism: mechanism.to_string(), steps, found, folder })
    }

    fn hidden(&self, commits: &[String]) -> exit::Result<Found> {
        if let Searched::Kernels(_) = self.searched {
            let kernels = commits.iter().map(|commit| self.searched.name(commit)).collect();
            return Ok(Found::HiddenKernels { kernels });
        }
        let commits = commits.iter().map(|commit| self.search.describe(commit));
        Ok(Found::Hidden { commits: commits.collect::<Result<_, _>>()? })
    }

    /// Compares both ends, and keeps what made the bad one worse.
    fn find_mechanism(&mut self) -> exit::Result<Mechanism> {
        let Ends { good, bad, .. } = self.search.ends_of().clone();
        self.output.note("bisect: comparing the good end with the bad one");
        let BisectArgs { metric, cause, .. } = self.args;
        let named = match (metric, cause) {
            (Some(metric), _) => Some(Mechanism::Metric(MetricName::from(metric.as_str()))),
            (None, Some(cause)) => Some(Mechanism::Section(cause.clone())),
            (None, None) => None,
        };
        let gate = self.gate(&self.kernel(&good), &self.kernel(&bad), named.as_ref(), "ends")?;
        let named = named.or_else(|| Mechanism::of(&gate));
        let refused = |code, why: String| {
            let end = |given: &Option<String>, commit: &str| {
                given.clone().unwrap_or_else(|| self.searched.name(commit))
            };
            let [good, bad] =
                [end(&self.args.between.good, &good), end(&self.args.between.bad, &bad)];
            exit::failure(code, format!("{bad} is not shown to be worse than {good}: {why}"))
        };
        let Some(mechanism) = named else {
            return Err(match gate.verdict {
                GateVerdict::Worse => {
                    let reason = gate.reasons().into_iter().next().unwrap_or_default();
                    refused(
                        exit::CELLS_FAILED,
                        format!("{reason}; give a bad end that can be tested"),
                    )
                }
                GateVerdict::NoWorse => refused(
                    exit::NO,
                    "no metric and no section is worse; a smaller --margin, or an EXPERIMENT that \
                     meets the regression, may tell them apart"
                        .to_owned(),
                ),
                GateVerdict::Undecided => {
                    refused(exit::CELLS_FAILED, "the --budget was too small to decide".to_owned())
                }
            });
        };
        match mechanism.follow(&gate) {
            Followed::Worse(_) => {}
            Followed::NoWorse => {
                let why = format!("{mechanism} is no worse; name another one, or none");
                return Err(refused(exit::NO, why));
            }
            Followed::Unknown(why) => return Err(refused(exit::CELLS_FAILED, why)),
        }
        for function in mechanism.suspects(&gate) {
            self.output.note(format!(
                "bisect: the sections of {function} are longer, too; `--cause {function}` looks for the {} \
                 that made them so",
                self.searched.noun()
            ));
        }
        self.search.follow(mechanism.to_string())?;
        Ok(mechanism)
    }

    /// Answers about one commit.
    fn test(
        &mut self,
        mechanism: &Mechanism,
        commit: String,
        candidates: usize,
    ) -> exit::Result<()> {
        let name = self.searched.name(&commit);
        let called = match self.searched {
            Searched::Commits(_) => format!("{name} {}", self.search.describe(&commit)?.subject),
            Searched::Kernels(_) => name.clone(),
        };
        // As many decisions as git needs at least.
        let left = usize::BITS - candidates.leading_zeros();
        self.output.note(format!(
            "bisect: {called} ({} may be the first bad one, about {} to go)",
            counted(candidates, self.searched.noun()),
            counted(left.saturating_sub(1) as usize, "step"),
        ));
        let good = self.search.ends_of().good.clone();
        let folder = self.searched.folder(&commit);
        let gate =
            self.gate(&self.kernel(&good), &self.kernel(&commit), Some(mechanism), &folder)?;
        let (answer, reason) = match mechanism.follow(&gate) {
            Followed::Worse(words) => (Answer::Bad, words),
            Followed::NoWorse => (Answer::Good, "no worse".to_owned()),
            Followed::Unknown(why) => (Answer::Skip, why),
        };
        self.output.note(format!(
            "bisect: {name} is {}: {reason}",
            match answer {
                Answer::Skip => "skipped",
                other => other.as_str(),
            }
        ));
        Ok(self.search.answer(Step { commit, answer, reason })?)
    }

    /// Compares the first bad commit with its parent, and looks whether taking it back cures.
    fn found(&self, mechanism: &Mechanism, commit: &str) -> exit::Result<Found> {
        let good = self.search.ends_of().good.clone();
        let parent = self.search.parent(commit)?.unwrap_or_else(|| good.clone());
        let noun = self.searched.noun();
        self.output.note(format!(
            "bisect: {} is the first bad {noun}; comparing it with the {noun} before it",
            self.searched.name(commit)
        ));
        let [before, after] = [self.kernel(&parent), self.kernel(commit)];
        let change = Box::new(self.gate(&before, &after, None, CHANGE)?);
        let worst = explained(&self.out.join(STEPS).join(CHANGE).path(), self.output);
        let Searched::Commits(_) = self.searched else {
            return Ok(Found::Kernel { kernel: after, before, change, worst });
        };
        let described = self.search.describe(commit)?;
        let cure = match self.search.reverted(commit)? {
            Revert::Conflicts => Cure::Conflicts,
            Revert::Merge => Cure::Merge,
            Revert::Commit(reverted) => {
                self.output.note("bisect: taking it back on top of the bad revision");
                let repository = self.search.repository();
                let reverted =
                    kernel_in(&repository, &reverted, self.args.between.config.as_deref());
                let gate =
                    self.gate(&self.kernel(&good), &reverted, Some(mechanism), "reverted")?;
                match mechanism.follow(&gate) {
                    Followed::NoWorse => Cure::Cures,
                    Followed::Worse(words) => Cure::Remains { words },
                    Followed::Unknown(why) => Cure::Unknown { why },
                }
            }
        };
        Ok(Found::Commit { commit: described, change, worst, cure })
    }

    /// Returns the name of the kernel of a commit.
    fn kernel(&self, commit: &str) -> String {
        self.searched.kernel(commit, self.args.between.config.as_deref())
    }

    /// Decides whether a kernel is worse than another, by a mechanism where one is followed, with the
    /// recording in the folder of the search.
    fn gate(
        &self,
        base: &str,
        new: &str,
        followed: Option<&Mechanism>,
        name: &str,
    ) -> exit::Result<Gate> {
        let BisectArgs { experiment, metric, margins, budget, preempt, seed, .. } = self.args;
        let args = GateArgs {
            base: base.to_owned(),
            new: new.to_owned(),
            experiment: experiment.clone(),
            margins: margins.clone(),
            metrics: metric.iter().cloned().collect(),
            budget: *budget,
            preempt: preempt.clone(),
            seed: *seed,
            no_trace: false,
            bisect: false,
            out: Some(self.out.join(STEPS).join(name)),
            forms: Vec::new(),
            machines: self.args.machines.clone(),
            packages: self.args.packages.clone(),
        };
        gate::decide(&args, followed, self.store.clone(), self.output)
    }
}
