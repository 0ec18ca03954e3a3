//! The plan of an experiment: its cells, its boots, and the expected host time.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use preemptlab_experiment::{CostSource, Experiment, Manifest, configurations};
use preemptlab_model::{
    Kernel, KernelRef, Label, Name, Planned, PlannedCell, PreemptMode, Profile, Settings,
    SnapshotId, Topology, counted,
};
use preemptlab_recording::CellFolder;
use preemptlab_report::{Cell, Column, Table, Tone, human, yes_or_no};
use serde::Serialize;

use crate::{
    shown,
    timings::{Pressure, Task, Tasks, Timings},
};

/// A configuration of the plan.
#[derive(Debug, Serialize)]
struct Configuration<'a> {
    workload: &'a str,
    kernel: &'a KernelRef,
    /// Name that the experiment gives to the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a Label>,
    release: &'a str,
    rt: Option<bool>,
    preempt: PreemptMode,
    settings: &'a Settings,
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<&'a Name>,
    cpus: u32,
    replicates: usize,
    /// Number of its cells that the store has already.
    finished: usize,
    /// Whether its kernel is from source and has to be built first.
    to_build: bool,
    /// Reason why it cannot exist, or why that is not known yet.
    unavailable: Option<&'a str>,
}

/// Plan of an experiment, as a document.
#[derive(Debug, Serialize)]
pub struct PlanDocument<'a> {
    format: u32,
    experiment: &'a str,
    qemu: Option<&'a str>,
    /// Sockets, cores, threads, caches and NUMA nodes, where the experiment says them.
    #[serde(skip_serializing_if = "Option::is_none")]
    topology: Option<Topology>,
    /// Prices of instructions on each machine where they do not all cost the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    profiles: Vec<&'a Profile>,
    /// Whether the profiles' caches are modelled.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    caches: bool,
    configurations: Vec<Configuration<'a>>,
    /// Kernels from source that are not in the store; neither their cells nor the time to build
    /// them is counted below.
    kernels_to_build: usize,
    cells_to_execute: usize,
    boots: usize,
    jobs: usize,
    expected_wall_s: u64,
    /// Reasons why the run takes longer than it could, and settings with a weak proof.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl<'a> PlanDocument<'a> {
    /// Counts what a resolved experiment needs: which of its cells the store lacks, and the time that
    /// they will take, so many at a time, on a machine that took so long before and is as busy.
    /// `unbuilt` are its kernels from source that are not built yet, and `boots` the snapshots that are
    /// missing.
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

    /// Shows it as a table.
    pub fn table(&self) -> Table {
        let has_machines = self.configurations.iter().any(|each| each.machine.is_some());
        let mut table = Table::new(format!("Plan of {}", self.experiment), columns(has_machines));
        for configuration in &self.configurations {
            let (cells, state) = match (configuration.unavailable, configuration.finished) {
                (Some(_), _) if configuration.to_build => (String::new(), Cell::from("to build")),
                (Some(_), _) => (String::new(), Cell::new("unavailable", Tone::Faint)),
                (None, 0) => (configuration.replicates.to_string(), Cell::from("to execute")),
                (None, finished) if finished == configuration.replicates => {
                    (configuration.replicates.to_string(), Cell::from("in the store"))
                }
                (None, finished) => (
                    configuration.replicates.to_string(),
                    Cell::from(format!("{finished} in the store")),
                ),
            };
            let of_workload = workload(configuration.workload, configuration.machine);
            table.row(of_workload.chain([
                Cell::from(kernel_words(
                    configuration.label,
                    configuration.kernel,
                    configuration.settings,
                )),
                Cell::from(configuration.release),
                Cell::from(yes_or_no(configuration.rt)),
                Cell::from(configuration.preempt.as_str()),
                Cell::from(configuration.cpus.to_string()),
                Cell::from(cells),
                state,
            ]));
        }
        table.notes.extend(machine_note(self.topology, &self.profiles, self.caches));
        let known = self.configurations.iter().filter(|each| !each.to_build);
        let mut reasons: Vec<&str> = known.filter_map(|each| each.unavailable).collect();
        reasons.sort_unstable();
        reasons.dedup();
        table.notes.extend(reasons.into_iter().map(|reason| format!("unavailable: {reason}")));
        if self.kernels_to_build > 0 {
            table.notes.push(format!(
                "Kernels to build before the run: {}, some 17 minutes each on 2 CPUs; their cells are not \
                 counted.",
                self.kernels_to_build
            ));
        }
        table.notes.push(match self.cells_to_execute {
            0 if self.kernels_to_build > 0 => "No other cell is to be executed.".to_owned(),
            0 => "Every cell is in the store: the run only has to compare.".to_owned(),
            cells => format!(
                "{} and {} to execute, {} at a time: about {}.",
                counted(cells, "cell"),
                counted(self.boots, "boot"),
                self.jobs,
                human(Duration::from_secs(self.expected_wall_s))
            ),
        });
        table.notes.extend(self.notes.iter().map(|note| format!("{}.", capitalized(note))));
        table
    }
}

/// Returns the notes on the machine that would execute the cells, and those on the settings.
fn notes(manifest: &Manifest, of_machine: Vec<String>) -> Vec<String> {
    of_machine.into_iter().chain(shown::notes(manifest)).collect()
}

/// Returns a kernel with its label and its settings.
fn kernel_words(label: Option<&Label>, kernel: &KernelRef, settings: &Settings) -> String {
    let label = label.map(|label| format!("{label}=")).unwrap_or_default();
    format!("{label}{kernel} {settings}").trim_end().to_owned()
}

