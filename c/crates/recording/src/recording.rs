use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::ErrorKind::{AlreadyExists, NotADirectory},
    path::{Path, PathBuf},
};

use preemptlab_files::{FolderError, FolderLock, Folders, LOCK_FILE, Lock, OutFolder, is_draft};
use preemptlab_model::{CellId, CellRecord, Planned, PlannedCell};
use serde::{
    Serialize,
    de::{DeserializeOwned, IgnoredAny},
};

use crate::{
    CellFolder, Manifest, RecordingError, Subject, TraceFolder, Until,
    cells::create_folder,
    folders::{self, FOLDERS},
    json::{PLAN_BOUNDS, read_json, write_json},
    looks::{self, LOOKS, Looks, UNTIL},
};

pub(crate) const MANIFEST: &str = "recording.json";
pub(crate) const CELLS: &str = "cells";
pub(crate) const TRACES: &str = "traces";
/// Folder of the traces that `explain` made. No table reads them, or the explanation of one cell would
/// change the comparison of all.
const EXPLAINED: &str = "explained";

/// A recording to read.
#[derive(Debug)]
pub struct Recording<E> {
    path: PathBuf,
    /// Folder of the cells and the traces: the recording's own, or that of a part.
    results: PathBuf,
    manifest: Manifest<E>,
    looks: Looks,
    cells: CellFolder,
}

impl<E: DeserializeOwned> Recording<E> {
    /// Opens a recording; it may be unfinished, and may be on a medium that cannot be written to.
    ///
    /// # Errors
    ///
    /// When there is none, or it is damaged or of another format.
    pub fn open(path: &Path) -> Result<Self, RecordingError> {
        let manifest = read_json::<Manifest<E>>(&path.join(MANIFEST), PLAN_BOUNDS)?
            .ok_or_else(|| RecordingError::Absent(path.to_owned()))?
            .value;
        let looks = Looks::read(path)?;
        let cells = CellFolder::new(path.join(CELLS));
        let (path, results) = (path.to_owned(), path.to_owned());
        let recording = Self { path, results, manifest, looks, cells };
        recording.check()?;
        Ok(recording)
    }
}

impl<E> Recording<E> {
    /// Refuses a plan in which a cell stands twice, which would count twice, or has factors that
    /// differ from its inputs.
    fn check(&self) -> Result<(), RecordingError> {
        let mut seen = BTreeSet::new();
        for (_, PlannedCell { factors, planned }) in self.planned() {
            let is_itself = match planned {
                Planned::Execute(inputs) => {
                    let settings = inputs.job.settings.iter().map(|setting| setting.name.clone());
                    inputs.job.preempt == factors.preempt.as_str()
                        && inputs.snapshot.machine.cpus == factors.cpus
                        && settings.eq(factors.settings.iter().map(ToString::to_string))
                }
                Planned::Unavailable { .. } => true,
            };
            if !is_itself || !seen.insert(factors) {
                let what =
                    if is_itself { "stands twice in" } else { "is not what it is called in" };
                let (path, reason) = (self.path.clone(), format!("{factors} {what} the plan"));
                return Err(RecordingError::Damaged { path, reason });
            }
        }
        Ok(())
    }

    /// Returns the folder of the recording.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the manifest.
    pub fn manifest(&self) -> &Manifest<E> {
        &self.manifest
    }

    /// Reads a finished cell; `None` while it is not finished.
    ///
    /// # Errors
    ///
    /// When its file is damaged or cannot be read.
    pub fn cell(&self, id: CellId) -> Result<Option<CellRecord>, RecordingError> {
        self.cells.get(id)
    }

    /// Returns whether a cell is finished, without reading it.
    pub fn has(&self, id: CellId) -> bool {
        self.cells.contains(id)
    }

    /// Returns the folder of the cells' traces.
    pub fn traces(&self) -> TraceFolder {
        TraceFolder::new(self.results.join(TRACES))
    }

    /// Returns the folder of the traces that explanations make. It is read after the recording's own
    /// traces: a cell that a run traced has its trace there.
    pub fn explained(&self) -> TraceFolder {
        TraceFolder::new(self.results.join(EXPLAINED)).after(self.traces())
    }

