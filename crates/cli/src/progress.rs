//! The events of an action on stderr: a bar with an estimate on a terminal, a line per boot and cell elsewhere.

use std::{
    sync::{Mutex, MutexGuard, OnceLock},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use preemptlab_cluster::engine::{Event as TaskEvent, State as TaskState};
use preemptlab_lab::{Asked, Blame, Change, Event, Left, Look, OrBlame, Then, Watch};
use preemptlab_model::{Outcome, counted, plain};
use preemptlab_provision::Event as Provision;
use preemptlab_recording::RecordingError;
use preemptlab_report::human;
use preemptlab_runner::Cancel;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::{
    commands::merge,
    exit,
    output::{Output, say},
};

/// Shows what happens while an action is at work, and ends it at a signal.
pub struct Shown {
    output: Output,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    spinner: Option<Spinner>,
    bar: Option<Bar>,
    /// The last reason for which an engine did not answer, and the last state of its tasks.
    last_away: String,
    last_tasks: String,
}

impl Shown {
    /// Begins with nothing on the screen.
    pub fn new(output: &Output) -> Self {
        Self { output: *output, state: Mutex::default() }
    }

    /// Begins to spin before anything is brought here, and returns whether it is seen.
    pub fn spin(&self) -> bool {
        !self.spinner(&mut self.state()).bar.is_hidden()
    }

    /// Shows lines above the spinner until it ends.
    pub fn set_above(&self, lines: &str) {
        let lines = plain::lines(lines.trim_end());
        self.spinner(&mut self.state()).bar.set_prefix(format!("{lines}\n"));
    }

    fn spinner<'a>(&self, state: &'a mut State) -> &'a mut Spinner {
        state.spinner.get_or_insert_with(|| Spinner::new(self.output))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panicked")
    }
}

impl Watch for Shown {
    fn on(&self, event: Event<'_>) {
        let mut state = self.state();
        match event {
            Event::Providing => drop(self.spinner(&mut state)),
            Event::Provision(event) => self.spinner(&mut state).on_event(event),
            Event::Provided => {
                if let Some(spinner) = state.spinner.take() {
                    spinner.bar.finish_and_clear();
                }
            }
            Event::Cells { change, left } => {
                state.bar.get_or_insert_with(Bar::new).on_change(&change, left);
            }
            Event::Executed => {
                if let Some(bar) = state.bar.take() {
                    bar.bar.finish_and_clear();
                }
            }
            Event::Tasks { event, words, left } => {
                let words = words.map(|(path, words)| {
                    let words = plain::broken(&words);
                    format!("; {} ends with:{}{words}", path.display(), plain::BREAK)
                });
                state.on_tasks(event, &words.unwrap_or_default(), left);
            }
            Event::Unfinished(names) => {
                // The command ends with an error in any case.
                let _ = self.output.data(&names.join("\n"));
            }
            Event::Merged { merged, recording } => merge::tell(merged, recording, &self.output),
            Event::Look(look) => words_of(&look).into_iter().for_each(|words| state.note(words)),
            Event::Note(text) => state.note(text),
            Event::Warning(text) => self.output.warning(text),
        }
    }

    /// Returns the flag that the first signal sets; a second one ends the process at once. There is one flag
    /// for the whole process.
    fn cancel(&self) -> preemptlab_lab::Result<Cancel> {
        static CANCEL: OnceLock<Cancel> = OnceLock::new();
        if let Some(cancel) = CANCEL.get() {
            return Ok(cancel.clone());
        }
        let cancel = CANCEL.get_or_init(Cancel::default).clone();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register_conditional_shutdown(
                signal,
                exit::INTERRUPTED.into(),
                cancel.flag(),
            )
            .and_then(|_| signal_hook::flag::register(signal, cancel.flag()))
            .or_blame(Blame::Machine)?;
        }
        Ok(cancel)
    }
}

impl State {
    /// Says something, above the bar where there is one.
    fn note(&self, text: impl std::fmt::Display) {
        match &self.bar {
            Some(bar) => bar.tell(text),
            None => say(text),
        }
    }

    /// Shows what an engine told of its tasks; `words` are the last ones of tasks that ended early.
    fn on_tasks(&mut self, event: &TaskEvent<'_>, words: &str, left: Option<Left>) {
        match event {
            TaskEvent::PickedUp(jobs) => {
                let jobs: Vec<String> = jobs.iter().map(ToString::to_string).collect();
                self.note(format!("going on with what was submitted: job {}", jobs.join(", ")));
                self.tasks_do(String::new(), left);
            }
            TaskEvent::Submitted { job, tasks, attempt } => {
                let again = match attempt {
                    1 => String::new(),
                    attempt => format!(", submission {attempt} of at most 3"),
                };
                self.note(format!("submitted job {job} of {}{again}", counted(*tasks, "task")));
                self.tasks_do("submitted".to_owned(), left);
            }
            TaskEvent::State(TaskState { running, waiting, why }) => {
                let why = why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
                let what = match waiting {
                    0 => format!("{running} at work"),
                    waiting => format!("{running} at work, {waiting} waiting{why}"),
                };
                // A line for each state where no bar can be drawn, and where nothing is at work.
                if *running == 0 && self.last_tasks != what {
                    self.note(format!("tasks: {what}"));
                }
                self.last_tasks.clone_from(&what);
                self.last_away.clear();
                self.tasks_do(what, left);
            }
            TaskEvent::Lost { shards, cells } => {
                let (shards, cells) = (counted(shards.len(), "task"), counted(*cells, "cell"));
                self.note(format!("{shards} ended without {cells}{words}"));
            }
            TaskEvent::Damaged(cells) => {
                let cells = counted(*cells, "damaged cell");
                self.note(format!("{cells} removed from the parts, to be executed again"));
            }
            TaskEvent::Away(reason) => {
                if self.last_away != *reason {
                    self.note(format!("no answer, which is waited for: {reason}"));
                    self.last_away.clone_from(reason);
                }
            }
            // The lab tells these as changes of cells.
            TaskEvent::Planned { .. } | TaskEvent::Finished(_) => {}
        }
    }

