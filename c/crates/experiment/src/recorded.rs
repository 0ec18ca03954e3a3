//! Recordings of experiments, with the types of their manifests.

use std::collections::BTreeMap;

use preemptlab_model::{
    BackendKind, Digest, Factors, Kernel, KernelConfig, KernelRef, PlannedCell, RECORDING_FORMAT,
};
use preemptlab_recording::{Image, QemuUsed, RecordingError, Subject};
use preemptlab_workload::Workload;

use crate::{Experiment, Resolved, plan, replicate};

/// Manifest of a recording with its whole experiment.
pub type Manifest = preemptlab_recording::Manifest<Experiment>;

/// Recording of an experiment, to read. The cells of a [`Derived`](crate::Derived) may also be
/// executed.
pub type Recording = preemptlab_recording::Recording<Experiment>;

/// A recording of an experiment, to write to.
pub type RecordingWriter = preemptlab_recording::RecordingWriter<Experiment>;

/// A part of such a recording, to write to.
pub type PartWriter = preemptlab_recording::PartWriter<Experiment>;

impl Subject for Experiment {
    fn name(&self) -> &str {
        &self.name
    }

    fn folders(&self) -> impl Iterator<Item = Digest> {
        self.workload.values().filter_map(Workload::files_sha256)
    }
}

/// Plans an experiment for virtual machines in virtual time.
///
/// # Panics
///
/// When a kernel or an image of the experiment is missing, which is the caller's bug.
pub fn manifest(
    experiment: Experiment,
    kernels: Vec<Kernel>,
    qemu: QemuUsed,
    images: Vec<Image>,
) -> Manifest {
    let unavailable = BTreeMap::new();
    let configs = BTreeMap::new();
    manifest_on(BackendKind::Vm, experiment, (kernels, configs), unavailable, Some(qemu), images)
}

/// Plans an experiment for any backend, also where some kernels are unavailable: their cells are
/// planned with the reason. With the kernels come their configurations, where they are available: they
/// tell the plan which cells cannot exist, and the manifest does not hold them.
///
/// # Panics
///
/// When a kernel is in neither, or an image is missing, which is the caller's bug.
pub fn manifest_on(
    backend: BackendKind,
    experiment: Experiment,
    (kernels, configs): (Vec<Kernel>, BTreeMap<KernelRef, KernelConfig>),
    unavailable: BTreeMap<KernelRef, String>,
    qemu: Option<QemuUsed>,
    images: Vec<Image>,
) -> Manifest {
    let resolved = Resolved {
        kernels: kernels.iter().map(|kernel| (kernel.name.clone(), kernel.clone())).collect(),
        configs,
        unavailable,
        images: images
            .iter()
            .map(|image| ((image.kernel.clone(), image.workload.clone()), image.sha256))
            .collect(),
        backend,
        qemu: qemu.as_ref().map(|qemu| qemu.build.clone()),
    };
    let plan = plan(&experiment, &resolved);
    let overrides = Vec::new();
    Manifest {
        format: RECORDING_FORMAT,
        experiment,
        overrides,
        kernels,
        backend,
        qemu,
        images,
        plan,
    }
}

/// Plans further replicates of configurations, after a look at the results: for each the factors of
/// one of its cells, and how many replicates it is to have in all. Returns how many cells there are
/// more; 0 when the recording has been looked at often enough.
///
/// # Errors
///
/// When the recording cannot be written to.
pub fn add_replicates(
    writer: &mut RecordingWriter,
    wanted: &[(Factors, u32)],
) -> Result<usize, RecordingError> {
    let recording = writer.recording();
    let experiment = &recording.manifest().experiment;
    let mut cells = Vec::new();
    for (factors, replicates) in wanted {
        let of_configuration = |planned: &&PlannedCell| planned.factors.is_replicate_of(factors);
        let planned = || recording.planned().map(|(_, planned)| planned);
        let last = planned().filter(of_configuration).map(|cell| cell.factors.replicate).max();
        let Some(first) = planned().find(of_configuration) else { continue };
        cells.extend(
            (last.unwrap_or(0).saturating_add(1)..=*replicates)
                .filter_map(|number| replicate(experiment, first, number)),
        );
    }
    let count = cells.len();
    Ok(if count > 0 && writer.add(cells)? { count } else { 0 })
}
