//! Rounds over an engine whose tasks end, fail, hang and get lost as a test says.

mod common;

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    fs,
    path::Path,
    time::Duration,
};

use common::{Named, part, recording, work};
use preemptlab_cluster::{
    Workplace,
    engine::{
        End, Engine, EngineError, EngineKind, Event, JobId, Jobs, Pace, Round, RoundError, State,
        Submission, Who, Wish, Work,
    },
};
use preemptlab_model::Shard;
use preemptlab_recording::RecordingWriter;

/// Engine whose tasks finish as many cells as `most` says of their shard, at once.
struct Fake<'a> {
    recording: &'a Path,
    /// Cells that a task finishes before it ends, by attempt and shard; all of them by default.
    most: BTreeMap<(usize, u32), usize>,
    /// Answers in the place of the engine's own, the first first.
    answers: RefCell<Vec<EngineError>>,
    /// Whether tasks hang: they finish nothing, and are there until they are cancelled.
    hang: bool,
    tasks_max: u32,
    jobs: RefCell<Vec<(String, Vec<u32>)>>,
    asked: Cell<usize>,
    cancelled: RefCell<Vec<JobId>>,
}

impl<'a> Fake<'a> {
    fn new(recording: &'a Path) -> Self {
        Self {
            recording,
            most: BTreeMap::new(),
            answers: RefCell::default(),
            hang: false,
            tasks_max: 1000,
            jobs: RefCell::default(),
            asked: Cell::default(),
            cancelled: RefCell::default(),
        }
    }

    fn shards(&self) -> Vec<Vec<u32>> {
        self.jobs.borrow().iter().map(|(_, shards)| shards.clone()).collect()
    }
}

impl Engine for Fake<'_> {
    fn kind(&self) -> EngineKind {
        EngineKind::Slurm
    }

    fn cluster(&self) -> Result<String, EngineError> {
        Ok("test".into())
    }

    fn cpus(&self) -> Result<u32, EngineError> {
        Ok(2)
    }

    fn tasks_max(&self) -> Result<u32, EngineError> {
        Ok(self.tasks_max)
    }

    fn submit(&self, submission: &Submission<'_>) -> Result<JobId, EngineError> {
        let Submission { name, shards, .. } = *submission;
        let indices = shards.iter().map(|shard| shard.index()).collect();
        let answer = self.answers.borrow_mut().pop();
        if let Some(EngineError::Refused(text)) = answer {
            return Err(EngineError::Refused(text));
        }
        let attempt = {
            let mut jobs = self.jobs.borrow_mut();
            jobs.push((name.to_owned(), indices));
            jobs.len()
        };
        if !self.hang {
            for shard in shards {
                let most = self.most.get(&(attempt, shard.index())).copied();
                work(self.recording, *shard, most.unwrap_or(usize::MAX));
            }
        }
        match answer {
            // It took the job, and its answer was lost.
            Some(error) => Err(error),
            None => Ok(attempt.to_string().parse().unwrap()),
        }
    }

    fn find(&self, name: &str) -> Result<Option<JobId>, EngineError> {
        let place = self.jobs.borrow().iter().position(|(job, _)| job == name);
        Ok(place.map(|place| (place + 1).to_string().parse().unwrap()))
    }

    fn state(&self, jobs: &[JobId]) -> Result<State, EngineError> {
        self.asked.set(self.asked.get() + 1);
        let is_there = |job: &&JobId| !self.cancelled.borrow().contains(job);
        let running = if self.hang { jobs.iter().filter(is_there).count() } else { 0 };
        Ok(State { running, ..State::default() })
    }

    fn cancel(&self, jobs: &[JobId]) -> Result<(), EngineError> {
        self.cancelled.borrow_mut().extend(jobs.iter().cloned());
        Ok(())
    }
}

fn who(uid: u32) -> Who {
    Who { user: format!("user{uid}"), uid, host: "login1".into(), build: "test".into() }
}

fn tasks(tasks: u32) -> Wish {
    Wish { tasks: Some(tasks), ..Wish::default() }
}