    /// Returns the rule by which replicates are added, if there is one.
    pub fn until(&self) -> Option<&Until> {
        self.looks.until.as_ref()
    }

    /// Returns every planned cell, with the number of looks at the results before it was planned:
    /// first the cells of the manifest, with 0.
    pub fn planned(&self) -> impl Iterator<Item = (u32, &PlannedCell)> {
        let first = self.manifest.plan.cells.iter().map(|planned| (0, planned));
        let added = (1..)
            .zip(&self.looks.added)
            .flat_map(|(look, cells)| cells.iter().map(move |planned| (look, planned)));
        first.chain(added)
    }

    /// Returns every planned cell with its record, where it has one.
    pub fn cells(
        &self,
    ) -> impl Iterator<Item = Result<(&PlannedCell, Option<CellRecord>), RecordingError>> {
        self.planned().map(|(_, planned)| Ok((planned, self.record(planned)?)))
    }

    /// Reads the record of a planned cell; `None` while it has none.
    ///
    /// # Errors
    ///
    /// When its file is damaged or cannot be read.
    pub fn record(&self, planned: &PlannedCell) -> Result<Option<CellRecord>, RecordingError> {
        match planned.inputs() {
            Some(inputs) => self.cells.get(inputs.id()),
            None => Ok(None),
        }
    }
}

impl<E: Subject> Recording<E> {
    /// Reads the files of the workloads in folders.
    ///
    /// # Errors
    ///
    /// When they are missing or damaged.
    pub fn folders(&self) -> Result<Folders, RecordingError> {
        folders::read(&self.path.join(FOLDERS), self.manifest.experiment.folders())
    }
}

impl<E: Subject> Recording<E> {
    /// Lists the files of the recording that are there, sorted by their names in its folder, which come first. Traces
    /// and what explanations made are left out: an execution makes them again.
    pub fn files(&self) -> Vec<(String, PathBuf)> {
        let path = &self.path;
        let mut files = vec![path.join(MANIFEST), path.join(UNTIL)];
        files.extend((1..=self.looks.added.len()).map(|look| looks::file(path, look)));
        let digests = self.manifest.experiment.folders();
        files.extend(digests.map(|sha256| folders::file(&path.join(FOLDERS), sha256)));
        let traces = TraceFolder::new(path.join(TRACES));
        for inputs in self.planned().filter_map(|(_, planned)| planned.inputs()) {
            let id = inputs.id();
            let [_, findings, unmeasured] = traces.files(id);
            let layout = traces.layout_file(inputs.snapshot.id());
            files.extend([self.cells.file(id), findings, unmeasured, layout]);
        }
        let named = files
            .into_iter()
            .filter(|file| file.is_file())
            .filter_map(|file| Some((file.strip_prefix(path).ok()?.to_str()?.to_owned(), file)));
        named.collect::<BTreeMap<_, _>>().into_iter().collect()
    }
}

/// Tells whether a folder holds a recording.
pub fn exists(path: &Path) -> bool {
    path.join(MANIFEST).exists()
}

/// A folder in which a recording can begin or continue, and which no other process has:
/// checked before anything is prepared for it.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    lock: FolderLock,
    is_new: bool,
}

impl Claim {
    /// Claims a folder, which is made if there is none.
    ///
    /// # Errors
    ///
    /// When it is not a folder, or not this user's where this program chose it; when it holds something
    /// else than a recording, belongs to another process, or cannot be written to.
    pub fn new(folder: &OutFolder) -> Result<Self, RecordingError> {
        let path = &folder.path();
        let is_new = !path.exists();
        folder.make().map_err(|error| match error {
            FolderError::Io { error, path }
                if matches!(error.kind(), AlreadyExists | NotADirectory) =>
            {
                RecordingError::NotAFolder(path)
            }
            FolderError::NotAFolder(path) => RecordingError::NotAFolder(path),
            error => error.into(),
        })?;
        check_folders(path)?;
        let lock = lock(path)?;
        preemptlab_files::sweep(path).map_err(RecordingError::io("clean", path))?;
        if !exists(path) {
            check_empty(path)?;
            check_writable(path)?;
        } else if !is_finished(&Recording::<IgnoredAny>::open(path)?) {
            check_writable(path)?;
            let cells = path.join(CELLS);
            if cells.exists() {
                check_writable(&cells)?;
            }
        }
        Ok(Self { path: path.to_owned(), lock, is_new })
    }

