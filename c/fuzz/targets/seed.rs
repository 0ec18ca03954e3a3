//! A worker's seed: the file as it is, and the archive in it, which nothing random packs soundly.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

static FOLDER: LazyLock<tempfile::TempDir> =
    LazyLock::new(|| tempfile::tempdir_in("/dev/shm").expect("memory"));

fuzz_target!(|bytes: &[u8]| preemptlab_provision::hostile::seed(bytes, FOLDER.path()));
