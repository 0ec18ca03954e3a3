//! Progress on stderr: a bar with an estimate on a terminal, a line per boot and cell elsewhere.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use preemptlab_analysis::timings::{Pressure, Task, Tasks, Timings, wall};
use preemptlab_lab::Prepared;
use preemptlab_model::{CellRecord, Digest, Factors, Outcome, SnapshotId, counted};
use preemptlab_recording::RecordingError;
use preemptlab_report::human;
use preemptlab_runner::Event;

use crate::output::say;

/// Renders the events of a run, and learns from them how long such runs take.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
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
    /// Whether other machines execute the cells.
    is_elsewhere: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    booting: BTreeMap<SnapshotId, Instant>,
    boots_left: BTreeSet<SnapshotId>,
    running: usize,
    cells_left: usize,
    cells_done: usize,
    /// Host time of the finished cells; `cells_expected` is their time by themselves.
    cells_wall: Duration,
    cells_expected: Duration,
    failed: usize,
    measured: Vec<(Task, Duration)>,
    /// When other machines finished the last cell that is known.
    finished_last: Option<Instant>,
    /// What their tasks do.
    tasks_do: String,
}

/// Returns the load of this machine's other work.
pub fn pressure() -> Pressure {
    let load = preemptlab_host::load(Path::new("/"));
    let preemptlab_host::Load { cpus, average, available_mib } = load;
    Pressure { cpus, load: average.unwrap_or_default(), available_mib }
}

