use std::{
    fs::{self, File},
    io::{self, Read, Seek},
    path::{Path, PathBuf},
};

use preemptlab_model::plain;
use preemptlab_model::{Arch, CellId, SnapshotId};
use preemptlab_trace::{
    Delays, FINDINGS_FORMAT, FINDINGS_FORMAT_MIN, Findings, Kernel, LAYOUT_FORMAT, Layout,
    LongSection, Splits, TraceError,
};
use serde::{Deserialize, Serialize};

use crate::{
    CellFolder, RecordingError,
    cells::create_folder,
    packed::{Copied, Kind, Packed},
};

/// The version of [`Unmeasured`].
const UNMEASURED_FORMAT: u32 = 1;

/// Record of a cell that was executed without a measurement of its instants.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Unmeasured {
    format: u32,
    reason: String,
}

/// Folder of the traces of a recording's cells, of their findings, and of the layouts with which they are read.
/// Most cells have findings and no trace: a trace takes up a hundred times as much.
#[derive(Clone, Debug)]
pub struct TraceFolder {
    path: PathBuf,
    /// Folder whose files are read in the place of this one's, where it has them.
    before: Option<PathBuf>,
}

impl CellFolder {
    /// Returns the folder of findings about the cells' instants beside the cells themselves, as a store keeps
    /// it.
    pub fn instants(&self) -> TraceFolder {
        TraceFolder::new(self.path())
    }
}

