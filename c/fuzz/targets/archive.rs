//! Files of a mirror: a signed text, a release, a list of packages and a package.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

static FOLDER: LazyLock<tempfile::TempDir> =
    LazyLock::new(|| tempfile::tempdir_in("/dev/shm").expect("memory"));

fuzz_target!(|bytes: &[u8]| preemptlab_provision::hostile::archive(bytes, FOLDER.path()));
