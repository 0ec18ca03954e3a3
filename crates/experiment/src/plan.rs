use std::collections::BTreeMap;

use preemptlab_model::{
    Arch, BackendKind, CellInputs, Digest, Factors, InstructionCost, Kernel, KernelRef, Machine,
    Plan, Planned, PlannedCell, PreemptMode, QemuBuild, Settings, SnapshotInputs,
};
use preemptlab_protocol::Job;
use preemptlab_workload::{JobInputs, Workload};

use crate::{Experiment, evidence, experiment::MachineSpec};

/// Kernel parameters of every guest. The console is for a kernel in trouble; a guest that measures
/// writes nothing there. An oops ends the cell, and the reset that follows a panic ends QEMU.
const CMDLINE: [&str; 5] = ["quiet", "panic=-1", "oops=panic", "nokaslr", "rdinit=/init"];

/// The architecture of every guest.
const GUEST: Arch = Arch::Amd64;

/// Values of an experiment's names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Resolved kernels.
    pub kernels: BTreeMap<KernelRef, Kernel>,
    /// The kernels that cannot be had, and why.
    pub unavailable: BTreeMap<KernelRef, String>,
    /// The digest of the guest image, by kernel and workload.
    pub images: BTreeMap<(KernelRef, String), Digest>,
    /// Backend that executes the cells.
    pub backend: BackendKind,
    /// The QEMU build; `None` where none is needed.
    pub qemu: Option<QemuBuild>,
}

/// Lays out every cell of an experiment: workloads, kernels, settings, modes, CPUs, replicates, in
/// this order and each in the order that the experiment gives.
///
/// # Panics
///
/// When `resolved` lacks a kernel or an image of the experiment, which is the caller's bug.
pub fn plan(experiment: &Experiment, resolved: &Resolved) -> Plan {
    let cells = configurations(experiment).flat_map(|first| {
        (1..=experiment.replicates.count).map(move |replicate| {
            cell(experiment, resolved, Factors { replicate, ..first.clone() })
        })
    });
    Plan { cells: cells.collect() }
}

/// Lists every combination of levels, as its first replicate; the number of CPUs changes first, the
/// workload last.
pub fn configurations(experiment: &Experiment) -> impl Iterator<Item = Factors> {
    let levels = &experiment.factors;
    let count = experiment.workload.len()
        * [levels.kernel.len(), levels.settings.len(), levels.preempt.len(), levels.cpus.len()]
            .iter()
            .product::<usize>();
    (0..count).map(move |mut number| {
        let mut level = |count: usize| {
            let level = number % count;
            number /= count;
            level
        };
        Factors {
            cpus: levels.cpus[level(levels.cpus.len())],
            preempt: levels.preempt[level(levels.preempt.len())],
            settings: levels.settings[level(levels.settings.len())].clone(),
            kernel: levels.kernel[level(levels.kernel.len())].clone(),
            workload: experiment.workload.keys()[level(experiment.workload.len())].to_string(),
            replicate: 1,
        }
    })
}

fn cell(experiment: &Experiment, resolved: &Resolved, factors: Factors) -> PlannedCell {
    let Resolved { backend, images, qemu, .. } = resolved;
    let Factors { workload, kernel: name, preempt, cpus, settings, .. } = &factors;
    let planned = match runnable(resolved, name, *preempt) {
        Err(reason) => Planned::Unavailable { reason },
        Ok(kernel) => Planned::Execute(Box::new(CellInputs {
            snapshot: SnapshotInputs {
                backend: *backend,
                kernel_sha256: kernel.image_sha256,
                cmdline: cmdline(*backend, *cpus, &experiment.machine.cmdline, settings),
                image_sha256: images[&(name.clone(), workload.clone())],
                machine: machine(*backend, experiment, *cpus),
                qemu: qemu.clone(),
            },
            job: job(
                experiment,
                &experiment.workload[workload.as_str()],
                *backend,
                kernel.hz,
                &factors,
            ),
        })),
    };
    PlannedCell { factors, planned }
}

