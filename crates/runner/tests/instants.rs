//! Tests of the kept findings about a cell's instants: in the recording, in the cache, and where a kernel
//! cannot be traced.

use std::{
    fs,
    io::Write,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use preemptlab_experiment::{Recording, RecordingWriter};
use preemptlab_model::{CellId, CellInputs, Outcome, SnapshotInputs};
use preemptlab_protocol::{Message, Report};
use preemptlab_recording::{CellFolder, TraceFolder};
use preemptlab_runner::{
    Backend, Cancel, Execution, Kept, KernelOf, Options, Order, RunError, Stop, Summary, Traces,
    Tracing, Untraceable, run,
};
use preemptlab_trace::{FINDINGS_FORMAT, Kernel, testing, window};

/// Backend whose cells have the report of the committed one, and the trace of a kernel of tests.
struct Guest {
    report: Report,
    executed: AtomicUsize,
    traced: AtomicUsize,
}

impl Backend for Guest {
    fn prepare(&self, _: &SnapshotInputs, _: &Cancel) -> Result<(), Stop> {
        Ok(())
    }

    fn execute(
        &self,
        cell: &CellInputs,
        tracing: Option<Tracing<'_>>,
        _: &Cancel,
    ) -> Result<Execution, Stop> {
        self.executed.fetch_add(1, Ordering::Relaxed);
        if let Some(Tracing { mut out, .. }) = tracing {
            self.traced.fetch_add(1, Ordering::Relaxed);
            let start_ms = window(&cell.job, &self.report).start_ns / 1_000_000 + 1;
            out.write_all(&testing::busy_from(start_ms, 20)).unwrap();
        }
        let message = Message::Done(self.report.clone());
        Ok(Execution { message, said: b"said".to_vec(), console: vec![], conditions: None })
    }
}

struct Lab {
    folder: tempfile::TempDir,
    check: Recording,
    guest: Guest,
}

impl Lab {
    fn new() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/check");
        let check = Recording::open(&path).unwrap();
        let record = check.cells().next().unwrap().unwrap().1.unwrap();
        let Outcome::Completed { report, .. } = record.outcome else { panic!() };
        let (executed, traced) = Default::default();
        let guest = Guest { report: *report, executed, traced };
        Self { folder: tempfile::tempdir().unwrap(), check, guest }
    }

    fn cache(&self) -> CellFolder {
        CellFolder::of_store(self.folder.path().join("cache"))
    }

    fn run(&self, out: &str, is_kept: bool, kernel: &KernelOf<'_>) -> Result<Summary, RunError> {
        let path = self.folder.path().join(out);
        let writer = RecordingWriter::open(&path, self.check.manifest()).unwrap();
        let (folder, scratch) = (writer.recording().traces(), self.scratch());
        [&folder, &scratch].iter().for_each(|each| each.create().unwrap());
        let kept = if is_kept { Kept::Stream } else { Kept::Findings(&scratch) };
        let options = Options {
            jobs: 1,
            cache: Some(self.cache()),
            retry_failed: false,
            traces: Some(Traces { folder: &folder, kernel, kept }),
            order: Order::Planned,
            only: None,
        };
        run(&writer, &self.guest, &options, &|_| (), &Cancel::default())
    }

    fn scratch(&self) -> TraceFolder {
        TraceFolder::new(self.folder.path().join("scratch"))
    }

    fn traces(&self, out: &str) -> TraceFolder {
        TraceFolder::new(self.folder.path().join(out).join("traces"))
    }

    fn id(&self) -> CellId {
        self.check.manifest().plan.executable()[0].id()
    }

    /// Returns the number of executions so far, and that of traced ones.
    fn executed(&self) -> [usize; 2] {
        [&self.guest.executed, &self.guest.traced].map(|count| count.load(Ordering::Relaxed))
    }
}

fn kernel(cell: &CellInputs) -> Result<Arc<Kernel>, Untraceable> {
    Ok(Arc::new(Kernel::new(cell.snapshot.machine.arch, testing::layout()).unwrap()))
}

fn untraceable(_: &CellInputs) -> Result<Arc<Kernel>, Untraceable> {
    Err(Untraceable::Kernel("it has no BTF".to_owned()))
}

