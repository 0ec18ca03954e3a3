//! What an experiment needs before it is run, and the host time that it is expected to take.

use std::time::Duration;

use preemptlab_experiment::Manifest;
use preemptlab_model::{KernelRef, Planned, PreemptMode, Settings};
use preemptlab_recording::CellFolder;
use preemptlab_report::{Cell, Column, Table, Tone, human, yes_or_no};
use serde::Serialize;

/// Guest instructions per second of one host core: what a shared x86-64 core of 2026 did. It only
/// serves estimates before anything ran; then cells are measured.
const INSTRUCTIONS_PER_HOST_S: f64 = 210e6;

/// Host time of a boot, likewise.
pub const BOOT_WALL: Duration = Duration::from_secs(10);

/// A configuration of the plan.
#[derive(Debug, Serialize)]
struct Configuration<'a> {
    workload: &'a str,
    kernel: &'a KernelRef,
    release: &'a str,
    rt: Option<bool>,
    preempt: PreemptMode,
    settings: &'a Settings,
    cpus: u32,
    replicates: usize,
    /// How many of them the store has already.
    finished: usize,
    /// Whether its kernel is from source and is to be built first.
    to_build: bool,
    /// Why it cannot exist, or why that is not known yet.
    unavailable: Option<&'a str>,
}

/// What an experiment needs, as a document.
#[derive(Debug, Serialize)]
pub struct PlanDocument<'a> {
    format: u32,
    experiment: &'a str,
    qemu: Option<&'a str>,
    configurations: Vec<Configuration<'a>>,
    /// Kernels from source that are not in the store; neither their cells nor the time to build
    /// them is counted below.
    kernels_to_build: usize,
    cells_to_execute: usize,
    boots: usize,
    jobs: usize,
    expected_wall_s: u64,
}

impl<'a> PlanDocument<'a> {
    /// Counts what a resolved experiment needs: which of its cells the store lacks, and the time that
    /// they will take, so many at a time. `unbuilt` are its kernels from source that are not built yet,
    /// and `boots` the snapshots that are missing.
    pub fn new(
        manifest: &'a Manifest,
        unbuilt: &[KernelRef],
        boots: usize,
        cache: &CellFolder,
        jobs: usize,
    ) -> Self {
        let executable = manifest.plan.executable();
        let missing = executable.iter().filter(|inputs| !cache.contains(inputs.id())).count();
        let boots = if missing == 0 { 0 } else { boots };
        let rounds = |count: usize| count.div_ceil(jobs) as f64;
        let wall = BOOT_WALL.as_secs_f64() * rounds(boots)
            + mean_cell_wall(manifest).as_secs_f64() * rounds(missing);
        Self {
            format: 1,
            experiment: &manifest.experiment.name,
            qemu: manifest.qemu.as_ref().map(|qemu| qemu.build.version.as_str()),
            configurations: configurations(manifest, unbuilt, cache),
            kernels_to_build: unbuilt.len(),
            cells_to_execute: missing,
            boots,
            jobs,
            expected_wall_s: wall.ceil() as u64,
        }
    }

    /// Shows it as a table.
    pub fn table(&self) -> Table {
        let columns = [
            Column::left("workload"),
            Column::left("kernel"),
            Column::left("release"),
            Column::left("rt"),
            Column::left("mode"),
            Column::right("CPUs"),
            Column::right("cells"),
            Column::left("state"),
        ];
        let mut table = Table::new(format!("Plan of {}", self.experiment), columns);
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
            table.row([
                Cell::from(configuration.workload),
                Cell::from(
                    format!("{} {}", configuration.kernel, configuration.settings).trim_end(),
                ),
                Cell::from(configuration.release),
                Cell::from(yes_or_no(configuration.rt)),
                Cell::from(configuration.preempt.as_str()),
                Cell::from(configuration.cpus.to_string()),
                Cell::from(cells),
                state,
            ]);
        }
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
                "{cells} cells and {} boots to execute, {} at a time: about {}.",
                self.boots,
                self.jobs,
                human(Duration::from_secs(self.expected_wall_s))
            ),
        });
        table
    }
}

fn configurations<'a>(
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
                release: kernel.map_or("", |kernel| kernel.release.as_str()),
                rt: kernel.and_then(|kernel| kernel.rt),
                preempt: factors.preempt,
                settings: &factors.settings,
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

/// Returns the expected host time of a cell, over all workloads of the plan.
pub fn mean_cell_wall(manifest: &Manifest) -> Duration {
    let walls = manifest.plan.cells.iter().filter_map(|cell| {
        let machine = &cell.inputs()?.snapshot.machine;
        let workload = manifest.experiment.workload.get(cell.factors.workload.as_str())?;
        let virtual_s = workload.virtual_time_estimate().as_secs_f64();
        if !manifest.backend.is_vm() {
            return Some(virtual_s);
        }
        Some(virtual_s * machine.instructions_per_second() / INSTRUCTIONS_PER_HOST_S)
    });
    let (sum, count) = walls.fold((0.0, 0_u32), |(sum, count), wall| (sum + wall, count + 1));
    if count == 0 { Duration::ZERO } else { Duration::from_secs_f64(sum / f64::from(count)) }
}
