//! Actions called as functions, without the binary, where they execute nothing.

mod common;

use std::{fs, process::Command};

use common::{Told, blames, committed, execution, gate_request, lab};
use preemptlab_experiment::Overrides;
use preemptlab_files::OutFolder;
use preemptlab_lab::{
    Blame, Budget, GateExperiment, GateRequest, Lab, Wanted,
    bisect::{Between, BisectRequest, bisect},
    execute, gate, run,
};
use preemptlab_model::{Arch, BackendKind};
use preemptlab_stats::{GateVerdict, Margins};

#[test]
fn a_recording_is_compared_with_its_copy() {
    let folder = tempfile::tempdir().unwrap();
    let told = Told::default();
    let (check, copy) = (committed("check"), folder.path().join("copy"));
    assert!(Command::new("cp").arg("-r").args([&check, &copy]).status().unwrap().success());
    let paths = [&check, &copy].map(|path| path.to_str().unwrap());
    let lab = lab(folder.path(), &told);
    let gate = gate(&lab, &gate_request(paths[0], paths[1])).unwrap();
    // One pair of cells decides nothing.
    assert_eq!(gate.verdict, GateVerdict::Undecided);
    assert!(gate.base_image.is_some() && gate.base_image == gate.new_image);
    assert!(!folder.path().join("store").exists(), "it needs no store");
}

#[test]
fn a_gate_says_what_it_cannot_compare() {
    let folder = tempfile::tempdir().unwrap();
    let told = Told::default();
    let lab = lab(folder.path(), &told);
    let check = committed("check");
    let check = check.to_str().unwrap();
    blames(gate(&lab, &gate_request(check, "debian:7.2")), Blame::User, "the other is none");
    blames(gate(&lab, &gate_request("debian:6.12", check)), Blame::User, "the other is none");
    let seeded = GateRequest { seed: Some(1), ..gate_request(check, check) };
    blames(gate(&lab, &seeded), Blame::User, "compared as they are");
    let of_arm64 = GateRequest { arch: Some(Arch::Arm64), ..gate_request(check, check) };
    blames(
        gate(&lab, &of_arm64),
        Blame::User,
        "leave EXPERIMENT, --atlas, --seed, --preempt and --arch out",
    );
    blames(gate(&lab, &gate_request("no kernel", "debian:7.2")), Blame::User, "no kernel");
    let absent = folder.path().join("absent.toml");
    let absent = GateRequest {
        experiment: GateExperiment::File(&absent),
        ..gate_request("debian:6.12", "debian:7.2")
    };
    blames(gate(&lab, &absent), Blame::User, "absent.toml");
}

#[test]
fn a_mistake_in_an_experiment_has_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wrong.toml");
    fs::write(&path, "format = 1\nname = \"wrong\"\nkernels = 3\n").unwrap();
    let error = blames(Wanted::read(&path, &Overrides::default()), Blame::User, "kernels");
    let mistake = error.mistake().expect("its place is known");
    assert_eq!(mistake.path, path);
    assert_eq!(&mistake.text[mistake.span.clone()], "kernels");
    let error = blames(Wanted::recorded(&path, &Overrides::default()), Blame::User, "");
    assert!(error.mistake().is_none());
}

#[test]
fn a_run_that_cannot_begin_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let told = Told::default();
    let out = OutFolder::named(folder.path().join("run"));
    let timed = execution(&out, BackendKind::Kvm, true);
    blames(run(&lab(folder.path(), &told), &timed, None, None), Blame::User, "be traced");
    let homeless = Lab { store: None, ..lab(folder.path(), &told) };
    let virtual_time = execution(&out, BackendKind::Vm, false);
    blames(execute(&homeless, &virtual_time), Blame::User, "no home folder");
    assert!(!out.path().exists() && told.provided.lock().unwrap().is_empty());
}

#[test]
fn a_search_needs_two_ends_of_one_history() {
    let folder = tempfile::tempdir().unwrap();
    let repository = folder.path().join("linux");
    let git = |arguments: &[&str]| {
        let mut git = Command::new("/usr/bin/git");
        let named = ["-c", "user.name=a", "-c", "user.email=a@b"];
        let ended = git.arg("-C").arg(folder.path()).args(named).args(arguments).status().unwrap();
        assert!(ended.success(), "{arguments:?}");
    };
    git(&["init", "--quiet", "linux"]);
    git(&["-C", "linux", "commit", "--quiet", "--allow-empty", "-m", "one"]);
    let told = Told::default();
    let out = folder.path().join("search");
    let (good, bad, repository) = ("HEAD", "HEAD", &*repository);
    let request = BisectRequest {
        between: Between::Commits { good, bad, repository, config: None },
        experiment: None,
        metric: None,
        cause: None,
        margins: Margins::gate(),
        budget: Budget::Cells(60),
        preempt: &[],
        arch: None,
        seed: None,
        out: Some(&out),
    };
    let lab = lab(folder.path(), &told);
    blames(bisect(&lab, &request), Blame::User, "the same commit");
    let bad = "HEAD~7";
    let between = Between::Commits { good, bad, repository, config: None };
    blames(bisect(&lab, &BisectRequest { between, ..request.clone() }), Blame::User, "HEAD~7");
    assert!(!out.exists(), "the folder stays");
}
