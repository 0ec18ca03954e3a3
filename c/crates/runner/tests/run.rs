//! Tests of the runner on a fake backend: the records of a run, the results that it does not
//! record, and the work that it does not repeat.

mod common;

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use common::manifest;
use preemptlab_experiment::{Manifest, RecordingWriter};
use preemptlab_model::{CellInputs, FailureCause, Outcome, SnapshotInputs};
use preemptlab_protocol::{Failure, FailureKind, Message, Stage};
use preemptlab_recording::{CellFolder, TraceFolder};
use preemptlab_runner::{
    Backend, Cancel, Event, Execution, Kept, KernelOf, Options, Order, Queue, RunError, Stop,
    Summary, Traces, Tracing, Untraceable, fake::Fake, run, work,
};

fn refusal(kind: FailureKind) -> Execution {
    let failure = Failure {
        stage: Stage::Setup,
        kind,
        reason: "no".into(),
        system: None,
        commands: vec![],
        refusal: None,
    };
    Execution {
        message: Message::Failed(failure),
        said: vec![],
        console: b"last words\n".to_vec(),
        conditions: None,
    }
}

struct Lab {
    folder: tempfile::TempDir,
    manifest: Manifest,
    executed: AtomicUsize,
}

impl Lab {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            folder,
            manifest: manifest(r#"["none", "full", "lazy"]"#),
            executed: AtomicUsize::new(0),
        }
    }

    fn options(&self) -> Options<'_> {
        let cache = Some(CellFolder::of_store(self.folder.path().join("cache")));
        Options {
            jobs: 2,
            cache,
            retry_failed: false,
            traces: None,
            order: Order::Planned,
            only: None,
        }
    }

    fn run(
        &self,
        out: &str,
        options: &Options,
        cancel: &Cancel,
        answer: impl Fn(&CellInputs) -> Result<Execution, Stop> + Sync,
    ) -> Result<Summary, RunError> {
        let writer = RecordingWriter::open(&self.folder.path().join(out), &self.manifest).unwrap();
        let fake = Fake::new(|cell: &CellInputs| {
            self.executed.fetch_add(1, Ordering::Relaxed);
            answer(cell)
        });
        run(&writer, &fake, options, &|_| (), cancel)
    }

    fn outcomes(&self, out: &str) -> Vec<Option<Outcome>> {
        let recording =
            preemptlab_experiment::Recording::open(&self.folder.path().join(out)).unwrap();
        recording.cells().map(|cell| cell.unwrap().1.map(|record| record.outcome)).collect()
    }
}

#[test]
fn a_cell_that_cannot_exist_is_recorded_and_cached() {
    let lab = Lab::new();
    let refuse = |_: &CellInputs| Ok(refusal(FailureKind::Unavailable));
    let summary = lab.run("a", &lab.options(), &Cancel::default(), refuse).unwrap();
    // Two cells of `none` were known before, four of `full` and `lazy` said so themselves.
    assert_eq!(summary, Summary { unavailable: 6, ..Summary::default() });
    assert_eq!(lab.executed.load(Ordering::Relaxed), 4);

    let again = lab.run("b", &lab.options(), &Cancel::default(), refuse).unwrap();
    assert_eq!((again, lab.executed.load(Ordering::Relaxed)), (summary, 4));
    assert_eq!(lab.outcomes("a"), lab.outcomes("b"));
}

#[test]
fn a_failed_cell_is_recorded_but_not_cached_and_the_others_go_on() {
    let lab = Lab::new();
    let fail = |_: &CellInputs| -> Result<Execution, Stop> {
        Err(Stop::Failed {
            cause: FailureCause::Panic,
            reason: "kernel panic".into(),
            console: b"one\ntwo\n".to_vec(),
        })
    };
    let summary = lab.run("a", &lab.options(), &Cancel::default(), fail).unwrap();
    assert_eq!(summary, Summary { failed: 4, unavailable: 2, ..Summary::default() });

    // The same folder knows them, another one executes them, and so does `retry_failed`.
    lab.run("a", &lab.options(), &Cancel::default(), fail).unwrap();
    assert_eq!(lab.executed.load(Ordering::Relaxed), 4);
    lab.run("b", &lab.options(), &Cancel::default(), fail).unwrap();
    assert_eq!(lab.executed.load(Ordering::Relaxed), 8);
    let retry = Options { retry_failed: true, ..lab.options() };
    lab.run("a", &retry, &Cancel::default(), fail).unwrap();
    assert_eq!(lab.executed.load(Ordering::Relaxed), 12);
}

