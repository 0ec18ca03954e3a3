use std::collections::BTreeMap;

use preemptlab_experiment::{Experiment, Resolved, plan};
use preemptlab_model::{
    BackendKind, Digest, Kernel, KernelRef, Package, Plan, QemuBuild, RECORDING_FORMAT,
};
use serde::{Deserialize, Serialize};

/// What a recording is of: written once, before the first cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// See [`RECORDING_FORMAT`].
    pub format: u32,
    /// The experiment.
    pub experiment: Experiment,
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

impl Manifest {
    /// Plans an experiment for virtual machines in virtual time.
    ///
    /// # Panics
    ///
    /// When a kernel or an image of the experiment is missing, which is the caller's bug.
    pub fn new(
        experiment: Experiment,
        kernels: Vec<Kernel>,
        qemu: QemuUsed,
        images: Vec<Image>,
    ) -> Self {
        let backend = BackendKind::Vm;
        Self::on(backend, experiment, kernels, BTreeMap::new(), Some(qemu), images)
    }

    /// The same for any backend, and where some kernels cannot be had: their cells are planned with
    /// the reason.
    ///
    /// # Panics
    ///
    /// When a kernel is in neither, or an image is missing, which is the caller's bug.
    pub fn on(
        backend: BackendKind,
        experiment: Experiment,
        kernels: Vec<Kernel>,
        unavailable: BTreeMap<KernelRef, String>,
        qemu: Option<QemuUsed>,
        images: Vec<Image>,
    ) -> Self {
        let resolved = Resolved {
            kernels: kernels.iter().map(|kernel| (kernel.name.clone(), kernel.clone())).collect(),
            unavailable,
            images: images
                .iter()
                .map(|image| ((image.kernel.clone(), image.workload.clone()), image.sha256))
                .collect(),
            backend,
            qemu: qemu.as_ref().map(|qemu| qemu.build.clone()),
        };
        let plan = plan(&experiment, &resolved);
        Self { format: RECORDING_FORMAT, experiment, kernels, backend, qemu, images, plan }
    }

    /// The resolved kernel of that name.
    pub fn kernel(&self, name: &KernelRef) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| &kernel.name == name)
    }

    /// The first thing in which another manifest differs, in words; `None` when nothing does.
    pub fn difference(&self, other: &Self) -> Option<String> {
        if self.experiment.name != other.experiment.name {
            return Some(format!("`{}`", self.experiment.name));
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