impl TraceFolder {
    /// Creates the folder of the traces in `path`, which need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), before: None }
    }

    /// Reads the files of another folder from there, and the rest from this one. Everything is
    /// written to this one.
    #[must_use]
    pub fn after(self, before: Self) -> Self {
        Self { before: Some(before.path), ..self }
    }

    /// Returns the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the folder.
    ///
    /// # Errors
    ///
    /// When that is not allowed.
    pub fn create(&self) -> Result<(), RecordingError> {
        create_folder(&self.path)?;
        preemptlab_files::sweep(&self.path).map_err(RecordingError::io("clean", &self.path))
    }

    /// Returns whether the folder exists.
    pub fn exists(&self) -> bool {
        self.path.is_dir()
    }

    /// Returns whether a cell has a trace and its findings.
    pub fn contains(&self, id: CellId) -> bool {
        is_whole(self.trace_folder_of(id), id)
    }

    /// Returns whether a cell has findings, without reading them.
    pub fn has_findings(&self, id: CellId) -> bool {
        self.packed_findings(id).path.exists()
    }

    /// Creates a file without a name in which a stream can grow, on the disk of the traces.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written to.
    pub fn scratch(&self) -> Result<File, RecordingError> {
        tempfile::tempfile_in(&self.path)
            .map_err(RecordingError::io("create a file in", &self.path))
    }

    /// Keeps a cell's stream and its findings, instead of those that it has.
    ///
    /// # Errors
    ///
    /// When the disk is full; then the cell has no trace.
    pub fn put(
        &self,
        id: CellId,
        stream: &mut File,
        findings: &Findings,
    ) -> Result<(), RecordingError> {
        stream.rewind().map_err(RecordingError::io("read", &self.path))?;
        self.remove_file(id, Kind::Trace)?;
        self.put_findings(id, findings)?;
        Packed::new(&self.path, Kind::Trace, &id).write(stream)
    }

    /// Keeps a cell's findings, instead of others that it has.
    ///
    /// # Errors
    ///
    /// When the disk is full; then the cell has no findings.
    pub fn put_findings(&self, id: CellId, findings: &Findings) -> Result<(), RecordingError> {
        let file = Packed::new(&self.path, Kind::Findings, &id);
        let known = file.read_value::<Findings>(FINDINGS_FORMAT..=FINDINGS_FORMAT);
        if !known.is_ok_and(|known| known.as_ref() == Some(findings)) {
            self.remove_file(id, Kind::Findings)?;
            file.write_value(findings)?;
        }
        self.remove_file(id, Kind::Unmeasured)
    }

    /// Keeps the reason for which a cell has no findings.
    ///
    /// # Errors
    ///
    /// When the disk is full.
    pub fn put_unmeasured(&self, id: CellId, reason: &str) -> Result<(), RecordingError> {
        let value =
            Unmeasured { format: UNMEASURED_FORMAT, reason: plain::line(reason).to_string() };
        self.remove_file(id, Kind::Unmeasured)?;
        Packed::new(&self.path, Kind::Unmeasured, &id).write_value(&value)
    }

    /// Reads the reason for which a cell has no findings; `None` where none was kept.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn unmeasured(&self, id: CellId) -> Result<Option<String>, RecordingError> {
        let file = Packed::new(self.findings_folder_of(id), Kind::Unmeasured, &id);
        let kept: Option<Unmeasured> = file.read_value(UNMEASURED_FORMAT..=UNMEASURED_FORMAT)?;
        Ok(kept.map(|kept| plain::line(&kept.reason).to_string()))
    }

    /// Copies another folder's findings about a cell's instants: its findings, or the reason why it has
    /// none. Returns whether there is either, in the form that this version writes.
    ///
    /// # Errors
    ///
    /// When the other's files are damaged, or these cannot be written.
    pub fn take_findings(&self, id: CellId, other: &Self) -> Result<bool, RecordingError> {
        if let Some(findings) = other.findings(id)? {
            let is_current = findings.format == FINDINGS_FORMAT;
            if is_current {
                self.put_findings(id, &findings)?;
            }
            return Ok(is_current);
        }
        match other.unmeasured(id)? {
            Some(reason) => self.put_unmeasured(id, &reason).map(|()| true),
            None => Ok(false),
        }
    }

    /// Opens a cell's stream; `None` when it has none.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn stream(&self, id: CellId) -> Result<Option<impl Read + use<>>, RecordingError> {
        self.trace(id).open()
    }

    /// Returns the error of a cell's stream that cannot be used, with the file's name and the next
    /// command.
    pub fn unreadable(&self, id: CellId, error: TraceError) -> RecordingError {
        let path = self.trace(id).path;
        match error {
            TraceError::Format(found) => {
                RecordingError::OtherFormat { path, found, known: preemptlab_protocol::FORMAT }
            }
            // zstd has noticed the damage.
            TraceError::Io(error) => {
                let reason = format!("it is cut off or damaged ({error})");
                RecordingError::Damaged { path, reason }
            }
            error @ TraceError::TooMany { .. } => {
                RecordingError::TooLarge { path, reason: error.to_string() }
            }
            error => RecordingError::Damaged { path, reason: error.to_string() },
        }
    }

    /// Reads the findings of a cell; `None` when it has none.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn findings(&self, id: CellId) -> Result<Option<Findings>, RecordingError> {
        let packed = self.packed_findings(id);
        let findings: Option<Findings> =
            packed.read_value(FINDINGS_FORMAT_MIN..=FINDINGS_FORMAT)?;
        match findings.as_ref().map_or(Ok(()), check) {
            Ok(()) => Ok(findings),
            Err(reason) => {
                Err(RecordingError::Damaged { path: packed.path, reason: reason.to_owned() })
            }
        }
    }

    /// Keeps the layout of a boot's kernel.
    ///
    /// # Errors
    ///
    /// When the disk is full.
    pub fn put_layout(&self, id: SnapshotId, layout: &Layout) -> Result<(), RecordingError> {
        Packed::new(&self.path, Kind::Layout, &id).write_value(layout)
    }

    /// Reads the layout of a boot's kernel; `None` when it is not there.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn layout(&self, id: SnapshotId) -> Result<Option<Layout>, RecordingError> {
        self.packed_layout(id).read_value(LAYOUT_FORMAT..=LAYOUT_FORMAT)
    }

    /// Returns whether the layout of a boot's kernel is there.
    pub fn has_layout(&self, id: SnapshotId) -> bool {
        self.packed_layout(id).path.exists()
    }

    /// Removes the layout of a boot's kernel.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written to.
    pub fn remove_layout(&self, id: SnapshotId) -> Result<(), RecordingError> {
        let path = Packed::new(&self.path, Kind::Layout, &id).path;
        fs::remove_file(&path).map_err(RecordingError::io("remove", path))
    }

    /// Copies a cell's stream and findings, or its findings alone, from another folder, byte for byte. Those
    /// that are here already stay as they are.
    ///
    /// # Errors
    ///
    /// When the other's files are damaged, or these cannot be written.
    pub fn copy(&self, id: CellId, other: &Self) -> Result<Copied, RecordingError> {
        if other.findings(id)?.is_none() {
            return match other.unmeasured(id)? {
                Some(_) => self.copy_file(id, Kind::Unmeasured, other),
                None => Ok(Copied::Absent),
            };
        }
        let findings = self.copy_file(id, Kind::Findings, other)?;
        if findings == Copied::Other || !other.contains(id) {
            return Ok(findings);
        }
        self.copy_file(id, Kind::Trace, other)
    }

    fn copy_file(&self, id: CellId, kind: Kind, other: &Self) -> Result<Copied, RecordingError> {
        let (here, there) = (self.folder_of(id, kind), other.folder_of(id, kind));
        Packed::new(here, kind, &id).copy_from(&Packed::new(there, kind, &id))
    }

    /// Copies the layout of a boot's kernel, and of guests of an architecture, from another folder, byte for byte. One that is here already
    /// stays as it is.
    ///
    /// # Errors
    ///
    /// When the other's file is damaged, or this one cannot be written.
    pub fn copy_layout(
        &self,
        id: SnapshotId,
        guest: Arch,
        other: &Self,
    ) -> Result<Copied, RecordingError> {
        let packed = self.packed_layout(id);
        if !packed.path.exists() && other.kernel(id, guest)?.is_none() {
            return Ok(Copied::Absent);
        }
        packed.copy_from(&other.packed_layout(id))
    }

    /// Lists the paths of a cell's stream, of its findings, and of the reason why it has none, which need not
    /// be there.
    pub fn files(&self, id: CellId) -> [PathBuf; 3] {
        let unmeasured = Packed::new(self.findings_folder_of(id), Kind::Unmeasured, &id);
        [self.trace(id).path, self.packed_findings(id).path, unmeasured.path]
    }

    /// Returns the path of the layout of a boot's kernel, which need not be there.
    pub fn layout_file(&self, id: SnapshotId) -> PathBuf {
        self.packed_layout(id).path
    }

    /// Returns the kernel of a boot of a guest of an architecture, ready to read traces with; `None` when its layout is not
    /// there.
    ///
    /// # Errors
    ///
    /// When its layout is damaged.
    pub fn kernel(&self, id: SnapshotId, guest: Arch) -> Result<Option<Kernel>, RecordingError> {
        let path = self.packed_layout(id).path;
        let kernel = self.layout(id)?.map(|layout| Kernel::new(guest, layout)).transpose();
        kernel.map_err(|error| RecordingError::Damaged { path, reason: error.to_string() })
    }

    fn trace(&self, id: CellId) -> Packed {
        Packed::new(self.folder_of(id, Kind::Trace), Kind::Trace, &id)
    }

    fn packed_findings(&self, id: CellId) -> Packed {
        Packed::new(self.findings_folder_of(id), Kind::Findings, &id)
    }

    fn packed_layout(&self, id: SnapshotId) -> Packed {
        let has = |folder: &&PathBuf| Packed::new(folder, Kind::Layout, &id).path.exists();
        Packed::new(self.before.as_ref().filter(has).unwrap_or(&self.path), Kind::Layout, &id)
    }

    fn folder_of(&self, id: CellId, kind: Kind) -> &Path {
        match kind {
            Kind::Trace => self.trace_folder_of(id),
            _ => self.findings_folder_of(id),
        }
    }

    /// Returns the folder that a cell's trace is read from.
    fn trace_folder_of(&self, id: CellId) -> &Path {
        match &self.before {
            Some(before) if is_whole(before, id) || !is_whole(&self.path, id) => before,
            _ => &self.path,
        }
    }

    /// Returns the folder that a cell's findings are read from: where it has a trace, that of the trace.
    /// Findings without a trace are those of another execution of the same cell, which says the same.
    fn findings_folder_of(&self, id: CellId) -> &Path {
        let Some(before) = &self.before else { return &self.path };
        let has = |folder: &Path| Packed::new(folder, Kind::Findings, &id).path.exists();
        match is_whole(before, id) || !is_whole(&self.path, id) && !has(&self.path) {
            true => before,
            false => &self.path,
        }
    }

    /// Removes a cell's trace and findings, so that they are made again.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written to.
    pub fn remove(&self, id: CellId) -> Result<(), RecordingError> {
        [Kind::Findings, Kind::Trace, Kind::Unmeasured]
            .into_iter()
            .try_for_each(|kind| self.remove_file(id, kind))
    }

    fn remove_file(&self, id: CellId, kind: Kind) -> Result<(), RecordingError> {
        let path = Packed::new(&self.path, kind, &id).path;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(RecordingError::io("remove", path)(error))
            }
            _ => Ok(()),
        }
    }
}

