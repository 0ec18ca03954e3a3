//! The events of an action on stderr: a bar with an estimate on a terminal, a line per boot and cell elsewhere.

mod bar;
mod calibration;
mod spinner;

use std::sync::{Mutex, MutexGuard, OnceLock};

use preemptlab_cluster::engine::{Event as TaskEvent, State as TaskState};
use preemptlab_lab::{Asked, Blame, Event, Left, Look, OrBlame, Then, Watch};
use preemptlab_model::{counted, plain};
use preemptlab_report::human;
use preemptlab_runner::Cancel;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use self::{bar::Bar, calibration::Measuring, spinner::Spinner};
use crate::{
    commands::cluster::merge,
    exit,
    output::{Output, say},
};

/// Shows the events while an action is at work, and ends it at a signal.
pub struct Shown {
    output: Output,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    spinner: Option<Spinner>,
    bar: Option<Bar>,
    measuring: Option<Measuring>,
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
        self.spinner(&mut self.state()).is_seen()
    }

    /// Shows lines above the spinner until it ends.
    pub fn set_above(&self, lines: &str) {
        self.spinner(&mut self.state()).set_above(lines);
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
                    spinner.finish();
                }
            }
            Event::Cells { change, left } => {
                state.bar.get_or_insert_with(Bar::new).on_change(&change, left);
            }
            Event::Executed => {
                if let Some(bar) = state.bar.take() {
                    bar.finish();
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
            Event::Calibrating { part, passes } => {
                let begin = || Measuring::begin(part, self.output);
                let measuring = state.measuring.get_or_insert_with(begin);
                if let Some(passes) = passes {
                    measuring.pass(passes);
                }
            }
            Event::Calibrated => state.measuring = None,
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

    /// Shows an engine's report of its tasks; `words` are the last ones of tasks that ended early.
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
                    self.note(format!("the cluster does not answer, retrying: {reason}"));
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_look_says_what_follows() {
        let at = preemptlab_analysis::looks::Look { undecided: 2, needed: Vec::new() };
        let asked = Asked::Comparisons(&at);
        let wall = Duration::from_secs(90);
        let words = |then| words_of(&Look { number: 3, asked, more: 4, wall, then }).unwrap();
        assert_eq!(
            words(Then::End),
            "2 comparisons stay undecided: more replicates would not help"
        );
        let wanted = "look 3: 2 comparisons are undecided; 0 more cells, about 90 s: ";
        assert_eq!(words(Then::OverBudget), format!("{wanted}more than the budget allows"));
        assert_eq!(words(Then::More), wanted);
        assert_eq!(words(Then::Full), "2 comparisons stay undecided: no more can be added");
    }
}
