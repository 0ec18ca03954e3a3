//! A recording whose cells an engine's tasks execute: rounds joined to progress, merge and summary.

use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::Duration,
};

use preemptlab_cluster::{
    Workplace,
    emit::Line,
    engine::{
        End, Engine, Event, Finished, Pace, Round, RoundError, State, Who, Wish, Work, last_words,
    },
};
use preemptlab_experiment::RecordingWriter;
use preemptlab_lab::Prepared;
use preemptlab_model::{CellId, Factors, Outcome, counted, plain};
use preemptlab_runner::Summary;

use crate::{
    engine::EngineArgs,
    exit::{self, OrExit},
    joining, lab,
    output::Output,
    progress::Progress,
    seed,
    twice::Twice,
};

/// Most cells that are named one by one.
const NAMED_MAX: usize = 1000;

/// Returns preemptlab and the recording as workers find them, given the recording's path from the root.
pub type Place<'a> = dyn Fn(&Path) -> exit::Result<(Line, Line)> + 'a;

/// What the user wants of the engine.
pub struct OnEngine<'a> {
    /// The engine.
    pub engine: Box<dyn Engine>,
    /// Tells how workers find preemptlab and the recording.
    pub place: Box<Place<'a>>,
    /// How the engine is used.
    pub args: &'a EngineArgs,
    /// Share of the cells that two tasks execute.
    pub twice: Option<Twice>,
    /// Records what kernels do.
    pub trace: bool,
    /// Executes failed cells again.
    pub retry_failed: bool,
}

/// A recording that is ready for an engine's tasks.
pub struct Spread<'a> {
    prepared: &'a Prepared,
    engine: &'a dyn Engine,
    work: Work,
    wish: Wish,
    who: Who,
    output: &'a Output,
    /// Whether every round has got all of its cells.
    is_whole: Cell<bool>,
}

impl<'a> Spread<'a> {
    /// Makes a prepared recording ready: packs what the tasks need.
    pub fn begin(
        wanted: &'a OnEngine<'_>,
        prepared: &'a Prepared,
        writer: &RecordingWriter,
        output: &'a Output,
    ) -> exit::Result<Self> {
        let OnEngine { ref engine, ref place, args, twice, trace, retry_failed } = *wanted;
        let engine = engine.as_ref();
        let recording = writer.recording();
        let path = std::path::absolute(recording.path()).or_exit(exit::UNUSABLE)?;
        let (program, found_at) = place(&path)?;
        let twice_word = twice.map(|twice| twice.to_string().parse::<Line>());
        let work = Work {
            program,
            found_at,
            recording: path,
            trace,
            twice: twice_word.transpose().or_exit(exit::UNUSABLE)?,
            memory_mib: recording.manifest().experiment.machine.memory_mib,
        };
        seed::pack(prepared, recording.path(), output)?;
        let wish = Wish {
            tasks: args.tasks,
            twice: twice.map(Twice::share),
            is_traced: trace,
            retry_failed,
            detach: args.detach,
            attach: args.attach,
        };
        let who = Who::here(std::env::var("USER").ok(), env!("CARGO_PKG_VERSION"));
        let is_whole = Cell::new(true);
        Ok(Self { prepared, engine, work, wish, who, output, is_whole })
    }

    /// Returns about how many cells are executed at a time.
    pub fn jobs(&self) -> usize {
        // Who cannot say it now is asked again by the round.
        let cpus = self.engine.cpus().unwrap_or(1);
        self.wish.tasks.map_or(cpus, |tasks| tasks.min(cpus)) as usize
    }

    /// Submits the newest cells, and leaves them to the engine.
    pub fn submit(&self, writer: &RecordingWriter) -> exit::Result<()> {
        let (end, _) = self.round(writer)?;
        let recording = writer.recording().path().display();
        self.output.note(match end {
            End::Detached => format!(
                "the jobs are those of {}: the same command without --detach goes on with them",
                self.work.workplace().engine().display()
            ),
            _ => format!(
                "every cell of {recording} is finished: the same command without --detach joins them"
            ),
        });
        Ok(())
    }

