//! A recording's manifest, and what was added to it later, after a byte of zero.

#![no_main]

use preemptlab_experiment::Recording;
use std::{fs, sync::LazyLock};

use libfuzzer_sys::fuzz_target;

static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir_in("/dev/shm").expect("memory");
    fs::create_dir(folder.path().join("looks")).expect("memory");
    folder
});

fuzz_target!(|bytes: &[u8]| {
    let path = FOLDER.path();
    let mut files = bytes.splitn(3, |byte| *byte == 0);
    for name in ["recording.json", "until.json", "looks/001.json"] {
        let file = path.join(name);
        match files.next() {
            Some(bytes) => fs::write(file, bytes).expect("memory"),
            None => drop(fs::remove_file(file)),
        }
    }
    let Ok(recording) = Recording::open(path) else { return };
    let _ = (recording.manifest(), recording.until(), recording.folders());
    for (_, planned) in recording.planned().take(64) {
        let _ = recording.record(planned);
    }
});
