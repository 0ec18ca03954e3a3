//! `preemptlab bisect`: which commit made a kernel worse?

mod found;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, ValueEnum};
use preemptlab_analysis::meant::RUNS;
use preemptlab_bisect::{Answer, Ends, Next, Revert, Search, Step};
use preemptlab_model::{Digest, MetricName, PreemptMode, counted};
use preemptlab_stats::{Followed, Gate, GateVerdict, GivenMargin, Mechanism};

use self::found::{Cure, Found, Outcome};
use super::gate::{
    self,
    budget::Budget,
    options::{GateArgs, GateFormat},
};
use crate::{
    args::{Machines, Packages},
    exit,
    output::Output,
};

/// Find the commit that made a kernel worse
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab bisect --good v6.12 --bad HEAD
  preemptlab bisect --good v6.12 --bad v6.13 --repo ../linux --metric wakeup.fifo.max
  preemptlab bisect --good HEAD~40 --bad HEAD --cause tcp_v4_rcv

Exit codes: 0 the commit was found, 1 the bad revision is no worse than the good one, 3 it could not be
decided, or commits that cannot be tested hide it.")]
pub struct BisectArgs {
    /// What each commit is measured with, a TOML file [default: a small one with hackbench,
    /// studies/gate.toml]
    #[arg(value_name = "EXPERIMENT")]
    pub experiment: Option<PathBuf>,
    /// A revision that is as it should be
    #[arg(long, value_name = "REV")]
    pub good: String,
    /// A later one that is worse
    #[arg(long, value_name = "REV")]
    pub bad: String,
    /// The repository, which is only read
    #[arg(long, value_name = "PATH", default_value = ".")]
    pub repo: PathBuf,
    /// Configure the kernels so: lab, debian or a file, and symbols, as in lab+HZ_1000=y
    #[arg(long, value_name = "CONFIG")]
    pub config: Option<String>,
    /// Look for the commit that made this metric worse [default: what is worse in the bad revision]
    #[arg(long, value_name = "METRIC", conflicts_with = "cause")]
    pub metric: Option<String>,
    /// Look for the commit that made this function's sections longer
    #[arg(long, value_name = "FUNCTION")]
    pub cause: Option<String>,
    /// How much worse is no worse, as of `gate`; may be repeated [default: 3% and 20us]
    #[arg(long = "margin", value_name = "[METRIC=]MARGIN")]
    pub margins: Vec<GivenMargin>,
    /// Stop a decision after so many cells of both kernels, or after a time such as 10m
    #[arg(long, value_name = "CELLS|TIME", default_value = "60")]
    pub budget: Budget,
    /// Compare in this mode; may be repeated [default: as of `gate`]
    #[arg(long = "preempt", value_name = "MODE")]
    pub preempt: Vec<PreemptMode>,
    /// The seed of the first pair of cells
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// The folder of the search, which the same command goes on with [default: runs/bisect-DIGEST]
    #[arg(long, value_name = "FOLDER")]
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
    let [good, bad] = Search::ends(&args.repo, &args.good, &args.bad)?;
    let question = question(args)?;
    let out = args.out.clone().unwrap_or_else(|| {
        let digest = Digest::of_json(&(&good, &bad, &question));
        Path::new(RUNS).join(format!("bisect-{}", digest.short()))
    });
    let search = Search::open(&out, &args.repo, Ends { good, bad, question })?;
    let mut bisection = Bisection { args, store, output, out, search };
    let outcome = bisection.run()?;
    match args.format {
        BisectFormat::Table => output.data(&outcome.terminal(output.terminal()))?,
        BisectFormat::Json => output.json(&outcome)?,
    };
    Ok(ExitCode::from(match outcome.found {
        Found::Commit { .. } => exit::OK,
        Found::Hidden { .. } => exit::CELLS_FAILED,
    }))
}

/// Returns everything that the answers depend on besides the commits.
fn question(args: &BisectArgs) -> exit::Result<String> {
    let experiment = match &args.experiment {
        Some(path) => {
            let text = std::fs::read(path).map_err(|error| {
                exit::unusable(format!("`{}` cannot be read: {error}", path.display()))
            })?;
            Digest::of(&text).to_string()
        }
        None => "the gate's own".to_owned(),
    };
    let BisectArgs { config, metric, cause, margins, budget, preempt, seed, .. } = args;
    Ok(format!(
        "experiment {experiment}, config {config:?}, metric {metric:?}, cause {cause:?}, margins \
         {margins:?}, budget {budget:?}, preempt {preempt:?}, seed {seed:?}"
    ))
}

struct Bisection<'a> {
    args: &'a BisectArgs,
    store: Option<PathBuf>,
    output: &'a Output,
    out: PathBuf,
    search: Search,
}

