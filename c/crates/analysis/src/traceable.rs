//! The questions that a trace of an experiment's cells can answer.

use std::path::Path;

use preemptlab_experiment::Experiment;
use preemptlab_workload::Workload;

/// Returns the questions that the traces of workloads cannot answer, before they are recorded; none
/// where every workload has the real-time probe whose wakeups `explain` explains.
pub fn notes(experiment: &Experiment) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, workload) in &experiment.workload {
        let names = workload.metric_names();
        let has = match (names.has_realtime_wakeups(), names.has_fair_wakeups()) {
            (true, _) => continue,
            (false, true) => {
                "only the fair probe of cyclictest: its traces tell why that one was late \
                 (explain RUN --fair); such a cell has no latency.worst"
            }
            (false, false) if matches!(workload, Workload::Folder(_)) => {
                "no cyclictest, and no probe with `wakeups = true`: its traces tell what the kernel did \
                 (explain RUN trace, zoom), not why a wakeup was late"
            }
            (false, false) => {
                "no cyclictest: its traces tell what the kernel did (explain RUN trace, zoom), \
                 not why a wakeup was late"
            }
        };
        notes.push(format!("{name} has {has}"));
    }
    notes
}

/// Returns the command that looks at the traces of a recording.
pub fn next(experiment: &Experiment, out: &Path) -> String {
    let names: Vec<_> =
        experiment.workload.values().map(|workload| workload.metric_names()).collect();
    let out = out.display();
    if names.iter().any(|names| names.has_realtime_wakeups()) {
        format!("preemptlab explain {out}")
    } else if names.iter().any(|names| names.has_fair_wakeups()) {
        format!("preemptlab explain {out} --fair")
    } else {
        format!("preemptlab explain {out} trace --out trace.pftrace")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experiment(workloads: &str) -> Experiment {
        let factors = "[factors]\nkernel = [\"debian:6.12\"]\npreempt = [\"none\"]\n";
        Experiment::parse(&format!("format = 1\nname = \"x\"\n{factors}{workloads}")).unwrap()
    }

    #[test]
    fn what_traces_lack_is_said() {
        let said = |workloads: &str| {
            let experiment = experiment(workloads);
            (notes(&experiment).join("\n"), next(&experiment, Path::new("runs/x")))
        };
        let (note, next) = said("[workload.a]\nkind = \"pgbench\"\n");
        assert!(note.contains("a has no cyclictest"), "{note}");
        assert!(next.ends_with("trace --out trace.pftrace"), "{next}");
        let fair = "[workload.b]\nkind = \"cyclictest\"\nprobes = \"other\"\n";
        let (note, next) = said(fair);
        assert!(note.contains("b has only the fair probe"), "{note}");
        assert!(next.ends_with("runs/x --fair"), "{next}");
        let (note, next) = said("[workload.d]\nkind = \"folder\"\npath = \"d\"\n");
        assert!(note.contains("no probe with `wakeups = true`"), "{note}");
        assert!(next.ends_with("trace --out trace.pftrace"), "{next}");
        let (note, next) = said(&format!("{fair}[workload.c]\nkind = \"cyclictest\"\n"));
        assert_eq!(note.lines().count(), 1, "{note}");
        assert!(next.ends_with("explain runs/x"), "{next}");
    }
}