    fn tasks_do(&mut self, what: String, left: Option<Left>) {
        if let (Some(bar), Some(left)) = (&mut self.bar, left) {
            bar.tasks_do = Some(what);
            bar.estimate(left);
        }
    }
}

/// Words a look at the results; `None` where the result says it itself.
fn words_of(look: &Look<'_>) -> Option<String> {
    let Look { number, asked, more, wall, then } = *look;
    match asked {
        Asked::Comparisons(at) => {
            let what = format!("look {number}: {}, about {}", at.wanted(), human(wall));
            Some(match then {
                Then::End => at.conclusion(),
                Then::More => format!("{what}: {}", at.added()),
                Then::OverBudget => format!("{what}: more than the budget allows"),
                Then::Full => format!("{}: no more can be added", at.open()),
            })
        }
        Asked::Kernels(_) => {
            let what = format!(
                "look {number}: not decided; {} would take about {}",
                counted(more, "more cell"),
                human(wall)
            );
            match then {
                Then::More => Some(what),
                Then::OverBudget => Some(format!("{what}, which the budget does not allow")),
                Then::End | Then::Full => None,
            }
        }
    }
}

/// Bar of the cells that are executed.
struct Bar {
    bar: ProgressBar,
    /// Words for the tasks of other machines, where these execute the cells.
    tasks_do: Option<String>,
}

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        Self { bar, tasks_do: None }
    }

    fn on_change(&mut self, change: &Change<'_>, left: Left) {
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
    fn estimate(&self, left: Left) {
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

    fn tell(&self, text: impl std::fmt::Display) {
        self.bar.suspend(|| say(text));
    }
}

/// One line that tells what is being brought here, on a terminal below what is known already.
struct Spinner {
    bar: ProgressBar,
    output: Output,
    said: String,
}

impl Spinner {
    /// Begins to spin.
    fn new(output: Output) -> Self {
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{prefix}{spinner} {msg}").expect("it is valid");
        bar.set_style(style);
        bar.set_message("looking for kernels and packages");
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, output, said: String::new() }
    }

    fn on_event(&mut self, event: Provision) {
        let text = match event {
            Provision::Waiting => {
                "waiting for another preemptlab to be done with the store".to_owned()
            }
            Provision::Refreshing => "refreshing the package lists".to_owned(),
            Provision::Downloading { what, bytes, bytes_total } => {
                let megabytes = |bytes: u64| bytes as f64 / 1e6;
                let line = format!("downloading {what}");
                self.show(&format!(
                    "{line} ({:.1} of {:.1} MB)",
                    megabytes(bytes),
                    megabytes(bytes_total)
                ));
                self.say_once(line);
                return;
            }
            Provision::Packing { what } => {
                self.show(&format!("packing {what}"));
                return;
            }
            Provision::Unpacking { what } => format!("unpacking {what}"),
            Provision::Copying { what } => format!("copying the source of {what}"),
            Provision::RunningScripts { what } => {
                let line =
                    format!("running the Makefile and the scripts of {what}, with your rights");
                self.show(&line);
                self.bar.suspend(|| self.output.note(&line));
                return;
            }
            Provision::Building { what } => format!("building {what}"),
            Provision::Compiling { what, steps, steps_expected } => {
                let line = format!("building {what}");
                self.show(&format!("{line} (file {steps} of about {steps_expected})"));
                // It is an estimate, so a build that still runs is never said to be done.
                let tenths = (steps * 10 / steps_expected.max(1)).min(9);
                self.say_once(match tenths {
                    0 => line,
                    tenths => format!("{line}, about {tenths}0 %"),
                });
                return;
            }
            Provision::Warning(text) => {
                self.bar.suspend(|| self.output.warning(text));
                return;
            }
        };
        self.show(&text);
        self.say_once(text);
    }

    fn show(&self, text: &str) {
        self.bar.set_message(plain::line(text).into_owned());
    }

    /// Prints a line for each step where no bar can be drawn.
    fn say_once(&mut self, text: String) {
        if self.bar.is_hidden() && self.said != text {
            self.output.note(&text);
            self.said = text;
        }
    }
}
