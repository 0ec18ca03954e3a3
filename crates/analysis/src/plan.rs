//! The plan of an experiment: its cells, its boots, and the expected host time.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use preemptlab_experiment::{CostSource, Experiment, Manifest};
use preemptlab_model::{
    Kernel, KernelRef, Label, Name, Planned, PlannedCell, PreemptMode, Profile, Settings,
    SnapshotId, Topology,
};
use preemptlab_recording::CellFolder;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    shown,
    timings::{Pressure, Task, Tasks, Timings},
};

/// A configuration of the plan.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PlannedConfiguration<'a> {
    /// Name of the workload.
    pub workload: &'a str,
    /// Name of the kernel.
    pub kernel: &'a KernelRef,
    /// Name that the experiment gives to the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<&'a Label>,
    /// `uname -r` of the kernel; empty where it is not known.
    pub release: &'a str,
    /// Whether the kernel has PREEMPT_RT, where that is known.
    pub rt: Option<bool>,
    /// Preemption mode.
    pub preempt: PreemptMode,
    /// Settings of the kernel.
    pub settings: &'a Settings,
    /// Name of the machine, where that is a factor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<&'a Name>,
    /// Number of CPUs.
    pub cpus: u32,
    /// Number of its cells.
    pub replicates: usize,
    /// Number of its cells that the store has already.
    pub finished: usize,
    /// Whether its kernel is from source and has to be built first.
    pub to_build: bool,
    /// Reason why it cannot exist, or why that is not known yet.
    pub unavailable: Option<&'a str>,
}

/// Plan of an experiment, as a document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PlanDocument<'a> {
    /// Version of the document.
    pub format: u32,
    /// Name of the experiment.
    pub experiment: &'a str,
    /// Version of QEMU; `None` where the machine's own kernel executes the cells.
    pub qemu: Option<&'a str>,
    /// Sockets, cores, threads, caches and NUMA nodes, where the experiment says them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub topology: Option<Topology>,
    /// Prices of instructions on each machine where they do not all cost the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub profiles: Vec<&'a Profile>,
    /// Whether the profiles' caches are modelled.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub caches: bool,
    /// Whether the profiles' stolen time is modelled.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stolen: bool,
    /// Configurations, in the order of the plan.
    pub configurations: Vec<PlannedConfiguration<'a>>,
    /// Kernels from source that are not in the store; neither their cells nor the time to build
    /// them is counted below.
    pub kernels_to_build: usize,
    /// Number of cells that the store lacks.
    pub cells_to_execute: usize,
    /// Number of boots that these cells need.
    pub boots: usize,
    /// Number of cells that are executed at a time.
    pub jobs: usize,
    /// Host time that all of it takes, in seconds.
    pub expected_wall_s: u64,
    /// Reasons why the run takes longer than it could, and settings with a weak proof.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl<'a> PlanDocument<'a> {
    /// Counts the needs of a resolved experiment: the cells that the store lacks, and the time that
    /// `jobs` of them at a time will take on a machine with these timings and this load. `unbuilt` are
    /// its kernels from source that are not built yet, and `boots` the snapshots that are missing.
    pub fn new(
        manifest: &'a Manifest,
        unbuilt: &[KernelRef],
        boots: &BTreeSet<SnapshotId>,
        cache: &CellFolder,
        jobs: usize,
        machine: (&Timings, Pressure),
    ) -> Self {
        let mut seen = BTreeSet::new();
        let executable = manifest.plan.cells.iter().filter_map(|cell| {
            let id = cell.inputs()?.id();
            (seen.insert(id) && !cache.contains(id)).then_some(cell)
        });
        let executable: Vec<&PlannedCell> = executable.collect();
        let missing = executable.len();
        let needed: BTreeSet<SnapshotId> = executable
            .iter()
            .filter_map(|cell| Some(cell.inputs()?.snapshot.id()))
            .filter(|boot| boots.contains(boot))
            .collect();
        let (timings, pressure) = machine;
        let tasks = Tasks::new(manifest, false);
        let of_cells = executable.iter().filter_map(|cell| tasks.cell(&cell.factors));
        let of_boots = needed.iter().filter_map(|boot| tasks.boot(*boot));
        let walls = |tasks: Vec<&Task>| {
            let alone: Vec<Duration> = tasks.iter().map(|task| timings.expected(task)).collect();
            pressure.wall(&alone, jobs)
        };
        let wall = walls(of_boots.collect()) + walls(of_cells.collect());
        let memory_mib = manifest.experiment.machine.memory_mib;
        Self {
            format: 1,
            experiment: &manifest.experiment.name,
            topology: manifest.experiment.machine.topology,
            profiles: profiles(&manifest.experiment),
            caches: manifest.experiment.machine.caches,
            stolen: manifest.experiment.machine.stolen,
            qemu: manifest.qemu.as_ref().map(|qemu| qemu.build.version.as_str()),
            configurations: rows(manifest, unbuilt, cache),
            kernels_to_build: unbuilt.len(),
            cells_to_execute: missing,
            boots: needed.len(),
            jobs,
            expected_wall_s: wall.as_secs_f64().ceil() as u64,
            notes: notes(
                manifest,
                if missing == 0 { Vec::new() } else { pressure.notes(jobs, memory_mib) },
            ),
        }
    }
}

