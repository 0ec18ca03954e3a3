//! Tests of a QEMU that behaves, misbehaves, or loses its parent.

mod fake;

use std::{
    fs::{self, OpenOptions},
    os::fd::AsRawFd,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use fake::{Fake, LONG, cell, done};
use preemptlab_model::FailureCause;
use preemptlab_runner::{Backend, Cancel, Stop};

/// Enough for a start on an idle machine. Where it was not enough, twice as much is tried.
const SHORT: Duration = Duration::from_secs(2);

/// Returns whether QEMU had not begun when its time was up, so that nothing is known of its
/// behaviour.
fn is_too_short(stop: &Stop, behaviour: &str, wall: Duration) -> bool {
    let says_nothing = matches!(stop, Stop::Host { reason } if reason.contains("says nothing"));
    says_nothing && behaviour != "mute" && wall < LONG
}

fn fake() -> (tempfile::TempDir, Fake) {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::new(folder.path().to_owned());
    (folder, fake)
}

/// Boots and returns why that failed.
fn failed_boot(behaviour: &str, wall: Duration) -> Stop {
    let (_folder, fake) = fake();
    let stop = fake.vm(behaviour, wall).prepare(&cell().snapshot, &Cancel::default()).unwrap_err();
    if is_too_short(&stop, behaviour, wall) {
        return failed_boot(behaviour, wall * 2);
    }
    assert_eq!(fake.left(), [""; 0], "{behaviour}");
    assert_eq!(fake.snapshot_names(), [""; 0], "{behaviour}");
    stop
}

/// Boots, then executes a cell and returns why that failed.
fn failed_cell(behaviour: &str, wall: Duration) -> (FailureCause, String) {
    let (_folder, fake) = fake();
    fake.vm("", LONG).prepare(&cell().snapshot, &Cancel::default()).unwrap();
    let stop = fake.vm(behaviour, wall).execute(&cell(), None, &Cancel::default()).unwrap_err();
    if is_too_short(&stop, behaviour, wall) {
        return failed_cell(behaviour, wall * 2);
    }
    assert_eq!(fake.left(), [""; 0], "{behaviour}");
    match stop {
        Stop::Failed { cause, reason, .. } => (cause, reason),
        stop => panic!("{behaviour}: {stop:?}"),
    }
}

#[test]
fn a_snapshot_is_made_once_and_serves_every_cell() {
    let (_folder, fake) = fake();
    let vm = fake.vm("", LONG);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| vm.prepare(&cell().snapshot, &Cancel::default()).unwrap());
        }
    });
    for vm in [vm, fake.vm("", LONG)] {
        assert_eq!(vm.execute(&cell(), None, &Cancel::default()).unwrap().message, done());
    }
    assert_eq!(fake.lines("starts"), ["boot", "cell", "cell"]);
    assert_eq!(fake.snapshot_names(), [cell().snapshot.id().to_string()]);
    assert_eq!(fake.left(), [""; 0]);
}

#[test]
fn a_damaged_snapshot_is_booted_again() {
    let (_folder, fake) = fake();
    fake.vm("", LONG).prepare(&cell().snapshot, &Cancel::default()).unwrap();
    let path = fake.snapshots().join(cell().snapshot.id().to_string());
    let whole = fs::read(&path).unwrap();
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    for damaged in [&flipped, &whole[..whole.len() - 1], &whole[..7], b""] {
        fs::write(&path, damaged).unwrap();
        fake.vm("", LONG).execute(&cell(), None, &Cancel::default()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), whole);
    }
}

#[test]
fn a_snapshot_that_qemu_refuses_is_booted_again_once() {
    let (_folder, fake) = fake();
    fake.vm("choosy", LONG).execute(&cell(), None, &Cancel::default()).unwrap();
    assert_eq!(fake.lines("starts"), ["boot", "cell", "boot", "cell"]);

    let stop = fake.vm("unloadable", LONG).execute(&cell(), None, &Cancel::default()).unwrap_err();
    assert!(matches!(&stop, Stop::Host { reason } if reason.contains("savevm")), "{stop:?}");
    assert_eq!(fake.lines("starts")[4..], ["cell", "boot", "cell"]);
}

#[test]
fn what_is_no_qemu_ends_the_run() {
    for (behaviour, wall, words) in [
        ("dies", LONG, "no such machine"),
        ("mute", SHORT, "says nothing"),
        ("garbage", LONG, "hello"),
        ("long-line", LONG, "line of more than"),
        ("unguarded", LONG, "would not be deterministic"),
    ] {
        let stop = failed_boot(behaviour, wall);
        let Stop::Host { reason } = &stop else { panic!("{behaviour}: {stop:?}") };
        assert!(reason.contains(words), "{behaviour}: {reason}");
    }
}

