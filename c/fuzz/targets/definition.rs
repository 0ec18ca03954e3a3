//! The folder of a workload: what its definition says, and an archive of its files.

#![no_main]

use libfuzzer_sys::fuzz_target;
use preemptlab_files::Files;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = preemptlab_experiment::definition(text);
    }
    if let Ok(files) = Files::from_archive(bytes) {
        assert_eq!(Files::from_archive(&files.archive()).ok(), Some(files));
    }
});
