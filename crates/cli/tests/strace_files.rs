//! Commands that write files, killed at each system call that changes one: every file is the old one, the new
//! one or absent, and the same command then ends with the bytes of one that nothing disturbed.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::common::{Desk, Finished, tree};
use preemptlab_cluster::Workplace;
use preemptlab_experiment::{PartWriter, Recording};
use preemptlab_files::OutFolder;
use preemptlab_recording::PartOf;
use preemptlab_testkit::recorded::{Cell, record};
use preemptlab_testkit::traced::Traced;

/// The system calls that change files, as strace names them.
const WRITING: &str = "write,writev,pwrite64,openat,rename,renameat,renameat2,unlink,unlinkat,fsync,\
    fdatasync,ftruncate,link,linkat,symlink,symlinkat,chmod,fchmod,fchmodat,mkdir,mkdirat,rmdir,flock,\
    copy_file_range,sendfile,syncfs";

const FULL: &str = "preempt = [\"full\"]\n[replicates]\ncount = 6\n\
    [workload.load]\nkind = \"cyclictest-hackbench\"\nwindow = \"1s\"\n";

/// The most runs until a command comes to a call again.
const RUNS_MAX: usize = 100;

/// A command, and the files on the desk before it.
struct Case {
    make: fn(&Desk),
    command: &'static [&'static str],
    /// The fewest calls that it must have been killed at, so that the test is one.
    calls_min: usize,
}

type Files = BTreeMap<PathBuf, Vec<u8>>;

fn files(desk: &Desk) -> Files {
    tree(&desk.path("")).into_iter().collect()
}

/// Returns the command below strace, which counts calls for each thread.
fn below_strace(desk: &Desk, options: &[&str], command: &[&str]) -> Finished {
    let whole = desk.command(command);
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq"]).args(options).arg(whole.get_program()).args(whole.get_args());
    strace.envs(whole.get_envs().filter_map(|(name, value)| Some((name, value?))));
    strace.current_dir(whole.get_current_dir().unwrap());
    Finished::new(strace.output().expect("strace is installed"))
}

/// Returns the calls that change a file: name, and number among those of the name in its thread.
fn calls(case: &Case) -> Vec<(String, u32)> {
    let desk = Desk::new();
    (case.make)(&desk);
    let logs = tempfile::tempdir().unwrap();
    let log = logs.path().join("log");
    let options = ["-o", log.to_str().unwrap(), "-e", &format!("trace={WRITING}")];
    below_strace(&desk, &options, case.command).succeeds();
    let mut numbers = BTreeMap::<(String, String), u32>::new();
    let mut calls = Vec::new();
    for line in fs::read_to_string(log).unwrap().lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        let Some((name, rest)) = call.trim_start().split_once('(') else { continue };
        let number = numbers.entry((thread.to_owned(), name.to_owned())).or_default();
        *number += 1;
        let changes = match name {
            "openat" => rest.contains("O_CREAT") || rest.contains("O_TMPFILE"),
            "write" => !rest.starts_with("1,") && !rest.starts_with("2,"),
            _ => true,
        };
        if changes {
            calls.push((name.to_owned(), *number));
        }
    }
    calls.sort();
    calls.dedup();
    calls
}

/// Kills a command at a call, and returns its desk; `None` where it was never killed. Threads share the work
/// differently from run to run, so a number that one of them came to may need some runs to come again.
fn kill(case: &Case, name: &str, number: u32) -> Option<Desk> {
    let trace = format!("trace={name}");
    let inject = format!("inject={name}:signal=KILL:when={number}");
    let options = ["-o", "/dev/null", "-e", &trace, "-e", &inject];
    (0..RUNS_MAX).find_map(|_| {
        let desk = Desk::new();
        (case.make)(&desk);
        let finished = below_strace(&desk, &options, case.command);
        (finished.code != 0).then_some(desk)
    })
}

