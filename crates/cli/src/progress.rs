//! Progress on stderr: a bar with an estimate on a terminal, a line per cell elsewhere.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use preemptlab_analysis::plan::BOOT_WALL;
use preemptlab_model::Outcome;
use preemptlab_recording::RecordingError;
use preemptlab_report::human;
use preemptlab_runner::Event;

use crate::output::say;

/// Renders the events of a run.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    jobs: usize,
    cell_wall: Duration,
    state: Mutex<State>,
    running: AtomicUsize,
}

#[derive(Debug)]
struct State {
    boots_left: usize,
    boot_wall: Duration,
    booting_since: Option<Instant>,
    cells_left: usize,
    cells_done: usize,
    cells_wall: Duration,
    failed: usize,
}

impl Progress {
    /// `cell_wall` is the expected host time of a cell, until some are measured.
    pub fn new(jobs: usize, cell_wall: Duration) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let state = State {
            boots_left: 0,
            boot_wall: BOOT_WALL,
            booting_since: None,
            cells_left: 0,
            cells_done: 0,
            cells_wall: Duration::ZERO,
            failed: 0,
        };
        Self { bar, jobs, cell_wall, state: Mutex::new(state), running: AtomicUsize::new(0) }
    }

    /// Takes one event in.
    pub fn on_event(&self, event: &Event<'_>) {
        let mut state = self.state.lock().expect("no worker panicked");
        match event {
            Event::Planned { boots, cells, finished } => {
                state.boots_left = *boots;
                state.cells_left = *cells;
                self.start(*boots, *cells, *finished);
            }
            Event::Damaged(error) => {
                let what = match error {
                    RecordingError::Damaged { path, reason } => {
                        format!("{}: {reason}", path.display())
                    }
                    error => error.to_string(),
                };
                self.bar.suspend(|| {
                    say(format_args!("note: removed from the store, to be executed again: {what}"));
                });
            }
            Event::Booting(_) => {
                state.booting_since.get_or_insert_with(Instant::now);
            }
            Event::Booted(_) => {
                state.boots_left -= 1;
                if let Some(since) = state.booting_since.take() {
                    state.boot_wall = since.elapsed();
                }
                self.bar.inc(1);
            }
            Event::Started(_) => {
                self.running.fetch_add(1, Ordering::Relaxed);
            }
            Event::Finished { factors, record, wall, .. } => {
                self.running.fetch_sub(1, Ordering::Relaxed);
                state.cells_left -= 1;
                state.cells_done += 1;
                state.cells_wall += *wall;
                self.bar.inc(1);
                if let Outcome::Failed { reason, .. } = &record.outcome {
                    state.failed += 1;
                    self.bar.suspend(|| say(format_args!("failed: {factors}: {reason}")));
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
        let left = self.left(&state);
        let failed =
            if state.failed > 0 { format!(", {} failed", state.failed) } else { String::new() };
        let doing = if state.boots_left > 0 { "booting" } else { "running" };
        self.bar.set_message(format!("{doing}{failed}, about {} left", human(left)));
    }

    /// The host time that a cell took on average, or is expected to take while none has.
    pub fn cell_wall(&self) -> Duration {
        self.mean(&self.state.lock().expect("no worker panicked"))
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn start(&self, boots: usize, cells: usize, finished: usize) {
        self.bar.set_length((boots + cells) as u64);
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} ({elapsed} so far)")
            .expect("the template is valid");
        self.bar.set_style(style);
        self.bar.enable_steady_tick(Duration::from_millis(500));
        if finished > 0 {
            self.bar.suspend(|| say(format_args!("finished already: {finished} cells")));
        }
        if self.bar.is_hidden() && cells > 0 {
            say(format_args!("{cells} cells of {boots} boots to run, {} at a time", self.jobs));
        }
    }

    fn mean(&self, state: &State) -> Duration {
        match u32::try_from(state.cells_done) {
            Ok(done @ 1..) => state.cells_wall / done,
            _ => self.cell_wall,
        }
    }

    fn left(&self, state: &State) -> Duration {
        let cell_wall = self.mean(state);
        let rounds = |count: usize| u32::try_from(count.div_ceil(self.jobs)).unwrap_or(u32::MAX);
        state.boot_wall * rounds(state.boots_left) + cell_wall * rounds(state.cells_left)
    }
}