/// Returns another replicate of a planned cell; `None` where it cannot exist.
pub fn replicate(experiment: &Experiment, of: &PlannedCell, replicate: u32) -> Option<PlannedCell> {
    let workload = experiment.workload.get(of.factors.workload.as_str())?;
    let factors = Factors { replicate, ..of.factors.clone() };
    let CellInputs { snapshot, job: first } = of.inputs()?;
    let job = job(experiment, workload, snapshot.backend, first.hz, &factors);
    let inputs = CellInputs { snapshot: snapshot.clone(), job };
    Some(PlannedCell { factors, planned: Planned::Execute(Box::new(inputs)) })
}

fn job(
    experiment: &Experiment,
    workload: &Workload,
    backend: BackendKind,
    hz: Option<u32>,
    factors: &Factors,
) -> Job {
    let Factors { preempt, cpus, replicate, .. } = *factors;
    workload.job(JobInputs {
        // A machine that lost time catches its ticks up in bursts, which proves nothing.
        hz: hz.filter(|_| backend.is_vm()),
        settings: factors.settings.iter().map(evidence::provable).collect(),
        seed: experiment.replicates.seed.wrapping_add(u64::from(replicate) - 1),
        preempt,
        cpus,
        skew_ns: (backend.is_vm() && cpus > 1)
            .then(|| u64::from(experiment.machine.skew_us) * 1_000),
    })
}

/// Returns the machine of a cell. Of the real machine a cell has so many CPUs and all of the
/// memory; only a machine in virtual time has a speed.
fn machine(backend: BackendKind, experiment: &Experiment, cpus: u32) -> Machine {
    let MachineSpec { memory_mib, cost, .. } = experiment.machine;
    let memory_mib = if backend == BackendKind::Host { 0 } else { memory_mib };
    let cost = if backend.is_vm() { cost } else { InstructionCost::UNCOUNTED };
    Machine { arch: GUEST, cpus, memory_mib, cost }
}

/// Returns the kernel parameters of a boot. With several CPUs in virtual time a timer ends their
/// turns, and the kernel must leave it alone. The machine's own kernel has the parameters of its
/// own boot.
fn cmdline(backend: BackendKind, cpus: u32, further: &[String], settings: &Settings) -> String {
    let is_guest = backend != BackendKind::Host;
    let console = is_guest.then(|| format!("console={}", GUEST.platform().console));
    let own: &[&str] = if is_guest { &CMDLINE } else { &[] };
    let turn_timer = (backend.is_vm() && cpus > 1).then_some(GUEST.platform().turn_timer_parameter);
    let parameters: Vec<String> = console
        .into_iter()
        .chain(own.iter().copied().chain(turn_timer).map(str::to_owned))
        .chain(further.iter().cloned())
        .chain(settings.parameters().map(ToString::to_string))
        .collect();
    parameters.join(" ")
}

