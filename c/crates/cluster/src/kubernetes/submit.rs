use std::ffi::OsString;

use crate::{
    command::Commands,
    emit::{self, Line, Pods},
    engine::{Engine, EngineError, EngineKind, JobId, State, Submission},
    kubernetes::{answers, options::Options, refusal::KNOWN},
};

/// Most indexes of a Job (the Kubernetes documentation of Jobs, `.spec.completions`).
const COMPLETIONS_MAX: u32 = 100_000;

/// CPUs of a cluster that does not tell: many users may not list its nodes.
const CPUS: u32 = 32;

/// Kubernetes, as kubectl on this machine reaches it.
#[derive(Clone, Debug)]
pub struct Kubernetes {
    claim: Line,
    image: Line,
    user: (u32, u32),
    options: Options,
    commands: Commands,
}

impl Kubernetes {
    /// Creates the engine, whose pods mount a claim, execute an image, and write as a user and a group.
    pub fn new(claim: Line, image: Line, user: (u32, u32), options: Options) -> Self {
        let commands = Commands {
            path: None,
            without: &["KUBECTL_EXTERNAL_DIFF", "KUBECTL_COMMAND_HEADERS"],
            absent: "install it, or log in to one that has it; `preemptlab run` executes the cells here",
            known: KNOWN,
        };
        Self { claim, image, user, options, commands }
    }

    /// Looks for kubectl in other folders than those of the environment's `PATH`.
    #[must_use]
    pub fn looking_in(mut self, path: OsString) -> Self {
        self.commands.path = Some(path);
        self
    }

    /// Executes kubectl.
    fn kubectl(&self, arguments: &[&str], input: &str) -> Result<String, EngineError> {
        let arguments = arguments.iter().map(ToString::to_string);
        let always = std::iter::once("--request-timeout=30s".to_owned());
        self.commands.output(
            "kubectl",
            arguments.chain(always).chain(self.options.iter()),
            input.as_bytes(),
        )
    }

    /// Returns the first reason that a Job's pods wait for.
    fn why(&self, job: &JobId) -> Option<String> {
        let selector = format!("--selector=batch.kubernetes.io/job-name={job}");
        let reasons = "--output=jsonpath={range .items[*]}\
            {.status.conditions[?(@.type==\"PodScheduled\")].message}{\"\\t\"}\
            {.status.containerStatuses[0].state.waiting.reason}{\"\\n\"}{end}";
        let pending = "--field-selector=status.phase=Pending";
        // The reason only informs the user: one who may not list pods gets the numbers.
        answers::why(&self.kubectl(&["get", "pods", &selector, pending, reasons], "").ok()?)
    }
}

impl Engine for Kubernetes {
    fn kind(&self) -> EngineKind {
        EngineKind::Kubernetes
    }

    fn cluster(&self) -> Result<String, EngineError> {
        let name =
            "--output=jsonpath={.clusters[0].cluster.server} {.contexts[0].context.namespace}";
        let printed = self.kubectl(&["config", "view", "--minify", name], "")?;
        Ok(printed.split_whitespace().collect::<Vec<&str>>().join(" "))
    }

    fn cpus(&self) -> Result<u32, EngineError> {
        let cpus = "--output=jsonpath={range .items[*]}{.status.allocatable.cpu}{\"\\n\"}{end}";
        match self.kubectl(&["get", "nodes", cpus], "") {
            Ok(printed) => Ok(answers::cpus(&printed)),
            Err(EngineError::Refused(said)) if said.contains("forbidden") => Ok(CPUS),
            Err(error) => Err(error),
        }
    }

    fn tasks_max(&self) -> Result<u32, EngineError> {
        Ok(COMPLETIONS_MAX)
    }

    fn submit(&self, submission: &Submission<'_>) -> Result<JobId, EngineError> {
        let Submission { name, shards, work } = *submission;
        let count = shards.first().map_or(1, |shard| shard.count());
        let pods = Pods {
            claim: self.claim.clone(),
            image: self.image.clone(),
            user: self.user,
            memory_mib: work.task_mib(),
        };
        let manifest = emit::kubernetes(name, &work.workers(count), &pods);
        self.kubectl(&["create", "--filename=-", "--output=name"], &manifest)?;
        name.parse().map_err(EngineError::Refused)
    }

    fn find(&self, name: &str) -> Result<Option<JobId>, EngineError> {
        let printed =
            self.kubectl(&["get", "job", name, "--ignore-not-found", "--output=name"], "")?;
        let is_there = !printed.trim().is_empty();
        is_there.then(|| name.parse()).transpose().map_err(EngineError::Refused)
    }

    fn state(&self, jobs: &[JobId]) -> Result<State, EngineError> {
        let mut arguments = vec!["get", "job", "--ignore-not-found", "--output=json"];
        arguments.extend(jobs.iter().map(AsRef::as_ref));
        let mut state = answers::state(&self.kubectl(&arguments, "")?)?;
        if state.waiting > 0 && state.running == 0 {
            state.why = jobs.last().and_then(|job| self.why(job));
        }
        Ok(state)
    }

    fn cancel(&self, jobs: &[JobId]) -> Result<(), EngineError> {
        // Pods are ended by the server, which gives each its grace period.
        let mut arguments = vec!["delete", "job", "--ignore-not-found", "--wait=false"];
        arguments.extend(jobs.iter().map(AsRef::as_ref));
        self.kubectl(&arguments, "").map(drop)
    }
}