/// Says which sockets, cores, threads, caches and nodes the machine has, and what instructions cost.
fn machine_note(
    topology: Option<Topology>,
    profiles: &[&Profile],
    has_caches: bool,
) -> Vec<String> {
    let topology = topology.map(|topology| format!("Machine: {topology}."));
    let caches = if has_caches { " with its caches" } else { "" };
    let prices = profiles
        .iter()
        .map(|Profile { name, machine, .. }| format!("Prices: profile {name}, {machine}{caches}."));
    topology.into_iter().chain(prices).collect()
}

/// Returns the profiles of the machines that price instructions.
fn profiles(experiment: &Experiment) -> Vec<&Profile> {
    experiment.costs().filter_map(CostSource::profile).collect()
}

/// Returns the cells of a workload, and of its machine where that is a factor.
fn workload<'a>(workload: &'a str, machine: Option<&'a Name>) -> impl Iterator<Item = Cell> + 'a {
    [Some(workload), machine.map(Name::as_str)].into_iter().flatten().map(Cell::from)
}

fn capitalized(note: &str) -> String {
    let mut chars = note.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// A plan while its kernels are still looked up.
#[derive(Debug)]
pub struct Sketch<'a> {
    experiment: &'a Experiment,
    kernels: BTreeMap<KernelRef, Result<Kernel, String>>,
}

impl<'a> Sketch<'a> {
    /// Begins with what the experiment's file says.
    pub fn new(experiment: &'a Experiment) -> Self {
        Self { experiment, kernels: BTreeMap::new() }
    }

    /// Fills in a kernel, or why it cannot be had.
    pub fn resolve(&mut self, name: &KernelRef, kernel: Result<&Kernel, &str>) {
        self.kernels.insert(name.clone(), kernel.cloned().map_err(str::to_owned));
    }

    /// Shows it as a table like that of the plan.
    pub fn table(&self) -> Table {
        let has_machines = !self.experiment.factors.machine.is_empty();
        let title = format!("Plan of {}", self.experiment.name);
        let mut table = Table::new(title, columns(has_machines));
        let label = |kernel: &KernelRef| self.experiment.factors.label(kernel);
        for factors in configurations(self.experiment) {
            let kernel = self.kernels.get(&factors.kernel);
            let known = kernel.and_then(|kernel| kernel.as_ref().ok());
            let offers = |kernel: &Kernel| {
                kernel.modes.as_ref().is_none_or(|modes| modes.contains(&factors.preempt))
            };
            let state = match kernel {
                None => Cell::new("to look up", Tone::Faint),
                Some(Ok(kernel)) if offers(kernel) => Cell::from(""),
                Some(_) => Cell::new("unavailable", Tone::Faint),
            };
            table.row(workload(&factors.workload, factors.machine.as_ref()).chain([
                Cell::from(kernel_words(
                    label(&factors.kernel),
                    &factors.kernel,
                    &factors.settings,
                )),
                Cell::from(known.map_or("", |kernel| kernel.release.as_str())),
                Cell::from(known.map_or("", |kernel| yes_or_no(kernel.rt))),
                Cell::from(factors.preempt.as_str()),
                Cell::from(factors.cpus.to_string()),
                Cell::from(self.experiment.replicates.count.to_string()),
                state,
            ]));
        }
        let machine = &self.experiment.machine;
        table.notes.extend(machine_note(
            machine.topology,
            &profiles(self.experiment),
            machine.caches,
        ));
        table
    }
}

fn columns(has_machines: bool) -> Vec<Column> {
    let machine = has_machines.then(|| Column::left("machine"));
    let others = [
        Column::left("kernel"),
        Column::left("release"),
        Column::left("rt"),
        Column::left("mode"),
        Column::right("CPUs"),
        Column::right("cells"),
        Column::left("state"),
    ];
    [Column::left("workload")].into_iter().chain(machine).chain(others).collect()
}

fn rows<'a>(
    manifest: &'a Manifest,
    unbuilt: &[KernelRef],
    cache: &CellFolder,
) -> Vec<Configuration<'a>> {
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
            Configuration {
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

#[cfg(test)]
mod tests {
    use preemptlab_model::Digest;

    use super::*;

    #[test]
    fn a_plan_is_shown_at_once_and_fills_in() {
        let text = "format = 1\nname = \"x\"\n[factors]\nkernel = [\"debian:6.12\", \"debian:7.2\"]\n\
            preempt = [\"none\", \"lazy\"]\n[workload.a]\nkind = \"pgbench\"\n";
        let experiment = Experiment::parse(text).unwrap();
        let mut sketch = Sketch::new(&experiment);
        let states = |sketch: &Sketch<'_>| -> Vec<String> {
            let csv = sketch.table().csv();
            csv.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().to_owned()).collect()
        };
        assert_eq!(states(&sketch), ["\"to look up\""; 4]);
        let name: KernelRef = "debian:6.12".parse().unwrap();
        let modes = Some(vec![PreemptMode::None]);
        let kernel = Kernel {
            name: name.clone(),
            release: "6.12.1".to_owned(),
            image_sha256: Digest::of(b""),
            packages: vec![],
            rt: Some(false),
            modes,
            hz: None,
            source: None,
        };
        sketch.resolve(&name, Ok(&kernel));
        assert_eq!(states(&sketch), ["", "\"unavailable\"", "\"to look up\"", "\"to look up\""]);
        assert!(sketch.table().csv().contains("6.12.1"));
        sketch.resolve(&"debian:7.2".parse().unwrap(), Err("gone"));
        assert_eq!(states(&sketch), ["", "\"unavailable\"", "\"unavailable\"", "\"unavailable\""]);
    }
}