/// Returns the kernel, or the reason why it cannot run in that mode.
fn runnable<'a>(
    resolved: &'a Resolved,
    name: &KernelRef,
    preempt: PreemptMode,
) -> Result<&'a Kernel, String> {
    if let Some(reason) = resolved.unavailable.get(name) {
        return Err(reason.clone());
    }
    let kernel = &resolved.kernels[name];
    match &kernel.modes {
        Some(offered) if !offered.contains(&preempt) => {
            let offered: Vec<&str> = offered.iter().map(|mode| mode.as_str()).collect();
            Err(format!("{} offers {} only", kernel.release, offered.join(", ")))
        }
        _ => Ok(kernel),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experiment() -> Experiment {
        Experiment::parse(
            r#"
            format = 1
            name = "small"
            [factors]
            kernel = ["debian:7.2", "file:bzImage"]
            preempt = ["none", "lazy"]
            cpus = [1, 2]
            [replicates]
            count = 2
            seed = 7
            [workload.hackbench]
            kind = "cyclictest-hackbench"
            "#,
        )
        .unwrap()
    }

    fn resolved() -> Resolved {
        let kernel = |name: &str, modes| Kernel {
            name: name.parse().unwrap(),
            release: "7.2.12".into(),
            image_sha256: Digest::of(name.as_bytes()),
            packages: vec![],
            rt: None,
            modes,
            hz: None,
        };
        let kernels = [
            kernel("debian:7.2", Some(vec![PreemptMode::Full, PreemptMode::Lazy])),
            kernel("file:bzImage", None),
        ];
        Resolved {
            images: kernels
                .iter()
                .map(|kernel| ((kernel.name.clone(), "hackbench".into()), Digest::of(b"image")))
                .collect(),
            unavailable: BTreeMap::new(),
            kernels: kernels.into_iter().map(|kernel| (kernel.name.clone(), kernel)).collect(),
            backend: BackendKind::Vm,
            qemu: Some(QemuBuild { version: "10.0.13".into(), digest: Digest::of(b"qemu") }),
        }
    }

    #[test]
    fn every_combination_has_a_cell_and_what_cannot_be_says_why() {
        let plan = plan(&experiment(), &resolved());
        assert_eq!(plan.cells.len(), 2 * 2 * 2 * 2);
        let Planned::Unavailable { reason } = &plan.cells[0].planned else {
            panic!("7.2 has no `none`");
        };
        assert_eq!(reason, "7.2.12 offers full, lazy only");
        // A kernel without a config is asked at run time.
        assert_eq!(plan.executable().len(), 4 + 8);
        assert_eq!(plan.snapshots().len(), 2 * 2);
    }

    #[test]
    fn a_kernel_that_cannot_be_had_keeps_its_cells() {
        let mut resolved = resolved();
        let name: KernelRef = "file:bzImage".parse().unwrap();
        resolved.kernels.remove(&name);
        resolved.images.remove(&(name.clone(), "hackbench".into()));
        resolved.unavailable.insert(name.clone(), "it cannot be built".into());
        let plan = plan(&experiment(), &resolved);
        assert_eq!(plan.cells.len(), 2 * 2 * 2 * 2);
        let of_it = plan.cells.iter().filter(|cell| cell.factors.kernel == name);
        let reason = "it cannot be built".to_owned();
        assert!(
            of_it.clone().all(|c| c.planned == Planned::Unavailable { reason: reason.clone() })
        );
        assert_eq!(of_it.count(), 8);
        assert_eq!(plan.executable().len(), 4);
    }

    #[test]
    fn replicates_differ_by_seed_and_configurations_share_it() {
        let plan = plan(&experiment(), &resolved());
        let seed = |index: usize| plan.cells[index].inputs().unwrap().job.seed;
        assert_eq!((seed(4), seed(5)), (7, 8));
        assert_eq!((seed(8), seed(9)), (7, 8));
    }

    #[test]
    fn a_further_replicate_is_what_a_longer_plan_would_have_had() {
        let experiment = experiment();
        let mut longer = experiment.clone();
        longer.replicates.count = 3;
        let (short, long) = (plan(&experiment, &resolved()), plan(&longer, &resolved()));
        let third = long.cells.iter().find(|cell| {
            cell.inputs().is_some() && (cell.factors.replicate, cell.factors.cpus) == (3, 2)
        });
        let of = short.cells.iter().find(|cell| {
            cell.inputs().is_some() && (cell.factors.replicate, cell.factors.cpus) == (1, 2)
        });
        assert_eq!(replicate(&experiment, of.unwrap(), 3).as_ref(), third);
        assert_eq!(replicate(&experiment, &short.cells[0], 3), None);
    }

    #[test]
    fn the_machine_itself_is_not_told_what_a_virtual_one_is() {
        let mut experiment = experiment();
        experiment.factors.settings = vec!["threadirqs sched/base_slice_ns=1".parse().unwrap()];
        let vm = plan(&experiment, &resolved());
        let host =
            plan(&experiment, &Resolved { backend: BackendKind::Host, qemu: None, ..resolved() });
        for (cell, of_vm) in host.cells.iter().zip(&vm.cells) {
            let (Some(inputs), Some(of_vm)) = (cell.inputs(), of_vm.inputs()) else { continue };
            assert_eq!(inputs.snapshot.cmdline, "threadirqs");
            assert_eq!((inputs.snapshot.machine.memory_mib, inputs.job.skew_ns), (0, None));
            assert_ne!(inputs.id(), of_vm.id());
        }
    }

    #[test]
    fn several_cpus_bound_their_skew() {
        let plan = plan(&experiment(), &resolved());
        let (one, two) = (plan.cells[4].inputs().unwrap(), plan.cells[6].inputs().unwrap());
        assert_eq!((one.job.skew_ns, two.job.skew_ns), (None, Some(10_000)));
        assert!(!one.snapshot.cmdline.contains("hpet"));
        assert!(two.snapshot.cmdline.ends_with("rdinit=/init hpet=disable"));
    }
}