    /// Executes the newest cells of the recording, and tells the host time that a cell takes.
    pub fn execute(&self, writer: &RecordingWriter) -> exit::Result<(Summary, Duration)> {
        let (end, cell_wall) = self.round(writer)?;
        joining::join(writer, self.output)?;
        if let End::Lacking(cells) = end {
            self.is_whole.set(false);
            return Err(self.lacking(writer, &cells));
        }
        Ok((summary(writer)?, cell_wall))
    }

    /// Removes what only the engine's tasks needed, once every cell is in the recording.
    pub fn end(&self) -> exit::Result<()> {
        match self.is_whole.get() {
            true => joining::clear(&self.work.recording, self.output),
            false => Ok(()),
        }
    }

    fn round(&self, writer: &RecordingWriter) -> exit::Result<(End, Duration)> {
        let cancel = lab::cancel()?;
        let planned = writer.recording().planned();
        let factors: BTreeMap<CellId, &Factors> =
            planned.filter_map(|(_, cell)| Some((cell.inputs()?.id(), &cell.factors))).collect();
        let told = Told {
            prepared: self.prepared,
            is_traced: self.wish.is_traced,
            factors,
            workplace: self.work.workplace(),
            output: self.output,
            progress: OnceCell::new(),
            last_away: RefCell::default(),
            last_state: RefCell::default(),
        };
        let round = Round {
            writer,
            engine: self.engine,
            work: &self.work,
            who: &self.who,
            wish: &self.wish,
            pace: Pace::default(),
        };
        let end = round.run(&mut |event| told.on_event(&event), &|| cancel.is_cancelled());
        let cell_wall = told.progress.get().map(Progress::cell_wall).unwrap_or_default();
        if let Some(progress) = told.progress.get() {
            progress.finish();
        }
        Ok((end?, cell_wall))
    }

    /// Names the cells that no task has finished, on standard output, and says why.
    fn lacking(&self, writer: &RecordingWriter, cells: &BTreeSet<CellId>) -> exit::Failure {
        let planned = writer.recording().planned().map(|(_, cell)| cell);
        let names: Vec<String> = planned
            .filter(|cell| cell.inputs().is_some_and(|inputs| cells.contains(&inputs.id())))
            .take(NAMED_MAX)
            .map(|cell| plain::line(&cell.factors.to_string()).into_owned())
            .collect();
        if let Err(failure) = self.output.data(&names.join("\n")) {
            return failure;
        }
        let said = match last_words(&self.work.workplace().log()) {
            Some((path, words)) => {
                let words = plain::broken(&words);
                format!("; {} ends with:{}{words}", path.display(), plain::BREAK)
            }
            None => String::new(),
        };
        let cells = counted(cells.len(), "cell");
        let message = format!(
            "{cells} not finished after three submissions; the same command submits them again{said}"
        );
        exit::failure(exit::CELLS_FAILED, message)
    }
}

/// Tells the user what happens in a round.
struct Told<'a> {
    prepared: &'a Prepared,
    is_traced: bool,
    factors: BTreeMap<CellId, &'a Factors>,
    workplace: Workplace,
    output: &'a Output,
    progress: OnceCell<Progress>,
    last_away: RefCell<String>,
    last_state: RefCell<String>,
}

