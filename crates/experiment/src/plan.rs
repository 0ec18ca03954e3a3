use std::collections::BTreeMap;

use preemptlab_model::{
    BackendKind, CellInputs, Clocks, Digest, Factors, InstructionCost, Kernel, KernelConfig,
    KernelRef, Machine, Name, Plan, Planned, PlannedCell, Precaution, Pricing, QemuBuild, Settings,
    SnapshotInputs,
};
use preemptlab_protocol::Job;
use preemptlab_workload::{JobInputs, Workload};

use crate::{CostSource, Experiment, MachineSpec, arch, evidence, foreseen};

/// Kernel parameters of every guest. The console is for a kernel in trouble; a guest that measures
/// writes nothing there. An oops ends the cell, and the reset that follows a panic ends QEMU.
const CMDLINE: [&str; 5] = ["quiet", "panic=-1", "oops=panic", NO_KASLR, "rdinit=/init"];

/// The parameter with which addresses are those of the kernel's own files.
const NO_KASLR: &str = "nokaslr";

/// The parameter with which idle CPUs spin. Virtual time skips idle CPUs that halt, and QEMU's main
/// loop, which stops a guest to save it, waits until all do.
const NEVER_HALTS: &str = "idle=poll";

/// Values of an experiment's names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Resolved kernels.
    pub kernels: BTreeMap<KernelRef, Kernel>,
    /// Configurations of the kernels, where they are available.
    pub configs: BTreeMap<KernelRef, KernelConfig>,
    /// The unavailable kernels, and the reasons.
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
        let judged = judged(experiment, resolved, &first);
        (1..=experiment.replicates.count).map(move |replicate| match &judged {
            Ok(kernel) => {
                cell(experiment, resolved, kernel, Factors { replicate, ..first.clone() })
            }
            Err(reason) => PlannedCell {
                factors: Factors { replicate, ..first.clone() },
                planned: Planned::Unavailable { reason: reason.clone() },
            },
        })
    });
    Plan { cells: cells.collect() }
}

/// Lays out the cells like [`plan`], also those that [`plan`] knows to be unavailable by their
/// settings. An earlier version, which knew less of settings, has planned them.
pub(crate) fn laid_out(experiment: &Experiment, resolved: &Resolved) -> Plan {
    let cells = configurations(experiment).flat_map(|first| {
        (1..=experiment.replicates.count).map(move |replicate| {
            let factors = Factors { replicate, ..first.clone() };
            match runnable(experiment, resolved, &factors) {
                Ok(kernel) => cell(experiment, resolved, kernel, factors),
                Err(reason) => PlannedCell { factors, planned: Planned::Unavailable { reason } },
            }
        })
    });
    Plan { cells: cells.collect() }
}

/// Returns the kernel of a configuration, or the reason why the configuration is unavailable.
fn judged<'a>(
    experiment: &Experiment,
    resolved: &'a Resolved,
    factors: &Factors,
) -> Result<&'a Kernel, String> {
    if let Some(reason) = experiment.workload[factors.workload.as_str()].left_out() {
        return Err(reason);
    }
    let kernel = runnable(experiment, resolved, factors)?;
    let config = resolved.configs.get(&factors.kernel);
    let line = line(experiment, resolved.backend, factors);
    match foreseen::refusal(experiment, (kernel, config), resolved.backend, factors, &line) {
        Some(reason) => Err(reason),
        None => Ok(kernel),
    }
}

/// Lists every combination of levels, as its first replicate; the number of CPUs changes first, the
/// workload last.
pub fn configurations(experiment: &Experiment) -> impl Iterator<Item = Factors> {
    let levels = &experiment.factors;
    let machines = machines(experiment);
    let mut configurations = Vec::new();
    for workload in experiment.workload.keys() {
        for machine in &machines {
            for level in &levels.kernel {
                for settings in &levels.settings {
                    for preempt in levels.modes(level) {
                        configurations.extend(levels.cpus.iter().map(|cpus| Factors {
                            workload: workload.to_string(),
                            kernel: level.kernel.clone(),
                            machine: machine.clone(),
                            settings: settings.clone(),
                            preempt: *preempt,
                            cpus: *cpus,
                            replicate: 1,
                        }));
                    }
                }
            }
        }
    }
    configurations.into_iter()
}