/// Events of a round, a word each.
type Said = Vec<String>;

fn run(
    writer: &RecordingWriter<Named>,
    engine: &Fake<'_>,
    uid: u32,
    wish: &Wish,
    is_cancelled: &dyn Fn() -> bool,
) -> (Said, Result<End, RoundError>) {
    let work = Work {
        recording: engine.recording.to_owned(),
        program: "preemptlab".parse().unwrap(),
        found_at: "/data/run".parse().unwrap(),
        trace: wish.is_traced,
        twice: None,
        memory_mib: 512,
    };
    let pace = Pace { look: Duration::from_millis(1), ask: Duration::from_millis(5) };
    let who = who(uid);
    let round = Round { writer, engine, work: &work, who: &who, wish, pace };
    let mut said = Vec::new();
    let mut on_event = |event: Event<'_>| {
        said.push(match event {
            Event::Planned { cells, finished, shards, .. } => {
                format!("planned {cells} of {} in {shards}", cells + finished)
            }
            Event::PickedUp(jobs) => format!("picked up {}", jobs.len()),
            Event::Submitted { tasks, attempt, .. } => {
                format!("submitted {tasks} attempt {attempt}")
            }
            Event::Finished(_) => "finished".to_owned(),
            Event::State(_) => return,
            Event::Lost { shards, cells } => format!("lost {cells} of {}", shards.len()),
            Event::Damaged(cells) => format!("damaged {cells}"),
            Event::Away(_) => "away".to_owned(),
        });
    };
    let end = round.run(&mut on_event, is_cancelled);
    (said, end)
}

fn finished(said: &Said) -> usize {
    said.iter().filter(|word| *word == "finished").count()
}

fn go(writer: &RecordingWriter<Named>, engine: &Fake<'_>, wish: &Wish) -> (Said, End) {
    let (said, end) = run(writer, engine, 1, wish, &|| false);
    (said, end.unwrap())
}

/// Makes a recording without cells, and tells how many it plans.
fn begin(folder: &Path) -> (RecordingWriter<Named>, usize) {
    let writer = recording(&folder.join("run"));
    let cells =
        preemptlab_cluster::newest(writer.recording()).1.iter().map(|it| it.cells.len()).sum();
    (writer, cells)
}

#[test]
fn a_round_without_faults_submits_once_and_asks_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, cells) = begin(folder.path());
    let engine = Fake::new(writer.recording().path());
    let (said, end) = go(&writer, &engine, &tasks(4));
    assert_eq!(end, End::Whole);
    assert_eq!(
        said[..2],
        [format!("planned {cells} of {cells} in 4"), "submitted 4 attempt 1".into()]
    );
    assert_eq!((finished(&said), engine.asked.get()), (cells, 0));
    assert_eq!(engine.shards(), [[1, 2, 3, 4]]);

    // The same again has nothing to submit.
    let (said, end) = go(&writer, &engine, &tasks(4));
    assert_eq!((end, engine.jobs.borrow().len(), finished(&said)), (End::Whole, 1, cells));
}

#[test]
fn only_the_shards_that_lack_cells_are_submitted_again() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, cells) = begin(folder.path());
    let mut engine = Fake::new(writer.recording().path());
    engine.most = BTreeMap::from([((1, 2), 0), ((1, 3), 1), ((2, 3), 0)]);
    let (said, end) = go(&writer, &engine, &tasks(4));
    assert_eq!((end, finished(&said)), (End::Whole, cells));
    assert_eq!(engine.shards(), [vec![1, 2, 3, 4], vec![2, 3], vec![3]]);
    assert!(said.contains(&"submitted 1 attempt 3".to_owned()), "{said:?}");
}