#[test]
fn a_missing_program_ends_the_run() {
    let (_folder, fake) = fake();
    let vm = fake.vm_with(vec!["/nonexistent/qemu".into()], LONG);
    let stop = vm.prepare(&cell().snapshot, &Cancel::default()).unwrap_err();
    assert!(matches!(&stop, Stop::Host { reason } if reason.contains("/nonexistent/qemu")));
}

#[test]
fn a_boot_that_does_not_come_to_its_end_is_a_failed_one() {
    for (behaviour, wall, expected) in [
        ("early", LONG, FailureCause::Boot),
        ("no-kernel", LONG, FailureCause::Boot),
        ("deaf", SHORT, FailureCause::WallTimeLimit),
        ("asleep", SHORT, FailureCause::WallTimeLimit),
    ] {
        let stop = failed_boot(behaviour, wall);
        assert!(matches!(stop, Stop::Failed { cause, .. } if cause == expected), "{stop:?}");
    }
}

#[test]
fn a_full_disk_ends_the_run() {
    let stop = failed_boot("full", LONG);
    let Stop::Host { reason } = stop else { panic!("{stop:?}") };
    assert!(reason.contains("No space left") && reason.contains("MiB are free"), "{reason}");
}

#[test]
fn a_cell_that_does_not_come_to_its_end_is_a_failed_one() {
    for (behaviour, wall, expected) in [
        ("asleep", SHORT, FailureCause::WallTimeLimit),
        ("crash", LONG, FailureCause::Qemu),
        ("verbose", LONG, FailureCause::Workload),
        ("hung", LONG, FailureCause::VirtualTimeLimit),
    ] {
        let (cause, reason) = failed_cell(behaviour, wall);
        assert_eq!(cause, expected, "{behaviour}: {reason}");
    }
}

#[test]
fn cancelling_ends_a_qemu_that_ignores_sigterm() {
    let (_folder, fake) = fake();
    let vm = fake.vm("asleep", LONG);
    let cancel = Cancel::default();
    thread::scope(|scope| {
        let boot = scope.spawn(|| vm.prepare(&cell().snapshot, &cancel));
        wait_for("the start", || fake.lines("starts").len() == 1);
        cancel.cancel();
        assert_eq!(boot.join().unwrap(), Err(Stop::Cancelled));
    });
    assert_eq!(fake.left(), [""; 0]);
    assert_eq!(fake.snapshot_names(), [""; 0]);
}

#[test]
fn nothing_of_this_process_leaks_into_qemu() {
    let (folder, fake) = fake();
    // Unlike Rust's own descriptors, this one stays open across exec.
    let file = OpenOptions::new().read(true).open(folder.path()).unwrap();
    let leaking = rustix::io::dup(&file).unwrap();
    fake.vm("", LONG).prepare(&cell().snapshot, &Cancel::default()).unwrap();
    let environment = fs::read_to_string(folder.path().join("environment")).unwrap();
    let names: Vec<_> =
        environment.split_terminator('\0').map(|one| one.split('=').next().unwrap()).collect();
    assert_eq!(
        names,
        ["GLIBC_TUNABLES", "LC_ALL", "LD_PRELOAD", "PREEMPTLAB_RESULTS", "PREEMPTLAB_TURNSTILE"]
    );
    assert!(!fake.lines("descriptors").contains(&leaking.as_raw_fd().to_string()));
}

const FOLDER: &str = "PREEMPTLAB_TEST_FOLDER";
const STAGE: &str = "PREEMPTLAB_TEST_STAGE";

/// Is no test, but the process that [`a_killed_parent_leaves_nothing`] kills.
#[test]
#[ignore = "is run by another test"]
fn parent() {
    let (Some(folder), Some(stage)) = (std::env::var_os(FOLDER), std::env::var_os(STAGE)) else {
        return;
    };
    let fake = Fake::new(PathBuf::from(folder));
    if stage == "cell" {
        fake.vm("", LONG).prepare(&cell().snapshot, &Cancel::default()).unwrap();
    }
    let _ = fake.vm("asleep", LONG).execute(&cell(), None, &Cancel::default());
}

#[test]
fn a_killed_parent_leaves_nothing() {
    for (stage, starts, snapshots) in [("boot", vec!["boot"], 0), ("cell", vec!["boot", "cell"], 1)]
    {
        let (folder, fake) = fake();
        let mut parent = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "parent"])
            .env(FOLDER, folder.path())
            .env(STAGE, stage)
            .spawn()
            .unwrap();
        wait_for("the start", || {
            assert!(parent.try_wait().unwrap().is_none(), "the parent ended by itself");
            fake.lines("starts") == starts
        });
        parent.kill().unwrap();
        parent.wait().unwrap();
        let pid = fake.lines("pids").pop().unwrap();
        wait_for("the end", || !runs(&pid));
        assert_eq!(fake.snapshot_names().len(), snapshots, "{stage}");
    }
}

/// Returns whether a process exists that is not a zombie: its new parent may wait for it late.
fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.starts_with(" Z"))
}

fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LONG, "{what} does not come");
        thread::sleep(Duration::from_millis(10));
    }
}