/// Returns the names of the factor's machines; a single `None` where the machine is not a factor.
fn machines(experiment: &Experiment) -> Vec<Option<Name>> {
    match &experiment.factors.machine[..] {
        [] => vec![None],
        costs => costs.iter().map(CostSource::machine).collect(),
    }
}

fn cell(
    experiment: &Experiment,
    resolved: &Resolved,
    kernel: &Kernel,
    factors: Factors,
) -> PlannedCell {
    let Resolved { backend, images, qemu, .. } = resolved;
    let Factors { workload, kernel: name, .. } = &factors;
    let machine = machine(*backend, experiment, &factors);
    let inputs = CellInputs {
        snapshot: SnapshotInputs {
            backend: *backend,
            kernel_sha256: kernel.image_sha256,
            cmdline: line(experiment, *backend, &factors),
            image_sha256: images[&(name.clone(), workload.clone())],
            machine,
            qemu: qemu.clone(),
        },
        job: job(
            experiment,
            &experiment.workload[workload.as_str()],
            *backend,
            kernel.hz,
            &factors,
        ),
    };
    PlannedCell { factors, planned: Planned::Execute(Box::new(inputs)) }
}

/// Returns the kernel's command line of a configuration.
fn line(experiment: &Experiment, backend: BackendKind, factors: &Factors) -> String {
    let clocks = clocks(backend, experiment, factors.cpus);
    let of_workload = experiment.workload[factors.workload.as_str()].parameters();
    let line = cmdline(backend, &experiment.machine, clocks, &factors.settings);
    [line]
        .into_iter()
        .chain(of_workload)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
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
        settings: factors
            .settings
            .iter()
            .map(|it| evidence::provable(it, experiment.machine.arch))
            .collect(),
        seed: experiment.replicates.seed.wrapping_add(u64::from(replicate) - 1),
        preempt,
        cpus,
        skew_ns: match clocks(backend, experiment, cpus) {
            Some(Clocks::Turns { skew_us }) => Some(u64::from(skew_us) * 1_000),
            Some(Clocks::Own(_)) | None => None,
        },
    })
}

/// Returns the machine of a cell. Of the real machine a cell has `cpus` CPUs and all of the memory;
/// only a machine in virtual time has a speed.
fn machine(backend: BackendKind, experiment: &Experiment, factors: &Factors) -> Machine {
    let MachineSpec { arch, memory_mib, cost, .. } = experiment.machine;
    let Factors { cpus, settings, machine, .. } = factors;
    let cpus = *cpus;
    let profile = experiment.cost_of(machine.as_ref()).profile().filter(|_| backend.is_vm());
    let prices = profile.cloned().map(|mut profile| {
        // No line moves where there is one CPU.
        if let Some(caches) = profile.caches.as_mut().filter(|_| cpus == 1) {
            caches.transfers = None;
        }
        // A cell depends on nothing that the machine has and the experiment does not ask for.
        profile.caches.take_if(|_| !experiment.machine.caches);
        profile.stolen.take_if(|_| !experiment.machine.stolen);
        Box::new(Pricing::new(profile))
    });
    let lookahead = match clocks(backend, experiment, cpus) {
        Some(Clocks::Own(lookahead)) => Some(lookahead),
        Some(Clocks::Turns { .. }) | None => None,
    };
    let memory_mib = if backend == BackendKind::Host { 0 } else { memory_mib };
    let cost = match (backend.is_vm(), &prices) {
        (false, _) => InstructionCost::UNCOUNTED,
        (true, None) => cost,
        (true, Some(_)) => InstructionCost::PRICED,
    };
    let topology = experiment.machine.topology.filter(|_| backend != BackendKind::Host);
    let without = settings.without().collect();
    Machine { arch, cpus, memory_mib, cost, lookahead, topology, prices, without }
}

/// Returns the time of several CPUs; `None` where there is one, or time is the machine's own.
fn clocks(backend: BackendKind, experiment: &Experiment, cpus: u32) -> Option<Clocks> {
    (backend.is_vm() && cpus > 1).then_some(experiment.machine.clocks)
}