/// Returns the notes on the machine that would execute the cells, and those on the settings.
fn notes(manifest: &Manifest, of_machine: Vec<String>) -> Vec<String> {
    of_machine.into_iter().chain(shown::notes(manifest)).collect()
}

/// Returns the profiles of the machines that price instructions.
pub fn profiles(experiment: &Experiment) -> Vec<&Profile> {
    experiment.costs().filter_map(CostSource::profile).collect()
}

/// A plan while its kernels are still looked up.
#[derive(Debug)]
pub struct Sketch<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// The kernels that were looked up so far, or the reasons why they are not available.
    pub kernels: BTreeMap<KernelRef, Result<Kernel, String>>,
}

impl<'a> Sketch<'a> {
    /// Begins with what the experiment's file says.
    pub fn new(experiment: &'a Experiment) -> Self {
        Self { experiment, kernels: BTreeMap::new() }
    }

    /// Fills in a kernel, or the reason why it is unavailable.
    pub fn resolve(&mut self, name: &KernelRef, kernel: Result<&Kernel, &str>) {
        self.kernels.insert(name.clone(), kernel.cloned().map_err(str::to_owned));
    }
}

fn rows<'a>(
    manifest: &'a Manifest,
    unbuilt: &[KernelRef],
    cache: &CellFolder,
) -> Vec<PlannedConfiguration<'a>> {
    let replicates = usize::try_from(manifest.experiment.replicates.count).unwrap_or(usize::MAX);
    manifest
        .plan
        .cells
        .chunks(replicates)
        .map(|cells| {
            let factors = &cells[0].factors;
            let kernel = manifest.kernel(&factors.kernel);
            let finished = |cell: &&preemptlab_model::PlannedCell| {
                cell.inputs().is_some_and(|inputs| cache.contains(inputs.id()))
            };
            PlannedConfiguration {
                workload: &factors.workload,
                kernel: &factors.kernel,
                label: manifest.experiment.factors.label(&factors.kernel),
                release: kernel.map_or("", |kernel| kernel.release.as_str()),
                rt: kernel.and_then(|kernel| kernel.rt),
                preempt: factors.preempt,
                settings: &factors.settings,
                machine: factors.machine.as_ref(),
                cpus: factors.cpus,
                replicates: cells.len(),
                finished: cells.iter().filter(finished).count(),
                to_build: unbuilt.contains(&factors.kernel),
                unavailable: match &cells[0].planned {
                    Planned::Unavailable { reason } => Some(reason),
                    Planned::Execute(_) => None,
                },
            }
        })
        .collect()
}
