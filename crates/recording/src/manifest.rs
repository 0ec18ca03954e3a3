use preemptlab_model::{BackendKind, Digest, Kernel, KernelRef, Package, Plan, QemuBuild};
use serde::{Deserialize, Serialize};

/// What a recording is of: written once, before the first cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest<E> {
    /// See [`RECORDING_FORMAT`](preemptlab_model::RECORDING_FORMAT).
    pub format: u32,
    /// The experiment.
    pub experiment: E,
    /// The kernels that it named and that could be had, in its order.
    pub kernels: Vec<Kernel>,
    /// What executes the cells.
    #[serde(default, skip_serializing_if = "BackendKind::is_vm")]
    pub backend: BackendKind,
    /// What ran them; `None` where nothing had to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qemu: Option<QemuUsed>,
    /// The guest images.
    pub images: Vec<Image>,
    /// Every cell.
    pub plan: Plan,
}

/// The QEMU build and where it came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QemuUsed {
    /// The build.
    pub build: QemuBuild,
    /// Its packages; none for `--qemu`.
    pub packages: Vec<Package>,
}

/// A guest image and what is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Image {
    /// Of the image.
    pub sha256: Digest,
    /// The kernel whose modules it holds.
    pub kernel: KernelRef,
    /// The workload whose packages it holds.
    pub workload: String,
    /// The packages.
    pub packages: Vec<Package>,
}

/// The experiment of a recording, as whoever reads the recording knows it: its planner as the whole
/// of it, another reader perhaps as a name.
pub trait Subject {
    /// Returns what it is called.
    fn name(&self) -> &str;

    /// Lists the digests of the folders of its users' own workloads.
    fn folders(&self) -> impl Iterator<Item = Digest>;
}

impl<E> Manifest<E> {
    /// The resolved kernel of that name.
    pub fn kernel(&self, name: &KernelRef) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| &kernel.name == name)
    }
}

impl<E: Subject + PartialEq> Manifest<E> {
    /// The first thing in which another manifest differs, in words; `None` when nothing does.
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