#[test]
fn what_the_host_spoils_is_not_recorded() {
    let lab = Lab::new();
    let count = Mutex::new(0);
    let error = lab
        .run("a", &Options { jobs: 1, ..lab.options() }, &Cancel::default(), |_| {
            let mut count = count.lock().unwrap();
            *count += 1;
            if *count < 3 {
                Ok(refusal(FailureKind::TimeLimit))
            } else {
                Err(Stop::Host { reason: "the disk is full".into() })
            }
        })
        .unwrap_err();
    assert!(matches!(error, RunError::Host(reason) if reason == "the disk is full"));
    assert_eq!(lab.outcomes("a").iter().flatten().count(), 2);
}

#[test]
fn a_cancelled_run_goes_on_later() {
    let lab = Lab::new();
    let cancel = Cancel::default();
    let error = lab
        .run("a", &Options { jobs: 1, ..lab.options() }, &cancel, |_| {
            cancel.cancel();
            Ok(refusal(FailureKind::Other))
        })
        .unwrap_err();
    assert!(matches!(error, RunError::Cancelled));
    assert_eq!(lab.outcomes("a").iter().flatten().count(), 1);

    lab.run("a", &lab.options(), &Cancel::default(), |_| Ok(refusal(FailureKind::Other))).unwrap();
    assert_eq!(lab.executed.load(Ordering::Relaxed), 4);
    let Some(Outcome::Failed { cause, .. }) = &lab.outcomes("a")[2] else { panic!("it failed") };
    assert_eq!(*cause, FailureCause::Workload);
}

/// Machine that was booted for one mode, and would have to boot for the others.
struct Booted {
    mode: &'static str,
    executed: Mutex<Vec<(String, u64)>>,
}

impl Backend for Booted {
    fn prepare(&self, _: &SnapshotInputs, _: &Cancel) -> Result<(), Stop> {
        Ok(())
    }

    fn boot_needed(&self, cell: &CellInputs) -> Option<String> {
        let is_other = !self.mode.is_empty() && cell.job.preempt != self.mode;
        is_other.then(|| format!("preempt={}", cell.job.preempt))
    }

    fn execute(
        &self,
        cell: &CellInputs,
        _: Option<Tracing<'_>>,
        _: &Cancel,
    ) -> Result<Execution, Stop> {
        self.executed.lock().unwrap().push((cell.job.preempt.clone(), cell.job.seed));
        Ok(refusal(FailureKind::Unavailable))
    }
}

/// Returns the cells in the order of their execution, and the result of the run.
fn executed(lab: &Lab, out: &str, mode: &'static str, seed: u64) -> (Vec<(String, u64)>, Summary) {
    let writer = RecordingWriter::open(&lab.folder.path().join(out), &lab.manifest).unwrap();
    let backend = Booted { mode, executed: Mutex::default() };
    let options =
        Options { jobs: 1, cache: None, order: Order::Interleaved(seed), ..lab.options() };
    let summary = run(&writer, &backend, &options, &|_| (), &Cancel::default()).unwrap();
    (backend.executed.into_inner().unwrap(), summary)
}

#[test]
fn what_needs_another_boot_waits_for_it() {
    let lab = Lab::new();
    let (first, summary) = executed(&lab, "a", "full", 1);
    assert!(first.iter().all(|(mode, _)| mode == "full"), "{first:?}");
    assert_eq!((first.len(), summary.waiting, summary.unavailable), (2, 2, 4));
    let (second, summary) = executed(&lab, "a", "lazy", 1);
    assert_eq!((second.len(), summary.waiting, summary.unavailable), (2, 0, 6));
}

