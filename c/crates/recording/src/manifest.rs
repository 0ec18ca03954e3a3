use std::fmt;

use preemptlab_model::{BackendKind, Digest, Kernel, KernelRef, Package, Plan, QemuBuild};
use serde::{Deserialize, Serialize};

/// Inputs of a recording, which are written once, before the first cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest<E> {
    /// See [`RECORDING_FORMAT`](preemptlab_model::RECORDING_FORMAT).
    pub format: u32,
    /// Experiment of the recording, as it is run.
    pub experiment: E,
    /// Values that differ from those of the experiment's file; empty where it is run as its file
    /// says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<Override>,
    /// The kernels that it named and that were available, in its order.
    pub kernels: Vec<Kernel>,
    /// Backend that executes the cells.
    #[serde(default, skip_serializing_if = "BackendKind::is_vm")]
    pub backend: BackendKind,
    /// QEMU that ran the cells; `None` where no virtual machine had to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qemu: Option<QemuUsed>,
    /// Guest images.
    pub images: Vec<Image>,
    /// Plan of every cell.
    pub plan: Plan,
}

/// A value of an experiment that was given in the place of its file's. It changes nothing
/// about how a recording is read: the experiment has the value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Override {
    /// The key, such as `replicates.count`.
    pub key: String,
    /// The file's value.
    pub file: String,
    /// The experiment's.
    pub run: String,
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, file, run } = self;
        write!(f, "{key} = {run} instead of {file}")
    }
}

/// The QEMU build and where it came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QemuUsed {
    /// Build of QEMU.
    pub build: QemuBuild,
    /// Packages of QEMU; none for a QEMU of the user's own.
    pub packages: Vec<Package>,
}

/// Guest image and its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Image {
    /// SHA-256 of the image.
    pub sha256: Digest,
    /// Kernel whose modules the image holds.
    pub kernel: KernelRef,
    /// Workload whose packages the image holds.
    pub workload: String,
    /// Packages in the image.
    pub packages: Vec<Package>,
}

/// The experiment of a recording, as a reader of the recording knows it: its planner as the whole
/// of it, another reader perhaps as a name.
pub trait Subject {
    /// Returns the experiment's name.
    fn name(&self) -> &str;

    /// Lists the digests of the folders of its users' own workloads.
    fn folders(&self) -> impl Iterator<Item = Digest>;
}

impl<E> Manifest<E> {
    /// Returns the resolved kernel of a name.
    pub fn kernel(&self, name: &KernelRef) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| &kernel.name == name)
    }
}

impl<E: Subject + PartialEq> Manifest<E> {
    /// Returns the first difference to another manifest, in words; `None` when they agree.
    pub fn difference(&self, other: &Self) -> Option<String> {
        if self.experiment.name() != other.experiment.name() {
            return Some(format!("`{}`", self.experiment.name()));
        }
        if self.experiment != other.experiment {
            return Some("the experiment was changed".to_owned());
        }
        if self.backend != other.backend {
            return Some(format!("made with --backend {}", self.backend));
        }
        if let Some(qemu) = &self.qemu
            && self.qemu != other.qemu
        {
            return Some(format!("made with {}", qemu.build.version));
        }
        if let Some((kernel, _)) = self.kernels.iter().zip(&other.kernels).find(|(a, b)| a != b) {
            return Some(format!("{} was {}", kernel.name, kernel.release));
        }
        (self != other).then(|| "made with another guest image".to_owned())
    }
}
