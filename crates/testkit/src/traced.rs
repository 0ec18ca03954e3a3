//! A small recording with traces that are made by hand, as `run --trace` would leave it.

use std::path::{Path, PathBuf};

use preemptlab_experiment::{Experiment, Manifest, Recording, RecordingWriter};
use preemptlab_model::{CellId, CellRecord, Outcome, RECORDING_FORMAT};
use preemptlab_recording::TraceFolder;
use preemptlab_trace::{
    Kernel, Layout, Target, findings, opportunities,
    testing::{PROBE, busy_from, layout},
    window,
};

/// Number of wakeups of a trace.
const WAKEUPS: u64 = 20;

/// Opens the recording of this repository.
pub fn check() -> Recording {
    Recording::open(&crate::committed_recording()).unwrap()
}

/// Two cells under each of two models: every report is the committed one's. The first has a trace.
pub struct Traced {
    /// The recording's folder.
    pub path: PathBuf,
    /// The recording.
    pub recording: Recording,
    /// The cell with the trace.
    pub id: CellId,
}

impl Traced {
    /// Writes the recording, whose kernel has the layout of the traces that are made by hand.
    pub fn new(path: &Path) -> Self {
        Self::with(path, layout())
    }

    /// Writes the recording with another layout of its kernel.
    pub fn with(path: &Path, layout: Layout) -> Self {
        let recording = untraced(path, |_| {});
        let cells: Vec<CellRecord> = recording.cells().filter_map(|cell| cell.unwrap().1).collect();
        let first = &cells[0];
        let folder = recording.traces();
        folder.create().unwrap();
        folder.put_layout(first.inputs.snapshot.id(), &layout).unwrap();
        trace(&folder, first);
        // Its sibling under the stronger model.
        trace(&folder, cells.iter().find(|cell| cell.inputs.job.preempt != "none").unwrap());
        Self { path: path.to_owned(), id: first.id, recording }
    }

    /// Returns the file of the traced cell of a kind, such as `trace`.
    pub fn file(&self, kind: &str) -> PathBuf {
        self.path.join("traces").join(format!("{}.{kind}.zst", self.id))
    }

    /// Returns the file of the layout of the traced cell's kernel.
    pub fn layout(&self) -> PathBuf {
        let record = self.recording.cell(self.id).unwrap().unwrap();
        self.path.join("traces").join(format!("{}.layout.zst", record.inputs.snapshot.id()))
    }
}

/// Gives a cell a trace whose wakeups are in its window.
pub fn trace(folder: &TraceFolder, cell: &CellRecord) {
    let Outcome::Completed { report, .. } = &cell.outcome else { panic!() };
    let stream = busy_from(window(&cell.inputs.job, report).start_ns / 1_000_000 + 1, WAKEUPS);
    let kernel = Kernel::new(cell.inputs.snapshot.machine.arch, layout()).unwrap();
    let target = Target { comm: PROBE, is_realtime: true, first_waits: true };
    let opportunities = opportunities(&cell.inputs.job, report);
    let findings = findings(
        stream.as_slice(),
        &kernel,
        target,
        opportunities,
        window(&cell.inputs.job, report),
    )
    .unwrap();
    let mut file = folder.scratch().unwrap();
    std::io::Write::write_all(&mut file, &stream).unwrap();
    folder.put(cell.id, &mut file, &findings).unwrap();
}

/// Writes the recording without any trace; its manifest may be changed.
pub fn untraced(path: &Path, change: impl FnOnce(&mut Manifest)) -> Recording {
    let check = check();
    let (_, record) = check.cells().next().unwrap().unwrap();
    let Outcome::Completed { report, digest, .. } = record.unwrap().outcome else { panic!() };
    let Manifest { kernels, qemu, images, .. } = check.manifest().clone();
    let text = "format = 1\nname = \"traced\"\n[factors]\n\
                kernel = [\"debian:6.12.107+deb13\"]\npreempt = [\"none\", \"full\"]\n\
                [replicates]\ncount = 2\n[machine]\ncost = \"instructions\"\n\
                [workload.processes]\nkind = \"cyclictest-hackbench\"\nwindow = \"1s\"\ngroups = 2\n";
    let experiment = Experiment::parse(text).unwrap();
    let mut manifest = preemptlab_experiment::manifest(experiment, kernels, qemu.unwrap(), images);
    change(&mut manifest);
    let writer = RecordingWriter::open(path, &manifest).unwrap();
    for planned in &manifest.plan.cells {
        let inputs = planned.inputs().unwrap().clone();
        let outcome = Outcome::Completed { report: report.clone(), digest };
        let format = RECORDING_FORMAT;
        let record = CellRecord {
            format,
            id: inputs.id(),
            inputs,
            console: vec![],
            conditions: None,
            outcome,
        };
        writer.cells().put(&record).unwrap();
    }
    drop(writer);
    Recording::open(path).unwrap()
}
