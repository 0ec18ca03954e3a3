//! Each parser is fed the seeds of its own corpus, which are sound or nearly so.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

/// The targets that were built, each with its program.
macro_rules! targets {
    ($($name:literal)*) => {
        [$(($name, env!(concat!("CARGO_BIN_EXE_fuzz-", $name)))),*]
    };
}

const TARGETS: [(&str, &str); 25] = targets![
    "apt" "archive" "btf" "bzimage" "capsule" "cell" "deb" "definition" "experiment" "findings" "git" "guest"
    "histogram" "kallsyms" "part" "profile" "qmp" "recording" "repodata" "results" "rpm" "scenario" "seed" "template" "trace"
];

fn names(folder: &str) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn every_target_takes_its_seeds() {
    let targets: BTreeSet<_> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names("targets"), targets);
    assert_eq!(names("seeds"), targets);
    for (name, program) in TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(name);
        let seeds: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(!seeds.is_empty() && seeds.iter().all(|seed| seed.is_file()), "{seeds:?}");
        let output = Command::new(program).args(&seeds).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {said}");
        assert_eq!(said.matches("Executed ").count(), seeds.len(), "{name}: {said}");
    }
}
