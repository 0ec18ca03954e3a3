//! A run that is killed, finds the disk full or meets an I/O error at each system call that changes a
//! file: every file is the one of an undisturbed run or absent, and the next run ends with the same
//! bytes.

#[path = "common/calls.rs"]
mod calls;
mod common;

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
};

use common::manifest;
use preemptlab_experiment::{RecordingWriter, add_replicates};
use preemptlab_files::{Files, Folders, Node};
use preemptlab_model::{CellInputs, RECORDING_FORMAT};
use preemptlab_protocol::{Failure, FailureKind, Message, Stage};
use preemptlab_recording::{CellFolder, Until};
use preemptlab_runner::{Cancel, Execution, Options, Order, fake::Fake, run};

/// The system calls that change files, as strace names them, and the one that opens them.
const WRITING: &str = "write,pwrite64,openat,rename,renameat,renameat2,unlink,unlinkat,fsync,\
    fdatasync,ftruncate,link,linkat,fchmod,chmod,mkdir,mkdirat,flock,copy_file_range,syncfs";

/// Variable that names the folder of the disturbed process.
const FOLDER: &str = "PREEMPTLAB_FAULTS_FOLDER";

/// Returns the result of every cell, which names the cell.
fn answer(cell: &CellInputs) -> Execution {
    let reason = format!("no {}", cell.id());
    let (stage, kind) = (Stage::Setup, FailureKind::Unavailable);
    let failure = Failure { stage, kind, reason, system: None, commands: vec![], refusal: None };
    Execution {
        message: Message::Failed(failure),
        said: vec![],
        console: b"last words\n".to_vec(),
        conditions: None,
    }
}

/// Writes everything that a run writes: a recording with a workload's folder and with added
/// replicates, and the store's cells.
fn work(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    work_with(folder, &folder.join("cells"))
}

/// Works with a store that others may use, too.
fn work_with(folder: &Path, cells: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut writer = RecordingWriter::open(&folder.join("run"), &manifest(r#"["full", "lazy"]"#))?;
    let mut files = Files::default();
    files.insert("run", Node::File { executable: true, bytes: b"#!/bin/sh\n".into() })?;
    writer.keep(&Folders::from([(files.digest(), files)]))?;
    let cache = Some(CellFolder::of_store(cells.to_owned()));
    let order = Order::Planned;
    let options = Options { jobs: 1, cache, retry_failed: false, traces: None, order, only: None };
    let fake = Fake::new(|cell: &CellInputs| Ok(answer(cell)));
    run(&writer, &fake, &options, &|_| (), &Cancel::default())?;
    let until = Until {
        format: RECORDING_FORMAT,
        margins: vec!["1%".to_owned()],
        metrics: vec![],
        baseline: None,
    };
    writer.begin_until(&until)?;
    let first = manifest(r#"["full", "lazy"]"#).plan.cells[0].factors.clone();
    add_replicates(&mut writer, &[(first, 3)])?;
    run(&writer, &fake, &options, &|_| (), &Cancel::default())?;
    Ok(())
}

/// Is the process that is disturbed; alone it does nothing.
#[test]
fn disturbed() {
    if let Some(folder) = env::var_os(FOLDER) {
        work(Path::new(&folder)).unwrap();
    }
}

/// Runs the process in a folder, below strace with these options.
fn below_strace(folder: &Path, options: &[&str]) -> ExitStatus {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq"]).args(options).arg(env::current_exe().unwrap());
    command.args(["--exact", "disturbed", "--test-threads=1"]);
    command.env(FOLDER, folder).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().expect("strace is installed")
}

/// Returns the number of calls of each kind.
fn calls(folder: &Path) -> BTreeMap<String, u32> {
    let log = folder.join("strace.log");
    let trace = format!("trace={WRITING}");
    let place = folder.join("counted");
    fs::create_dir(&place).unwrap();
    assert!(below_strace(&place, &["-o", log.to_str().unwrap(), "-e", &trace]).success());
    calls::most(&log)
}

fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_owned();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// Disturbs the run at every `step`-th call of each name.
fn disturb(fault: &str, step: usize) {
    let folder = tempfile::tempdir().unwrap();
    let undisturbed = folder.path().join("undisturbed");
    fs::create_dir(&undisturbed).unwrap();
    work(&undisturbed).unwrap();
    let expected = tree(&undisturbed);
    assert_eq!(expected.len(), 14, "{:?}", expected.keys());
    let mut disturbed = 0;
    for (name, count) in calls(folder.path()) {
        for number in (1..=count).step_by(step) {
            let context = format!("{fault} at {name} {number}");
            let place = tempfile::tempdir_in(folder.path()).unwrap();
            let trace = format!("trace={name}");
            let inject = format!("inject={name}:{fault}:when={number}");
            let status =
                below_strace(place.path(), &["-o", "/dev/null", "-e", &trace, "-e", &inject]);
            let now = tree(place.path());
            for (path, bytes) in &now {
                let same = expected.get(path) == Some(bytes);
                assert!(same, "{context}: {} is neither whole nor absent", path.display());
            }
            assert!(!status.success() || now == expected, "{context}: it says that all is done");
            work(place.path()).unwrap_or_else(|error| panic!("{context}: then {error}"));
            let mut then = tree(place.path());
            if !fault.starts_with("signal") {
                // A cell that the store could not take is in the recording, and stays out of the
                // store.
                for (path, bytes) in expected.iter().filter(|(path, _)| path.starts_with("cells")) {
                    then.entry(path.clone()).or_insert_with(|| bytes.clone());
                }
            }
            assert!(then == expected, "{context}: the next run ends with other bytes");
            disturbed += 1;
        }
    }
    assert!(disturbed > 8, "only {disturbed} calls were disturbed");
}

/// Whatever verb executes them, cells reach a store in the same way: each writes a whole file, and leaves one
/// that is there alone.
#[test]
fn runs_at_once_share_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let alone = folder.path().join("alone");
    work(&alone).unwrap();
    let of = |part: &str| tree(&alone.join(part));
    for round in 0..8 {
        let place = folder.path().join(round.to_string());
        let cells = place.join("cells");
        std::thread::scope(|scope| {
            for number in 0..6 {
                let (own, cells) = (place.join(format!("at-once-{number}")), &cells);
                scope.spawn(move || work_with(&own, cells).unwrap());
            }
        });
        for number in 0..6 {
            assert_eq!(tree(&place.join(format!("at-once-{number}/run"))), of("run"));
        }
        assert_eq!(tree(&cells), of("cells"));
    }
    // Two on one recording are not let in.
    let held = RecordingWriter::open(&alone.join("run"), &manifest(r#"["full", "lazy"]"#)).unwrap();
    let error = work(&alone).unwrap_err().to_string();
    assert!(error.contains("another process is writing"), "{error}");
    drop(held);
    work(&alone).unwrap();
}

#[test]
fn a_run_is_killed() {
    disturb("signal=KILL", 4);
}

#[test]
fn a_run_finds_the_disk_full() {
    disturb("error=ENOSPC", 4);
}

#[test]
fn a_run_meets_an_io_error() {
    disturb("error=EIO", 4);
}

#[test]
#[ignore = "takes long: a part of make nightly"]
fn a_run_is_disturbed_at_every_call() {
    for fault in ["signal=KILL", "error=ENOSPC", "error=EIO", "error=EDQUOT", "error=EROFS"] {
        disturb(fault, 1);
    }
}
