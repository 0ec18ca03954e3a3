//! The shard that an engine's variables name.

use preemptlab_model::Shard;

/// How an engine tells its tasks apart.
struct Variables {
    engine: &'static str,
    index: &'static str,
    /// Its number of the first task.
    first: First,
    count: Option<&'static str>,
}

/// Number of the first task.
enum First {
    Number(u32),
    Variable(&'static str),
}

/// Engines by their own variables: sbatch(1), the Kubernetes documentation of Indexed Jobs, and the
/// documentation of each CI. Of two engines whose variables are set, such as a CI in Slurm, the
/// earlier one here counts.
const ENGINES: [Variables; 7] = [
    Variables {
        engine: "Slurm",
        index: "SLURM_ARRAY_TASK_ID",
        first: First::Variable("SLURM_ARRAY_TASK_MIN"),
        count: Some("SLURM_ARRAY_TASK_COUNT"),
    },
    Variables {
        engine: "Kubernetes",
        index: "JOB_COMPLETION_INDEX",
        first: First::Number(0),
        count: None,
    },
    Variables {
        engine: "GitLab",
        index: "CI_NODE_INDEX",
        first: First::Number(1),
        count: Some("CI_NODE_TOTAL"),
    },
    Variables {
        engine: "CircleCI",
        index: "CIRCLE_NODE_INDEX",
        first: First::Number(0),
        count: Some("CIRCLE_NODE_TOTAL"),
    },
    Variables {
        engine: "Buildkite",
        index: "BUILDKITE_PARALLEL_JOB",
        first: First::Number(0),
        count: Some("BUILDKITE_PARALLEL_JOB_COUNT"),
    },
    Variables {
        engine: "Azure Pipelines",
        index: "SYSTEM_JOBPOSITIONINPHASE",
        first: First::Number(1),
        count: Some("SYSTEM_TOTALJOBSINPHASE"),
    },
    Variables {
        engine: "Semaphore",
        index: "SEMAPHORE_JOB_INDEX",
        first: First::Number(1),
        count: Some("SEMAPHORE_JOB_COUNT"),
    },
];

/// Error of variables that name no shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VariablesError {
    /// No engine's variable is set.
    #[error(
        "no variable of an engine names a shard ({}): write INDEX/COUNT",
        ENGINES.map(|it| it.index).join(", ")
    )]
    None,
    /// The engine does not tell how many tasks there are.
    #[error("{engine} does not tell how many tasks there are: write auto/COUNT")]
    NoCount {
        /// The engine.
        engine: &'static str,
    },
    /// The variables contradict each other.
    #[error(
        "{engine}'s {variable} is `{}`, which is no task of {count}: write INDEX/COUNT",
        value.escape_debug()
    )]
    NoTask {
        /// The engine.
        engine: &'static str,
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// The number of tasks, as it is told.
        count: String,
    },
}

/// Returns the shard that the variables of an engine name, which `variable` looks up. A count that is
/// given takes the place of the engine's own.
///
/// # Errors
///
/// When no engine's variables are set, or they name no shard: the tasks of an array with gaps are not its
/// shards.
pub fn shard_of_variables(
    count: Option<u32>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Shard, VariablesError> {
    let set = ENGINES.iter().find_map(|it| Some((it, variable(it.index)?)));
    let (Variables { engine, index, first, count: total, .. }, value) =
        set.ok_or(VariablesError::None)?;
    let total = match (count, total) {
        (Some(count), _) => Some(count.to_string()),
        (None, Some(total)) => variable(total),
        (None, None) => None,
    };
    let total = total.ok_or(VariablesError::NoCount { engine })?;
    let first = match first {
        First::Number(first) => Some(*first),
        First::Variable(name) => variable(name).and_then(|first| first.trim().parse().ok()),
    };
    let shard = || {
        let index: u32 = value.trim().parse().ok()?;
        let index = index.checked_sub(first?)?.checked_add(1)?;
        Shard::new(index, total.trim().parse().ok()?)
    };
    shard().ok_or_else(|| VariablesError::NoTask {
        engine,
        variable: index,
        value: value.clone(),
        count: total.escape_debug().to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(count: Option<u32>, set: &[(&str, &str)]) -> Result<String, VariablesError> {
        let variable = |name: &str| {
            set.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned())
        };
        shard_of_variables(count, &variable).map(|shard| shard.to_string())
    }

    #[test]
    fn each_engine_counts_in_its_way() {
        let slurm = [
            ("SLURM_ARRAY_TASK_ID", "12"),
            ("SLURM_ARRAY_TASK_MIN", "10"),
            ("SLURM_ARRAY_TASK_COUNT", "8"),
        ];
        assert_eq!(shard(None, &slurm).unwrap(), "3/8");
        assert_eq!(shard(Some(8), &[("JOB_COMPLETION_INDEX", "0")]).unwrap(), "1/8");
        assert_eq!(shard(None, &[("CI_NODE_INDEX", "8"), ("CI_NODE_TOTAL", "8")]).unwrap(), "8/8");
        assert_eq!(
            shard(None, &[("CIRCLE_NODE_INDEX", "7"), ("CIRCLE_NODE_TOTAL", "8")]).unwrap(),
            "8/8"
        );
    }

    #[test]
    fn variables_that_name_no_shard_are_refused() {
        assert_eq!(shard(None, &[]), Err(VariablesError::None));
        let one = [("JOB_COMPLETION_INDEX", "0")];
        assert_eq!(shard(None, &one), Err(VariablesError::NoCount { engine: "Kubernetes" }));
        for (index, total) in [("9", "8"), ("0", "8"), ("x", "8"), ("1", "0"), ("1", "\u{1b}[2J")] {
            let set = [("CI_NODE_INDEX", index), ("CI_NODE_TOTAL", total)];
            let error = shard(None, &set).unwrap_err().to_string();
            assert!(error.starts_with("GitLab's CI_NODE_INDEX is"), "{error}");
            assert!(!error.contains('\u{1b}'), "{error}");
        }
        // Tasks 3, 7 and 12.
        let gaps = [
            ("SLURM_ARRAY_TASK_ID", "12"),
            ("SLURM_ARRAY_TASK_MIN", "3"),
            ("SLURM_ARRAY_TASK_COUNT", "3"),
        ];
        assert!(shard(None, &gaps).is_err());
    }
}
