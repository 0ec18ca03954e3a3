use preemptlab_model::Results;

use crate::SpecError;

/// Reads the results of machines and of virtual time.
///
/// # Errors
///
/// [`SpecError`] with the line, and the nearest valid name for a misspelt one.
pub fn results(text: &str) -> Result<Results, SpecError> {
    toml::from_str(text).map_err(|error| SpecError::new(text, &error))
}

#[cfg(test)]
mod tests {
    use preemptlab_model::ResultsOf;

    use super::*;

    const MACHINE: &str = include_str!("../../../docs/fidelity/machines/amd-epyc.toml");
    const PREDICTION: &str = "format = 1\nexperiment = \"prices\"\n[prediction]\nprofile = \"amd-epyc\"\n\
        [workload.load]\nthroughput_per_s = [1.5]\n[workload.load.wakeup_fifo_us]\np50 = [1]\np99 = [2]\nmax = [3]\n";

    #[track_caller]
    fn refused(text: &str, from: &str, to: &str) -> SpecError {
        assert!(text.contains(from), "{from}");
        results(&text.replacen(from, to, 1)).unwrap_err()
    }

    #[test]
    fn results_are_read_and_written() {
        for text in [MACHINE, PREDICTION] {
            let read = results(text).unwrap();
            assert_eq!(results(&toml::to_string(&read).unwrap()).unwrap(), read);
        }
        let machine = results(MACHINE).unwrap();
        assert!(matches!(machine.of, ResultsOf::Machine { .. }));
        let names: Vec<_> = machine.workloads.keys().map(|name| name.as_str()).collect();
        assert_eq!(names[..3], ["hb-process", "hb-thread", "tcp-64"], "in the file's order");
    }

    #[test]
    fn every_error_of_results_has_its_reason() {
        for (text, from, to, said) in [
            (MACHINE, "format = 1", "format = 2", "format 2 of results is not known"),
            (MACHINE, "\"prices\"", "\"../x\"", "is not a name"),
            (MACHINE, "cpus = 2", "cpus = 0", "nonzero"),
            (MACHINE, "cpus = 2", "cpu = 2", "unknown field `cpu`"),
            (MACHINE, "\"6.18.44\"", "\"6.18\\u001b[2J\"", "is not the release of a kernel"),
            (MACHINE, "preempt = \"none\"", "preempt = \"some\"", "unknown variant `some`"),
            (MACHINE, "replicates = 5", "replicates = 0", "nonzero"),
            (MACHINE, "[620000.0]", "[1, 2, 3, 4, 5, 6]", "hb-process has more values than"),
            (MACHINE, "[620000.0]", "[]", "results have 1 to 1000 values"),
            (MACHINE, "[620000.0]", "[nan]", "results have 1 to 1000 values"),
            (MACHINE, "[620000.0]", "[1e-9, inf]", "results have 1 to 1000 values"),
            (MACHINE, "[620000.0]", "620000.0", "invalid type"),
            (MACHINE, "[workload.hb-process]", "[workload.\"a\\nb\"]", "is not a name"),
            (MACHINE, "user_plain = 21", "user_plain = 0", "a price must be"),
            (
                MACHINE,
                "[profile]",
                "[prediction]\n[profile]",
                "results are of a machine, which [machine]",
            ),
            (
                PREDICTION,
                "[prediction]\nprofile = \"amd-epyc\"\n",
                "",
                "results are of a machine, which [machine]",
            ),
            (
                PREDICTION,
                "profile = \"amd-epyc\"",
                "caches = true",
                "names the profile that has them",
            ),
            (PREDICTION, "max = [3]\n", "", "missing field `max`"),
            (PREDICTION, "max = [3]", "max = [3]\np9 = [1]", "unknown field `p9`"),
        ] {
            let error = refused(text, from, to);
            assert!(error.message.contains(said), "{to}: {}", error.message);
        }
        assert_eq!(refused(MACHINE, "cpus = 2", "cpus = 0").line, 9);
        let help = refused(MACHINE, "hypervisor =", "hypervisr =").help;
        assert_eq!(help.as_deref(), Some("did you mean `hypervisor`?"));
    }

    #[test]
    fn as_many_workloads_as_there_may_be_are_read() {
        let of = |count: usize| {
            let workloads =
                (0..count).map(|n| format!("[workload.w{n}]\nthroughput_per_s = [1]\n"));
            let head = "format = 1\nexperiment = \"x\"\n[prediction]\n";
            results(&workloads.fold(head.to_owned(), |text, workload| text + &workload))
        };
        assert_eq!(of(1000).unwrap().workloads.len(), 1000);
        assert!(of(1001).unwrap_err().message.contains("and not of 1001"));
    }
}
