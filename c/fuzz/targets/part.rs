//! The file that says what a part is a part of.

#![no_main]

use std::{fs, sync::LazyLock};

use libfuzzer_sys::fuzz_target;
use preemptlab_recording::Part;

static FOLDER: LazyLock<tempfile::TempDir> =
    LazyLock::new(|| tempfile::tempdir_in("/dev/shm").expect("memory"));

fuzz_target!(|bytes: &[u8]| {
    fs::write(FOLDER.path().join("part.json"), bytes).expect("memory");
    let Ok(part) = Part::open(FOLDER.path()) else { return };
    let of = part.expect("its file is there").of().clone();
    // Both stand in paths and command lines.
    assert!((1..=of.shard.count()).contains(&of.shard.index()));
    let text = serde_json::to_string(&of).expect("it was JSON");
    assert_eq!(serde_json::from_str::<preemptlab_recording::PartOf>(&text).expect("it is"), of);
});