/// Returns the kernel parameters of a boot. The machine's own kernel has the parameters of its own
/// boot.
fn cmdline(
    backend: BackendKind,
    machine: &MachineSpec,
    clocks: Option<Clocks>,
    settings: &Settings,
) -> String {
    let is_guest = backend != BackendKind::Host;
    let platform = machine.arch.platform();
    let console = is_guest.then(|| format!("console={}", platform.console));
    let own: &[&str] = if is_guest { &CMDLINE } else { &[] };
    let has_kaslr = settings.without().any(|it| it == Precaution::Kaslr);
    let is_left_out = |parameter: &str| has_kaslr && parameter == NO_KASLR;
    let of_devices = platform.devices_parameter.filter(|_| is_guest);
    let of_clocks = clocks.and_then(|clocks| match clocks {
        Clocks::Own(_) => platform.one_clock_parameter,
        Clocks::Turns { .. } => arch::of(machine.arch).turns_parameter,
    });
    let parameters: Vec<String> = console
        .into_iter()
        .chain(
            (own.iter().copied().filter(|it| !is_left_out(it)))
                .chain(of_devices)
                .chain(of_clocks)
                .map(str::to_owned),
        )
        .chain(machine.cmdline.iter().cloned())
        .chain(settings.parameters().map(ToString::to_string))
        .collect();
    parameters.join(" ")
}

/// Returns the kernel, or the reason why it cannot run in that mode or with these parameters.
fn runnable<'a>(
    experiment: &Experiment,
    resolved: &'a Resolved,
    factors: &Factors,
) -> Result<&'a Kernel, String> {
    if let Some(reason) = resolved.unavailable.get(&factors.kernel) {
        return Err(reason.clone());
    }
    let kernel = &resolved.kernels[&factors.kernel];
    let mut of_setting = factors.settings.parameters().map(ToString::to_string);
    let mut further = experiment.machine.cmdline.iter();
    if resolved.backend.is_vm()
        && (further.any(|one| one == NEVER_HALTS) || of_setting.any(|one| one == NEVER_HALTS))
    {
        let why = "a guest that never halts cannot be saved after its boot";
        return Err(format!("{NEVER_HALTS}: {why}"));
    }
    if let (false, Some(left_out)) = (resolved.backend.is_vm(), factors.settings.without().next()) {
        let setting = left_out.setting();
        return Err(format!(
            "{setting}: only a machine in virtual time has the laboratory's precautions"
        ));
    }
    match &kernel.modes {
        Some(offered) if !offered.contains(&factors.preempt) => {
            let offered: Vec<&str> = offered.iter().map(|mode| mode.as_str()).collect();
            Err(format!("{} offers {} only", kernel.release, offered.join(", ")))
        }
        _ => Ok(kernel),
    }
}

#[cfg(test)]
mod tests {
    use preemptlab_model::{Lookahead, PreemptMode};

    use super::*;
    use crate::CostSource;

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
            source: None,
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
            configs: BTreeMap::new(),
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
    fn a_guest_that_never_halts_is_not_booted() {
        let reasons = |experiment: &Experiment, backend| {
            let plan = plan(experiment, &Resolved { backend, ..resolved() });
            let reason = |cell: &PlannedCell| match &cell.planned {
                Planned::Unavailable { reason } => reason.starts_with("idle=poll: "),
                Planned::Execute(_) => false,
            };
            plan.cells.iter().filter(|cell| reason(cell)).count()
        };
        let mut on_the_command_line = experiment();
        on_the_command_line.machine.cmdline = vec!["idle=poll".into()];
        assert_eq!(reasons(&on_the_command_line, BackendKind::Vm), 16);
        assert_eq!(reasons(&on_the_command_line, BackendKind::Kvm), 0);
        let mut as_a_setting = experiment();
        as_a_setting.factors.settings = vec!["".parse().unwrap(), "idle=poll".parse().unwrap()];
        assert_eq!(reasons(&as_a_setting, BackendKind::Vm), 16);
        assert_eq!(reasons(&experiment(), BackendKind::Vm), 0);
    }

    fn with_settings(settings: &str) -> Experiment {
        let mut experiment = experiment();
        experiment.factors.settings = vec![settings.parse().unwrap()];
        experiment
    }