impl Told<'_> {
    fn on_event(&self, event: &Event<'_>) {
        match event {
            Event::Planned { cells, finished, shards, cpus } => {
                let jobs = (*shards).min(*cpus).max(1) as usize;
                let progress = self
                    .progress
                    .get_or_init(|| Progress::elsewhere(self.prepared, self.is_traced, jobs));
                progress.planned_elsewhere(*cells, *finished, *shards);
            }
            Event::PickedUp(jobs) => {
                let jobs: Vec<String> = jobs.iter().map(ToString::to_string).collect();
                self.note(format!("going on with what was submitted: job {}", jobs.join(", ")));
                self.tasks_do("", true);
            }
            Event::Submitted { job, tasks, attempt } => {
                let again = match attempt {
                    1 => String::new(),
                    attempt => format!(", submission {attempt} of at most 3"),
                };
                self.note(format!("submitted job {job} of {}{again}", counted(*tasks, "task")));
                self.tasks_do("submitted", false);
            }
            Event::Finished(Finished(record)) => {
                if let (Some(progress), Some(factors)) =
                    (self.progress.get(), self.factors.get(&record.id))
                {
                    progress.finished_elsewhere(factors, record);
                }
            }
            Event::State(state) => self.state(state),
            Event::Lost { shards, cells } => {
                let said = match last_words(&self.workplace.log()) {
                    Some((path, words)) => {
                        let words = plain::broken(&words);
                        format!("; {} ends with:{}{words}", path.display(), plain::BREAK)
                    }
                    None => String::new(),
                };
                let (shards, cells) = (counted(shards.len(), "task"), counted(*cells, "cell"));
                self.note(format!("{shards} ended without {cells}{said}"));
            }
            Event::Damaged(cells) => {
                let cells = counted(*cells, "damaged cell");
                self.note(format!("{cells} removed from the parts, to be executed again"));
            }
            Event::Away(reason) => {
                if self.last_away.replace(reason.clone()) != *reason {
                    self.note(format!("no answer, which is waited for: {reason}"));
                }
            }
        }
    }

    fn state(&self, state: &State) {
        let State { running, waiting, why } = state;
        let why = why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
        let what = match waiting {
            0 => format!("{running} at work"),
            waiting => format!("{running} at work, {waiting} waiting{why}"),
        };
        // A line for each state where no bar can be drawn, and where nothing is at work.
        if *running == 0 && *self.last_state.borrow() != what {
            self.note(format!("tasks: {what}"));
        }
        self.last_state.replace(what.clone());
        self.last_away.replace(String::new());
        self.tasks_do(&what, false);
    }

    fn tasks_do(&self, what: &str, is_begun_anew: bool) {
        if let Some(progress) = self.progress.get() {
            progress.tasks_do(what, is_begun_anew);
        }
    }

    fn note(&self, text: String) {
        match self.progress.get() {
            Some(progress) => progress.note(text),
            None => self.output.note(text),
        }
    }
}

/// Counts the outcomes of a recording's cells, those with equal inputs once.
fn summary(writer: &RecordingWriter) -> exit::Result<Summary> {
    let mut summary = Summary::default();
    let mut seen = BTreeSet::new();
    for (_, planned) in writer.recording().planned() {
        let Some(inputs) = planned.inputs() else {
            summary.unavailable += 1;
            continue;
        };
        if !seen.insert(inputs.id()) {
            continue;
        }
        match writer.cells().get(inputs.id())?.map(|record| record.outcome) {
            Some(Outcome::Completed { .. }) => summary.completed += 1,
            Some(Outcome::Failed { .. }) => summary.failed += 1,
            Some(Outcome::Unavailable { .. }) => summary.unavailable += 1,
            None => {}
        }
    }
    Ok(summary)
}

impl From<RoundError> for exit::Failure {
    fn from(error: RoundError) -> Self {
        use preemptlab_cluster::engine::EngineError::{Away, Refused, Unusable};
        let code = match &error {
            RoundError::Recording(_) => {
                let RoundError::Recording(error) = error else { unreachable!("it was one") };
                return error.into();
            }
            RoundError::Interrupted(_) | RoundError::NotCancelled { .. } => exit::INTERRUPTED,
            RoundError::Engine(Unusable(_)) | RoundError::Jobs(_) | RoundError::Damaged { .. } => {
                exit::UNUSABLE
            }
            RoundError::Engine(Away(_) | Refused(_)) | RoundError::Io { .. } => exit::HOST,
        };
        exit::failure(code, error)
    }
}
