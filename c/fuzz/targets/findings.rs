//! What is kept of a trace, compressed.

#![no_main]

use std::{fs, sync::LazyLock};

use libfuzzer_sys::fuzz_target;
use preemptlab_model::{Arch, CellId, Digest, SnapshotId};
use preemptlab_recording::TraceFolder;

static FOLDER: LazyLock<tempfile::TempDir> =
    LazyLock::new(|| tempfile::tempdir_in("/dev/shm").expect("memory"));

fuzz_target!(|bytes: &[u8]| {
    let id = Digest::of(b"");
    let folder = TraceFolder::new(FOLDER.path());
    // As it is, and as what is in a sound file.
    let packed = zstd::encode_all(bytes, 1).expect("memory");
    for bytes in [bytes, &packed] {
        for kind in ["findings", "layout", "trace"] {
            fs::write(FOLDER.path().join(format!("{id}.{kind}.zst")), bytes).expect("memory");
        }
        let _ = (folder.findings(CellId(id)), folder.layout(SnapshotId(id)));
        let _ = folder.kernel(SnapshotId(id), Arch::default());
        let _ = folder.stream(CellId(id));
    }
});
