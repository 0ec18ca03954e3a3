use std::{ffi::OsString, sync::OnceLock};

use crate::{
    command::Commands,
    engine::{Engine, EngineError, EngineKind, JobId, State, Submission},
    slurm::{answers, arguments::Arguments, refusal::KNOWN, script},
};

/// Largest array where the cluster does not tell (slurm.conf(5), `MaxArraySize`).
const ARRAY_SIZE: u32 = 1001;

/// Variables that would change a command's output, or whether it waits.
const VARIABLES: [&str; 12] = [
    "SBATCH_ARRAY_INX",
    "SBATCH_TEST_ONLY",
    "SBATCH_WAIT",
    "SBATCH_WAIT_ALL_NODES",
    "SCANCEL_INTERACTIVE",
    "SINFO_FORMAT",
    "SINFO_PARTITION",
    "SQUEUE_ALL",
    "SQUEUE_FORMAT",
    "SQUEUE_PARTITION",
    "SQUEUE_STATES",
    "SQUEUE_USERS",
];

/// Slurm, as its commands on this machine reach it.
pub struct Slurm {
    arguments: Arguments,
    commands: Commands,
    config: OnceLock<Config>,
    cpus: OnceLock<u32>,
}

/// The cluster's configuration.
#[derive(Clone, Debug)]
struct Config {
    cluster: String,
    array_size: u32,
}

impl Slurm {
    /// Creates the engine, with further options for sbatch.
    pub fn new(arguments: Arguments) -> Self {
        Self {
            arguments,
            commands: Commands {
                path: None,
                without: &VARIABLES,
                absent: "log in to one that submits to Slurm, or load its module; `preemptlab run` \
                    executes the cells here",
                known: KNOWN,
            },
            config: OnceLock::new(),
            cpus: OnceLock::new(),
        }
    }

    /// Looks for Slurm's commands in other folders than those of the environment's `PATH`.
    #[must_use]
    pub fn looking_in(mut self, path: OsString) -> Self {
        self.commands.path = Some(path);
        self
    }

    /// Returns the cluster's configuration, asked once.
    fn config(&self) -> Result<&Config, EngineError> {
        if let Some(config) = self.config.get() {
            return Ok(config);
        }
        let printed = self.commands.output("scontrol", ["show", "config"], b"")?;
        let array_size = answers::config(&printed, "MaxArraySize").and_then(|it| it.parse().ok());
        let config = Config {
            cluster: answers::config(&printed, "ClusterName").unwrap_or("slurm").to_owned(),
            array_size: array_size.unwrap_or(ARRAY_SIZE),
        };
        Ok(self.config.get_or_init(|| config))
    }
}

/// Returns jobs as an argument.
fn list(jobs: &[JobId]) -> String {
    jobs.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join(",")
}

impl Engine for Slurm {
    fn kind(&self) -> EngineKind {
        EngineKind::Slurm
    }

    fn cluster(&self) -> Result<String, EngineError> {
        Ok(self.config()?.cluster.clone())
    }

    fn cpus(&self) -> Result<u32, EngineError> {
        if let Some(cpus) = self.cpus.get() {
            return Ok(*cpus);
        }
        let printed = self.commands.output("sinfo", ["--noheader", "--format=%P %C"], b"")?;
        let cpus = answers::cpus(&printed, self.arguments.partitions().as_deref());
        Ok(*self.cpus.get_or_init(|| cpus))
    }

    fn tasks_max(&self) -> Result<u32, EngineError> {
        // The numbers of tasks are smaller than the size.
        match self.config()?.array_size {
            0 | 1 => Err(EngineError::Refused(
                "this Slurm allows no job arrays (MaxArraySize): preemptlab cluster work RUN I/N in a job \
                 of your own executes a part"
                    .to_owned(),
            )),
            size => Ok(size - 1),
        }
    }

    fn submit(&self, submission: &Submission<'_>) -> Result<JobId, EngineError> {
        let Submission { name, shards, work } = *submission;
        let (Some(first), tasks_max) = (shards.first(), self.tasks_max()?) else {
            return Err(EngineError::Unusable(
                "a job without tasks cannot be submitted".to_owned(),
            ));
        };
        let offset = (first.index() - 1) / tasks_max * tasks_max;
        let script = script::script(work, offset, first.count());
        let mut options = script::options(name, work, shards, offset);
        options.extend(self.arguments.iter());
        answers::job(&self.commands.output("sbatch", options, script.as_bytes())?)
    }

    fn find(&self, name: &str) -> Result<Option<JobId>, EngineError> {
        let arguments =
            ["--noheader".to_owned(), "--format=%F".to_owned(), format!("--name={name}")];
        Ok(answers::first_job(&self.commands.output("squeue", arguments, b"")?))
    }

    fn state(&self, jobs: &[JobId]) -> Result<State, EngineError> {
        let arguments = [
            "--noheader".to_owned(),
            "--array".to_owned(),
            "--format=%F|%t|%r".to_owned(),
            format!("--jobs={}", list(jobs)),
        ];
        match self.commands.output("squeue", arguments, b"") {
            Ok(printed) => Ok(answers::state(&printed, jobs)),
            // It has forgotten them all.
            Err(error) if error.to_string().contains("Invalid job id") => Ok(State::default()),
            Err(error) => Err(error),
        }
    }

    fn cancel(&self, jobs: &[JobId]) -> Result<(), EngineError> {
        let numbers = jobs.iter().map(AsRef::<str>::as_ref);
        match self.commands.output("scancel", numbers, b"") {
            Err(error) if !error.to_string().contains("Invalid job id") => Err(error),
            _ => Ok(()),
        }
    }
}
