//! The search for the commit, or the packaged kernel, that made a kernel worse.

use std::path::Path;

use preemptlab_analysis::{
    bisection::{Answer, Bisected, CHANGE, Found, STEPS, TakenBack, Tested},
    meant,
};
use preemptlab_experiment::Overrides;
use preemptlab_files::OutFolder;
use preemptlab_model::{Arch, Digest, MetricName, PreemptMode, counted};
use preemptlab_stats::{Followed, Gate, GateRule, GateVerdict, Margins, Mechanism};

use super::{
    Between, Ends, Next, Revert, Search,
    searched::{Searched, kernel_in},
    worst::worst,
};
use crate::{Blame, Budget, Error, GateRequest, Lab, Result, gate, read};

/// Two ends, and the question about the kernels between them.
#[derive(Clone, Debug)]
pub struct BisectRequest<'a> {
    /// The two ends.
    pub between: Between<'a>,
    /// The experiment's file for each kernel; without one it is the gate's own.
    pub experiment: Option<&'a Path>,
    /// The metric to look for; without one, and without a function, whatever is worse in the bad end.
    pub metric: Option<&'a str>,
    /// The function to look for, whose sections are longer.
    pub cause: Option<&'a str>,
    /// The margins.
    pub margins: Margins,
    /// The cost of each decision.
    pub budget: Budget,
    /// The modes in which kernels are compared.
    pub preempt: &'a [PreemptMode],
    /// The architecture of the guests; `None` for the experiment's.
    pub arch: Option<Arch>,
    /// The seed of the first pair of cells.
    pub seed: Option<u64>,
    /// The folder of the search.
    pub out: Option<&'a Path>,
}

/// Searches for the first bad one between two ends. The journal keeps each answer, so that the same request
/// continues an interrupted search.
///
/// # Errors
///
/// When the ends have no history between them, the bad one is not shown to be worse,
/// or the machine or the user ends it.
pub fn bisect(lab: &Lab<'_>, request: &BisectRequest<'_>) -> Result<Bisected> {
    let question = question(request)?;
    let BisectRequest { between, experiment, arch, out, .. } = *request;
    // A mistake in the experiment ends the command before a folder is made for the search.
    let overrides = Overrides { arch, ..Overrides::default() };
    let guest = gate::wanted(experiment.into(), &overrides)?.experiment.machine.arch;
    let (searched, search, out) = Searched::open(lab, &between, guest, out, question)?;
    Bisection { lab, request, out, searched, search }.run()
}

/// Returns everything that the answers depend on besides the commits.
fn question(request: &BisectRequest<'_>) -> Result<String> {
    let experiment = match request.experiment {
        Some(path) => Digest::of(read(path, meant::Kind::Experiment)?.as_bytes()).to_string(),
        None => "the gate's own".to_owned(),
    };
    let config = match &request.between {
        Between::Commits { config, .. } => *config,
        Between::Kernels(_) => None,
    };
    let BisectRequest { metric, cause, margins, budget, preempt, arch, seed, .. } = request;
    // The question of a search without it stays as it was, so that such a search goes on.
    let arch = arch.map(|arch| format!(", arch {}", arch.platform().debian)).unwrap_or_default();
    Ok(format!(
        "experiment {experiment}, config {config:?}, metric {metric:?}, cause {cause:?}, margins \
         {margins:?}, budget {budget:?}, preempt {preempt:?}, seed {seed:?}{arch}"
    ))
}

struct Bisection<'a> {
    lab: &'a Lab<'a>,
    request: &'a BisectRequest<'a>,
    out: OutFolder,
    searched: Searched,
    search: Search,
}

