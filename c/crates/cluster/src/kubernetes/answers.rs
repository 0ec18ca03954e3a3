//! The output of kubectl.

use preemptlab_model::plain;
use serde::Deserialize;

use crate::engine::{EngineError, State};

/// Most characters of a reason that are shown.
const CHARS_MAX: usize = 200;

/// One Job, or a list of them.
#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    List { items: Vec<Job> },
    One(Job),
}

/// The fields of a Job that are read.
#[derive(Deserialize)]
struct Job {
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    completions: u32,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    ready: u32,
    succeeded: u32,
    #[serde(rename = "failedIndexes")]
    failed_indexes: String,
    conditions: Vec<Condition>,
}

#[derive(Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

impl Job {
    fn is_over(&self) -> bool {
        let ends = ["Complete", "Failed"];
        self.status.conditions.iter().any(|it| ends.contains(&&*it.kind) && it.status == "True")
    }
}

/// Counts the numbers of a list such as `1,3-5`.
fn count(indexes: &str) -> u32 {
    let ranges = indexes.split(',').filter(|range| !range.is_empty());
    let of_range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let numbers = first.parse::<u32>().ok().zip(last.parse::<u32>().ok());
        numbers.map_or(0, |(first, last)| last.saturating_sub(first).saturating_add(1))
    };
    ranges.map(of_range).fold(0, u32::saturating_add)
}

/// Reads what `kubectl get job --output=json` prints, which is nothing where there are none.
pub fn state(printed: &str) -> Result<State, EngineError> {
    if printed.trim().is_empty() {
        return Ok(State::default());
    }
    let jobs = match serde_json::from_str(printed) {
        Ok(Answer::List { items }) => items,
        Ok(Answer::One(job)) => vec![job],
        Err(error) => {
            return Err(EngineError::Refused(format!("kubectl prints no Jobs: {error}")));
        }
    };
    let mut state = State::default();
    for Job { spec, status } in jobs.iter().filter(|job| !job.is_over()) {
        let running = status.ready.min(spec.completions);
        let ended = status.succeeded.saturating_add(count(&status.failed_indexes));
        state.running += running as usize;
        state.waiting += spec.completions.saturating_sub(ended).saturating_sub(running) as usize;
        // A Job without work left is not over before the server says so.
        if running == 0 && ended >= spec.completions {
            state.running += 1;
        }
    }
    Ok(state)
}

/// Returns the first reason that pods wait for, of lines of reasons.
pub fn why(printed: &str) -> Option<String> {
    let reason = |line: &str| {
        let words = line.split('\t').map(str::trim).filter(|word| !word.is_empty());
        let text = words.collect::<Vec<&str>>().join(": ");
        let text: String = plain::line(&text).chars().take(CHARS_MAX).collect();
        // A pod that is about to start waits for nothing.
        (!text.is_empty() && text != "ContainerCreating").then_some(text)
    };
    printed.lines().find_map(reason)
}

/// Sums lines of CPUs such as `4` and `3920m`, of which each node's part of a CPU is lost.
pub fn cpus(printed: &str) -> u32 {
    let of_node = |line: &str| match line.trim().strip_suffix('m') {
        Some(thousandths) => thousandths.parse::<u32>().map(|it| it / 1000),
        None => line.trim().parse::<u32>(),
    };
    printed.lines().filter_map(|line| of_node(line).ok()).fold(0, u32::saturating_add).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(running: usize, waiting: usize) -> State {
        State { running, waiting, why: None }
    }

    #[test]
    fn tasks_are_counted_as_the_server_tells_of_them() {
        let read = |text: &str| super::state(text).unwrap();
        assert_eq!(read(""), state(0, 0));
        let job = r#"{"kind":"Job","spec":{"completions":8},"status":{"active":3,"ready":2,"succeeded":2,
            "failedIndexes":"1,5-6","startTime":"2026-01-01T00:00:00Z"}}"#;
        assert_eq!(read(job), state(2, 1));
        let fresh = r#"{"kind":"Job","spec":{"completions":8}}"#;
        assert_eq!(read(fresh), state(0, 8));
        assert_eq!(read(&format!(r#"{{"kind":"List","items":[{job},{fresh}]}}"#)), state(2, 9));
        for end in ["Complete", "Failed"] {
            let over = format!(
                r#"{{"spec":{{"completions":8}},"status":{{"succeeded":2,"conditions":[
                    {{"type":"{end}","status":"True"}}]}}}}"#
            );
            assert!(read(&over).is_over());
        }
        // Its pods have ended, and the server has not yet said so.
        let last = r#"{"spec":{"completions":2},"status":{"succeeded":2,"conditions":[
            {"type":"SuccessCriteriaMet","status":"True"}]}}"#;
        assert!(!read(last).is_over());
        let hostile = r#"{"spec":{"completions":4294967295},"status":{"failedIndexes":"0-4294967295,x,5-1"}}"#;
        assert_eq!(read(hostile).waiting, 0);
        assert!(super::state("<html>").is_err());
    }

    #[test]
    fn the_first_reason_is_told_on_one_line() {
        let printed = "\t\n\tContainerCreating\n0/2 nodes are available: 2 Insufficient cpu.\t\n";
        assert_eq!(why(printed).unwrap(), "0/2 nodes are available: 2 Insufficient cpu.");
        assert_eq!(why("\tErrImagePull\u{1b}[2J\n").unwrap(), "ErrImagePull [2J");
        assert_eq!(why("\t\n"), None);
    }

    #[test]
    fn cpus_of_nodes_are_added() {
        assert_eq!(cpus("4\n3920m\n\nx\n"), 7);
        assert_eq!(cpus(""), 1);
    }
}
