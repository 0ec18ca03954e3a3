use super::{line::Line, quote::shell};

/// Work of an engine's tasks: the shards of a prepared recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workers {
    /// The program `preemptlab`, as workers find it.
    pub program: Line,
    /// The recording's folder, as workers find it.
    pub recording: Line,
    /// Number of the plan's shards.
    pub shards: u32,
    /// Records traces of kernels.
    pub trace: bool,
    /// The share of the cells that two workers execute, such as `1%`.
    pub twice: Option<Line>,
}

impl Workers {
    /// Returns the arguments of a worker that executes a shard with `jobs` virtual machines at a time;
    /// without a number, with one a CPU.
    pub fn arguments(&self, shard: &str, jobs: Option<u16>) -> Vec<String> {
        self.words(shard, jobs, |word| word.to_owned())
    }

    /// Returns the command line of a worker for a shell, in which the shard is an expression of the shell
    /// such as `"$1/8"`.
    pub fn command(&self, shard: &str, jobs: Option<u16>) -> String {
        let words = self.words(shard, jobs, shell);
        format!("{} {}", shell(self.program.as_str()), words.join(" "))
    }

    fn words(&self, shard: &str, jobs: Option<u16>, quote: fn(&str) -> String) -> Vec<String> {
        let recording = quote(self.recording.as_str());
        let mut words = vec!["cluster".to_owned(), "work".to_owned(), recording, shard.to_owned()];
        if let Some(jobs) = jobs {
            words.extend(["--jobs".to_owned(), jobs.to_string()]);
        }
        if self.trace {
            words.push("--trace".to_owned());
        }
        if let Some(twice) = &self.twice {
            words.extend(["--twice".to_owned(), quote(twice.as_str())]);
        }
        words
    }

    /// Returns the command line that joins the parts, for a shell.
    pub fn merge(&self) -> String {
        format!("{} cluster merge {}", shell(self.program.as_str()), shell(self.recording.as_str()))
    }
}