    /// Every cell of a machine with one CPU is unavailable, and those of two are executed.
    #[test]
    fn what_the_machine_lacks_is_not_booted() {
        let plan = plan(&with_settings("skew_tick=1"), &resolved());
        for cell in plan.cells.iter().filter(|cell| cell.factors.preempt == PreemptMode::Lazy) {
            match &cell.planned {
                Planned::Unavailable { reason } => {
                    assert_eq!(cell.factors.cpus, 1);
                    let said = "skew_tick=1: this virtual machine cannot be asked, since it has \
                                one CPU";
                    assert_eq!(reason, said);
                }
                Planned::Execute(_) => assert_eq!(cell.factors.cpus, 2),
            }
        }
    }

    #[test]
    fn threads_of_a_core_can_be_asked_for() {
        let of = |threads: u32| {
            let mut experiment = with_settings("nosmt");
            experiment.factors.cpus = vec![2];
            let text = format!(r#"{{"cores":{},"threads":{threads}}}"#, 2 / threads);
            experiment.machine.topology = Some(serde_json::from_str(&text).unwrap());
            plan(&experiment, &resolved()).executable().len()
        };
        assert_eq!((of(1), of(2)), (0, 2 + 4));
    }

    #[test]
    fn the_configuration_of_a_kernel_is_asked_before_it_boots() {
        let mut experiment = with_settings("nohz_full=1");
        experiment.factors.cpus = vec![2];
        let name: KernelRef = "debian:7.2".parse().unwrap();
        let executed = |config: &str| {
            let configs = BTreeMap::from([(name.clone(), KernelConfig::parse(config))]);
            let plan = plan(&experiment, &Resolved { configs, ..resolved() });
            let mut of_it = plan.cells.into_iter().filter(|cell| cell.factors.kernel == name);
            of_it.any(|cell| cell.inputs().is_some())
        };
        assert!(executed("CONFIG_NO_HZ_FULL=y\n"));
        assert!(!executed("CONFIG_HZ=250\n"));
    }

    #[test]
    fn a_line_that_the_kernel_would_cut_is_not_booted() {
        let mut experiment = experiment();
        let executed = |experiment: &Experiment| plan(experiment, &resolved()).executable().len();
        // `console=ttyS0 quiet panic=-1 oops=panic nokaslr rdinit=/init tsc=reliable`, and a blank.
        experiment.machine.cmdline = vec!["a".repeat(2047 - 74)];
        experiment.factors.cpus = vec![2];
        assert_eq!(executed(&experiment), 2 + 4);
        experiment.machine.cmdline[0].push('a');
        assert_eq!(executed(&experiment), 0);
        let Planned::Unavailable { reason } = &plan(&experiment, &resolved()).cells[4].planned
        else {
            panic!("it is longer than any kernel keeps");
        };
        assert!(
            reason.contains("has 2048 characters") && reason.contains("keeps 2047"),
            "{reason}"
        );
    }

    #[test]
    fn a_stressor_that_is_left_out_keeps_its_cells() {
        let mut experiment = experiment();
        let workload = "{\"kind\":\"stress-ng\",\"stressor\":\"cpu-online\",\"window\":\"250ms\"}";
        experiment.workload["hackbench"] = serde_json::from_str(workload).unwrap();
        let plan = plan(&experiment, &resolved());
        let reasons = plan.cells.iter().filter(|cell| match &cell.planned {
            Planned::Unavailable { reason } => reason.contains("cpu-online is not executed: it"),
            Planned::Execute(_) => false,
        });
        assert_eq!(reasons.count(), 2 * 2 * 2 * 2);
        assert_eq!(laid_out(&experiment, &resolved()).executable().len(), 4 + 8);
    }

    /// An earlier version planned cells that this one knows to be unavailable.
    #[test]
    fn a_recorded_plan_may_know_less() {
        let experiment = with_settings("nosmt");
        assert!(plan(&experiment, &resolved()).executable().is_empty());
        assert_eq!(laid_out(&experiment, &resolved()).executable().len(), 4 + 8);
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
    fn several_cpus_have_a_clock_each() {
        let plan = plan(&experiment(), &resolved());
        let (one, two) = (plan.cells[4].inputs().unwrap(), plan.cells[6].inputs().unwrap());
        assert_eq!((one.job.skew_ns, two.job.skew_ns), (None, None));
        let lookahead = |inputs: &CellInputs| inputs.snapshot.machine.lookahead;
        assert_eq!((lookahead(one), lookahead(two)), (None, Some(Lookahead::default())));
        assert_eq!((one.clocks(), two.clocks()), (None, Some(Clocks::default())));
        assert!(one.snapshot.cmdline.ends_with("rdinit=/init"));
        assert!(two.snapshot.cmdline.ends_with("rdinit=/init tsc=reliable"));
        let mut wider = experiment();
        wider.machine.clocks = Clocks::Own(2000.try_into().unwrap());
        let wider = super::plan(&wider, &resolved());
        // The identity of a cell of one CPU does not depend on it.
        assert_eq!(wider.cells[4], plan.cells[4]);
        assert_ne!(wider.cells[6].inputs().unwrap().id(), two.id());
        let kvm = Resolved { backend: BackendKind::Kvm, ..resolved() };
        let kvm = super::plan(&experiment(), &kvm);
        assert_eq!(lookahead(kvm.cells[6].inputs().unwrap()), None);
    }

    /// A cell of one CPU does not depend on what lines between CPUs cost.
    #[test]
    fn only_several_cpus_depend_on_lines_that_move() {
        let planned = |cpus: u32, move_freely: bool| {
            let mut experiment = experiment();
            experiment.factors.cpus = vec![cpus];
            let shipped = serde_json::from_str(r#""server-x86""#).unwrap();
            let CostSource::Profile(mut profile) = shipped else { panic!() };
            let caches = profile.caches.as_mut().unwrap();
            assert!(caches.transfers.is_some());
            caches.transfers.take_if(|_| move_freely);
            experiment.machine.prices = CostSource::Profile(profile);
            experiment.machine.caches = true;
            super::plan(&experiment, &resolved()).cells[4].inputs().unwrap().id()
        };
        assert_eq!(planned(1, false), planned(1, true));
        assert_ne!(planned(2, false), planned(2, true));
    }

    /// A cell without `caches` does not depend on the caches that a profile describes.
    #[test]
    fn only_a_cell_with_caches_depends_on_them() {
        let planned = |caches: bool, described: bool| {
            let mut experiment = experiment();
            let shipped = serde_json::from_str(r#""amd-epyc""#).unwrap();
            let CostSource::Profile(mut profile) = shipped else { panic!() };
            profile.caches.take_if(|_| !described);
            experiment.machine.prices = CostSource::Profile(profile);
            experiment.machine.caches = caches;
            let plan = super::plan(&experiment, &resolved());
            plan.cells[4].inputs().unwrap().clone()
        };
        let (without, with) = (planned(false, true), planned(true, true));
        assert_eq!(without.id(), planned(false, false).id());
        assert_ne!(without.id(), with.id());
        let caches =
            |inputs: &CellInputs| inputs.snapshot.machine.prices.clone().unwrap().of.caches;
        assert!(caches(&without).is_none() && caches(&with).is_some());
    }

    /// The plan of an earlier recording follows from its experiment; only cells of one CPU are executed.
    #[test]
    fn recorded_turns_are_planned_and_not_executed() {
        let mut experiment = experiment();
        experiment.machine.clocks = Clocks::Turns { skew_us: 10 };
        let turns = plan(&experiment, &resolved());
        let own = plan(&super::tests::experiment(), &resolved());
        let (one, two) = (turns.cells[4].inputs().unwrap(), turns.cells[6].inputs().unwrap());
        assert_eq!(Some(one), own.cells[4].inputs());
        assert_eq!((two.job.skew_ns, two.snapshot.machine.lookahead), (Some(10_000), None));
        assert!(two.snapshot.cmdline.ends_with("rdinit=/init hpet=disable"));
        assert_eq!(two.clocks(), Some(Clocks::Turns { skew_us: 10 }));
        assert_eq!(one.snapshot.check_clocks(), Ok(()));
        let refused = two.snapshot.check_clocks().unwrap_err().to_string();
        assert!(refused.contains("took turns on one clock"), "{refused}");
    }
}