#[test]
fn findings_are_kept_without_a_trace_and_come_out_of_the_cache() {
    let lab = Lab::new();
    lab.run("a", false, &kernel).unwrap();
    let (traces, id) = (lab.traces("a"), lab.id());
    let findings = traces.findings(id).unwrap().unwrap();
    assert_eq!(findings.format, FINDINGS_FORMAT);
    let bound = findings.bound.as_ref().unwrap();
    assert!(bound.max_ns() > 0 && bound.instants_ns > Some(0), "{bound:?}");
    assert!(!findings.worst.as_ref().unwrap().function.is_empty());
    assert!(!traces.contains(id) && traces.stream(id).unwrap().is_none());
    // The stream has no name anywhere.
    assert_eq!(fs::read_dir(lab.scratch().path()).unwrap().count(), 0);
    assert_eq!(lab.executed(), [1, 1]);

    lab.run("b", false, &kernel).unwrap();
    assert_eq!(lab.traces("b").findings(id).unwrap(), Some(findings.clone()));
    assert_eq!(lab.executed(), [1, 1]);

    // A trace needs the stream, and says the same.
    lab.run("b", true, &kernel).unwrap();
    assert!(lab.traces("b").contains(id));
    assert_eq!(lab.traces("b").findings(id).unwrap(), Some(findings.clone()));
    assert_eq!(lab.executed(), [2, 2]);

    // A cell of which the cache lacks the findings is executed again, and so is one with damaged ones.
    let cached = lab.cache().instants();
    cached.remove(id).unwrap();
    lab.run("c", false, &kernel).unwrap();
    assert_eq!((lab.executed(), lab.traces("c").findings(id).unwrap()), ([3, 3], Some(findings)));
    fs::write(&cached.files(id)[1], "x").unwrap();
    lab.run("d", false, &kernel).unwrap();
    assert!(lab.traces("d").has_findings(id));
    assert_eq!(lab.executed(), [4, 4]);
    // A finished cell of a recording stays as it is.
    lab.traces("d").remove(id).unwrap();
    lab.run("d", false, &kernel).unwrap();
    assert_eq!(lab.executed(), [4, 4]);
}

#[test]
fn a_kernel_that_cannot_be_traced_is_sampled_and_says_why() {
    let lab = Lab::new();
    let summary = lab.run("a", false, &untraceable).unwrap();
    assert_eq!(summary, Summary { completed: 1, ..Summary::default() });
    let (traces, id) = (lab.traces("a"), lab.id());
    assert_eq!(traces.unmeasured(id).unwrap().as_deref(), Some("it has no BTF"));
    assert!(!traces.has_findings(id) && traces.findings(id).unwrap().is_none());
    // It is known for the next recording, too.
    lab.run("b", false, &untraceable).unwrap();
    assert_eq!(lab.traces("b").unmeasured(id).unwrap().as_deref(), Some("it has no BTF"));
    assert_eq!(lab.executed(), [1, 0]);
}

#[test]
fn findings_alone_are_copied_and_told_apart_from_a_trace() {
    let lab = Lab::new();
    lab.run("a", false, &kernel).unwrap();
    let (from, id) = (lab.traces("a"), lab.id());
    let to = TraceFolder::new(lab.folder.path().join("to"));
    to.create().unwrap();
    to.copy(id, &from).unwrap();
    assert!(to.has_findings(id) && !to.contains(id));

    // An explanation's trace is read, and the recording's findings without one are not in its way.
    lab.run("explained", true, &kernel).unwrap();
    let both = lab.traces("explained").after(from.clone());
    assert!(both.contains(id) && both.stream(id).unwrap().is_some());
    let [trace, findings, _] = both.files(id);
    let of_explained = |path: &Path| path.starts_with(lab.folder.path().join("explained"));
    assert!(of_explained(&trace) && of_explained(&findings));
    // Without it, the findings are the recording's.
    let both = TraceFolder::new(lab.folder.path().join("none")).after(from.clone());
    assert!(!both.contains(id) && both.has_findings(id));
    let unmeasured = TraceFolder::new(lab.folder.path().join("unmeasured"));
    unmeasured.create().unwrap();
    unmeasured.put_unmeasured(id, "no\nBTF").unwrap();
    let to = TraceFolder::new(lab.folder.path().join("to_unmeasured"));
    to.create().unwrap();
    to.copy(id, &unmeasured).unwrap();
    assert_eq!(to.unmeasured(id).unwrap().as_deref(), Some("no BTF"));
}
