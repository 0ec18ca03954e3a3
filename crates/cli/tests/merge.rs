//! Tests of `cluster merge`: parts that are sound, and parts that are not.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::common::{Desk, Finished};
use preemptlab_cluster::Workplace;
use preemptlab_experiment::{PartWriter, Recording, RecordingWriter};
use preemptlab_files::OutFolder;
use preemptlab_model::{CellId, CellRecord, FailureCause, Outcome, RECORDING_FORMAT};
use preemptlab_recording::{CellFolder, PartOf, Until};
use preemptlab_testkit::recorded::{Cell, record};
use preemptlab_testkit::traced::Traced;

const PLAN: &str = "preempt = [\"none\", \"full\"]\n[replicates]\ncount = 4\n\
    [workload.load]\nkind = \"cyclictest-hackbench\"\nwindow = \"1s\"\n";

/// A recording of one machine in `whole`, and one without cells in `run`, to which parts are merged.
struct Lab {
    desk: Desk,
    ids: Vec<CellId>,
}

impl Lab {
    fn new() -> Self {
        let desk = Desk::new();
        record(&desk.path("whole"), PLAN, |_, _| Cell::Measured);
        record(&desk.path("run"), PLAN, |_, _| Cell::Missing);
        let whole = Recording::open(&desk.path("whole")).unwrap();
        let ids = whole.manifest().plan.executable().iter().map(|inputs| inputs.id()).collect();
        Self { desk, ids }
    }

    /// Makes the part of a shard with some of the recording's cells.
    fn part(&self, shard: &str, cells: &[usize]) -> PathBuf {
        let shard = shard.parse().unwrap();
        let run = self.desk.path("run");
        let path = Workplace::of(&run).part(0, shard);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let of = PartOf::new(&run, 0, shard).unwrap();
        drop(
            PartWriter::open(Recording::open(&run).unwrap(), &OutFolder::named(&path), &of)
                .unwrap(),
        );
        for cell in cells {
            let name = format!("cells/{}.json", self.ids[*cell]);
            fs::copy(self.desk.path("whole").join(&name), path.join(&name)).unwrap();
        }
        path
    }

    fn file(&self, part: &Path, cell: usize) -> PathBuf {
        part.join(format!("cells/{}.json", self.ids[cell]))
    }

    fn record(&self, cell: usize) -> CellRecord {
        let whole = Recording::open(&self.desk.path("whole")).unwrap();
        whole.cell(self.ids[cell]).unwrap().unwrap()
    }

    /// Puts a cell into a part, sealed anew.
    fn put(&self, part: &Path, record: &CellRecord) {
        let folder = CellFolder::new(part.join("cells"));
        folder.remove(record.id).unwrap();
        folder.put(record).unwrap();
    }

    fn failed(&self, cell: usize, cause: FailureCause, reason: &str) -> CellRecord {
        let outcome = Outcome::Failed { cause, reason: reason.to_owned() };
        CellRecord { outcome, ..self.record(cell) }
    }

    fn merge(&self) -> Finished {
        self.desk.run(&["cluster", "merge", "run"])
    }

    /// Checks that the recording is that of one machine, but for some cells that it lacks.
    #[track_caller]
    fn is_whole_but_for(&self, lacking: &[usize]) {
        let mut whole = files(&self.desk.path("whole"));
        let lacking: Vec<_> =
            lacking.iter().map(|cell| format!("cells/{}.json", self.ids[*cell])).collect();
        whole.retain(|(name, ..)| !lacking.contains(name));
        let run = files(&self.desk.path("run"));
        let names = |files: &[File]| files.iter().map(|file| file.0.clone()).collect::<Vec<_>>();
        assert_eq!(names(&run), names(&whole));
        assert!(run == whole, "bytes or modes differ");
    }
}

/// Name, permissions and bytes.
type File = (String, u32, Vec<u8>);

