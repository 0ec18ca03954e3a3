//! The packages without the machine's apt are those that it chooses. Needs a mirror, and downloads QEMU.

use std::{env, fs, os::unix::fs::symlink, path::PathBuf, process::Command};

use crate::common::lasting_store;
use preemptlab_model::{Arch, Package};
use preemptlab_provision::{Mirror, Options, Provision, Store};

/// Names of packages, and of those that are assumed to be there: QEMU, the programs of workloads, headers.
const WANTED: [(&[&str], &[&str]); 4] = [
    (&["qemu-system-x86"], &[]),
    (&["rt-tests", "stress-ng"], &[]),
    (&["postgresql-common", "redis-server"], &[]),
    (&["rt-tests"], &["libc6"]),
];

/// Resolves and fetches the packages, and returns those of each wish.
fn packages(store: PathBuf, mirror: Option<String>) -> Vec<Vec<Package>> {
    // Lists of different hours may offer different versions.
    let options = Options { mirror, refresh: true, ..Options::default() };
    let provision = Provision::new(Store::open(store).unwrap(), Arch::default(), options, &|_| ());
    let each = |(names, assumed): &(&[&str], &[&str])| {
        let found = provision.packages(names, assumed).unwrap();
        assert!(found.iter().all(|(_, path)| path.is_file()));
        found.into_iter().map(|(package, _)| package).collect()
    };
    WANTED.iter().map(each).collect()
}

/// Names the folder in which this test, started again without apt, leaves what it found.
const AGAIN: &str = "WITHOUT_APT";

#[test]
fn vm_the_packages_are_those_of_the_machine_s_apt() {
    let folder = tempfile::tempdir().unwrap();
    if let Some(folder) = env::var_os(AGAIN).map(PathBuf::from) {
        let mirror = fs::read_to_string(folder.join("mirror")).unwrap();
        let found = packages(folder.join("store"), Some(mirror));
        fs::write(folder.join("found"), serde_json::to_string(&found).unwrap()).unwrap();
        return;
    }
    let programs = folder.path().join("bin");
    fs::create_dir(&programs).unwrap();
    symlink("/bin/sh", programs.join("sh")).unwrap();
    fs::write(folder.path().join("mirror"), Mirror::find(None).unwrap().main).unwrap();
    let mut again = Command::new(env::current_exe().unwrap());
    again.args(["--exact", "vm_without_apt::vm_the_packages_are_those_of_the_machine_s_apt"]);
    let output = again.env("PATH", &programs).env(AGAIN, folder.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let found = fs::read_to_string(folder.path().join("found")).unwrap();
    let without: Vec<Vec<Package>> = serde_json::from_str(&found).unwrap();
    assert_eq!(without, packages(lasting_store(), None));
    assert!(without[0].len() > 50 && without[3].len() < without[1].len());
}
