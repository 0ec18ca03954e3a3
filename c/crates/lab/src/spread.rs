//! A recording whose cells an engine's tasks execute: rounds joined to progress, merge and summary.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::Duration,
};

use preemptlab_cluster::{
    Workplace,
    emit::Line,
    engine::{self, End, Engine, Finished, Pace, Round, Who, Wish, Work, last_words},
};
use preemptlab_experiment::RecordingWriter;
use preemptlab_model::{CellId, Factors, Outcome, counted, plain};
use preemptlab_runner::Summary;

use crate::{
    Blame, Error, Event, Lab, OrBlame, Prepared, Result, Twice, joining, meter::Meter, seed,
};

/// Most cells that are named one by one.
const NAMED_MAX: usize = 1000;

/// Returns preemptlab and the recording as workers find them, given the recording's path from the root.
pub type Place<'a> = dyn Fn(&Path) -> Result<(Line, Line)> + 'a;

/// An engine with the user's options.
pub struct OnEngine<'a> {
    /// The engine.
    pub engine: Box<dyn Engine>,
    /// Tells how workers find preemptlab and the recording.
    pub place: Box<Place<'a>>,
    /// Number of tasks that were asked for.
    pub tasks: Option<u32>,
    /// Leaves the cells to the engine.
    pub detach: bool,
    /// Continues the submitted jobs.
    pub attach: bool,
    /// Share of the cells that two tasks execute.
    pub twice: Option<Twice>,
    /// The user, whose jobs they are.
    pub user: Option<String>,
}

/// A recording that is ready for an engine's tasks.
pub(crate) struct Spread<'a> {
    lab: &'a Lab<'a>,
    prepared: &'a Prepared,
    engine: &'a dyn Engine,
    work: Work,
    wish: Wish,
    who: Who,
}

impl<'a> Spread<'a> {
    /// Makes a prepared recording ready: packs the files that the tasks need.
    pub fn begin(
        lab: &'a Lab<'a>,
        wanted: &'a OnEngine<'_>,
        (is_traced, retry_failed): (bool, bool),
        prepared: &'a Prepared,
        writer: &RecordingWriter,
    ) -> Result<Self> {
        let OnEngine { engine, place, tasks, detach, attach, twice, user } = wanted;
        let recording = writer.recording();
        let path = std::path::absolute(recording.path()).or_blame(Blame::User)?;
        let (program, found_at) = place(&path)?;
        let twice_word = twice.map(|twice| twice.to_string().parse::<Line>());
        let work = Work {
            program,
            found_at,
            recording: path,
            trace: is_traced,
            twice: twice_word.transpose().or_blame(Blame::User)?,
            memory_mib: recording.manifest().experiment.machine.memory_mib,
        };
        seed::pack(lab, prepared, recording.path())?;
        let wish = Wish {
            tasks: *tasks,
            twice: twice.map(Twice::share),
            is_traced,
            retry_failed,
            detach: *detach,
            attach: *attach,
        };
        let who = Who::here(user.clone(), env!("CARGO_PKG_VERSION"));
        Ok(Self { lab, prepared, engine: engine.as_ref(), work, wish, who })
    }

    /// Returns about how many cells are executed at a time.
    pub fn jobs(&self) -> usize {
        // An engine that cannot say it now is asked again by the round.
        let cpus = self.engine.cpus().unwrap_or(1);
        self.wish.tasks.map_or(cpus, |tasks| tasks.min(cpus)) as usize
    }

    /// Submits the newest cells, and leaves them to the engine.
    pub fn submit(&self, writer: &RecordingWriter) -> Result<()> {
        let (end, _) = self.round(writer)?;
        let recording = writer.recording().path().display();
        self.lab.note(match end {
            End::Detached => format!(
                "the jobs are those of {}: the same command without --detach resumes them",
                self.work.workplace().engine().display()
            ),
            _ => format!(
                "every cell of {recording} is finished: the same command without --detach joins them"
            ),
        });
        Ok(())
    }

    /// Executes the newest cells of the recording, and tells the host time that a cell takes.
    pub fn execute(&self, writer: &RecordingWriter) -> Result<(Summary, Duration)> {
        let (end, cell_wall) = self.round(writer)?;
        joining::join(self.lab, writer)?;
        if let End::Lacking(cells) = end {
            return Err(self.lacking(writer, &cells));
        }
        Ok((summary(writer)?, cell_wall))
    }

    /// Removes the files that only the engine's tasks needed, once every cell is in the recording.
    pub fn end(&self) -> Result<()> {
        joining::clear(self.lab, &self.work.recording)
    }

    fn round(&self, writer: &RecordingWriter) -> Result<(End, Duration)> {
        let cancel = self.lab.watch.cancel()?;
        let planned = writer.recording().planned();
        let factors: BTreeMap<CellId, &Factors> =
            planned.filter_map(|(_, cell)| Some((cell.inputs()?.id(), &cell.factors))).collect();
        let told = Told {
            lab: self.lab,
            prepared: self.prepared,
            is_traced: self.wish.is_traced,
            factors,
            workplace: self.work.workplace(),
            meter: OnceCell::new(),
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
        let cell_wall = told.meter.get().map(Meter::cell_wall).unwrap_or_default();
        if let Some(meter) = told.meter.get() {
            meter.finish();
        }
        Ok((end?, cell_wall))
    }

    /// Names the cells that no task has finished, and says why.
    fn lacking(&self, writer: &RecordingWriter, cells: &BTreeSet<CellId>) -> Error {
        let planned = writer.recording().planned().map(|(_, cell)| cell);
        let names: Vec<String> = planned
            .filter(|cell| cell.inputs().is_some_and(|inputs| cells.contains(&inputs.id())))
            .take(NAMED_MAX)
            .map(|cell| plain::line(&cell.factors.to_string()).into_owned())
            .collect();
        self.lab.watch.on(Event::Unfinished(names));
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
        Error::new(Blame::Cells, message)
    }
}

/// Tells the events of a round.
struct Told<'a> {
    lab: &'a Lab<'a>,
    prepared: &'a Prepared,
    is_traced: bool,
    factors: BTreeMap<CellId, &'a Factors>,
    workplace: Workplace,
    meter: OnceCell<Meter<'a>>,
}

impl Told<'_> {
    fn on_event(&self, event: &engine::Event<'_>) {
        match event {
            engine::Event::Planned { cells, finished, shards, cpus } => {
                let jobs = (*shards).min(*cpus).max(1) as usize;
                let (watch, prepared) = (self.lab.watch, self.prepared);
                let meter = self
                    .meter
                    .get_or_init(|| Meter::elsewhere(watch, prepared, self.is_traced, jobs));
                meter.planned_elsewhere(*cells, *finished, *shards);
                return;
            }
            engine::Event::Finished(Finished(record)) => {
                if let (Some(meter), Some(factors)) =
                    (self.meter.get(), self.factors.get(&record.id))
                {
                    meter.finished_elsewhere(factors, record);
                }
                return;
            }
            engine::Event::PickedUp(_) => {
                if let Some(meter) = self.meter.get() {
                    meter.begin_anew();
                }
            }
            _ => {}
        }
        let is_lost = matches!(event, engine::Event::Lost { .. });
        let words = is_lost.then(|| last_words(&self.workplace.log())).flatten();
        let left = self.meter.get().map(Meter::left);
        self.lab.watch.on(Event::Tasks { event, words, left });
    }
}

/// Counts the outcomes of a recording's cells, those with equal inputs once.
fn summary(writer: &RecordingWriter) -> Result<Summary> {
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
