use crate::Experiment;

/// Returns the workload that has too little memory, what is wrong, and what helps.
pub(crate) fn too_little(experiment: &Experiment) -> Option<(String, String)> {
    let present = experiment.machine.memory_mib;
    let cpus = experiment.factors.cpus.iter().copied().max()?;
    experiment.workload.iter().find_map(|(name, workload)| {
        let needed = workload.memory_mib_min(cpus);
        (present < needed).then(|| {
            let on = if cpus == 1 { "1 CPU".to_owned() } else { format!("{cpus} CPUs") };
            (
                format!("the workload `{name}` needs {needed} MiB of memory on {on}, and the machine has {present}"),
                format!("say `memory_mib = {needed}` in [machine], or compare fewer CPUs"),
            )
        })
    })
}