impl Bisection<'_> {
    fn run(&mut self) -> exit::Result<Outcome> {
        let mechanism = match self.search.mechanism().map(str::parse) {
            Some(Ok(mechanism)) => mechanism,
            _ => self.find_mechanism()?,
        };
        self.output.note(format!("bisect: looking for the commit that brought {mechanism}"));
        let found = loop {
            match self.search.next()? {
                Next::Test { commit, candidates } => self.test(&mechanism, commit, candidates)?,
                Next::Found(commit) => break self.found(&mechanism, &commit)?,
                Next::Hidden(commits) => {
                    let commits = commits.iter().map(|commit| self.search.describe(commit));
                    break Found::Hidden { commits: commits.collect::<Result<_, _>>()? };
                }
            }
        };
        let steps = self.search.steps().to_vec();
        let folder = self.out.clone();
        Ok(Outcome { mechanism: mechanism.to_string(), steps, found, folder })
    }

    /// Compares both ends, and keeps what made the bad one worse.
    fn find_mechanism(&mut self) -> exit::Result<Mechanism> {
        let Ends { good, bad, .. } = self.search.ends_of().clone();
        self.output.note("bisect: comparing the good revision with the bad one");
        let gate = self.gate(&self.kernel(&good), &self.kernel(&bad), "ends")?;
        let BisectArgs { metric, cause, .. } = self.args;
        let named = match (metric, cause) {
            (Some(metric), _) => Some(Mechanism::Metric(MetricName::from(metric.as_str()))),
            (None, Some(cause)) => Some(Mechanism::Section(cause.clone())),
            (None, None) => Mechanism::of(&gate),
        };
        let refused = |code, why: String| {
            let [good, bad] = [&self.args.good, &self.args.bad];
            exit::failure(code, format!("{bad} is not shown to be worse than {good}: {why}"))
        };
        let Some(mechanism) = named else {
            return Err(match gate.verdict {
                GateVerdict::Worse => {
                    let reason = gate.reasons().into_iter().next().unwrap_or_default();
                    refused(
                        exit::CELLS_FAILED,
                        format!("{reason}; give a --bad that can be tested"),
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
        let described = self.search.describe(&commit)?;
        // As many decisions as git needs at least.
        let left = usize::BITS - candidates.leading_zeros();
        self.output.note(format!(
            "bisect: {} {} ({} may be the first bad one, about {} to go)",
            found::short(&commit),
            described.subject,
            counted(candidates, "commit"),
            counted(left.saturating_sub(1) as usize, "step"),
        ));
        let good = self.search.ends_of().good.clone();
        let gate = self.gate(&self.kernel(&good), &self.kernel(&commit), found::short(&commit))?;
        let (answer, reason) = match mechanism.follow(&gate) {
            Followed::Worse(words) => (Answer::Bad, words),
            Followed::NoWorse => (Answer::Good, "no worse".to_owned()),
            Followed::Unknown(why) => (Answer::Skip, why),
        };
        self.output.note(format!(
            "bisect: {} is {}: {reason}",
            found::short(&commit),
            match answer {
                Answer::Skip => "skipped",
                other => other.as_str(),
            }
        ));
        Ok(self.search.answer(Step { commit, answer, reason })?)
    }

    /// Compares the first bad commit with its parent, and looks whether taking it back cures.
    fn found(&self, mechanism: &Mechanism, commit: &str) -> exit::Result<Found> {
        let described = self.search.describe(commit)?;
        let good = self.search.ends_of().good.clone();
        let parent = self.search.parent(commit)?.unwrap_or_else(|| good.clone());
        self.output.note(format!(
            "bisect: {} is the first bad commit; comparing it with its parent",
            found::short(commit)
        ));
        let [before, after] = [self.kernel(&parent), self.kernel(commit)];
        let change = self.gate(&before, &after, "change")?;
        let cure = match self.search.reverted(commit)? {
            Revert::Conflicts => Cure::Conflicts,
            Revert::Merge => Cure::Merge,
            Revert::Commit(reverted) => {
                self.output.note("bisect: taking it back on top of the bad revision");
                let repository = self.search.repository();
                let reverted = self.kernel_in(&repository, &reverted);
                let gate = self.gate(&self.kernel(&good), &reverted, "reverted")?;
                match mechanism.follow(&gate) {
                    Followed::NoWorse => Cure::Cures,
                    Followed::Worse(words) => Cure::Remains { words },
                    Followed::Unknown(why) => Cure::Unknown { why },
                }
            }
        };
        Ok(Found::Commit { commit: described, change: Box::new(change), cure })
    }

    fn kernel(&self, commit: &str) -> String {
        self.kernel_in(&self.args.repo, commit)
    }

    /// Returns the name of the kernel of a commit.
    fn kernel_in(&self, repository: &Path, commit: &str) -> String {
        let config = self.args.config.as_ref().map(|config| format!(",config={config}"));
        format!("git:{}@{commit}{}", repository.display(), config.unwrap_or_default())
    }

    /// Decides whether a kernel is worse than another, with the recording in the folder of the search.
    fn gate(&self, base: &str, new: &str, name: &str) -> exit::Result<Gate> {
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
            out: Some(self.out.join("steps").join(name)),
            format: GateFormat::Table,
            machines: self.args.machines.clone(),
            packages: self.args.packages.clone(),
        };
        gate::decide(&args, self.store.clone(), self.output)
    }
}