/// Kills a command at every `step`-th call. Returns the mistake.
fn killed(case: &Case, step: usize) -> Vec<String> {
    let context = case.command.join(" ");
    let desk = Desk::new();
    (case.make)(&desk);
    let before = files(&desk);
    desk.run(case.command).succeeds();
    let after = files(&desk);
    assert_ne!(before, after, "{context}: it writes nothing");
    let calls = calls(case);
    assert!(calls.len() >= case.calls_min, "{context}: only {} calls", calls.len());
    let mut wrong = Vec::new();
    for (name, number) in calls.iter().step_by(step) {
        let context = format!("{context}, killed at {name} {number}");
        let Some(desk) = kill(case, name, *number) else {
            wrong.push(format!("{context}: it was not killed"));
            continue;
        };
        for (path, bytes) in files(&desk) {
            // Between its two names a file that takes another one's place is a draft; the next command sweeps
            // it.
            if path.to_string_lossy().contains(".draft-") {
                continue;
            }
            if ![&before, &after].iter().any(|it| it.get(&path) == Some(&bytes)) {
                wrong.push(format!("{context}: {} is neither old nor new", path.display()));
            }
        }
        let gone = before.keys().filter(|path| !desk.path("").join(path).exists());
        wrong.extend(gone.map(|path| format!("{context}: {} is gone", path.display())));
        let again = desk.run(case.command);
        if again.code != 0 {
            wrong.push(format!("{context}: then {}: {}", again.code, again.stderr));
        }
        let now = files(&desk);
        let paths = now.keys().chain(after.keys());
        let differ: Vec<_> = paths.filter(|it| now.get(*it) != after.get(*it)).collect();
        if !differ.is_empty() {
            wrong.push(format!("{context}: then {differ:?} differ"));
        }
    }
    println!("{context}: killed at {} of {} calls", calls.len().div_ceil(step), calls.len());
    wrong
}

/// A recording without cells, and parts of it with traces, one of them without the layout.
fn traced_parts(desk: &Desk) {
    let whole = Traced::new(&desk.path("a"));
    fs::create_dir(desk.path("run")).unwrap();
    fs::copy(desk.path("a/recording.json"), desk.path("run/recording.json")).unwrap();
    let copied = Command::new("cp").args(["-r", "a", "b"]).current_dir(desk.path("")).status();
    assert!(copied.unwrap().success());
    let ids = whole.recording.manifest().plan.executable();
    for (at, inputs) in ids.iter().enumerate() {
        let part = desk.path(if at < 2 { "b" } else { "a" });
        let id = inputs.id();
        fs::remove_file(part.join(format!("cells/{id}.json"))).unwrap();
        for kind in ["trace", "findings"] {
            let _ = fs::remove_file(part.join(format!("traces/{id}.{kind}.zst")));
        }
    }
}

/// A recording without cells, with the part of one shard where `merge` looks.
fn part_of_a_shard(desk: &Desk) {
    record(&desk.path("whole"), FULL, |_, _| Cell::Measured);
    record(&desk.path("run"), FULL, |_, _| Cell::Missing);
    let run = desk.path("run");
    let shard = "1/1".parse().unwrap();
    let path = Workplace::of(&run).part(0, shard);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let of = PartOf::new(&run, 0, shard).unwrap();
    let recording = Recording::open(&run).unwrap();
    drop(PartWriter::open(recording, &OutFolder::named(&path), &of).unwrap());
    copy(&desk.path("whole/cells"), &path.join("cells"));
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

fn two_recordings(desk: &Desk) {
    record(&desk.path("base"), FULL, |_, _| Cell::Measured);
    record(&desk.path("same"), FULL, |_, _| Cell::Measured);
}

fn two_recordings_and_a_decision(desk: &Desk) {
    two_recordings(desk);
    desk.write("gate.xml", "an earlier one");
    desk.write("gate.json", "an earlier one");
}

fn traced(desk: &Desk) {
    Traced::new(&desk.path("run"));
}

const GATE: [&str; 7] =
    ["gate", "base", "same", "--format", "junit=gate.xml", "--format", "json=gate.json"];

const CASES: [Case; 6] = [
    Case { make: traced_parts, command: &["cluster", "merge", "run", "b", "a"], calls_min: 12 },
    Case { make: part_of_a_shard, command: &["cluster", "merge", "run"], calls_min: 8 },
    Case { make: two_recordings, command: &GATE, calls_min: 4 },
    Case { make: two_recordings_and_a_decision, command: &GATE, calls_min: 4 },
    Case {
        make: traced,
        command: &[
            "explain", "run", "trace", "--format", "ftrace", "--out", "text", "--cell", "full",
        ],
        calls_min: 4,
    },
    Case {
        make: traced,
        command: &["explain", "run", "--cell", "full", "--svg", "a.svg"],
        calls_min: 4,
    },
];

#[test]
fn commands_that_write_files_are_killed() {
    let wrong: Vec<_> = CASES.iter().flat_map(|case| killed(case, 3)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "takes long: a part of make nightly"]
fn commands_that_write_files_are_killed_at_every_call() {
    let wrong: Vec<_> = CASES.iter().flat_map(|case| killed(case, 1)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
