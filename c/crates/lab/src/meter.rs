//! How much of a run is left, and how long it takes.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard},
    time::{Duration, Instant},
};

use preemptlab_analysis::timings::{Pressure, Task, Tasks, Timings, wall};
use preemptlab_model::{CellRecord, Digest, Factors, Outcome, SnapshotId};

use crate::{Change, Event, Left, Prepared, Watch};

/// Follows the cells of a run, tells how much is left, and learns how long such cells take.
pub(crate) struct Meter<'a> {
    watch: &'a dyn Watch,
    jobs: usize,
    store: PathBuf,
    timings: Timings,
    tasks: Tasks,
    kernels: BTreeMap<Digest, String>,
    missing_boots: BTreeSet<SnapshotId>,
    memory_mib: u32,
    /// Whether time is virtual, so that other work only makes cells take longer.
    is_virtual: bool,
    /// Load of the machine at the start of the run.
    pressure: Pressure,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    booting: BTreeMap<SnapshotId, Instant>,
    boots_left: BTreeSet<SnapshotId>,
    running: usize,
    cells_left: usize,
    /// Host time of the finished cells; `cells_expected` is their time by themselves.
    cells_wall: Duration,
    cells_expected: Duration,
    failed: usize,
    measured: Vec<(Task, Duration)>,
    /// When other machines finished the last cell that is known.
    finished_last: Option<Instant>,
}

/// Returns the load of this machine's other work.
pub fn pressure() -> Pressure {
    let load = preemptlab_system::host::load(Path::new("/"));
    let preemptlab_system::host::Load { cpus, average, available_mib } = load;
    Pressure { cpus, load: average.unwrap_or_default(), available_mib }
}

impl<'a> Meter<'a> {
    /// Follows the boots and cells of an experiment, `jobs` at a time, traced or not.
    pub fn new(watch: &'a dyn Watch, prepared: &Prepared, is_traced: bool, jobs: usize) -> Self {
        let manifest = &prepared.manifest;
        let store = prepared.store().root();
        let kernels = manifest.kernels.iter();
        Self {
            watch,
            jobs,
            store: store.to_owned(),
            timings: Timings::read(store),
            tasks: Tasks::new(manifest, is_traced),
            kernels: kernels.map(|it| (it.image_sha256, it.name.to_string())).collect(),
            missing_boots: prepared.boots_missing(),
            memory_mib: manifest.experiment.machine.memory_mib,
            is_virtual: manifest.backend.is_vm(),
            pressure: pressure(),
            state: Mutex::default(),
        }
    }

    /// Follows the cells that other machines execute, `jobs` at a time.
    pub fn elsewhere(
        watch: &'a dyn Watch,
        prepared: &Prepared,
        is_traced: bool,
        jobs: usize,
    ) -> Self {
        let pressure = Pressure { cpus: jobs, load: 0.0, available_mib: None };
        let missing_boots = BTreeSet::new();
        Self { missing_boots, pressure, ..Self::new(watch, prepared, is_traced, jobs) }
    }

    /// Takes in how many cells other machines are to execute, and in how many tasks.
    pub fn planned_elsewhere(&self, cells: usize, finished: usize, tasks: u32) {
        let mut state = self.state();
        state.cells_left = cells;
        state.finished_last = Some(Instant::now());
        self.tell(&state, Change::Spread { finished, tasks, jobs: self.jobs });
    }

    /// Takes in a cell that another machine has finished.
    pub fn finished_elsewhere(&self, factors: &Factors, record: &CellRecord) {
        let mut state = self.state();
        let now = Instant::now();
        let since = state.finished_last.replace(now).map_or(Duration::ZERO, |last| now - last);
        let at_work = u32::try_from(self.jobs.min(state.cells_left).max(1)).unwrap_or(u32::MAX);
        state.cells_wall += since.saturating_mul(at_work);
        if let Some(task) = self.tasks.cell(factors) {
            state.cells_expected += self.timings.expected(task);
        }
        state.cells_left = state.cells_left.saturating_sub(1);
        if matches!(record.outcome, Outcome::Failed { .. }) {
            state.failed += 1;
        }
        self.tell(&state, Change::Finished { factors, record, wall: None });
    }

    /// Takes in that the cells that are finished until now took no time.
    pub fn begin_anew(&self) {
        let mut state = self.state();
        (state.cells_wall, state.cells_expected) = (Duration::ZERO, Duration::ZERO);
        state.finished_last = Some(Instant::now());
    }

    /// Returns the work that is left.
    pub fn left(&self) -> Left {
        self.left_of(&self.state())
    }

