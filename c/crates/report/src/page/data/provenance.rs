use preemptlab_model::Package;
use serde::Serialize;
use ts_rs::TS;

/// A kernel that cells ran on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct KernelUsed {
    /// The recording, when several are compared.
    pub run: Option<String>,
    /// Name of the kernel in the experiment, such as `debian:6.12-rt`.
    pub name: String,
    /// Release that `uname -r` prints.
    pub release: String,
    /// The SHA-256 of the image, in hexadecimal.
    pub image_sha256: String,
    /// Packages that the kernel comes from.
    pub packages: Vec<Package>,
}

/// The QEMU that ran the cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct QemuUsed {
    /// The recording, when several are compared.
    pub run: Option<String>,
    /// Version that `--version` prints.
    pub version: String,
    /// The SHA-256 of the build, in hexadecimal.
    pub digest: String,
    /// Packages that QEMU and its libraries come from.
    pub packages: Vec<Package>,
}

/// Guest image, in which the cells of one workload ran on one kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct ImageUsed {
    /// The recording, when several are compared.
    pub run: Option<String>,
    /// Names of the kernels.
    pub kernels: Vec<String>,
    /// Names of the workloads.
    pub workloads: Vec<String>,
    /// The SHA-256 of the image, in hexadecimal.
    pub sha256: String,
    /// Packages that its programs and libraries come from.
    pub packages: Vec<Package>,
}
