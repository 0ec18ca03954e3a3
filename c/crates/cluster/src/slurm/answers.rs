//! The output of Slurm's commands.

use std::collections::BTreeSet;

use preemptlab_model::plain;

use crate::engine::{EngineError, JobId, State};

/// Returns the job that `sbatch --parsable` prints: `123`, or `123;cluster`.
pub fn job(printed: &str) -> Result<JobId, EngineError> {
    let number = printed.lines().last().unwrap_or_default().split(';').next().unwrap_or_default();
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse().ok().filter(|_| is_number).ok_or_else(|| unexpected("sbatch", printed))
}

/// Returns the value of a key that `scontrol show config` prints.
pub fn config<'a>(printed: &'a str, key: &str) -> Option<&'a str> {
    printed.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == key).then_some(value.trim())
    })
}

/// Returns the number of CPUs that `sinfo --format='%P %C'` prints for partitions, or for the default one,
/// which a star marks: `long* 12/20/0/32` has 12 that work, 20 idle, 0 others, 32 in all.
pub fn cpus(printed: &str, partitions: Option<&[&str]>) -> u32 {
    let cpus = printed.lines().filter_map(|line| {
        let (name, counts) = line.rsplit_once(' ')?;
        let name = name.trim();
        let is_wanted = match partitions {
            Some(partitions) => partitions.contains(&name.trim_end_matches('*')),
            None => name.ends_with('*'),
        };
        let mut counts = counts.split('/').map(|count| count.parse::<u32>().ok());
        let (working, idle) = (counts.next()??, counts.next()??);
        is_wanted.then_some(working.saturating_add(idle))
    });
    cpus.fold(0, u32::saturating_add).max(1)
}

/// Returns what the tasks of some jobs do, as `squeue --array --format='%F|%t|%r'` prints it: a line for
/// each, with the job, the state and the reason.
pub fn state(printed: &str, jobs: &[JobId]) -> State {
    let jobs: BTreeSet<&str> = jobs.iter().map(AsRef::as_ref).collect();
    let mut state = State::default();
    for line in printed.lines() {
        let mut fields = line.splitn(3, '|').map(str::trim);
        let (Some(job), Some(code), reason) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        if !jobs.contains(job) {
            continue;
        }
        match code {
            // Waiting, requeued, requeued and held, and held for a special exit.
            "PD" | "RQ" | "RH" | "SE" | "RF" | "RD" => {
                state.waiting += 1;
                let reason = reason.filter(|it| !it.is_empty() && *it != "None");
                state.why = state.why.or_else(|| reason.map(|it| plain::line(it).into_owned()));
            }
            // squeue shows ended tasks for a while, where its options ask for them.
            "CD" | "CA" | "F" | "TO" | "NF" | "PR" | "BF" | "DL" | "OOM" | "RV" => {}
            _ => state.running += 1,
        }
    }
    state
}

/// Returns the first job that `squeue --format=%F` prints.
pub fn first_job(printed: &str) -> Option<JobId> {
    printed.lines().find_map(|line| job(line.trim()).ok())
}

fn unexpected(program: &str, printed: &str) -> EngineError {
    let shown: String = plain::line(printed).chars().take(100).collect();
    EngineError::Refused(format!("{program} printed `{shown}` instead of the number of a job"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sbatch_prints_a_job() {
        assert_eq!(job("123\n").unwrap().to_string(), "123");
        assert_eq!(job("123;cluster\n").unwrap().to_string(), "123");
        assert_eq!(job("a message of the site\n123\n").unwrap().to_string(), "123");
        for printed in ["", "\n", "-1", "abc", "1 2", "Submitted batch job 12", "\u{1b}[2J"] {
            let error = job(printed).unwrap_err().to_string();
            assert!(
                error.contains("instead of the number") && !error.contains('\u{1b}'),
                "{error}"
            );
        }
    }

    #[test]
    fn the_configuration_is_read() {
        let printed = "Configuration data as of 2026-11-23T03:00:00\nClusterName             = hpc\n\
            MaxArraySize            = 1001\nMaxArraySizeX = 7\n";
        assert_eq!(config(printed, "MaxArraySize"), Some("1001"));
        assert_eq!(config(printed, "ClusterName"), Some("hpc"));
        assert_eq!(config(printed, "MaxJobCount"), None);
    }

    #[test]
    fn cpus_are_those_of_the_partition() {
        let printed = "long 0/64/0/64\nshort* 3/4/1/8\nbroken x/y\n";
        assert_eq!(cpus(printed, None), 7);
        assert_eq!(cpus(printed, Some(&["long"])), 64);
        assert_eq!(cpus(printed, Some(&["long", "short"])), 71);
        assert_eq!(cpus(printed, Some(&["absent"])), 1);
        assert_eq!(cpus("", None), 1);
    }

    #[test]
    fn tasks_that_wait_or_run_are_counted() {
        let jobs = ["12".parse().unwrap(), "13".parse().unwrap()];
        let printed = "12|R|None\n12|PD|Priority\n12|PD|launch failed | requeued\u{1b}[2J held\n13|CG|None\n\
            14|R|None\n13|TO|TimeLimit\nnonsense\n";
        let why = Some("Priority".to_owned());
        assert_eq!(state(printed, &jobs), State { running: 2, waiting: 2, why });
        assert!(state("", &jobs).is_over());
        assert_eq!(first_job(" 77\n77\n").unwrap().to_string(), "77");
        assert_eq!(first_job("\n"), None);
    }
}