#[test]
fn a_task_that_never_ends_well_is_submitted_three_times() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, cells) = begin(folder.path());
    let mut engine = Fake::new(writer.recording().path());
    engine.most = (1..=9).map(|attempt| ((attempt, 1), 0)).collect();
    let (said, end) = go(&writer, &engine, &tasks(2));
    let End::Lacking(lacking) = end else { panic!("{end:?}") };
    assert_eq!((lacking.len() + finished(&said), engine.shards().len()), (cells, 3));

    // The user may ask again.
    engine.most.clear();
    let (_, end) = go(&writer, &engine, &tasks(2));
    assert_eq!((end, engine.shards()[3].clone()), (End::Whole, vec![1]));
}

#[test]
fn an_interrupt_cancels_the_jobs_and_the_same_command_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, cells) = begin(folder.path());
    let mut engine = Fake::new(writer.recording().path());
    engine.hang = true;
    let polls = Cell::new(0);
    let is_cancelled = || {
        polls.set(polls.get() + 1);
        polls.get() > 20
    };
    let (_, end) = run(&writer, &engine, 1, &tasks(4), &is_cancelled);
    let error = end.unwrap_err();
    assert!(matches!(error, RoundError::Interrupted(_)), "{error}");
    assert!(error.to_string().contains("job 1 is cancelled; the same command resumes"), "{error}");
    assert_eq!(*engine.cancelled.borrow(), ["1".parse().unwrap()]);

    // Tasks that are about to end have the job still; the round does not wait for cancelled tasks.
    engine.hang = false;
    let (said, end) = go(&writer, &engine, &tasks(4));
    assert_eq!((end, finished(&said), engine.shards().len()), (End::Whole, cells, 2));
}

#[test]
fn detached_jobs_are_picked_up_by_who_submitted_them() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, cells) = begin(folder.path());
    let path = writer.recording().path().to_owned();
    let mut engine = Fake::new(&path);
    let attach = Wish { attach: true, ..tasks(4) };
    let (_, end) = run(&writer, &engine, 1, &attach, &|| false);
    assert!(end.unwrap_err().to_string().contains("`preemptlab cluster submit` submits them"));

    engine.hang = true;
    let detach = Wish { detach: true, ..tasks(4) };
    let (_, end) = go(&writer, &engine, &detach);
    assert_eq!((end, engine.shards().len()), (End::Detached, 1));
    let (said, end) = go(&writer, &engine, &detach);
    assert_eq!((end, engine.shards().len()), (End::Detached, 1), "{said:?}");

    // Another user is told whose they are.
    let (_, end) = run(&writer, &engine, 2, &tasks(4), &|| false);
    let error = end.unwrap_err().to_string();
    assert!(error.contains("jobs 1 of user1, submitted on login1, are at work for it"), "{error}");

    // The tasks end while only the resumed round looks; other --tasks do not cut them again.
    for shard in Shard::all(4) {
        work(&path, shard, usize::MAX);
    }
    let (said, end) = go(&writer, &engine, &Wish { attach: true, ..tasks(7) });
    assert_eq!((end, finished(&said), engine.shards().len()), (End::Whole, cells, 1));
    assert!(said.contains(&"picked up 1".to_owned()), "{said:?}");
}

#[test]
fn jobs_of_another_cluster_or_plan_are_not_taken_for_ours() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, _) = begin(folder.path());
    let path = writer.recording().path().to_owned();
    let mut engine = Fake::new(&path);
    engine.hang = true;
    go(&writer, &engine, &Wish { detach: true, ..tasks(4) });
    let file = Workplace::of(&path).engine();
    let text = fs::read_to_string(&file).unwrap();

    fs::write(&file, text.replace("\"test\",\n  \"who\"", "\"other\",\n  \"who\"")).unwrap();
    let (_, end) = run(&writer, &engine, 1, &tasks(4), &|| false);
    let error = end.unwrap_err().to_string();
    assert!(error.contains("its jobs are those of slurm on other"), "{error}");

    let digest = text.split("recording_sha256\": \"").nth(1).unwrap()[..64].to_owned();
    fs::write(&file, text.replace(&digest, &"0".repeat(64))).unwrap();
    let (_, end) = run(&writer, &engine, 1, &tasks(4), &|| false);
    let error = end.unwrap_err().to_string();
    assert!(error.contains("execute another plan"), "{error}");

    fs::write(&file, "{}").unwrap();
    let (_, end) = run(&writer, &engine, 1, &tasks(4), &|| false);
    assert!(end.unwrap_err().to_string().contains("engine.json cannot be read"));
}