impl Bisection<'_> {
    fn run(&mut self) -> Result<Bisected> {
        let mechanism = match self.search.mechanism().map(str::parse) {
            Some(Ok(mechanism)) => mechanism,
            _ => self.find_mechanism()?,
        };
        self.lab.note(format!(
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
        Ok(Bisected::new(mechanism.to_string(), steps, found, folder))
    }

    fn hidden(&self, commits: &[String]) -> Result<Found> {
        if let Searched::Kernels(_) = self.searched {
            let kernels = commits.iter().map(|commit| self.searched.name(commit)).collect();
            return Ok(Found::HiddenKernels { kernels });
        }
        let commits = commits.iter().map(|commit| self.search.describe(commit));
        Ok(Found::Hidden { commits: commits.collect::<Result<_, _>>()? })
    }

    /// Compares both ends, and keeps the mechanism that made the bad one worse.
    fn find_mechanism(&mut self) -> Result<Mechanism> {
        let Ends { good, bad, .. } = self.search.ends_of().clone();
        self.lab.note("bisect: comparing the good end with the bad one");
        let BisectRequest { metric, cause, .. } = self.request.clone();
        let named = match (metric, cause) {
            (Some(metric), _) => Some(Mechanism::Metric(MetricName::from(metric))),
            (None, Some(cause)) => Some(Mechanism::Section(cause.to_owned())),
            (None, None) => None,
        };
        let gate = self.gate(&self.kernel(&good), &self.kernel(&bad), named.as_ref(), "ends")?;
        let named = named.or_else(|| Mechanism::of(&gate));
        let refused = |blame, why: String| {
            let [good, bad] = match self.request.between {
                Between::Commits { good, bad, .. } => [good.to_owned(), bad.to_owned()],
                Between::Kernels(_) => [&good, &bad].map(|end| self.searched.name(end)),
            };
            Error::new(blame, format!("{bad} is not shown to be worse than {good}: {why}"))
        };
        let Some(mechanism) = named else {
            return Err(match gate.verdict {
                GateVerdict::Worse => {
                    let reason = gate.reasons().into_iter().next().unwrap_or_default();
                    refused(Blame::Cells, format!("{reason}; give a bad end that can be tested"))
                }
                GateVerdict::NoWorse => refused(
                    Blame::No,
                    "no metric and no section is worse; a smaller --margin, or an EXPERIMENT that \
                     meets the regression, may tell them apart"
                        .to_owned(),
                ),
                GateVerdict::Undecided => {
                    refused(Blame::Cells, "the --budget was too small to decide".to_owned())
                }
            });
        };
        match mechanism.follow(&gate) {
            Followed::Worse(_) => {}
            Followed::NoWorse => {
                let why = format!("{mechanism} is no worse; name another one, or none");
                return Err(refused(Blame::No, why));
            }
            Followed::Unknown(why) => return Err(refused(Blame::Cells, why)),
        }
        for function in mechanism.suspects(&gate) {
            self.lab.note(format!(
                "bisect: the sections of {function} are longer, too; `--cause {function}` looks for the {} \
                 that made them so",
                self.searched.noun()
            ));
        }
        self.search.follow(mechanism.to_string())?;
        Ok(mechanism)
    }

    /// Answers about one commit.
    fn test(&mut self, mechanism: &Mechanism, commit: String, candidates: usize) -> Result<()> {
        let name = self.searched.name(&commit);
        let called = match self.searched {
            Searched::Commits(_) => format!("{name} {}", self.search.describe(&commit)?.subject),
            Searched::Kernels(_) => name.clone(),
        };
        // As many decisions as git needs at least.
        let left = usize::BITS - candidates.leading_zeros();
        self.lab.note(format!(
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
        self.lab.note(format!(
            "bisect: {name} is {}: {reason}",
            match answer {
                Answer::Skip => "skipped",
                other => other.as_str(),
            }
        ));
        Ok(self.search.answer(Tested { commit, answer, reason })?)
    }

    /// Compares the first bad commit with its parent, and looks whether taking it back cures.
    fn found(&self, mechanism: &Mechanism, commit: &str) -> Result<Found> {
        let good = self.search.ends_of().good.clone();
        let parent = self.search.parent(commit)?.unwrap_or_else(|| good.clone());
        let noun = self.searched.noun();
        self.lab.note(format!(
            "bisect: {} is the first bad {noun}; comparing it with the {noun} before it",
            self.searched.name(commit)
        ));
        let [before, after] = [self.kernel(&parent), self.kernel(commit)];
        let change = Box::new(self.gate(&before, &after, None, CHANGE)?);
        let worst = worst(&self.out.join(STEPS).join(CHANGE).path());
        let Searched::Commits(_) = self.searched else {
            return Ok(Found::Kernel { kernel: after, before, change, worst });
        };
        let described = self.search.describe(commit)?;
        let cure = match self.search.reverted(commit)? {
            Revert::Conflicts => TakenBack::Conflicts,
            Revert::Merge => TakenBack::Merge,
            Revert::Commit(reverted) => {
                self.lab.note("bisect: taking it back on top of the bad revision");
                let repository = self.search.repository();
                let reverted = kernel_in(&repository, &reverted, self.config());
                let gate =
                    self.gate(&self.kernel(&good), &reverted, Some(mechanism), "reverted")?;
                match mechanism.follow(&gate) {
                    Followed::NoWorse => TakenBack::Cures,
                    Followed::Worse(words) => TakenBack::Remains { words },
                    Followed::Unknown(why) => TakenBack::Unknown { why },
                }
            }
        };
        Ok(Found::Commit { commit: described, change, worst, cure })
    }

    /// Returns the name of the kernel of a commit.
    fn kernel(&self, commit: &str) -> String {
        self.searched.kernel(commit, self.config())
    }

    /// Returns the configuration of the kernels, where one was given.
    fn config(&self) -> Option<&str> {
        match self.request.between {
            Between::Commits { config, .. } => config,
            Between::Kernels(_) => None,
        }
    }

    /// Decides whether a kernel is worse than another, by a mechanism where one is followed, with the
    /// recording in the folder of the search.
    fn gate(
        &self,
        base: &str,
        new: &str,
        followed: Option<&Mechanism>,
        name: &str,
    ) -> Result<Gate> {
        let BisectRequest { experiment, metric, budget, preempt, arch, seed, margins, .. } =
            self.request.clone();
        let request = GateRequest {
            base,
            new,
            experiment: experiment.into(),
            rule: GateRule {
                metrics: metric.map(MetricName::from).into_iter().collect(),
                margins,
                followed: followed.cloned(),
                ..GateRule::default()
            },
            budget,
            preempt,
            arch,
            seed,
            trace: true,
            out: Some(self.out.join(STEPS).join(name)),
        };
        gate::gate(self.lab, &request)
    }
}
