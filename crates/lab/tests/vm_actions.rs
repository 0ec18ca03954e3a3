//! Actions called as functions, with virtual machines: a run, its verification, its gate and its traces.
//!
//! Packages and snapshots are kept in the user's own store, or in `PREEMPTLAB_STORE`.

mod common;

use std::{path::Path, process::Command};

use common::{Told, gate_request, lab, own_store};
use preemptlab_analysis::explain::choose;
use preemptlab_experiment::{Overrides, Recording};
use preemptlab_files::OutFolder;
use preemptlab_lab::{Execution, Lab, Tracing, UntilDecided, Wanted, execute, gate, run, verify};
use preemptlab_model::{BackendKind, MetricName};
use preemptlab_runner::Verdict;
use preemptlab_stats::GateVerdict;

const EXPERIMENT: &str = "format = 1\nname = \"tiny\"\n\
    [factors]\nkernel = [\"debian:6.12\"]\npreempt = [\"full\"]\n\
    [replicates]\ncount = 2\n[machine]\ncost = \"instructions\"\n\
    [workload.load]\nkind = \"cyclictest-hackbench\"\nwindow = \"1s\"\n";

#[test]
fn vm_a_recording_is_made_verified_decided_and_traced_by_functions() {
    let folder = tempfile::tempdir().unwrap();
    let told = Told::default();
    let lab = Lab { store: Some(own_store()), jobs: Some(2), ..lab(folder.path(), &told) };
    let out = OutFolder::named(folder.path().join("run"));
    let wanted =
        Wanted::parse(EXPERIMENT.to_owned(), Path::new("tiny.toml"), &Overrides::default());
    let execution = Execution {
        wanted: wanted.unwrap(),
        out: &out,
        backend: BackendKind::Vm,
        no_cache: true,
        retry_failed: false,
        trace: false,
        engine: None,
    };
    let until = UntilDecided { margins: &[], metrics: &[], baseline: None, budget: None };
    // Of one configuration nothing is compared, so that one look is enough.
    let ran = run(&lab, &execution, None, Some(&until)).unwrap();
    assert_eq!((ran.summary.completed, ran.summary.failed), (2, 0));
    assert_eq!(ran.cells.all().len(), 2);
    drop(ran);
    let executed = told.executed();
    assert_eq!(executed, 2);

    // Finished cells are not executed again, and verify on this machine.
    assert_eq!(execute(&lab, &execution).unwrap().summary.completed, 2);
    assert_eq!(told.executed(), executed);
    let recording = Recording::open(&out.path()).unwrap();
    let verdicts = verify(&lab, &recording, Some(1)).unwrap();
    assert!(verdicts.len() == 1 && verdicts.iter().all(Verdict::is_same), "{verdicts:?}");

    let copy = folder.path().join("copy");
    assert!(Command::new("cp").arg("-r").args([&out.path(), &copy]).status().unwrap().success());
    let paths = [out.path(), copy].map(|path| path.to_str().unwrap().to_owned());
    let request = gate_request(&paths[0], &paths[1]);
    // Two pairs of equal cells are too few.
    assert_eq!(gate(&lab, &request).unwrap().verdict, GateVerdict::Undecided);

    let cell = choose(&recording, None, &MetricName::latest(false)).unwrap();
    assert!(!recording.explained().contains(cell.id));
    Tracing { lab: &lab, recording: &recording }.ensure(&[&cell]).unwrap();
    assert!(recording.explained().contains(cell.id));
}
