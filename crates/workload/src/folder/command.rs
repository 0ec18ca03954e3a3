use std::{fmt, ops::RangeInclusive, str::FromStr};

use preemptlab_model::VirtualDuration;
use preemptlab_protocol::{Command, Deadline, Policy, Report};
use serde::{Deserialize, Serialize};

use super::text;
use crate::{
    MeasureError, Seconds,
    error::find,
    outcome,
    program::{self, Circumstances},
};

/// A command of a `workload.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FolderCommand {
    /// Names it, in metrics and in failures.
    #[serde(deserialize_with = "text::command_name")]
    pub name: String,
    /// The program's absolute path, then its arguments.
    #[serde(deserialize_with = "text::argv")]
    pub argv: Vec<String>,
    /// The policy it starts under.
    #[serde(default)]
    pub policy: StartPolicy,
    /// Whether the command runs as an ordinary user.
    #[serde(default)]
    pub unprivileged: bool,
    /// Whether a trace explains the wakeups of its program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wakeups: bool,
}

/// Placeholder in an argument for the seed, which differs from cell to cell.
const SEED: &str = "{seed}";
const CPUS: &str = "{cpus}";
/// Placeholder in an argument for the window, which differs between experiments.
const SECONDS: &str = "{seconds}";

impl FolderCommand {
    /// Returns the name that the kernel gives the command's program.
    pub fn program(&self) -> Option<String> {
        /// `TASK_COMM_LEN` without the NUL.
        const COMM_CHARS_MAX: usize = 15;
        let name = self.argv.first()?.rsplit('/').next()?;
        Some(name.chars().take(COMM_CHARS_MAX).collect())
    }

    /// Returns whether the command's arguments depend on the cell.
    pub fn varies(&self) -> bool {
        self.argv.iter().any(|argument| argument.contains(SEED) || argument.contains(CPUS))
    }

    /// Returns the command's arguments in one cell.
    pub fn filled(&self, circumstances: Circumstances, window: Seconds) -> Vec<String> {
        let fill = |argument: &String| {
            argument
                .replace(SEED, &circumstances.seed.to_string())
                .replace(CPUS, &circumstances.cpus.to_string())
                .replace(SECONDS, &window.get().to_string())
        };
        self.argv.iter().map(fill).collect()
    }

    pub fn command(&self, argv: &[String], files: Vec<String>, delay_ns: u64) -> Command {
        Command {
            unprivileged: self.unprivileged,
            policy: self.policy.0,
            delay_ns,
            files,
            ..program::command(&self.name, argv.to_vec())
        }
    }

    /// Checks that the load ran until the guest stopped it.
    ///
    /// # Errors
    ///
    /// [`MeasureError`] when the load's report is missing, or it ended by itself.
    pub fn check_load(&self, report: &Report) -> Result<(), MeasureError> {
        find(&report.load, &self.name).and_then(outcome::check_lasted)
    }

    /// Checks that the probe ended well.
    ///
    /// # Errors
    ///
    /// [`MeasureError`] when the probe's report is missing, or its exit status is not 0.
    pub fn check_probe(&self, report: &Report) -> Result<(), MeasureError> {
        find(&report.probes, &self.name).and_then(outcome::check_ended_well)
    }
}

/// A scheduling policy: `other`, `fifo:50`, or `deadline:1ms:10ms:10ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StartPolicy(Policy);

impl Default for StartPolicy {
    fn default() -> Self {
        Self(Policy::Other)
    }
}

impl StartPolicy {
    /// Returns the priority under `SCHED_FIFO`, 1 to 98; `None` for a task of another policy.
    pub fn priority(self) -> Option<u8> {
        match self.0 {
            Policy::Other | Policy::Deadline(_) => None,
            Policy::Fifo(priority) => Some(priority),
        }
    }
}

/// The text is not a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a policy: it is `other`, `fifo:` with a priority from 1 to 98, or \
     `deadline:RUNTIME:DEADLINE:PERIOD`, such as `deadline:1ms:10ms:10ms`, of which each is at most as \
     long as the next, the runtime at least 1024 ns, and the period from 100 us to 4 s"
)]
pub struct ParsePolicyError(String);

impl FromStr for StartPolicy {
    type Err = ParsePolicyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fifo = || {
            let priority = text.strip_prefix("fifo:")?;
            let is_number = priority.bytes().all(|byte| byte.is_ascii_digit());
            // The guest's init alone runs at 99.
            let priority = priority.parse().ok().filter(|_| is_number)?;
            (1..=98).contains(&priority).then_some(Self(Policy::Fifo(priority)))
        };
        if text == "other" {
            return Ok(Self(Policy::Other));
        }
        fifo()
            .or_else(|| deadline(text).map(|deadline| Self(Policy::Deadline(deadline))))
            .ok_or_else(|| ParsePolicyError(text.to_owned()))
    }
}

/// The shortest runtime that the kernel takes (`DL_SCALE` in kernel/sched/sched.h), in nanoseconds.
const RUNTIME_NS_MIN: u64 = 1 << 10;

/// The periods that the kernel takes (`sched_deadline_period_min_us` and its kin), in nanoseconds.
const PERIODS_NS: RangeInclusive<u64> = 100_000..=4_000_000_000;

/// Reads `deadline:RUNTIME:DEADLINE:PERIOD` (sched(7)).
fn deadline(text: &str) -> Option<Deadline> {
    let mut times = text.strip_prefix("deadline:")?.split(':');
    let mut next = || Some(times.next()?.parse::<VirtualDuration>().ok()?.as_ns());
    let (runtime_ns, deadline_ns, period_ns) = (next()?, next()?, next()?);
    let are_in_order =
        RUNTIME_NS_MIN <= runtime_ns && runtime_ns <= deadline_ns && deadline_ns <= period_ns;
    let is_one = times.next().is_none() && are_in_order && PERIODS_NS.contains(&period_ns);
    is_one.then_some(Deadline { runtime_ns, deadline_ns, period_ns })
}

impl TryFrom<String> for StartPolicy {
    type Error = ParsePolicyError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl fmt::Display for StartPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Policy::Other => f.write_str("other"),
            Policy::Fifo(priority) => write!(f, "fifo:{priority}"),
            Policy::Deadline(Deadline { runtime_ns, deadline_ns, period_ns }) => {
                write!(f, "deadline:{runtime_ns}ns:{deadline_ns}ns:{period_ns}ns")
            }
        }
    }
}

impl From<StartPolicy> for String {
    fn from(policy: StartPolicy) -> Self {
        policy.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_has_three_times_in_order() {
        let policy: StartPolicy = "deadline:1ms:10ms:10ms".parse().unwrap();
        let deadline =
            Deadline { runtime_ns: 1_000_000, deadline_ns: 10_000_000, period_ns: 10_000_000 };
        assert_eq!(policy, StartPolicy(Policy::Deadline(deadline)));
        assert_eq!(policy.to_string().parse(), Ok(policy));
        assert_eq!(policy.priority(), None);
        for wrong in [
            "deadline:1ms:10ms",
            "deadline:1ms:10ms:10ms:10ms",
            "deadline:11ms:10ms:10ms",
            "deadline:1ms:11ms:10ms",
            "deadline:1000ns:1ms:1ms",
            "deadline:10us:50us:99us",
            "deadline:1ms:10ms:5s",
            "deadline:1:10:10",
            "deadline:",
        ] {
            let error = wrong.parse::<StartPolicy>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{wrong}` is not a policy: ")), "{error}");
        }
    }
}
