//! An action that is interrupted. It ends the programs of its whole process, which is therefore its own.

mod common;

use common::{Told, blames, committed, execution, lab};
use preemptlab_experiment::Recording;
use preemptlab_files::OutFolder;
use preemptlab_lab::{Blame, execute, verify};
use preemptlab_model::BackendKind;

#[test]
fn whoever_watches_ends_an_action() {
    let folder = tempfile::tempdir().unwrap();
    let told = Told::default();
    told.cancel.cancel();
    let lab = lab(folder.path(), &told);
    let out = OutFolder::named(folder.path().join("run"));
    let virtual_time = execution(&out, BackendKind::Vm, false);
    blames(execute(&lab, &virtual_time), Blame::Interrupted, "interrupted");
    assert!(!out.path().exists(), "the folder stays");
    let recording = Recording::open(&committed("check")).unwrap();
    blames(verify(&lab, &recording, None), Blame::Interrupted, "interrupted");
    assert_eq!(*told.provided.lock().unwrap(), ["providing", "provided"].repeat(2));
}
