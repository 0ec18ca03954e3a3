use preemptlab_model::{ModeFile, PreemptMode};
use preemptlab_protocol::{CommandReport, Exit, Job, Report};

/// Reason why a cell's report holds no measurements.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeasureError {
    /// The kernel ran in another mode.
    #[error("the cell was to run in mode {requested}, but the kernel says {observed}")]
    Mode {
        /// Mode that the job asks for.
        requested: String,
        /// Mode that `sched/preempt` shows.
        observed: PreemptMode,
    },
    /// The guest said nothing about a command of the job.
    #[error("the report lacks {name}")]
    Missing {
        /// Name of the command.
        name: String,
    },
    /// The load did not run through the whole window.
    #[error("the load {name} did not last through the window, it ended {end}")]
    LoadEnded {
        /// Name of the load.
        name: String,
        /// Manner in which the load ended, with its last output.
        end: String,
    },
    /// A stressor was skipped, or failed.
    #[error("the stressor {stressor} did not work: {said}{}", killed(*oom_kills))]
    NotWorked {
        /// Name of the stressor.
        stressor: String,
        /// Words of stress-ng, on one line.
        said: String,
        /// Number of tasks that the kernel killed for want of memory.
        oom_kills: u64,
    },
    /// The load ran but did nothing that counts.
    #[error("the load {name} wrote nothing during the window")]
    LoadIdle {
        /// Name of the load.
        name: String,
    },
    /// The probe did not end well.
    #[error("the probe {name} failed, it ended {end}")]
    ProbeFailed {
        /// Name of the probe.
        name: String,
        /// Manner in which the probe ended, with its last output.
        end: String,
    },
    /// The probe left no result.
    #[error("the probe {name} wrote no result, it ended {end}")]
    NoResult {
        /// Name of the probe.
        name: String,
        /// Manner in which the probe ended, with its last output.
        end: String,
    },
    /// The probe's result does not have cyclictest's format.
    #[error("the result of the probe {name} cannot be read: {cause}; it begins with `{excerpt}`")]
    Unreadable {
        /// Name of the probe.
        name: String,
        /// Cause, in words.
        cause: String,
        /// First characters of the result.
        excerpt: String,
    },
    /// The probe was never woken.
    #[error(
        "the probe {name} took no sample on CPU {cpu}: its window may be too short beside the load"
    )]
    NoSamples {
        /// Name of the probe.
        name: String,
        /// Index of the CPU, from 0.
        cpu: u32,
    },
    /// The probe's result contradicts itself or the job.
    #[error("the result of the probe {name} is not consistent: {contradiction}")]
    Inconsistent {
        /// Name of the probe.
        name: String,
        /// Contradiction, in words.
        contradiction: String,
    },
    /// A number that the workload defines cannot be read.
    #[error("the metric {metric} has no value: {cause}")]
    NoValue {
        /// Name of the metric.
        metric: String,
        /// Cause, with an excerpt of the text that holds no value.
        cause: String,
    },
}

/// Says how many tasks the kernel killed for want of memory, to follow a reason; nothing where it killed none.
fn killed(oom_kills: u64) -> String {
    match oom_kills {
        0 => String::new(),
        1 => "; the kernel killed 1 task for want of memory".to_owned(),
        many => format!("; the kernel killed {many} tasks for want of memory"),
    }
}

/// Largest part of a command's output that an error quotes, in characters.
const SAID_CHARS_MAX: usize = 400;

/// Describes how a command ended, with its last output, for an error.
pub fn end(command: &CommandReport) -> String {
    let exit = match command.exit {
        Exit::Code(code) => format!("with status {code}"),
        Exit::Signal(signal) => format!("by signal {signal}"),
        Exit::Stopped => "when the guest stopped it".to_owned(),
    };
    let said = if command.stderr.trim().is_empty() { &command.stdout } else { &command.stderr };
    match tail(said.trim()) {
        "" => format!("{exit} and said nothing"),
        said => format!("{exit} and said `{said}`"),
    }
}

/// Returns the last characters of a text, for an error.
pub fn tail(text: &str) -> &str {
    let start = text.char_indices().rev().nth(SAID_CHARS_MAX - 1).map_or(0, |(start, _)| start);
    &text[start..]
}

/// Returns the first characters of a text, for an error.
pub fn excerpt(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Checks that a kernel that tells its preemption mode tells the mode of the job. A kernel that
/// does not tell has only one mode, which the guest has judged by its own means.
///
/// # Errors
///
/// [`MeasureError::Mode`] when the modes differ.
pub fn check_mode(job: &Job, report: &Report) -> Result<(), MeasureError> {
    let observed = report.system.preempt.as_deref().and_then(|file| ModeFile::parse(file).active);
    match observed {
        Some(observed) if observed.as_str() != job.preempt => {
            Err(MeasureError::Mode { requested: job.preempt.clone(), observed })
        }
        _ => Ok(()),
    }
}

/// Finds the report of a command by the command's name in the job.
///
/// # Errors
///
/// [`MeasureError::Missing`] when there is no such report.
pub fn find<'a>(
    reports: &'a [CommandReport],
    name: &str,
) -> Result<&'a CommandReport, MeasureError> {
    reports
        .iter()
        .find(|report| report.name == name)
        .ok_or_else(|| MeasureError::Missing { name: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::tail;

    #[test]
    fn the_tail_of_a_long_text_is_bounded_and_whole() {
        let long = "ä".repeat(1000);
        assert_eq!(tail(&long).chars().count(), 400);
        assert_eq!(tail("short"), "short");
    }
}
