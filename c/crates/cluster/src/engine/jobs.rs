//! The file of a recording's jobs, `RUN.shards/engine.json`.

use std::{
    fs, io,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use preemptlab_model::{Digest, Shard};
use preemptlab_recording::RecordingError;
use serde::{Deserialize, Serialize};

use crate::engine::{EngineKind, JobId, RoundError, ShardList};

/// Version of the file's format.
const FORMAT: u32 = 1;

/// Most bytes of the file: a submission is some 300 bytes.
const BYTES_MAX: u64 = 4 << 20;

/// The user who submits, the machine, and the build of preemptlab.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Who {
    /// Name of the user.
    pub user: String,
    /// Number of the user.
    pub uid: u32,
    /// Name of the machine.
    pub host: String,
    /// Version of preemptlab.
    pub build: String,
}

impl Who {
    /// Names this process's user, whose name the caller knows, on this machine.
    pub fn here(user: Option<String>, build: &str) -> Self {
        let uid = rustix::process::getuid().as_raw();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Self {
            user: user.unwrap_or_else(|| uid.to_string()),
            uid,
            host: host.trim().to_owned(),
            build: build.to_owned(),
        }
    }
}

/// Jobs of a recording, and their submitter. Nothing of it is in the recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Jobs {
    format: u32,
    /// Engine of the jobs.
    pub engine: EngineKind,
    /// Cluster of the jobs.
    pub cluster: String,
    /// Their submitter.
    pub who: Who,
    /// SHA-256 of the recording's manifest.
    pub recording_sha256: Digest,
    /// Number of looks at the results before the newest cells were planned.
    pub look: u32,
    /// Number of the shards into which those cells are cut.
    pub shards: u32,
    /// Submissions, in their order.
    pub submissions: Vec<Submitted>,
}

/// A submission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submitted {
    /// Name of the job.
    pub name: JobId,
    /// Job; `None` while the engine has not answered.
    pub job: Option<JobId>,
    /// Look of its cells.
    pub look: u32,
    /// Its shards.
    pub shards: ShardList,
    /// Which submission of these cells it belongs to, from 1.
    pub attempt: u32,
    /// Host time of the submission, in seconds since 1970 in UTC.
    pub submitted_unix_s: u64,
    /// Whether it was cancelled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cancelled: bool,
}

impl Jobs {
    /// Creates the file's content of a recording without jobs.
    pub fn new(engine: EngineKind, cluster: String, who: Who, recording_sha256: Digest) -> Self {
        Self {
            format: FORMAT,
            engine,
            cluster,
            who,
            recording_sha256,
            look: 0,
            shards: 0,
            submissions: Vec::new(),
        }
    }

    /// Returns the same for the cells that a look has planned, which are not cut yet.
    #[must_use]
    pub fn at(self, look: u32) -> Self {
        Self { look, shards: 0, ..self }
    }

    /// Reads the file; `None` where there is none.
    ///
    /// # Errors
    ///
    /// When it is damaged, of another format or cannot be read.
    pub fn read(path: &Path) -> Result<Option<Self>, RoundError> {
        let damaged = |reason: String| RoundError::Damaged { path: path.to_owned(), reason };
        let bytes = match preemptlab_files::read(path, BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) => {
                return match error.kind() {
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
                    io::ErrorKind::FileTooLarge | io::ErrorKind::InvalidInput => {
                        Err(damaged(error.to_string()))
                    }
                    _ => Err(RoundError::io("read", path)(error)),
                };
            }
        };
        let jobs: Self =
            serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        if jobs.format != FORMAT {
            return Err(damaged(format!("it has format {} instead of {FORMAT}", jobs.format)));
        }
        if Shard::new(1, jobs.shards).is_none() {
            return Err(damaged(format!("no plan has {} shards", jobs.shards)));
        }
        Ok(Some(jobs))
    }

    /// Writes the file.
    ///
    /// # Errors
    ///
    /// When the disk is full or the folder cannot be written to.
    pub fn write(&self, path: &Path) -> Result<(), RoundError> {
        if let Some(folder) = path.parent()
            && let (Some(above), Some(name)) = (folder.parent(), folder.file_name())
        {
            preemptlab_files::make_below(above, name).map_err(RecordingError::from)?;
        }
        let mut bytes = serde_json::to_vec_pretty(self)
            .map_err(|error| RoundError::io("write", path)(error.into()))?;
        bytes.push(b'\n');
        preemptlab_files::renew(path, &bytes).map_err(RoundError::io("write", path))
    }

    /// Returns the submissions of the newest cells that are not cancelled.
    pub fn current(&self) -> impl Iterator<Item = &Submitted> {
        self.submissions.iter().filter(|it| it.look == self.look && !it.is_cancelled)
    }

    /// Returns the jobs of those submissions.
    pub fn jobs(&self) -> Vec<JobId> {
        self.current().filter_map(|it| it.job.clone()).collect()
    }

    /// Notes that the jobs of those submissions are cancelled.
    pub fn cancelled(&mut self) {
        let look = self.look;
        self.submissions
            .iter_mut()
            .filter(|it| it.look == look)
            .for_each(|it| it.is_cancelled = true);
    }
}

/// Returns the host time in seconds since 1970 in UTC.
pub fn unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map(|it| it.as_secs()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs() -> Jobs {
        let who = Who { user: "ann".into(), uid: 1000, host: "login1".into(), build: "0.1".into() };
        let mut jobs = Jobs::new(EngineKind::Slurm, "hpc".into(), who, Digest::of(b""));
        for (attempt, job) in [(1, Some("12")), (2, None)] {
            jobs.submissions.push(Submitted {
                name: format!("preemptlab-{attempt}").parse().unwrap(),
                job: job.map(|job| job.parse().unwrap()),
                look: 0,
                shards: ShardList::new(1..=8),
                attempt,
                submitted_unix_s: 1,
                is_cancelled: false,
            });
        }
        jobs.shards = 8;
        jobs
    }

    #[test]
    fn the_file_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("quick.shards/engine.json");
        assert_eq!(Jobs::read(&path).unwrap(), None);
        let mut jobs = jobs();
        jobs.write(&path).unwrap();
        assert_eq!(Jobs::read(&path).unwrap(), Some(jobs.clone()));
        assert_eq!(jobs.jobs(), ["12".parse().unwrap()]);
        jobs.cancelled();
        jobs.write(&path).unwrap();
        assert!(Jobs::read(&path).unwrap().unwrap().jobs().is_empty());
    }

    #[test]
    fn a_strangers_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("engine.json");
        jobs().write(&path).unwrap();
        let sound = fs::read_to_string(&path).unwrap();
        for (from, to) in [
            ("\"12\"", "\"--all\""),
            ("\"12\"", "\"12 13\""),
            ("\"12\"", "12"),
            ("preemptlab-1", "a;b"),
            ("\"format\": 1", "\"format\": 2"),
            ("\"shards\": 8", "\"shards\": 0"),
            ("\"shards\": 8", "\"shards\": 4000000000"),
            ("1-8", "8-1"),
            ("slurm", "bash"),
            ("\"look\": 0,\n  \"shards\"", "\"look\": -1,\n  \"shards\""),
        ] {
            let hostile = sound.replace(from, to);
            assert_ne!(hostile, sound, "{from}");
            fs::write(&path, hostile).unwrap();
            let error = Jobs::read(&path).unwrap_err().to_string();
            assert!(error.contains("engine.json cannot be read"), "{error}");
        }
        fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(Jobs::read(&path).unwrap_err().to_string().contains("larger than 4 MiB"));
    }
}