fn files(folder: &Path) -> Vec<File> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            let mode = fs::symlink_metadata(&path).unwrap().permissions().mode();
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                files.push((name, mode, Vec::new()));
                folders.push(path);
            } else {
                files.push((name, mode, fs::read(path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn parts_become_the_recording_of_one_machine() {
    let lab = Lab::new();
    lab.part("1/3", &[0, 1, 2]);
    lab.part("2/3", &[3, 4]);
    let said = lab.merge();
    said.fails(3, &["5 of 8 cells in run: 0 before, 5 taken now, 3 missing"]);
    said.fails(3, &["cells are missing of 3/3", "preemptlab cluster work run 3/3"]);
    let missing: Vec<_> = said.stdout.lines().collect();
    assert_eq!(missing.len(), 3, "{missing:?}");
    assert!(missing[0].contains(" full load on 1 CPU #"), "{missing:?}");
    lab.is_whole_but_for(&[5, 6, 7]);

    lab.part("3/3", &[5, 6, 7]);
    for taken in ["5 before, 3 taken now", "8 before, 0 taken now"] {
        let said = lab.merge();
        assert_eq!(said.stdout, "");
        said.fails(0, &["8 of 8 cells in run", taken, "next: preemptlab compare run"]);
        lab.is_whole_but_for(&[]);
    }
}

#[test]
fn cells_that_were_executed_twice_are_compared() {
    let lab = Lab::new();
    let one = lab.part("1/2", &[0, 1, 2, 3]);
    let two = lab.part("2/2", &[0, 3, 4, 5, 6, 7]);
    lab.merge().fails(0, &["8 taken now; 2 cells executed twice with the same bytes"]);
    lab.is_whole_but_for(&[]);

    // Another machine says something else, under the same digest or another.
    let mut other = lab.record(3);
    other.console.push("a line".to_owned());
    lab.put(&two, &other);
    let said = ["has two results", "in run and in", "2-of-2: the recording keeps its own"];
    lab.merge().fails(1, &said);
    lab.is_whole_but_for(&[]);
    fs::remove_file(lab.file(&lab.desk.path("run"), 3)).unwrap();
    let said = lab.merge();
    said.fails(1, &["1-of-2 and in run.shards/parts/2-of-2: neither is taken"]);
    assert_eq!(said.stdout, "");
    lab.is_whole_but_for(&[3]);

    fs::remove_dir_all(one).unwrap();
    fs::remove_file(lab.file(&two, 3)).unwrap();
    fs::copy(lab.file(&lab.desk.path("whole"), 3), lab.file(&two, 3)).unwrap();
    lab.merge().fails(0, &["7 before, 1 taken now"]);
    lab.is_whole_but_for(&[]);
}

#[test]
fn a_result_counts_more_than_a_failure_in_any_order() {
    for failed_first in [true, false] {
        let lab = Lab::new();
        let (bad, good) = if failed_first { ("1/2", "2/2") } else { ("2/2", "1/2") };
        let bad = lab.part(bad, &[4]);
        lab.put(&bad, &lab.failed(0, FailureCause::WallTimeLimit, "too slow"));
        lab.put(&bad, &lab.failed(1, FailureCause::Panic, "it panicked"));
        let good = lab.part(good, &[0, 1, 2, 3, 5, 6, 7]);
        let said = lab.merge();
        said.fails(0, &["#1 failed in run.shards", "whose result is taken", "8 taken now"]);
        lab.is_whole_but_for(&[]);

        // A failure that the recording has gives way, too; without a result it is data.
        for cell in [0, 1] {
            fs::remove_file(lab.file(&lab.desk.path("run"), cell)).unwrap();
            fs::rename(lab.file(&good, cell), lab.desk.path(&cell.to_string())).unwrap();
        }
        let said = lab.merge();
        said.fails(3, &["6 before, 2 taken now, 2 failed"]);
        assert_eq!(said.stdout, "");
        for cell in [0, 1] {
            fs::rename(lab.desk.path(&cell.to_string()), lab.file(&good, cell)).unwrap();
        }
        lab.merge().fails(0, &["8 before, 2 taken now"]);
        lab.is_whole_but_for(&[]);
    }
}

#[test]
fn failures_of_machines_may_differ_and_those_of_cells_may_not() {
    let lab = Lab::new();
    let (one, two) = (lab.part("1/2", &[0, 1, 2, 3, 4, 5, 6, 7]), lab.part("2/2", &[]));
    for (part, reason) in [(&one, "b"), (&two, "a")] {
        lab.put(part, &lab.failed(0, FailureCause::WallTimeLimit, reason));
    }
    lab.merge().fails(3, &["8 taken now, 1 failed"]);
    let taken = Recording::open(&lab.desk.path("run")).unwrap().cell(lab.ids[0]).unwrap().unwrap();
    assert_eq!(taken, lab.failed(0, FailureCause::WallTimeLimit, "a"));
    for (part, reason) in [(&one, "b"), (&two, "a")] {
        lab.put(part, &lab.failed(1, FailureCause::Panic, reason));
    }
    fs::remove_file(lab.file(&lab.desk.path("run"), 1)).unwrap();
    lab.merge().fails(1, &["has two results"]);
}

#[test]
fn what_is_not_of_the_plan_is_refused_and_the_rest_is_taken() {
    let lab = Lab::new();
    lab.part("1/2", &[0, 1, 2, 3]);
    let two = lab.part("2/2", &[4, 5, 6, 7]);
    // A part of another plan, and one of a look that never was.
    let other = lab.part("7/9", &[]);
    let text = fs::read_to_string(other.join("part.json")).unwrap();
    fs::remove_dir_all(&other).unwrap();
    record(&lab.desk.path("other"), &PLAN.replace("1s", "2s"), |_, _| Cell::Measured);
    let parts = Workplace::of(&lab.desk.path("run")).parts();
    let of_other = PartOf::new(&lab.desk.path("other"), 0, "1/1".parse().unwrap()).unwrap();
    let of_look = PartOf::new(&lab.desk.path("run"), 2, "1/1".parse().unwrap()).unwrap();
    for (name, of) in [("of-other", &of_other), ("of-look", &of_look)] {
        fs::create_dir_all(parts.join(name)).unwrap();
        let text = serde_json::to_string(of).unwrap();
        fs::write(parts.join(name).join("part.json"), text).unwrap();
    }
    for (name, text) in [("cut", &text[..40]), ("empty", ""), ("list", "[]")] {
        fs::create_dir_all(parts.join(name)).unwrap();
        fs::write(parts.join(name).join("part.json"), text).unwrap();
    }
    fs::create_dir_all(parts.join("thesis")).unwrap();
    fs::write(parts.join("thesis/thesis.tex"), "").unwrap();
    // One that has not begun says nothing.
    fs::create_dir_all(parts.join("3-of-9")).unwrap();
    // An unplanned cell.
    let cell = fs::read_dir(lab.desk.path("other/cells")).unwrap().next().unwrap().unwrap();
    fs::copy(cell.path(), two.join("cells").join(cell.file_name())).unwrap();
    let said = lab.merge();
    said.fails(
        2,
        &[
            "of-other: it is a part of another recording",
            "of-look: its cells were planned by look 2, and run has 0 so far",
            "cut/part.json: it is damaged",
            "list/part.json: it is damaged",
            "thesis: it is neither a part nor a recording",
            "run has no such cell in its plan",
            "8 of 8 cells",
        ],
    );
    assert!(!said.stderr.contains("3-of-9"), "{}", said.stderr);
    lab.is_whole_but_for(&[]);
}

#[test]
fn altered_and_hostile_files_are_refused_and_the_rest_is_taken() {
    let lab = Lab::new();
    let part = lab.part("1/1", &[0, 1, 2, 3, 4, 5, 6, 7]);
    let file = |cell| lab.file(&part, cell);
    let text = fs::read_to_string(file(0)).unwrap();
    fs::write(file(0), text.replacen("\"console\":[", "\"console\":[\"x\",", 1)).unwrap();
    let unsealed = text.split(",\"sha256\"").next().unwrap().to_owned() + "}";
    fs::copy(lab.file(&lab.desk.path("whole"), 1), lab.desk.path("secret")).unwrap();
    fs::remove_file(file(1)).unwrap();
    symlink(lab.desk.path("secret"), file(1)).unwrap();
    fs::remove_file(file(2)).unwrap();
    assert!(Command::new("mkfifo").arg(file(2)).status().unwrap().success());
    fs::File::create(file(3)).unwrap().set_len(1 << 40).unwrap();
    fs::remove_file(file(4)).unwrap();
    fs::create_dir(file(4)).unwrap();
    fs::copy(file(6), file(5)).unwrap();
    fs::write(file(6), "[".repeat(1 << 20)).unwrap();
    fs::write(file(7), unsealed).unwrap();
    for name in ["..json", "\u{1b}[2J.json", "x.json", ".draft-1"] {
        fs::write(part.join("cells").join(name), "").unwrap();
    }
    // A part whose name steers a terminal.
    fs::create_dir_all(part.with_file_name("a\u{1b}[2J")).unwrap();
    fs::write(part.with_file_name("a\u{1b}[2J/part.json"), "").unwrap();
    let said = lab.merge();
    said.fails(
        2,
        &[
            "its bytes do not have the SHA-256 that it names",
            "it is a symbolic link",
            "it is no regular file",
            "it is larger than 32 MiB",
            "it holds another cell than its name says",
            "does not name its digest",
            "0 of 8 cells in run: 0 before, 0 taken now, 8 missing",
        ],
    );
    assert_eq!(said.stdout.lines().count(), 8);
    assert!(!said.stderr.contains('\u{1b}'), "{}", said.stderr);
    lab.is_whole_but_for(&[0, 1, 2, 3, 4, 5, 6, 7]);

    // Whole ones from elsewhere take their place.
    fs::rename(&part, lab.desk.path("bad")).unwrap();
    lab.desk
        .run(&["cluster", "merge", "run", "bad", "whole"])
        .fails(2, &["8 of 8 cells", "8 taken now"]);
    lab.is_whole_but_for(&[]);
}

#[test]
fn recordings_of_the_same_plan_are_parts_and_others_are_not() {
    let lab = Lab::new();
    record(&lab.desk.path("other"), &PLAN.replace("1s", "2s"), |_, _| Cell::Measured);
    let said =
        lab.desk.run(&["cluster", "merge", "run", "other", "absent", "run", "whole", "./whole"]);
    said.fails(2, &["other: it is of another plan", "absent: there is no such folder", "8 of 8"]);
    assert!(!said.stderr.contains("twice"), "{}", said.stderr);
    lab.is_whole_but_for(&[]);
    // The recording is damaged, and the part is not.
    let file = lab.file(&lab.desk.path("run"), 2);
    fs::write(&file, "{}").unwrap();
    let said = lab.desk.run(&["cluster", "merge", "run", "whole"]);
    said.fails(2, &["it is damaged", "7 of 8 cells", "1 missing"]);
    assert_eq!(fs::read_to_string(file).unwrap(), "{}");
}

#[test]
fn folders_that_somebody_has_are_told_of() {
    let lab = Lab::new();
    let run = lab.desk.path("run");
    lab.part("1/2", &[0, 1, 2, 3]);
    let of = PartOf::new(&run, 0, "2/2".parse().unwrap()).unwrap();
    let path = lab.part("2/2", &[4]);
    let worker =
        PartWriter::open(Recording::open(&run).unwrap(), &OutFolder::named(&path), &of).unwrap();
    lab.merge().fails(3, &["5 taken now", "a process writes to run.shards/parts/2-of-2 now"]);
    lab.is_whole_but_for(&[5, 6, 7]);
    drop(worker);

    let lock = preemptlab_files::lock(&run).unwrap();
    lab.merge().fails(4, &["another process is writing to run"]);
    drop(lock);
    lab.desk.run(&["cluster", "merge", "absent"]).fails(2, &["there is no folder absent"]);
    assert!(!lab.desk.path("absent").exists());
    fs::remove_dir_all(lab.desk.path("run.shards")).unwrap();
    lab.merge().fails(3, &["there are no parts in run.shards/parts", "next: preemptlab run run"]);
}

#[test]
fn traces_and_layouts_are_those_of_one_machine() {
    let desk = Desk::new();
    let whole = Traced::new(&desk.path("whole"));
    let ids: Vec<_> =
        whole.recording.manifest().plan.executable().iter().map(|it| it.id()).collect();
    fs::create_dir(desk.path("run")).unwrap();
    let manifest = "recording.json";
    fs::copy(desk.path("whole").join(manifest), desk.path("run").join(manifest)).unwrap();
    // Each of two parts has the traces of its cells, and the second one without the layout.
    for (name, cells) in [("a", &ids[..2]), ("b", &ids[2..])] {
        let copied =
            Command::new("cp").args(["-r", "whole", name]).current_dir(desk.path("")).status();
        assert!(copied.unwrap().success());
        for id in ids.iter().filter(|id| !cells.contains(id)) {
            fs::remove_file(desk.path(name).join(format!("cells/{id}.json"))).unwrap();
            for kind in ["trace", "findings"] {
                let _ = fs::remove_file(desk.path(name).join(format!("traces/{id}.{kind}.zst")));
            }
        }
    }
    let layout = whole.layout();
    let name = layout.file_name().unwrap();
    fs::remove_file(desk.path("b/traces").join(name)).unwrap();
    let said = desk.run(&["cluster", "merge", "run", "b", "a"]);
    said.fails(0, &["4 taken now, 2 with new traces"]);
    assert!(files(&desk.path("run")) == files(&desk.path("whole")));

    // A damaged trace is refused, and another one stays where it is.
    let trace = whole.file("trace");
    let (ours, theirs) = (
        desk.path("run/traces").join(trace.file_name().unwrap()),
        desk.path("a/traces").join(trace.file_name().unwrap()),
    );
    let mut bytes = fs::read(&theirs).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&theirs, &bytes).unwrap();
    desk.run(&["cluster", "merge", "run", "a"])
        .fails(1, &["has two traces", "the recording keeps its own"]);
    fs::remove_file(&ours).unwrap();
    desk.run(&["cluster", "merge", "run", "a"]).fails(2, &["it is cut off or damaged"]);
    assert!(!ours.exists());
    desk.run(&["cluster", "merge", "run", "whole"]).fails(0, &["0 taken now, 1 with new traces"]);
    assert!(files(&desk.path("run")) == files(&desk.path("whole")));
}

#[test]
fn a_killed_merge_goes_on() {
    let lab = Lab::new();
    lab.part("1/1", &[0, 1, 2, 3, 4, 5, 6, 7]);
    for _ in 0..8 {
        let mut command = lab.desk.command(&["cluster", "merge", "run"]);
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let cells = lab.desk.path("run/cells");
        let before = fs::read_dir(&cells).unwrap().count();
        while fs::read_dir(&cells).unwrap().count() == before && child.try_wait().unwrap().is_none()
        {
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let done =
            fs::read_dir(&cells).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
        for file in &done {
            let one = lab.desk.path("whole/cells").join(file.file_name().unwrap());
            assert!(fs::read(file).unwrap() == fs::read(one).unwrap());
        }
        // The next one finds work, wherever this one was killed.
        fs::remove_file(&done[0]).unwrap();
    }
    lab.merge().fails(0, &["8 of 8 cells in run"]);
    lab.is_whole_but_for(&[]);
}

#[test]
fn cells_of_looks_are_of_the_plan() {
    let lab = Lab::new();
    record(&lab.desk.path("more"), &PLAN.replace("count = 4", "count = 5"), |_, _| Cell::Measured);
    let more = Recording::open(&lab.desk.path("more")).unwrap();
    let fifth = |(_, cell): (u32, &_)| Clone::clone(cell);
    let added: Vec<preemptlab_model::PlannedCell> =
        more.planned().filter(|(_, cell)| cell.factors.replicate == 5).map(fifth).collect();
    assert_eq!(added.len(), 2);
    lab.part("1/1", &[0, 1, 2, 3, 4, 5, 6, 7]);
    let (format, margins) = (RECORDING_FORMAT, vec!["5%".to_owned()]);
    let until = Until { format, margins, metrics: Vec::new(), baseline: None };
    for name in ["whole", "run"] {
        let mut writer = RecordingWriter::resume(&lab.desk.path(name)).unwrap();
        writer.begin_until(&until).unwrap();
        assert!(writer.add(added.clone()).unwrap());
    }
    // Parts of the plan and of the look have cells of one recording.
    let shard = "2/2".parse().unwrap();
    let run = lab.desk.path("run");
    let part = Workplace::of(&run).part(1, shard);
    let of = PartOf::new(&run, 1, shard).unwrap();
    drop(PartWriter::open(Recording::open(&run).unwrap(), &OutFolder::named(&part), &of).unwrap());
    let [one, other] = [0, 1].map(|cell: usize| {
        let id = added[cell].inputs().unwrap().id();
        CellFolder::new(lab.desk.path("more/cells")).get(id).unwrap().unwrap()
    });
    lab.put(&lab.desk.path("whole"), &one);
    lab.put(&lab.desk.path("whole"), &other);
    lab.put(&part, &other);
    let said = lab.merge();
    said.fails(3, &["9 of 10 cells", "cells are missing of 1/2", "cluster work run 1/2"]);
    assert!(said.stdout.ends_with("#5\n") && said.stdout.lines().count() == 1, "{}", said.stdout);
    lab.put(&part, &one);
    lab.merge().fails(0, &["9 before, 1 taken now"]);
    lab.is_whole_but_for(&[]);
}
