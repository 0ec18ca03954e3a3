use std::{fmt, path::PathBuf, str::FromStr};

use preemptlab_model::Shard;
use serde::{Deserialize, Serialize};

use crate::{
    Workplace,
    emit::{Line, Workers},
    engine::EngineError,
};

/// Most characters of a job's name.
const JOB_CHARS_MAX: usize = 253;

/// Engine that people have already, which starts tasks on the machines that it knows.
pub trait Engine {
    /// Returns which one it is.
    fn kind(&self) -> EngineKind;

    /// Returns the name of the cluster, on which the numbers of its jobs mean something.
    ///
    /// # Errors
    ///
    /// [`EngineError`].
    fn cluster(&self) -> Result<String, EngineError>;

    /// Returns the number of CPUs that tasks may get, 1 where the engine does not tell.
    ///
    /// # Errors
    ///
    /// [`EngineError`].
    fn cpus(&self) -> Result<u32, EngineError>;

    /// Returns the largest number of tasks of one job.
    ///
    /// # Errors
    ///
    /// [`EngineError`].
    fn tasks_max(&self) -> Result<u32, EngineError>;

    /// Starts a job with a task for each shard.
    ///
    /// # Errors
    ///
    /// [`EngineError`]. After [`EngineError::Away`] the job may have been started; [`Self::find`] tells.
    fn submit(&self, submission: &Submission<'_>) -> Result<JobId, EngineError>;

    /// Returns the job with a submission's name; `None` where there is none any more.
    ///
    /// # Errors
    ///
    /// [`EngineError`].
    fn find(&self, name: &str) -> Result<Option<JobId>, EngineError>;

    /// Returns the state of some jobs' tasks.
    ///
    /// # Errors
    ///
    /// [`EngineError`].
    fn state(&self, jobs: &[JobId]) -> Result<State, EngineError>;

    /// Ends some jobs, of which some may have ended.
    ///
    /// # Errors
    ///
    /// [`EngineError`].
    fn cancel(&self, jobs: &[JobId]) -> Result<(), EngineError>;
}

/// Kind of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineKind {
    /// Slurm.
    Slurm,
    /// Kubernetes.
    Kubernetes,
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Slurm => "slurm",
            Self::Kubernetes => "kubernetes",
        })
    }
}

impl FromStr for EngineKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "slurm" => Ok(Self::Slurm),
            "kubernetes" => Ok(Self::Kubernetes),
            other => Err(format!("`{other}` is no engine: write slurm or kubernetes")),
        }
    }
}

/// Number or name of a job, as an engine gave it: it can be an argument of the engine's commands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct JobId(String);

impl FromStr for JobId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_job = text.len() <= JOB_CHARS_MAX
            && text.bytes().next().is_some_and(is_name)
            && text.bytes().all(|byte| is_name(byte) || matches!(byte, b'-' | b'.'));
        match is_job {
            true => Ok(Self(text.to_owned())),
            false => Err(format!("`{}` is no job", text.escape_debug())),
        }
    }
}

impl AsRef<str> for JobId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for JobId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<JobId> for String {
    fn from(job: JobId) -> Self {
        job.0
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Work of tasks, whichever shards they have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// The recording's folder on this machine, from the root.
    pub recording: PathBuf,
    /// The program `preemptlab`, as workers find it.
    pub program: Line,
    /// The recording's folder, as workers find it.
    pub found_at: Line,
    /// Whether traces of kernels are recorded.
    pub trace: bool,
    /// The share of the cells that two workers execute, such as `1%`.
    pub twice: Option<Line>,
    /// Memory of a virtual machine, in MiB.
    pub memory_mib: u32,
}

impl Work {
    /// Memory that a task takes besides its virtual machine's, in MiB: QEMU with its translated code,
    /// the workload's images, and preemptlab itself.
    const BESIDE_MIB: u32 = 512;

    /// Returns the memory that a task takes, in MiB.
    pub fn task_mib(&self) -> u32 {
        self.memory_mib.saturating_add(Self::BESIDE_MIB)
    }

    /// Returns the paths beside the recording.
    pub fn workplace(&self) -> Workplace {
        Workplace::of(&self.recording)
    }

    /// Returns the workers of a plan that is cut into `shards`.
    pub fn workers(&self, shards: u32) -> Workers {
        Workers {
            program: self.program.clone(),
            recording: self.found_at.clone(),
            shards,
            trace: self.trace,
            twice: self.twice.clone(),
        }
    }
}

/// A job to start.
#[derive(Clone, Copy, Debug)]
pub struct Submission<'a> {
    /// Its name, which no other job has.
    pub name: &'a str,
    /// Its shards, ascending, at least one, all of one plan.
    pub shards: &'a [Shard],
    /// Work of its tasks.
    pub work: &'a Work,
}

/// State of a round's tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Tasks that run.
    pub running: usize,
    /// Tasks that wait.
    pub waiting: usize,
    /// The reason why the first of those waits, in the engine's words.
    pub why: Option<String>,
}

impl State {
    /// Returns whether the engine knows none of the tasks any more.
    pub fn is_over(&self) -> bool {
        self.running + self.waiting == 0
    }
}
