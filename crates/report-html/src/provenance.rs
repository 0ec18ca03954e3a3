use preemptlab_model::Package;
use serde::Serialize;
use ts_rs::TS;

/// A kernel that cells ran on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct KernelUsed {
    /// The recording, when several are compared.
    pub run: Option<String>,
    /// Its name in the experiment, such as `debian:6.12-rt`.
    pub name: String,
    /// What `uname -r` says.
    pub release: String,
    /// The SHA-256 of the image, in hexadecimal.
    pub image_sha256: String,
    /// Where it comes from.
    pub packages: Vec<Package>,
}

/// The QEMU that ran the cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct QemuUsed {
    /// The recording, when several are compared.
    pub run: Option<String>,
    /// What `--version` says.
    pub version: String,
    /// The SHA-256 of the build, in hexadecimal.
    pub digest: String,
    /// Where it and its libraries come from.
    pub packages: Vec<Package>,
}

/// A guest image: what the cells of one workload ran on one kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct ImageUsed {
    /// The recording, when several are compared.
    pub run: Option<String>,
    /// The kernels' names.
    pub kernels: Vec<String>,
    /// The workloads' names.
    pub workloads: Vec<String>,
    /// The SHA-256 of the image, in hexadecimal.
    pub sha256: String,
    /// Where its programs and libraries come from.
    pub packages: Vec<Package>,
}
