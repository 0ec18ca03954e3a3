//! Faults of a configuration that are known before it boots: settings that its kernel has not got,
//! that its machine lacks the parts for, or that the kernel's command line has no room for.

use preemptlab_model::{
    BackendKind, Cpus, Distro, Factors, Kernel, KernelConfig, Precaution, Topology,
};
use preemptlab_system::tune::{Board, Elsewhere, Guest, KernelFacts, cmdline, foreseen};

use crate::Experiment;

/// Returns the reason why a configuration is not booted; `None` where the guest is asked.
pub(crate) fn refusal(
    experiment: &Experiment,
    (kernel, config): (&Kernel, Option<&KernelConfig>),
    backend: BackendKind,
    factors: &Factors,
    line: &str,
) -> Option<String> {
    // The machine itself is not virtual, and its kernel runs already.
    if backend == BackendKind::Host {
        return None;
    }
    let elsewhere = experiment
        .machine
        .cmdline
        .iter()
        .map(|word| Elsewhere { word: word.clone(), place: "`cmdline` of [machine]".to_owned() });
    let guest = Guest {
        facts: KernelFacts {
            release: kernel.release.clone(),
            config: config.cloned(),
            possible: Some(Cpus::up_to(factors.cpus.saturating_sub(1))),
            elsewhere: elsewhere.collect(),
            ..KernelFacts::default()
        },
        board: board(experiment.machine.topology, backend, factors),
        is_of_debian: kernel.name.source_of() == Some(Distro::Debian),
    };
    let refusals = foreseen(&factors.settings, &guest);
    let too_long = (line.len() > cmdline::bytes_max())
        .then(|| cmdline::too_long("the kernel's command line", line.len()));
    let reasons: Vec<String> = refusals.iter().map(ToString::to_string).chain(too_long).collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

fn board(topology: Option<Topology>, backend: BackendKind, factors: &Factors) -> Board {
    Board {
        cpus: factors.cpus,
        threads: topology.map_or(1, Topology::threads),
        numa_nodes: topology.map_or(1, Topology::numa_nodes),
        has_hpet: factors.settings.without().any(|it| it == Precaution::Hpet),
        is_translated: backend.is_vm(),
    }
}