#[test]
fn replicates_are_interleaved_in_an_order_that_the_seed_gives() {
    let lab = Lab::new();
    let orders: Vec<_> = (0..8).map(|seed| executed(&lab, &seed.to_string(), "", seed).0).collect();
    for order in &orders {
        let seeds: Vec<u64> = order.iter().map(|(_, seed)| *seed).collect();
        assert!(seeds.is_sorted() && seeds.len() == 4, "replicate after replicate: {order:?}");
    }
    assert!(orders.iter().any(|order| order != &orders[0]), "the seed changes nothing");
    assert_eq!(executed(&lab, "again", "", 3).0, orders[3]);
}

/// Runs with traces of kernels that cannot be traced.
fn run_traced(lab: &Lab, out: &str, kernel: &KernelOf<'_>) -> Result<Summary, RunError> {
    let folder = TraceFolder::new(lab.folder.path().join("traces"));
    folder.create().unwrap();
    let options = Options {
        cache: None,
        traces: Some(Traces { folder: &folder, kernel, kept: Kept::Stream }),
        ..lab.options()
    };
    lab.run(out, &options, &Cancel::default(), |_| panic!("nothing can be traced"))
}

#[test]
fn a_kernel_that_cannot_be_traced_fails_its_cells_only() {
    let lab = Lab::new();
    let untraceable = |_: &CellInputs| Err(Untraceable::Kernel("it has no BTF".to_owned()));
    let summary = run_traced(&lab, "a", &untraceable).unwrap();
    assert_eq!(summary, Summary { failed: 4, unavailable: 2, ..Summary::default() });
    let outcomes = lab.outcomes("a");
    let Some(Outcome::Failed { cause: FailureCause::Trace, reason }) = &outcomes[2] else {
        panic!("{:?}", outcomes[2]);
    };
    assert_eq!(reason, "it cannot be traced: it has no BTF");

    // Without a trace they are executed, and then keep their measurements.
    let refuse = |_: &CellInputs| Ok(refusal(FailureKind::Unavailable));
    let options = Options { cache: None, ..lab.options() };
    lab.run("a", &options, &Cancel::default(), refuse).unwrap();
    assert_eq!(lab.executed.load(Ordering::Relaxed), 4);
    let measured = lab.outcomes("a");
    assert!(matches!(measured[2], Some(Outcome::Unavailable { .. })));
    run_traced(&lab, "a", &untraceable).unwrap();
    assert_eq!(lab.outcomes("a"), measured);

    // A lack of the machine ends the run.
    let host = |_: &CellInputs| Err(Untraceable::Run(RunError::Host("no memory".to_owned())));
    assert!(matches!(run_traced(&lab, "b", &host), Err(RunError::Host(_))));
}

#[test]
fn a_cell_that_the_disk_has_spoilt_in_the_store_is_executed_again() {
    let lab = Lab::new();
    let cancel = Cancel::default();
    let answer = |_: &CellInputs| Ok(refusal(FailureKind::Unavailable));
    lab.run("one", &lab.options(), &cancel, answer).unwrap();
    let whole: Vec<_> = lab.outcomes("one");
    let executed = lab.executed.load(Ordering::Relaxed);
    let cells = std::fs::read_dir(lab.folder.path().join("cache")).unwrap();
    let cell = cells.map(|entry| entry.unwrap().path()).next().unwrap();
    let text = std::fs::read_to_string(&cell).unwrap();
    std::fs::write(&cell, text.replace("\"no\"", "\"so\"")).unwrap();

    let writer = RecordingWriter::open(&lab.folder.path().join("two"), &lab.manifest).unwrap();
    let fake = Fake::new(|cell: &CellInputs| {
        lab.executed.fetch_add(1, Ordering::Relaxed);
        answer(cell)
    });
    let told = Mutex::new(Vec::new());
    let on_event = |event: Event<'_>| {
        if let Event::Damaged(error) = event {
            told.lock().unwrap().push(error.to_string());
        }
    };
    run(&writer, &fake, &lab.options(), &on_event, &cancel).unwrap();
    drop(writer);
    assert_eq!(lab.executed.load(Ordering::Relaxed), executed + 1);
    let told = told.into_inner().unwrap();
    assert!(told.len() == 1 && told[0].contains(cell.to_str().unwrap()), "{told:?}");
    assert_eq!(lab.outcomes("two"), whole);
    assert_eq!(std::fs::read_to_string(&cell).unwrap(), text);
}