    /// Starts a recording, or continues an interrupted one.
    ///
    /// # Errors
    ///
    /// When the folder holds a recording of another plan, or it cannot be written to.
    pub fn open<E>(self, manifest: &Manifest<E>) -> Result<RecordingWriter<E>, RecordingError>
    where
        E: Subject + PartialEq + Serialize + DeserializeOwned,
    {
        let Self { path, lock, .. } = self;
        let file = path.join(MANIFEST);
        if !file.exists() {
            write_json(&file, manifest, PLAN_BOUNDS)?;
        }
        let recording = Recording::<E>::open(&path)?;
        if let Some(what) = recording.manifest.difference(manifest) {
            return Err(RecordingError::Other { path, what });
        }
        RecordingWriter::of(recording, lock)
    }

    /// Gives the folder up, and removes it where it was made for nothing.
    pub fn abandon(self) {
        // Its file would be in the way.
        drop(self.lock);
        if self.is_new {
            // One that is not empty stays.
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// Returns whether every cell has been executed.
fn is_finished<E>(recording: &Recording<E>) -> bool {
    let mut cells = recording.planned().filter_map(|(_, cell)| cell.inputs());
    cells.all(|inputs| recording.cells.contains(inputs.id()))
}

/// Refuses a recording whose folders are not to be written to, before anything is written: a clone or an
/// archive can ship links in their places.
fn check_folders(path: &Path) -> Result<(), RecordingError> {
    let folders = [CELLS, LOOKS, TRACES, EXPLAINED, FOLDERS].map(|name| path.join(name));
    let mut there = folders.iter().filter(|folder| folder.symlink_metadata().is_ok());
    there.try_for_each(|folder| create_folder(folder))
}

/// Refuses a folder that holds something else than a lock and drafts.
pub(crate) fn check_empty(path: &Path) -> Result<(), RecordingError> {
    for entry in fs::read_dir(path).map_err(RecordingError::io("read", path))? {
        let name = entry.map_err(RecordingError::io("read", path))?.file_name();
        let name = name.to_string_lossy();
        if name != LOCK_FILE && !is_draft(&name) {
            return Err(RecordingError::Occupied(path.to_owned()));
        }
    }
    Ok(())
}

fn check_writable(path: &Path) -> Result<(), RecordingError> {
    use rustix::fs::Access;
    rustix::fs::access(path, Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|error| RecordingError::io("write to", path)(error.into()))
}

/// A recording to write to. One process at a time has it, and keeps it until this is dropped.
#[derive(Debug)]
pub struct RecordingWriter<E> {
    recording: Recording<E>,
    _lock: FolderLock,
}

impl<E: Subject + PartialEq + Serialize + DeserializeOwned> RecordingWriter<E> {
    /// Starts a recording, or continues an interrupted one.
    ///
    /// # Errors
    ///
    /// When the folder holds something else or a recording of another plan, when another process
    /// has it, or when it cannot be written to.
    pub fn open(path: &Path, manifest: &Manifest<E>) -> Result<Self, RecordingError> {
        Claim::new(&OutFolder::named(path))?.open(manifest)
    }
}

impl<E: DeserializeOwned> RecordingWriter<E> {
    /// Continues a recording as it is.
    ///
    /// # Errors
    ///
    /// When there is none, when another process has it, or when it cannot be written to.
    pub fn resume(path: &Path) -> Result<Self, RecordingError> {
        if !exists(path) {
            return Err(RecordingError::Absent(path.to_owned()));
        }
        check_folders(path)?;
        let lock = lock(path)?;
        preemptlab_files::sweep(path).map_err(RecordingError::io("clean", path))?;
        Self::of(Recording::open(path)?, lock)
    }
}

impl<E> RecordingWriter<E> {
    /// Creates the writer of a recording, and removes the drafts of a killed one.
    fn of(recording: Recording<E>, lock: FolderLock) -> Result<Self, RecordingError> {
        let path = recording.path();
        let cells = path.join(CELLS);
        create_folder(&cells)?;
        for folder in [cells, path.join(LOOKS)].into_iter().filter(|folder| folder.exists()) {
            preemptlab_files::sweep(&folder).map_err(RecordingError::io("clean", folder))?;
        }
        Ok(Self { recording, _lock: lock })
    }

    /// Creates a writer whose cells and traces go to a part's folder.
    pub(crate) fn of_part(recording: Recording<E>, part: &Path, lock: FolderLock) -> Self {
        let (results, cells) = (part.to_owned(), CellFolder::new(part.join(CELLS)));
        Self { recording: Recording { results, cells, ..recording }, _lock: lock }
    }

    /// Returns the recording so far.
    pub fn recording(&self) -> &Recording<E> {
        &self.recording
    }

    /// Keeps the files of the users' own workloads, so that the recording can be executed again
    /// without their folders.
    ///
    /// # Errors
    ///
    /// When they cannot be written.
    pub fn keep(&mut self, folders: &Folders) -> Result<(), RecordingError> {
        folders::write(&self.recording.path.join(FOLDERS), folders)
    }

    /// Writes the rule by which replicates are added.
    ///
    /// # Errors
    ///
    /// When something else was said before, or it cannot be written.
    pub fn begin_until(&mut self, until: &Until) -> Result<(), RecordingError> {
        self.recording.looks.begin(&self.recording.path, until)
    }

    /// Adds the cells that a look at the results asks for; `false` when the recording has been looked
    /// at often enough.
    ///
    /// # Errors
    ///
    /// When they cannot be written.
    pub fn add(&mut self, cells: Vec<PlannedCell>) -> Result<bool, RecordingError> {
        self.recording.looks.add(&self.recording.path, cells)
    }

    /// Returns the folder of the finished cells.
    pub fn cells(&self) -> &CellFolder {
        &self.recording.cells
    }
}

pub(crate) fn lock(path: &Path) -> Result<FolderLock, RecordingError> {
    match preemptlab_files::lock(path).map_err(RecordingError::io("lock", path))? {
        Lock::Taken(lock) => Ok(lock),
        Lock::Held(holder) => Err(RecordingError::Busy { path: path.to_owned(), holder }),
    }
}

#[cfg(test)]
mod tests {
    use preemptlab_model::{Digest, Outcome, RECORDING_FORMAT, RECORDING_FORMAT_MIN};
    use serde::Deserialize;

    use super::*;

    /// Experiment as a reader sees it that needs its name alone.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Named {
        name: String,
    }

    impl Subject for Named {
        fn name(&self) -> &str {
            &self.name
        }

        fn folders(&self) -> impl Iterator<Item = Digest> {
            std::iter::empty()
        }
    }

    /// Returns the manifest of the recording in studies/check, under another name.
    fn manifest(name: &str) -> Manifest<Named> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/check");
        let mut manifest = Recording::<Named>::open(&path).unwrap().manifest.clone();
        manifest.experiment.name = name.into();
        manifest
    }

    #[test]
    fn files_are_those_that_the_plan_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let manifest = manifest("one");
        let writer = RecordingWriter::open(&path, &manifest).unwrap();
        writer.cells().put(&record(&manifest)).unwrap();
        drop(writer);
        let cell = manifest.plan.executable()[0].clone();
        let (id, boot) = (cell.id(), cell.snapshot.id());
        fs::create_dir_all(path.join("traces")).unwrap();
        fs::create_dir_all(path.join("explained")).unwrap();
        for name in [
            format!("traces/{id}.findings.zst"),
            format!("traces/{id}.trace.zst"),
            format!("traces/{boot}.layout.zst"),
            format!("traces/{}.findings.zst", "0".repeat(64)),
            format!("cells/{}.json", "0".repeat(64)),
            format!("explained/{id}.findings.zst"),
            "notes.txt".to_owned(),
        ] {
            fs::write(path.join(name), "x").unwrap();
        }
        let files = Recording::<Named>::open(&path).unwrap().files();
        let mut wanted = [
            format!("cells/{id}.json"),
            "recording.json".to_owned(),
            format!("traces/{id}.findings.zst"),
            format!("traces/{boot}.layout.zst"),
        ];
        wanted.sort();
        assert_eq!(files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), wanted);
        assert!(files.iter().all(|(name, file)| path.join(name) == *file));
    }

    fn record(manifest: &Manifest<Named>) -> CellRecord {
        let inputs = manifest.plan.executable()[0].clone();
        CellRecord {
            format: RECORDING_FORMAT,
            id: inputs.id(),
            inputs,
            console: vec![],
            conditions: None,
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
        assert_eq!(
            Recording::<Named>::open(&path).unwrap().cells().count(),
            manifest.plan.cells.len()
        );
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
        assert!(matches!(error, RecordingError::Busy { .. }), "{error}");
    }

    #[test]
    fn another_format_is_called_older_or_newer() {
        let folder = tempfile::tempdir().unwrap();
        for (format, word) in [(RECORDING_FORMAT_MIN - 1, "older"), (RECORDING_FORMAT + 1, "newer")]
        {
            let text = format!(r#"{{"format": {format}, "what": "ever"}}"#);
            std::fs::write(folder.path().join(MANIFEST), text).unwrap();
            let error = Recording::<Named>::open(folder.path()).unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
        }
    }

    /// Returns a recording with one cell, the cell, and its file.
    fn recorded(folder: &Path) -> (RecordingWriter<Named>, CellRecord, PathBuf) {
        let manifest = manifest("one");
        let record = record(&manifest);
        let writer = RecordingWriter::open(folder, &manifest).unwrap();
        writer.cells().put(&record).unwrap();
        let file = folder.join(CELLS).join(format!("{}.json", record.id));
        (writer, record, file)
    }

    #[test]
    fn flipped_bits_of_a_cell_and_of_a_manifest_are_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let (writer, record, cell) = recorded(folder.path());
        let manifest = folder.path().join(MANIFEST);
        for file in [&cell, &manifest] {
            let whole = fs::read(file).unwrap();
            // Bytes all over the file, and of each another bit.
            for (at, bit) in (0..whole.len()).step_by(5).zip((0..8).cycle()) {
                let mut flipped = whole.clone();
                flipped[at] ^= 1 << bit;
                fs::write(file, flipped).unwrap();
                let noticed = match file == &cell {
                    true => writer.cells().get(record.id).is_err(),
                    false => Recording::<Named>::open(folder.path()).is_err(),
                };
                assert!(noticed, "{} at {at}", file.display());
            }
            fs::write(file, whole).unwrap();
        }
        assert_eq!(writer.cells().get(record.id).unwrap(), Some(record));
        Recording::<Named>::open(folder.path()).unwrap();
    }

    #[test]
    fn a_changed_number_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let (writer, record, file) = recorded(folder.path());
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace("\"reason\":\"test\"", "\"reason\":\"text\"")).unwrap();
        let error = writer.cells().get(record.id).unwrap_err();
        assert!(matches!(error, RecordingError::Damaged { .. }), "{error}");
        let said = error.to_string();
        assert!(said.contains("do not have the SHA-256") && said.contains("remove it"), "{said}");
    }

    /// Recordings of format 2 have no seals and are read; a store's cells without one are not.
    #[test]
    fn only_a_recording_may_be_older_than_seals() {
        let folder = tempfile::tempdir().unwrap();
        let (writer, record, file) = recorded(folder.path());
        let store = CellFolder::of_store(folder.path().join(CELLS));
        assert_eq!(store.get(record.id).unwrap(), Some(record.clone()));
        let older = CellRecord { format: RECORDING_FORMAT_MIN, ..record };
        fs::write(&file, serde_json::to_vec(&older).unwrap()).unwrap();
        assert_eq!(writer.cells().get(older.id).unwrap(), Some(older.clone()));
        let said = store.get(older.id).unwrap_err().to_string();
        assert!(said.contains("does not name its digest"), "{said}");
    }

    #[test]
    fn what_is_no_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let (writer, record, file) = recorded(folder.path());
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &file).unwrap();
        let error = writer.cells().get(record.id).unwrap_err();
        assert!(error.to_string().contains("no regular file"), "{error}");
    }
}