/// Returns whether a folder has a cell's stream and its findings.
fn is_whole(folder: &Path, id: CellId) -> bool {
    let files = [Kind::Findings, Kind::Trace].map(|kind| Packed::new(folder, kind, &id).path);
    files.iter().all(|file| file.exists())
}

/// Checks whether findings can be those of a trace: times are in order and in range, and names can
/// be printed.
fn check(findings: &Findings) -> Result<(), &'static str> {
    /// Sums of a few times stay in range.
    const NS_MAX: u64 = u64::MAX >> 4;
    let Findings {
        start_ns,
        end_ns,
        clock_offset_ns,
        bound,
        worst,
        delays,
        splits,
        sections,
        longest,
        ..
    } = findings;
    let closed = bound.iter().flat_map(|bound| &bound.longest);
    let mut stretches = closed.map(|closed| (closed.start_ns, closed.end_ns));
    let is_stretch = |(start_ns, end_ns)| start_ns <= end_ns && end_ns <= NS_MAX;
    let is_in_range = bound.as_ref().is_none_or(|bound| {
        let (computed_ns, observed_ns) = (bound.computed_ns(), bound.observed_ns());
        let quantiles = [bound.p50_ns, bound.p99_ns, bound.p99_9_ns];
        let told = quantiles.into_iter().chain(bound.p99_999_ns).chain(bound.instants_ns);
        let ends = bound.curve.later.last().map_or(0, |(latency_ns, _)| *latency_ns);
        let told = told.chain([bound.curve.window_ns, ends]);
        bound.curve.is_ordered()
            && told.chain([bound.floor_ns, computed_ns, observed_ns]).all(|ns| ns <= NS_MAX)
    });
    if !(is_stretch((*start_ns, *end_ns)) && stretches.all(is_stretch) && is_in_range)
        || clock_offset_ns.unsigned_abs() > NS_MAX
    {
        return Err("it tells times that cannot be");
    }
    if !delays.as_ref().is_none_or(Delays::is_possible) {
        return Err("it tells scheduling delays that cannot be");
    }
    if !splits.as_ref().is_none_or(Splits::is_possible) {
        return Err("it tells parts of latencies that cannot be");
    }
    let parts = longest.iter().flat_map(|section| &section.parts);
    if !parts.map(|part| part.ns).all(|ns| ns <= NS_MAX) {
        return Err("it tells parts of sections that cannot be");
    }
    let named = sections.iter().flat_map(|ranked| ranked.callers.iter().chain([&ranked.function]));
    let mut names = named
        .chain(worst.as_ref().map(|worst| &worst.function))
        .chain(longest.iter().flat_map(LongSection::names));
    if names.any(|name| name.contains(char::is_control)) {
        return Err("it names functions that cannot be");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use preemptlab_trace::{Bound, Findings};
    use serde_json::json;

    /// Findings of format 5 hold no parts of latencies.
    #[test]
    fn parts_of_latencies_are_read_where_there_are_some() {
        let mut findings = json!({
            "format": 5, "events": 1, "miscounts": 0, "start_ns": 0, "end_ns": 1,
            "clock_offset_ns": 0, "bound": null, "sections": [],
        });
        let read = |value: &serde_json::Value| -> Findings {
            serde_json::from_str(&value.to_string()).unwrap()
        };
        let old = read(&findings);
        assert_eq!((old.splits, super::check(&old)), (None, Ok(())));
        let part = |p50_ns: u64| json!({"wakeups": 2, "p50_ns": p50_ns, "p99_ns": 7, "p99_9_ns": 7, "max_ns": 7});
        findings["splits"] = json!({"irq": part(1), "thread": part(2), "user": part(3)});
        let new = read(&findings);
        assert_eq!(
            (new.splits.map(|splits| splits.thread.p50_ns), super::check(&new)),
            (Some(2), Ok(()))
        );
        findings["splits"]["user"] = part(8);
        assert_eq!(
            super::check(&read(&findings)),
            Err("it tells parts of latencies that cannot be")
        );
    }

    /// Findings of older traces hold no observed maximum.
    #[test]
    fn a_bound_is_read_as_it_was_written() {
        let old = r#"{"floor_ns":7,"max_ns":57,"p50_ns":7,"p99_ns":7,"p99_9_ns":8,"longest":[]}"#;
        let old: Bound = serde_json::from_str(old).unwrap();
        assert_eq!((old.max_ns(), old.is_sound()), (57, true));
        let new = old.observing(71);
        assert_eq!((new.max_ns(), new.is_sound()), (71, false));
        let text = serde_json::to_string(&new).unwrap();
        assert_eq!(serde_json::from_str::<Bound>(&text).unwrap(), new);
    }
}
