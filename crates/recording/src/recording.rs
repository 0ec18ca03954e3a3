use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use preemptlab_model::{CellId, CellRecord, PlannedCell};
use rustix::fs::FlockOperation;

use crate::{
    CellFolder, Manifest, RecordingError, TraceFolder,
    cells::{create_folder, read_json, write_json},
};

const MANIFEST: &str = "recording.json";
const CELLS: &str = "cells";
const TRACES: &str = "traces";

/// A recording to read.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    manifest: Manifest,
    cells: CellFolder,
}

impl Recording {
    /// Opens a recording; it may be unfinished, and may be on a medium that cannot be written to.
    ///
    /// # Errors
    ///
    /// When there is none, or it is damaged or of a newer format.
    pub fn open(path: &Path) -> Result<Self, RecordingError> {
        let manifest = read_json(&path.join(MANIFEST))?
            .ok_or_else(|| RecordingError::Absent(path.to_owned()))?;
        Ok(Self { path: path.to_owned(), manifest, cells: CellFolder::new(path.join(CELLS)) })
    }

    /// Whether there is a recording in that folder.
    pub fn exists(path: &Path) -> bool {
        path.join(MANIFEST).exists()
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it is of.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// A finished cell; `None` while it is not finished.
    ///
    /// # Errors
    ///
    /// When its file is damaged or cannot be read.
    pub fn cell(&self, id: CellId) -> Result<Option<CellRecord>, RecordingError> {
        self.cells.get(id)
    }

    /// The traces of its cells.
    pub fn traces(&self) -> TraceFolder {
        TraceFolder::new(self.path.join(TRACES))
    }

    /// Every cell of the plan with its record, where it has one.
    pub fn cells(
        &self,
    ) -> impl Iterator<Item = Result<(&PlannedCell, Option<CellRecord>), RecordingError>> {
        self.manifest.plan.cells.iter().map(|planned| {
            let record = match planned.inputs() {
                Some(inputs) => self.cells.get(inputs.id())?,
                None => None,
            };
            Ok((planned, record))
        })
    }
}

/// A recording to write to. One process at a time has it, and keeps it until this is dropped.
#[derive(Debug)]
pub struct RecordingWriter {
    recording: Recording,
    _lock: File,
}

impl RecordingWriter {
    /// Starts a recording, or goes on with one that was interrupted.
    ///
    /// # Errors
    ///
    /// When the folder holds something else or a recording of another plan, when another process
    /// has it, or when it cannot be written to.
    pub fn open(path: &Path, manifest: &Manifest) -> Result<Self, RecordingError> {
        create_folder(path)?;
        let lock = lock(path)?;
        preemptlab_durable::sweep(path).map_err(RecordingError::io("clean", path))?;
        let file = path.join(MANIFEST);
        if !file.exists() {
            let mut entries = fs::read_dir(path).map_err(RecordingError::io("read", path))?;
            if entries.next().is_some() {
                return Err(RecordingError::Occupied(path.to_owned()));
            }
            write_json(&file, manifest)?;
        }
        let recording = Recording::open(path)?;
        if let Some(what) = recording.manifest.difference(manifest) {
            return Err(RecordingError::Other { path: path.to_owned(), what });
        }
        let cells = path.join(CELLS);
        create_folder(&cells)?;
        preemptlab_durable::sweep(&cells).map_err(RecordingError::io("clean", cells))?;
        Ok(Self { recording, _lock: lock })
    }

    /// The recording so far.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Its finished cells.
    pub fn cells(&self) -> &CellFolder {
        &self.recording.cells
    }
}

/// The kernel gives the lock back when the process ends, however it ends.
fn lock(path: &Path) -> Result<File, RecordingError> {
    let folder = File::open(path).map_err(RecordingError::io("open", path))?;
    match rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(folder),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(RecordingError::Busy(path.to_owned())),
        Err(error) => Err(RecordingError::io("lock", path)(error.into())),
    }
}