#[test]
fn a_job_whose_number_was_lost_is_found_and_not_submitted_twice() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, _) = begin(folder.path());
    let path = writer.recording().path().to_owned();
    let engine = Fake::new(&path);
    engine.answers.borrow_mut().push(EngineError::Away("Socket timed out".into()));
    let (said, end) = go(&writer, &engine, &tasks(4));
    assert_eq!((end, engine.shards().len()), (End::Whole, 1));
    assert!(said.contains(&"away".to_owned()), "{said:?}");

    // A process that was killed right after the submission.
    let mut engine = Fake::new(&path);
    engine.hang = true;
    fs::remove_dir_all(Workplace::of(&path).root()).unwrap();
    go(&writer, &engine, &Wish { detach: true, ..tasks(4) });
    let file = Workplace::of(&path).engine();
    let mut jobs = Jobs::read(&file).unwrap().unwrap();
    jobs.submissions[0].job = None;
    jobs.write(&file).unwrap();
    let (said, _) = go(&writer, &engine, &Wish { detach: true, ..tasks(4) });
    assert!(said.contains(&"picked up 1".to_owned()), "{said:?}");
    assert_eq!(engine.shards().len(), 1);
}

#[test]
fn a_refusal_ends_the_round_and_leaves_no_job_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, _) = begin(folder.path());
    let engine = Fake::new(writer.recording().path());
    engine.answers.borrow_mut().push(EngineError::Refused("no quota".into()));
    let (_, end) = run(&writer, &engine, 1, &tasks(4), &|| false);
    assert!(matches!(end.unwrap_err(), RoundError::Engine(EngineError::Refused(_))));
    let (_, end) = go(&writer, &engine, &tasks(4));
    assert_eq!(end, End::Whole);
}

#[test]
fn shards_beyond_the_largest_array_are_jobs_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, cells) = begin(folder.path());
    let mut engine = Fake::new(writer.recording().path());
    engine.tasks_max = 3;
    let (said, end) = go(&writer, &engine, &tasks(7));
    assert_eq!((end, finished(&said)), (End::Whole, cells));
    let lengths: Vec<usize> = engine.shards().iter().map(Vec::len).collect();
    assert!(lengths.iter().all(|length| *length <= 3) && lengths.len() > 1, "{lengths:?}");
}

#[test]
fn a_damaged_cell_of_a_part_is_executed_again() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, cells) = begin(folder.path());
    let path = writer.recording().path().to_owned();
    let shard = Shard::new(1, 1).unwrap();
    assert_eq!(work(&path, shard, 1), 1);
    let folder = part(&path, shard).join("cells");
    let cell = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    fs::write(&cell, "{}").unwrap();
    let engine = Fake::new(&path);
    let (said, end) = go(&writer, &engine, &tasks(1));
    assert_eq!((end, finished(&said)), (End::Whole, cells), "{said:?}");
    assert!(said.contains(&"damaged 1".to_owned()), "{said:?}");
}

#[test]
fn parts_of_another_plan_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, _) = begin(folder.path());
    let path = writer.recording().path().to_owned();
    let shard = Shard::new(1, 1).unwrap();
    work(&path, shard, 1);
    let file = part(&path, shard).join("part.json");
    let text = fs::read_to_string(&file).unwrap();
    let digest = text.split("manifest_sha256\":").nth(1).unwrap().split('"').nth(1).unwrap();
    let hostile = text.replace(digest, &"0".repeat(64));
    let bytes = hostile.split("\n#").next().unwrap().to_owned();
    fs::write(&file, bytes).unwrap();
    let engine = Fake::new(&path);
    let (_, end) = run(&writer, &engine, 1, &tasks(1), &|| false);
    assert!(matches!(end.unwrap_err(), RoundError::Recording(_)));
    assert!(engine.shards().is_empty());
}
