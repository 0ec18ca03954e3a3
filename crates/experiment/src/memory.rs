use indexmap::IndexMap;
use preemptlab_model::{Name, counted};
use preemptlab_workload::Workload;

/// Returns the first workload that has too little memory, the fault and the remedy.
pub fn too_little<'a>(
    present_mib: u32,
    cpus: &[u32],
    workloads: &'a IndexMap<Name, Workload>,
) -> Option<(&'a Name, String, String)> {
    let cpus = cpus.iter().copied().max()?;
    workloads.iter().find_map(|(name, workload)| {
        let needed = workload.memory_mib_min(cpus);
        (present_mib < needed).then(|| {
            let on = counted(cpus as usize, "CPU");
            let fewer = workload.memory_mib_min(1) <= present_mib;
            let fewer = if fewer { ", or compare fewer CPUs" } else { "" };
            (
                name,
                format!(
                    "the workload `{name}` needs {needed} MiB of memory on {on}, and the machine has \
                     {present_mib}"
                ),
                format!("say `memory_mib = {needed}` in [machine]{fewer}"),
            )
        })
    })
}