/// Reads the files of a folder and their bytes.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            let below = files(&entry.path()).into_iter();
            found.extend(below.map(|(file, bytes)| (format!("{name}/{file}"), bytes)));
        } else {
            found.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    found
}

/// Returns a lab whose plan has a boot with one CPU and one with two.
fn two_boots() -> Lab {
    let mut lab = Lab::new();
    lab.manifest = manifest("[\"full\", \"lazy\"]\ncpus = [1, 2]");
    lab
}

#[test]
fn another_taker_beside_this_machines_threads_changes_nothing_of_the_recording() {
    let lab = two_boots();
    let cancel = Cancel::default();
    let options = Options { cache: None, ..lab.options() };
    let answer = |cell: &CellInputs| {
        let mut execution = refusal(FailureKind::Unavailable);
        execution.console = format!("cell {}\n", cell.id()).into_bytes();
        Ok(execution)
    };
    let summary = lab.run("alone", &options, &cancel, answer).unwrap();

    let out = lab.folder.path().join("shared");
    let writer = RecordingWriter::open(&out, &lab.manifest).unwrap();
    let fake = Fake::new(answer);
    let queue = Queue::new(&writer, &fake, &options, &|_| ()).unwrap();
    assert_eq!((queue.waiting(), queue.boots().len()), (8, 2));
    let taken = queue.take(3);
    assert_eq!((taken.len(), queue.waiting()), (3, 5));
    assert!(taken.iter().all(|cell| cell.inputs.snapshot == taken[0].inputs.snapshot));
    thread::scope(|scope| {
        scope.spawn(|| work(&queue, &fake, &options, &|_| (), &cancel).unwrap());
        for cell in taken.into_iter().rev() {
            let record = cell.judge(answer(cell.inputs)).unwrap();
            queue.finished(cell, &record, Duration::ZERO).unwrap();
        }
    });
    assert_eq!(queue.summary(), summary);
    assert_eq!(files(&out), files(&lab.folder.path().join("alone")));
}

#[test]
fn a_taker_gets_cells_of_one_boot_and_each_cell_is_handed_out_once() {
    let lab = two_boots();
    let options = lab.options();
    let writer = RecordingWriter::open(&lab.folder.path().join("a"), &lab.manifest).unwrap();
    let fake = Fake::new(|_: &CellInputs| panic!("nothing is executed"));
    let queue = Queue::new(&writer, &fake, &options, &|_| ()).unwrap();
    let mut ids = Vec::new();
    for (most, cells) in [(3, 3), (100, 4), (4, 1)] {
        let taken = queue.take(most);
        assert_eq!(taken.len(), cells);
        assert!(taken.iter().all(|cell| cell.inputs.snapshot == taken[0].inputs.snapshot));
        ids.extend(taken.iter().map(|cell| cell.inputs.id()));
    }
    assert!(queue.take(1).is_empty());
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 8);

    // The next queue hands out the cells that do not come back.
    let queue = Queue::new(&writer, &fake, &options, &|_| ()).unwrap();
    assert_eq!(queue.waiting(), 8);
}

#[test]
fn the_record_of_another_cell_is_not_recorded() {
    let lab = two_boots();
    let options = lab.options();
    let writer = RecordingWriter::open(&lab.folder.path().join("a"), &lab.manifest).unwrap();
    let fake = Fake::new(|_: &CellInputs| panic!("nothing is executed"));
    let queue = Queue::new(&writer, &fake, &options, &|_| ()).unwrap();
    let [one, other] = <[_; 2]>::try_from(queue.take(2)).unwrap();
    let id = one.inputs.id();
    let mut record = other.judge(Ok(refusal(FailureKind::Other))).unwrap();
    let refused = queue.finished(one, &record, Duration::ZERO).unwrap_err();
    assert!(matches!(refused, RunError::Other(of) if of == id), "{refused}");
    record.id = id;
    let refused = queue.finished(other, &record, Duration::ZERO).unwrap_err();
    assert!(matches!(refused, RunError::Other(_)), "{refused}");
    assert_eq!(queue.summary().failed, 0);
    assert!(lab.outcomes("a").iter().all(Option::is_none));
}
