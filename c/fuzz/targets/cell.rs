//! The file of a cell, and what every workload measures in it.

#![no_main]

use std::{fs, sync::LazyLock};

use libfuzzer_sys::fuzz_target;
use preemptlab_experiment::Experiment;
use preemptlab_model::{CellRecord, Outcome, unseal};
use preemptlab_recording::CellFolder;

/// One of each kind.
static WORKLOADS: LazyLock<Experiment> = LazyLock::new(|| {
    let text = include_str!("../seeds/experiment/kinds.toml");
    Experiment::parse(text).expect("it is valid")
});

static FOLDER: LazyLock<tempfile::TempDir> =
    LazyLock::new(|| tempfile::tempdir_in("/dev/shm").expect("memory"));

fuzz_target!(|bytes: &[u8]| {
    let mut json = bytes.to_vec();
    let Ok(_) = unseal(&mut json) else { return };
    let Ok(record) = serde_json::from_slice::<CellRecord>(&json) else { return };
    let path = FOLDER.path().join(format!("{}.json", record.id));
    fs::write(&path, bytes).expect("memory");
    let folder = CellFolder::new(FOLDER.path());
    if let Ok(Some(read)) = folder.get(record.id) {
        assert_eq!(read, record);
    }
    fs::remove_file(path).expect("it was written");
    if let Outcome::Completed { report, .. } = &record.outcome {
        for workload in WORKLOADS.workload.values() {
            if let Ok(measurements) = workload.measure(&record.inputs, report) {
                let _ = measurements.metrics();
            }
        }
    }
});
