//! Counts how often an answer reads the files of a recording's cells: once each.

use std::{
    collections::BTreeMap,
    mem::MaybeUninit,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use preemptlab_analysis::{
    Cells, Compared, GivenRule, Keep, comparison,
    gate::{Side, judged},
    history, repeated, sampled, unsound,
};
use preemptlab_experiment::Recording;
use preemptlab_model::KernelRef;
use preemptlab_report::{
    InWords,
    export::{Format, export_tables},
    page::page_data,
};
use preemptlab_stats::{GateRule, GateVerdict, Margins};
use preemptlab_testkit::recorded::{Cell, record, record_kernels};
use preemptlab_testkit::traced::Traced;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use tempfile::TempDir;

const TEXT: &str = "preempt = [\"none\", \"full\"]\n[replicates]\ncount = 5\n\
    [workload.load]\nkind = \"cyclictest-hackbench\"\nwindow = \"1s\"\n";

/// The kernel's own count of how often files of folders are opened.
struct Opened(OwnedFd);

impl Opened {
    fn watch<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Self {
        let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
        for folder in folders {
            // Two equal events in a row would be one: an opened file is closed in between.
            let both = WatchFlags::OPEN | WatchFlags::CLOSE_NOWRITE;
            inotify::add_watch(&queue, folder, both).unwrap();
        }
        Self(queue)
    }

    /// Returns how often each file of a kind was opened since the last call.
    fn count(&self, end: &str) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        let mut buffer = [MaybeUninit::uninit(); 1 << 16];
        let mut events = Reader::new(&self.0, &mut buffer);
        while let Ok(event) = events.next() {
            let is_open = event.events().contains(ReadFlags::OPEN);
            let name = event.file_name().map(|name| name.to_string_lossy().into_owned());
            if let Some(name) = name.filter(|name| is_open && name.ends_with(end)) {
                *counts.entry(name).or_default() += 1;
            }
        }
        counts
    }
}

/// Says how often the cells of recordings are read in the course of something.
fn reads(paths: &[PathBuf], doing: impl FnOnce()) -> Vec<usize> {
    let folders: Vec<PathBuf> = paths.iter().map(|path| path.join("cells")).collect();
    let opened = Opened::watch(folders.iter().map(PathBuf::as_path));
    doing();
    opened.count(".json").into_values().collect()
}

fn compared(paths: &[PathBuf], keep: Keep) -> Compared {
    Compared::open(paths, keep, GivenRule::default()).unwrap().0
}

fn page(compared: &Compared) {
    let words = InWords { headline: String::new(), points: Vec::new() };
    page_data(compared, &compared.comparison().unwrap(), words, "a test").unwrap();
}

fn two_kernels() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two");
    record_kernels(&path, &["debian:6.12", "debian:7.2"], TEXT, |kernel, mode, replicate| {
        match (kernel, mode) {
            ("debian:7.2", "none") => Cell::Later(500),
            _ => Cell::Later(u64::from(replicate % 3)),
        }
    });
    (folder, path)
}

#[test]
fn every_answer_reads_a_cell_once() {
    let (folder, path) = two_kernels();
    let paths = [path.clone()];
    let once = vec![1; 20];
    let compare = || drop(compared(&paths, Keep::Metrics).comparison().unwrap());
    assert_eq!(reads(&paths, compare), once, "compare");
    assert_eq!(reads(&paths, || page(&compared(&paths, Keep::Distributions))), once, "report");
    let of_history = || {
        history(&compared(&paths, Keep::Sections), &[], &Margins::gate()).unwrap();
    };
    assert_eq!(reads(&paths, of_history), once, "history");
    let recording = Recording::open(&path).unwrap();
    let export = || {
        let out = folder.path().join("tables");
        export_tables(std::slice::from_ref(&recording), Format::Csv, Some(&out)).unwrap();
    };
    assert_eq!(reads(&paths, export), once, "export");
    let look = || {
        let cells = Cells::read(&[&recording], Keep::Metrics).unwrap();
        comparison(&[&recording], &cells, None, Margins::default()).unwrap();
        assert!(unsound::notes(&[&recording], &cells).is_empty());
        assert!(repeated::notes(&recording, &cells).is_empty());
        sampled::notes(&recording, &cells).unwrap();
    };
    assert_eq!(reads(&paths, look), once, "run --until");
    let kernels: [KernelRef; 2] = ["debian:6.12", "debian:7.2"].map(|name| name.parse().unwrap());
    let look = || {
        let cells = Cells::read(&[&recording], Keep::Sections).unwrap();
        let side = |kernel| Side { recording: &recording, cells: cells.all(), kernel };
        let [base, new] = [side(&kernels[0]), side(&kernels[1])];
        let gate = judged(base, new, GateRule::default()).unwrap();
        assert_eq!(gate.verdict, GateVerdict::Worse);
    };
    assert_eq!(reads(&paths, look), once, "gate");
}

#[test]
fn two_recordings_are_read_once_each() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a", "b"].map(|name| folder.path().join(name));
    for path in &paths {
        record(path, TEXT, |_, replicate| Cell::Later(replicate.into()));
    }
    let gate = || {
        let compared = compared(&paths, Keep::Sections);
        let sides: Vec<Side<'_>> = compared.parts().map(|of| Side::only(of).unwrap()).collect();
        judged(sides[0], sides[1], GateRule::default()).unwrap();
    };
    // Both have the same cells, under the same names.
    assert_eq!(reads(&paths, gate), vec![2; 10]);
}

/// The worst wakeup of a configuration is explained by its trace, whose cell is read for that again; the
/// findings of every cell are read once.
#[test]
fn only_a_cell_that_is_explained_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let traced = Traced::new(&folder.path().join("traced"));
    let paths = [traced.path.clone()];
    let folders = [traced.path.join("cells"), traced.path.join("traces")];
    let opened = Opened::watch(folders.iter().map(PathBuf::as_path));
    page(&compared(&paths, Keep::Distributions));
    let all = opened.count("");
    let of = |end: &str| -> Vec<usize> {
        all.iter().filter(|(name, _)| name.ends_with(end)).map(|(_, count)| *count).collect()
    };
    assert_eq!(of(".findings.zst"), [1]);
    let mut cells = of(".json");
    cells.sort_unstable();
    assert_eq!(cells, [1, 1, 1, 2], "one of the cells that were measured has a trace");
}