impl Progress {
    /// Follows the boots and cells of an experiment, so many at a time, traced or not.
    pub fn new(prepared: &Prepared, is_traced: bool, jobs: usize) -> Self {
        let manifest = &prepared.manifest;
        let store = prepared.store().root();
        let kernels = manifest.kernels.iter();
        Self {
            bar: ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()),
            jobs,
            store: store.to_owned(),
            timings: Timings::read(store),
            tasks: Tasks::new(manifest, is_traced),
            kernels: kernels.map(|it| (it.image_sha256, it.name.to_string())).collect(),
            missing_boots: prepared.boots_missing(),
            memory_mib: manifest.experiment.machine.memory_mib,
            is_virtual: manifest.backend.is_vm(),
            pressure: pressure(),
            is_elsewhere: false,
            state: Mutex::default(),
        }
    }

    /// Follows the cells that other machines execute, so many at a time.
    pub fn elsewhere(prepared: &Prepared, is_traced: bool, jobs: usize) -> Self {
        let pressure = Pressure { cpus: jobs, load: 0.0, available_mib: None };
        let missing_boots = BTreeSet::new();
        Self { missing_boots, pressure, is_elsewhere: true, ..Self::new(prepared, is_traced, jobs) }
    }

    /// Takes in how many cells other machines are to execute, and in how many tasks.
    pub fn planned_elsewhere(&self, cells: usize, finished: usize, tasks: u32) {
        let mut state = self.state();
        state.cells_left = cells;
        state.finished_last = Some(Instant::now());
        self.show(cells, finished);
        if cells > 0 && self.bar.is_hidden() {
            let (cells, tasks) = (counted(cells, "cell"), counted(tasks, "task"));
            say(format_args!("{cells} to run in {tasks}, {} at a time", self.jobs));
            say(format_args!("this takes about {}", human(self.left(&state))));
        }
        self.estimate(&state);
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
        state.cells_done += 1;
        self.bar.inc(1);
        if let Outcome::Failed { reason, .. } = &record.outcome {
            state.failed += 1;
            self.tell(format_args!("failed: {factors}: {reason}"));
        } else if self.bar.is_hidden() {
            let left = human(self.left(&state));
            say(format_args!("{factors} ({} to go, about {left} left)", state.cells_left));
        }
        self.estimate(&state);
    }

    /// Takes in that what was finished until now took nobody's time, or what the tasks do.
    pub fn tasks_do(&self, what: &str, is_begun_anew: bool) {
        let mut state = self.state();
        if is_begun_anew {
            (state.cells_wall, state.cells_expected) = (Duration::ZERO, Duration::ZERO);
            state.finished_last = Some(Instant::now());
        }
        what.clone_into(&mut state.tasks_do);
        self.estimate(&state);
    }

    /// Says something above the bar.
    pub fn note(&self, text: impl std::fmt::Display) {
        self.tell(format_args!("{text}"));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no worker panicked")
    }

    /// Shows how much is left.
    fn estimate(&self, state: &State) {
        let left = self.left(state);
        let failed =
            if state.failed > 0 { format!(", {} failed", state.failed) } else { String::new() };
        let doing = match (self.is_elsewhere, state.boots_left.is_empty()) {
            (true, _) => state.tasks_do.as_str(),
            (false, true) => "running",
            (false, false) => "booting",
        };
        self.bar.set_message(format!("{doing}{failed}, about {} left", human(left)));
    }

    /// Handles one event.
    pub fn on_event(&self, event: &Event<'_>) {
        let mut state = self.state();
        match event {
            Event::Planned { boots, cells, finished } => {
                state.cells_left = *cells;
                let planned = boots.iter().map(|boot| boot.id());
                state.boots_left = planned.filter(|id| self.missing_boots.contains(id)).collect();
                self.start(&state, boots.len(), *finished);
            }
            Event::Damaged(error) => {
                let what = match error {
                    RecordingError::Damaged { path, reason } => {
                        format!("{}: {reason}", path.display())
                    }
                    error => error.to_string(),
                };
                self.tell(format_args!(
                    "note: removed from the store, to be executed again: {what}"
                ));
            }
            Event::Booting(boot) => {
                state.booting.insert(boot.id(), Instant::now());
                if self.bar.is_hidden() && state.boots_left.contains(&boot.id()) {
                    let kernel = self.kernels.get(&boot.kernel_sha256);
                    say(format_args!("booting {}", kernel.map_or("a kernel", String::as_str)));
                }
            }
            Event::Booted(boot) => {
                let began = state.booting.remove(&boot.id());
                let at_work = state.booting.len() + 1;
                // One that the store had takes no time.
                let was_missing = state.boots_left.remove(&boot.id());
                if let (Some(began), Some(task), true) =
                    (began, self.tasks.boot(boot.id()), was_missing)
                {
                    self.learn(&mut state, task, began.elapsed(), at_work);
                }
                self.bar.inc(1);
            }
            Event::Started(_) => state.running += 1,
            Event::Finished { factors, record, wall, .. } => {
                let at_work = state.running;
                state.running = state.running.saturating_sub(1);
                state.cells_left = state.cells_left.saturating_sub(1);
                state.cells_done += 1;
                state.cells_wall += *wall;
                if let Some(task) = self.tasks.cell(factors) {
                    state.cells_expected += self.timings.expected(task);
                    if matches!(record.outcome, Outcome::Completed { .. }) {
                        self.learn(&mut state, task, *wall, at_work);
                    }
                }
                self.bar.inc(1);
                if let Outcome::Failed { reason, .. } = &record.outcome {
                    state.failed += 1;
                    self.tell(format_args!("failed: {factors}: {reason}"));
                } else if self.bar.is_hidden() {
                    say(format_args!(
                        "{factors} ({:.1} s, {} to go, about {} left)",
                        wall.as_secs_f64(),
                        state.cells_left,
                        human(self.left(&state))
                    ));
                }
            }
        }
        self.estimate(&state);
    }

    /// Returns the host time of a cell, on average and beside the others.
    pub fn cell_wall(&self) -> Duration {
        let state = self.state.lock().expect("no worker panicked");
        self.tasks.mean_cell(&self.timings).mul_f64(self.slowdown(&state))
    }

    /// Removes the bar, and keeps what was learnt.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
        let measured = std::mem::take(&mut self.state.lock().expect("no worker panicked").measured);
        Timings::learn(&self.store, &measured);
    }

    /// Takes in what a task would have taken by itself on a CPU.
    fn learn(&self, state: &mut State, task: &Task, wall: Duration, at_work: usize) {
        let alone = wall.div_f64(pressure().slowdown_with(at_work));
        state.measured.push((task.clone(), alone));
    }

    fn show(&self, steps: usize, finished: usize) {
        self.bar.set_length(steps as u64);
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} ({elapsed} so far)")
            .expect("the template is valid");
        self.bar.set_style(style);
        self.bar.enable_steady_tick(Duration::from_millis(500));
        if finished > 0 {
            self.tell(format_args!("finished already: {}", counted(finished, "cell")));
        }
    }

    fn start(&self, state: &State, boots: usize, finished: usize) {
        let cells = state.cells_left;
        self.show(boots + cells, finished);
        if cells == 0 {
            return;
        }
        let pressure = pressure();
        let notes = match self.is_virtual {
            true => pressure.notes(self.jobs, self.memory_mib),
            false => pressure.spoils().into_iter().collect(),
        };
        for note in notes {
            self.tell(format_args!("{note}"));
        }
        if self.bar.is_hidden() {
            let (cells, boots) = (counted(cells, "cell"), counted(boots, "boot"));
            say(format_args!("{cells} of {boots} to run, {} at a time", self.jobs));
            say(format_args!("this takes about {}", human(self.left(state))));
        }
    }

    fn tell(&self, text: std::fmt::Arguments<'_>) {
        self.bar.suspend(|| say(text));
    }

    /// Returns the factor by which cells take longer than by themselves.
    fn slowdown(&self, state: &State) -> f64 {
        match state.cells_expected {
            Duration::ZERO => self.pressure.slowdown_beside(self.jobs.min(state.cells_left).max(1)),
            expected => state.cells_wall.div_duration_f64(expected),
        }
    }

    fn left(&self, state: &State) -> Duration {
        let boots = state.boots_left.iter().filter_map(|boot| self.tasks.boot(*boot));
        let boots: Vec<Duration> = boots.map(|task| self.timings.expected(task)).collect();
        let cell = self.tasks.mean_cell(&self.timings);
        let cells = cell * u32::try_from(state.cells_left).unwrap_or(u32::MAX);
        let longest_cell = if state.cells_left > 0 { cell } else { Duration::ZERO };
        let longest_boot = boots.iter().max().copied().unwrap_or_default();
        let slowdown = self.slowdown(state);
        wall(boots.iter().sum(), longest_boot, self.jobs, slowdown)
            + wall(cells, longest_cell, self.jobs, slowdown)
    }
}
