//! A round: the cells of a plan, or of a look at its results, are executed by an engine's tasks.

use std::{
    collections::BTreeSet,
    thread,
    time::{Duration, Instant},
};

use preemptlab_model::{CellId, Outcome, Shard};
use preemptlab_recording::{RecordingError, RecordingWriter, manifest_sha256};

use crate::{
    Cut,
    engine::{
        Engine, EngineError, Finished, JobId, Jobs, RoundError, ShardList, State, Submission,
        Submitted, Who, Work, jobs::unix_s, lacking::Lacking,
    },
    newest, shards_for,
};

/// Most submissions of a round: a task that ends three times without its cells will do so again.
const ATTEMPTS_MAX: u32 = 3;

/// Interval at which a pause looks whether the user wants to end.
const BLINK: Duration = Duration::from_millis(50);

/// Share of the time that looking at the parts may take: a shared file system has others to serve.
const LOOK_SHARE: u32 = 20;

/// How often to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Interval between looks at the parts, at least.
    pub look: Duration,
    /// Interval between questions to the engine, at least: many sites limit them.
    pub ask: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { look: Duration::from_secs(1), ask: Duration::from_secs(30) }
    }
}

/// Options of a round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wish {
    /// Number of shards; `None` for some four a CPU.
    pub tasks: Option<u32>,
    /// Share of the cells that two shards execute.
    pub twice: Option<f64>,
    /// Whether cells are traced.
    pub is_traced: bool,
    /// Whether failed cells are executed again.
    pub retry_failed: bool,
    /// Whether the round only submits.
    pub detach: bool,
    /// Whether the round only continues earlier submissions.
    pub attach: bool,
}

/// Event of a round.
#[derive(Debug)]
pub enum Event<'a> {
    /// The work is known.
    Planned {
        /// Cells that are to be executed.
        cells: usize,
        /// Cells that the recording has.
        finished: usize,
        /// Number of shards into which the cells are cut.
        shards: u32,
        /// CPUs that the engine has for them.
        cpus: u32,
    },
    /// Jobs that were submitted before are at work.
    PickedUp(&'a [JobId]),
    /// A job was submitted.
    Submitted {
        /// The job.
        job: &'a JobId,
        /// Number of its tasks.
        tasks: usize,
        /// Which submission it belongs to, from 1.
        attempt: u32,
    },
    /// A cell is finished.
    Finished(Finished<'a>),
    /// The engine has told the state of the tasks.
    State(&'a State),
    /// The tasks have ended without some of their cells.
    Lost {
        /// Shards without some of their cells.
        shards: &'a [Shard],
        /// Number of those cells.
        cells: usize,
    },
    /// Damaged cells were removed from the parts.
    Damaged(usize),
    /// The engine or the file system does not answer for now, which is waited for.
    Away(String),
}

/// End of a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Every cell is in the recording or in a part.
    Whole,
    /// Cells are lacking after the last submission.
    Lacking(BTreeSet<CellId>),
    /// The tasks are at work, and the round does not wait for them.
    Detached,
}

/// A round, before it begins.
pub struct Round<'a, E> {
    /// The recording, whose newest cells are executed.
    pub writer: &'a RecordingWriter<E>,
    /// The engine.
    pub engine: &'a dyn Engine,
    /// Work of the tasks.
    pub work: &'a Work,
    /// The submitter.
    pub who: &'a Who,
    /// The user's options.
    pub wish: &'a Wish,
    /// How often to look.
    pub pace: Pace,
}

/// A round on its way.
struct Course<'a, 'b, E> {
    round: &'a Round<'b, E>,
    jobs: Jobs,
    lacking: Lacking,
    on_event: &'a mut dyn FnMut(Event<'_>),
    is_cancelled: &'a dyn Fn() -> bool,
}

