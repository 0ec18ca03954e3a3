//! Workloads and experiments of the runner's tests.

use preemptlab_experiment::{Experiment, Manifest};
use preemptlab_model::{Digest, Kernel, KernelRef, PreemptMode, QemuBuild};
use preemptlab_recording::{Image, QemuUsed};

/// Returns a manifest with two replicates in each of these modes, on a kernel that offers full and
/// lazy.
pub fn manifest(modes: &str) -> Manifest {
    let text = format!(
        r#"
        format = 1
        name = "small"
        [factors]
        kernel = ["debian:7.2"]
        preempt = {modes}
        [replicates]
        count = 2
        [workload.hackbench]
        kind = "cyclictest-hackbench"
    "#
    );
    let kernel: KernelRef = "debian:7.2".parse().unwrap();
    preemptlab_experiment::manifest(
        Experiment::parse(&text).unwrap(),
        vec![Kernel {
            name: kernel.clone(),
            release: "7.2.12".into(),
            image_sha256: Digest::of(b"kernel"),
            packages: vec![],
            rt: Some(false),
            modes: Some(vec![PreemptMode::Full, PreemptMode::Lazy]),
            hz: Some(250),
            source: None,
        }],
        QemuUsed {
            build: QemuBuild { version: "10.0".into(), digest: Digest::of(b"qemu") },
            packages: vec![],
        },
        vec![Image {
            sha256: Digest::of(b"image"),
            kernel,
            workload: "hackbench".into(),
            packages: vec![],
        }],
    )
}