#[cfg(test)]
mod tests {
    use preemptlab_model::{Digest, Kernel, Outcome, PreemptMode, QemuBuild, RECORDING_FORMAT};
    use preemptlab_spec::Experiment;

    use super::*;
    use crate::{Image, QemuUsed};

    fn manifest(name: &str) -> Manifest {
        let text = format!(
            "format = 1\nname = \"{name}\"\n[factors]\nkernel = [\"debian:6.12\"]\n\
             preempt = [\"none\", \"lazy\"]\n[workload.hackbench]\nkind = \"cyclictest-hackbench\"\n"
        );
        let kernel: preemptlab_model::KernelRef = "debian:6.12".parse().unwrap();
        Manifest::new(
            Experiment::parse(&text).unwrap(),
            vec![Kernel {
                name: kernel.clone(),
                release: "6.12.1".into(),
                image_sha256: Digest::of(b"kernel"),
                packages: vec![],
                rt: Some(false),
                modes: Some(vec![PreemptMode::None]),
                hz: Some(250),
            }],
            QemuUsed {
                build: QemuBuild { version: "10.0".into(), digest: Digest::of(b"qemu") },
                packages: vec![],
            },
            vec![Image {
                sha256: Digest::of(b"image"),
                kernel,
                workload: "hackbench".into(),
                packages: vec![],
            }],
        )
    }

    fn record(manifest: &Manifest) -> CellRecord {
        let inputs = manifest.plan.executable()[0].clone();
        CellRecord {
            format: RECORDING_FORMAT,
            id: inputs.id(),
            inputs,
            console: vec![],
            outcome: Outcome::Unavailable { reason: "test".into(), system: None },
        }
    }

    #[test]
    fn an_interrupted_recording_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let manifest = manifest("one");
        let record = record(&manifest);
        RecordingWriter::open(&path, &manifest).unwrap().cells().put(&record).unwrap();
        let again = RecordingWriter::open(&path, &manifest).unwrap();
        assert_eq!(again.cells().get(record.id).unwrap(), Some(record));
        assert_eq!(Recording::open(&path).unwrap().cells().count(), 10);
    }

    #[test]
    fn a_folder_of_something_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("thesis.tex"), "").unwrap();
        let error = RecordingWriter::open(folder.path(), &manifest("one")).unwrap_err();
        assert!(matches!(error, RecordingError::Occupied(_)), "{error}");
    }

    #[test]
    fn a_recording_of_another_experiment_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        drop(RecordingWriter::open(folder.path(), &manifest("one")).unwrap());
        let error = RecordingWriter::open(folder.path(), &manifest("two")).unwrap_err();
        assert!(matches!(error, RecordingError::Other { .. }), "{error}");
    }

    #[test]
    fn a_recording_in_use_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let _writer = RecordingWriter::open(folder.path(), &manifest("one")).unwrap();
        let error = RecordingWriter::open(folder.path(), &manifest("one")).unwrap_err();
        assert!(matches!(error, RecordingError::Busy(_)), "{error}");
    }

    #[test]
    fn a_newer_format_is_called_newer() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(MANIFEST);
        std::fs::write(&file, r#"{"format": 99, "what": "ever"}"#).unwrap();
        let error = Recording::open(folder.path()).unwrap_err();
        assert!(matches!(error, RecordingError::Newer { found: 99, .. }), "{error}");
    }

    #[test]
    fn a_damaged_cell_is_called_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = manifest("one");
        let record = record(&manifest);
        let writer = RecordingWriter::open(folder.path(), &manifest).unwrap();
        writer.cells().put(&record).unwrap();
        let file = folder.path().join(CELLS).join(format!("{}.json", record.id));
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace("\"seed\":1", "\"seed\":2")).unwrap();
        let error = writer.cells().get(record.id).unwrap_err();
        assert!(matches!(error, RecordingError::Damaged { .. }), "{error}");
    }
}