    /// Takes in an event of this machine.
    pub fn on_event(&self, event: &preemptlab_runner::Event<'_>) {
        use preemptlab_runner::Event::{Booted, Booting, Damaged, Finished, Planned, Started};
        let mut state = self.state();
        match *event {
            Planned { boots, cells, finished } => {
                state.cells_left = cells;
                let planned = boots.iter().map(|boot| boot.id());
                state.boots_left = planned.filter(|id| self.missing_boots.contains(id)).collect();
                let notes = if cells == 0 { Vec::new() } else { self.notes() };
                let (boots, jobs) = (boots.len(), self.jobs);
                self.tell(&state, Change::Planned { boots, finished, jobs, notes });
            }
            Damaged(error) => self.tell(&state, Change::Damaged(error)),
            Booting(boot) => {
                state.booting.insert(boot.id(), Instant::now());
                let name = self.kernels.get(&boot.kernel_sha256);
                let name = name.map_or("a kernel", String::as_str);
                let kernel = state.boots_left.contains(&boot.id()).then_some(name);
                self.tell(&state, Change::Booting { kernel });
            }
            Booted(boot) => {
                let began = state.booting.remove(&boot.id());
                let at_work = state.booting.len() + 1;
                // One that the store had takes no time.
                let was_missing = state.boots_left.remove(&boot.id());
                if let (Some(began), Some(task), true) =
                    (began, self.tasks.boot(boot.id()), was_missing)
                {
                    learn(&mut state, task, began.elapsed(), at_work);
                }
                self.tell(&state, Change::Booted);
            }
            Started(_) => {
                state.running += 1;
                self.tell(&state, Change::Started);
            }
            Finished { factors, record, wall, .. } => {
                let at_work = state.running;
                state.running = state.running.saturating_sub(1);
                state.cells_left = state.cells_left.saturating_sub(1);
                state.cells_wall += wall;
                if let Some(task) = self.tasks.cell(factors) {
                    state.cells_expected += self.timings.expected(task);
                    if matches!(record.outcome, Outcome::Completed { .. }) {
                        learn(&mut state, task, wall, at_work);
                    }
                }
                if matches!(record.outcome, Outcome::Failed { .. }) {
                    state.failed += 1;
                }
                self.tell(&state, Change::Finished { factors, record, wall: Some(wall) });
            }
        }
    }

    /// Returns the host time of a cell, on average and beside the others.
    pub fn cell_wall(&self) -> Duration {
        let slowdown = self.slowdown(&self.state());
        self.tasks.mean_cell(&self.timings).mul_f64(slowdown)
    }

    /// Says that no cell is executed any more, and keeps the measured times.
    pub fn finish(&self) {
        self.watch.on(Event::Executed);
        let measured = std::mem::take(&mut self.state().measured);
        Timings::learn(&self.store, &measured);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no worker panicked")
    }

    /// Tells a change; the state is the caller's, so that changes come one at a time.
    fn tell(&self, state: &State, change: Change<'_>) {
        self.watch.on(Event::Cells { change, left: self.left_of(state) });
    }

    /// Says why the run may take longer, or say something else.
    fn notes(&self) -> Vec<String> {
        let pressure = pressure();
        match self.is_virtual {
            true => pressure.notes(self.jobs, self.memory_mib),
            false => pressure.spoils().into_iter().collect(),
        }
    }

    fn left_of(&self, state: &State) -> Left {
        let boots = state.boots_left.iter().filter_map(|boot| self.tasks.boot(*boot));
        let boots: Vec<Duration> = boots.map(|task| self.timings.expected(task)).collect();
        let cell = self.tasks.mean_cell(&self.timings);
        let cells = cell * u32::try_from(state.cells_left).unwrap_or(u32::MAX);
        let longest_cell = if state.cells_left > 0 { cell } else { Duration::ZERO };
        let longest_boot = boots.iter().max().copied().unwrap_or_default();
        let slowdown = self.slowdown(state);
        Left {
            cells: state.cells_left,
            failed: state.failed,
            wall: wall(boots.iter().sum(), longest_boot, self.jobs, slowdown)
                + wall(cells, longest_cell, self.jobs, slowdown),
            is_booting: !state.boots_left.is_empty(),
        }
    }

    /// Returns the factor by which cells take longer than by themselves.
    fn slowdown(&self, state: &State) -> f64 {
        match state.cells_expected {
            Duration::ZERO => self.pressure.slowdown_beside(self.jobs.min(state.cells_left).max(1)),
            expected => state.cells_wall.div_duration_f64(expected),
        }
    }
}

/// Takes in how long a task would have taken by itself on a CPU.
fn learn(state: &mut State, task: &Task, wall: Duration, at_work: usize) {
    let alone = wall.div_f64(pressure().slowdown_with(at_work));
    state.measured.push((task.clone(), alone));
}