impl<E> Round<'_, E> {
    /// Executes the newest cells of the recording into parts, or continues earlier submissions.
    ///
    /// # Errors
    ///
    /// [`RoundError`].
    pub fn run(
        &self,
        on_event: &mut dyn FnMut(Event<'_>),
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<End, RoundError> {
        let (look, boots) = newest(self.writer.recording());
        let cluster = self.patiently(on_event, is_cancelled, || self.engine.cluster())?;
        let before = self.before(&cluster, on_event, is_cancelled)?;
        let (mut jobs, is_alive) = match before {
            Some((jobs, is_alive)) if jobs.look == look => (jobs, is_alive),
            Some((jobs, true)) => return Err(elsewhere(&jobs, "execute cells of another look")),
            Some((jobs, false)) => (jobs.at(look), false),
            None if self.wish.attach => {
                let message = format!(
                    "no jobs were submitted for {}: `preemptlab cluster submit` submits them",
                    self.writer.recording().path().display()
                );
                return Err(RoundError::Jobs(message));
            }
            None => {
                let sha256 = manifest_sha256(self.writer.recording().path())?;
                let who = self.who.clone();
                (Jobs::new(self.engine.kind(), cluster, who, sha256).at(look), false)
            }
        };
        let cpus = self.patiently(on_event, is_cancelled, || self.engine.cpus())?;
        if !is_alive {
            // Cells that were executed in other shards are found in the recording, once they are merged.
            jobs.shards = match (self.wish.tasks, jobs.shards) {
                (Some(tasks), _) => tasks,
                (None, 0) => shards_for(&boots, cpus),
                (None, shards) => shards,
            };
            jobs.who = self.who.clone();
        }
        let mut cut = Cut::new(&boots, jobs.shards);
        if let Some(share) = self.wish.twice {
            cut = cut.with_twice(share);
        }
        if self.wish.retry_failed && !is_alive {
            self.remove_failed()?;
        }
        let (recording, cells) = (self.writer.recording(), self.writer.cells());
        let mut lacking =
            Lacking::new(recording, cells, look, &cut, jobs.shards, self.wish.is_traced)?;
        if self.wish.retry_failed && !is_alive {
            lacking.remove_failed()?;
        }
        let planned = boots.iter().map(|boot| boot.cells.len()).sum::<usize>();
        let left = lacking.cells().len();
        let (finished, shards) = (planned - left, jobs.shards);
        on_event(Event::Planned { cells: left, finished, shards, cpus });
        let mut course = Course { round: self, jobs, lacking, on_event, is_cancelled };
        match course.go(is_alive) {
            Err(RoundError::Interrupted(_)) => Err(course.cancel()),
            end => end,
        }
    }

    /// Returns the jobs that were submitted before, and whether some of them are at work.
    fn before(
        &self,
        cluster: &str,
        on_event: &mut dyn FnMut(Event<'_>),
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Option<(Jobs, bool)>, RoundError> {
        let path = self.work.workplace().engine();
        let Some(mut jobs) = Jobs::read(&path)? else { return Ok(None) };
        if jobs.engine != self.engine.kind() || jobs.cluster != cluster {
            // Numbers of jobs mean nothing here.
            let message = format!(
                "its jobs are those of {} on {}, submitted by {} on {}: go on there, or, if they have \
                 ended, remove {}",
                jobs.engine,
                jobs.cluster,
                jobs.who.user,
                jobs.who.host,
                path.display()
            );
            return Err(RoundError::Jobs(message));
        }
        for submitted in
            jobs.submissions.iter_mut().filter(|it| it.job.is_none() && !it.is_cancelled)
        {
            let name = submitted.name.to_string();
            match self.patiently(on_event, is_cancelled, || self.engine.find(&name))? {
                Some(job) => submitted.job = Some(job),
                // It never came to be, or has ended.
                None => submitted.is_cancelled = true,
            }
        }
        let is_alive = match jobs.jobs() {
            none if none.is_empty() => false,
            numbers => {
                let state =
                    self.patiently(on_event, is_cancelled, || self.engine.state(&numbers))?;
                !state.is_over()
            }
        };
        if is_alive && jobs.who.uid != self.who.uid {
            return Err(elsewhere(&jobs, "are at work for it"));
        }
        let sha256 = manifest_sha256(self.writer.recording().path())?;
        if jobs.recording_sha256 != sha256 {
            if is_alive {
                return Err(elsewhere(&jobs, "execute another plan"));
            }
            return Ok(None);
        }
        Ok(Some((jobs, is_alive)))
    }

    /// Removes the failed cells from the recording, so that they are executed again.
    fn remove_failed(&self) -> Result<(), RoundError> {
        let (_, boots) = newest(self.writer.recording());
        for id in boots.iter().flat_map(|boot| &boot.cells) {
            let record = self.writer.cells().get(*id)?;
            if record.is_some_and(|it| matches!(it.outcome, Outcome::Failed { .. })) {
                self.writer.cells().remove(*id)?;
            }
        }
        Ok(())
    }

    /// Asks the engine until it answers.
    fn patiently<T>(
        &self,
        on_event: &mut dyn FnMut(Event<'_>),
        is_cancelled: &dyn Fn() -> bool,
        mut ask: impl FnMut() -> Result<T, EngineError>,
    ) -> Result<T, RoundError> {
        loop {
            match ask() {
                Err(EngineError::Away(reason)) => on_event(Event::Away(reason)),
                answer => return Ok(answer?),
            }
            if !pause(self.pace.ask, is_cancelled) {
                return Err(RoundError::Interrupted(Vec::new()));
            }
        }
    }
}

impl<E> Course<'_, '_, E> {
    /// Submits and watches until nothing is lacking.
    fn go(&mut self, is_alive: bool) -> Result<End, RoundError> {
        let mut attempt = 0;
        if is_alive {
            self.look()?;
            (self.on_event)(Event::PickedUp(&self.jobs.jobs()));
            attempt = self.jobs.current().map(|it| it.attempt).max().unwrap_or(0);
            match self.round.wish.detach {
                true => return Ok(End::Detached),
                false => self.watch()?,
            }
        }
        loop {
            self.look()?;
            let shards = self.lacking.shards();
            if shards.is_empty() {
                return Ok(End::Whole);
            }
            if attempt > 0 {
                let cells = self.lacking.cells().len();
                (self.on_event)(Event::Lost { shards: &shards, cells });
            }
            if attempt >= ATTEMPTS_MAX {
                return Ok(End::Lacking(self.lacking.cells()));
            }
            let damaged = self.lacking.remove_damaged()?;
            if damaged > 0 {
                (self.on_event)(Event::Damaged(damaged));
            }
            attempt += 1;
            self.submit(&shards, attempt)?;
            match self.round.wish.detach {
                true => return Ok(End::Detached),
                false => self.watch()?,
            }
        }
    }

    /// Looks at the parts until they have every cell or the engine has none of the tasks any more.
    fn watch(&mut self) -> Result<(), RoundError> {
        let Pace { look, ask } = self.round.pace;
        let mut asked = Instant::now();
        loop {
            let began = Instant::now();
            self.look()?;
            let looked = began.elapsed();
            if self.lacking.shards().is_empty() {
                return Ok(());
            }
            if asked.elapsed() >= ask {
                match self.round.engine.state(&self.jobs.jobs()) {
                    Ok(state) if state.is_over() => return Ok(()),
                    Ok(state) => (self.on_event)(Event::State(&state)),
                    // The tasks are at work, whether the engine answers or not.
                    Err(error) => (self.on_event)(Event::Away(error.to_string())),
                }
                asked = Instant::now();
            }
            self.pause(look.max(looked * LOOK_SHARE))?;
        }
    }

    /// Looks at the parts. A file system that does not answer is waited for.
    fn look(&mut self) -> Result<(), RoundError> {
        loop {
            let on_event = &mut *self.on_event;
            let looked = self.lacking.look(&mut |finished| on_event(Event::Finished(finished)));
            match looked {
                Err(RoundError::Recording(error @ RecordingError::Io { .. })) => {
                    (self.on_event)(Event::Away(error.to_string()));
                }
                looked => return looked,
            }
            self.pause(self.round.pace.ask)?;
        }
    }

    /// Submits shards, in as few jobs as the engine allows.
    fn submit(&mut self, shards: &[Shard], attempt: u32) -> Result<(), RoundError> {
        let round = self.round;
        let path = round.work.workplace().engine();
        let tasks_max = {
            let engine = round.engine;
            round.patiently(self.on_event, self.is_cancelled, || engine.tasks_max())?.max(1)
        };
        let log = round.work.workplace().folder().join("log");
        log.make().map_err(RecordingError::from)?;
        let block = |shard: &Shard| (shard.index() - 1) / tasks_max;
        for shards in shards.chunk_by(|one, two| block(one) == block(two)) {
            let digest = self.jobs.recording_sha256.short();
            let submitted_unix_s = unix_s();
            let serial = self.jobs.submissions.len() + 1;
            let name = format!("preemptlab-{}-{submitted_unix_s}-{serial}", &digest[..8]);
            self.jobs.submissions.push(Submitted {
                name: name.parse().expect("its characters are those of a job"),
                job: None,
                look: self.jobs.look,
                shards: ShardList::new(shards.iter().map(|shard| shard.index())),
                attempt,
                submitted_unix_s,
                is_cancelled: false,
            });
            // First, so that the job of a process that is killed now can be found.
            self.jobs.write(&path)?;
            let submission = Submission { name: &name, shards, work: round.work };
            let job = self.submit_one(&submission).inspect_err(|error| {
                if let RoundError::Engine(_) = error {
                    // It was refused, so there is none.
                    self.jobs.submissions.pop();
                    let _ = self.jobs.write(&path);
                }
            })?;
            self.jobs.submissions.last_mut().expect("it was added").job = Some(job.clone());
            self.jobs.write(&path)?;
            let tasks = shards.len();
            (self.on_event)(Event::Submitted { job: &job, tasks, attempt });
        }
        Ok(())
    }

    /// Submits a job, whose engine may not answer, once.
    fn submit_one(&mut self, submission: &Submission<'_>) -> Result<JobId, RoundError> {
        let engine = self.round.engine;
        loop {
            match engine.submit(submission) {
                Err(EngineError::Away(reason)) => (self.on_event)(Event::Away(reason)),
                answer => return Ok(answer?),
            }
            self.pause(self.round.pace.ask)?;
            // The engine may have taken it and been unable to say so.
            let found = {
                let (on_event, name) = (&mut *self.on_event, submission.name);
                self.round.patiently(on_event, self.is_cancelled, || engine.find(name))?
            };
            if let Some(job) = found {
                return Ok(job);
            }
        }
    }

    /// Cancels the jobs, and returns how the round ends.
    fn cancel(&mut self) -> RoundError {
        let engine = self.round.engine;
        let path = self.round.work.workplace().engine();
        let mut error = None;
        let unanswered = |it: &&mut Submitted| it.job.is_none() && !it.is_cancelled;
        for submitted in self.jobs.submissions.iter_mut().filter(unanswered) {
            match engine.find(submitted.name.as_ref()) {
                Ok(job) => submitted.job = job,
                Err(reason) => error = Some(reason),
            }
        }
        let jobs = self.jobs.jobs();
        let names: Vec<String> = jobs.iter().map(ToString::to_string).collect();
        if error.is_none() && !jobs.is_empty() {
            error = engine.cancel(&jobs).err();
        }
        if let Some(error) = error {
            let jobs = format!("jobs {}", names.join(", "));
            return RoundError::NotCancelled { jobs, error };
        }
        self.jobs.cancelled();
        match self.jobs.submissions.is_empty() {
            true => RoundError::Interrupted(names),
            false => match self.jobs.write(&path) {
                Ok(()) => RoundError::Interrupted(names),
                Err(error) => error,
            },
        }
    }

    fn pause(&self, wall: Duration) -> Result<(), RoundError> {
        match pause(wall, self.is_cancelled) {
            true => Ok(()),
            false => Err(RoundError::Interrupted(Vec::new())),
        }
    }
}

/// Waits, and returns whether the user wants to continue.
fn pause(wall: Duration, is_cancelled: &dyn Fn() -> bool) -> bool {
    let began = Instant::now();
    while !is_cancelled() {
        match wall.checked_sub(began.elapsed()) {
            Some(left) if !left.is_zero() => thread::sleep(left.min(BLINK)),
            _ => return true,
        }
    }
    false
}

/// Returns the error about another user's jobs.
fn elsewhere(jobs: &Jobs, what: &str) -> RoundError {
    let numbers: Vec<String> = jobs.jobs().iter().map(ToString::to_string).collect();
    let Who { user, host, .. } = &jobs.who;
    RoundError::Jobs(format!(
        "jobs {} of {user}, submitted on {host}, {what}: wait for them or cancel them, or choose another \
         folder with --out",
        numbers.join(", ")
    ))
}
