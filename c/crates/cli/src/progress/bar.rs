//! Progress of cells: a bar with an estimate on a terminal, a line per boot and cell elsewhere.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use preemptlab_lab::{Change, Left};
use preemptlab_model::{Outcome, counted};
use preemptlab_recording::RecordingError;
use preemptlab_report::human;

use crate::output::say;

/// Bar of the cells that are executed.
pub struct Bar {
    bar: ProgressBar,
    /// Words for the tasks of other machines, where these execute the cells.
    pub tasks_do: Option<String>,
}

impl Bar {
    /// Begins without a bar, until the work is known.
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        Self { bar, tasks_do: None }
    }

    /// Shows a change.
    pub fn on_change(&mut self, change: &Change<'_>, left: Left) {
        match change {
            Change::Planned { boots, finished, jobs, notes } => {
                self.begin(boots + left.cells, *finished);
                for note in notes {
                    self.tell(note);
                }
                if left.cells > 0 && self.bar.is_hidden() {
                    let (cells, boots) = (counted(left.cells, "cell"), counted(*boots, "boot"));
                    say(format_args!("{cells} of {boots} to run, {jobs} at a time"));
                    say(format_args!("this takes about {}", human(left.wall)));
                }
            }
            Change::Spread { finished, tasks, jobs } => {
                self.tasks_do = Some(self.tasks_do.take().unwrap_or_default());
                self.begin(left.cells, *finished);
                if left.cells > 0 && self.bar.is_hidden() {
                    let (cells, tasks) = (counted(left.cells, "cell"), counted(*tasks, "task"));
                    say(format_args!("{cells} to run in {tasks}, {jobs} at a time"));
                    say(format_args!("this takes about {}", human(left.wall)));
                }
            }
            Change::Damaged(error) => {
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
            Change::Booting { kernel } => {
                if let (Some(kernel), true) = (kernel, self.bar.is_hidden()) {
                    say(format_args!("booting {kernel}"));
                }
            }
            Change::Booted => self.bar.inc(1),
            Change::Started => {}
            Change::Finished { factors, record, wall } => {
                self.bar.inc(1);
                if let Outcome::Failed { reason, .. } = &record.outcome {
                    self.tell(format_args!("failed: {factors}: {reason}"));
                } else if self.bar.is_hidden() {
                    let took = wall.map(|wall| format!("{:.1} s, ", wall.as_secs_f64()));
                    say(format_args!(
                        "{factors} ({}{} to go, about {} left)",
                        took.unwrap_or_default(),
                        left.cells,
                        human(left.wall)
                    ));
                }
            }
        }
        self.estimate(left);
    }

    fn begin(&self, steps: usize, finished: usize) {
        self.bar.set_length(steps as u64);
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} ({elapsed} so far)")
            .expect("the template is valid");
        self.bar.set_style(style);
        self.bar.enable_steady_tick(Duration::from_millis(500));
        if finished > 0 {
            self.tell(format_args!("finished already: {}", counted(finished, "cell")));
        }
    }

    /// Shows how much is left.
    pub fn estimate(&self, left: Left) {
        let failed = match left.failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        let doing = match (&self.tasks_do, left.is_booting) {
            (Some(tasks_do), _) => tasks_do.as_str(),
            (None, false) => "running",
            (None, true) => "booting",
        };
        self.bar.set_message(format!("{doing}{failed}, about {} left", human(left.wall)));
    }

    /// Says something above the bar.
    pub fn tell(&self, text: impl std::fmt::Display) {
        self.bar.suspend(|| say(text));
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
