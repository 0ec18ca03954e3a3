//! The seed: files that a worker needs of the machine that prepared a recording.

use std::path::Path;

use preemptlab_backend_qemu::{Artifacts, check_allowed};
use preemptlab_experiment::{Derived, Manifest};
use preemptlab_model::{BackendKind, Digest};
use preemptlab_provision::{
    Event, Options, Provision, Store,
    seed::{self, Contents},
};
use preemptlab_recording::manifest_sha256;
use serde::{Deserialize, Serialize};

use super::{Build, Preparation, PrepareError, Prepared};

/// Format of the word about a seed's origin.
const FORMAT: u32 = 1;

/// The recording of a seed, and the build of preemptlab that packed it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct About {
    format: u32,
    manifest_sha256: Digest,
    build: Build,
}

impl Prepared {
    /// Packs everything that a worker needs to execute a recording's cells: QEMU, kernels and images.
    ///
    /// # Errors
    ///
    /// [`PrepareError::OwnQemu`], and when the file cannot be written.
    pub fn pack_seed(&self, recording: &Path, seed: &Path) -> Result<(), PrepareError> {
        if self.manifest.backend != BackendKind::Vm {
            return Err(PrepareError::NotSpread);
        }
        if self.manifest.qemu.as_ref().is_some_and(|qemu| qemu.packages.is_empty()) {
            return Err(PrepareError::OwnQemu);
        }
        let about = About {
            format: FORMAT,
            manifest_sha256: manifest_sha256(recording)?,
            build: Build::this(),
        };
        Ok(seed::pack(&self.store, &contents(&self.manifest), &about, seed)?)
    }
}

/// Tells whether a seed is that of a recording, packed by this build of preemptlab.
pub fn is_seed_of(seed: &Path, recording: &Path) -> bool {
    check(seed, recording).is_ok()
}

fn check(seed: &Path, recording: &Path) -> Result<(), PrepareError> {
    let about: About = seed::about(seed)?;
    if about.manifest_sha256 != manifest_sha256(recording)? {
        return Err(PrepareError::OtherSeed(seed.to_owned()));
    }
    let this = Build::this();
    if about.build != this {
        return Err(PrepareError::OtherBuild { prepared: about.build, this });
    }
    Ok(())
}

fn contents(manifest: &Manifest) -> Contents {
    Contents {
        qemu: manifest.qemu.as_ref().map(|qemu| qemu.build.digest),
        kernels: manifest.kernels.iter().map(|kernel| kernel.image_sha256).collect(),
        images: manifest.images.iter().map(|image| image.sha256).collect(),
    }
}

/// Makes a worker ready for a recording's cells, out of its seed: asks no mirror, and builds nothing.
///
/// # Errors
///
/// When the seed is missing, damaged, of another recording or of another preemptlab, or when the store
/// cannot be used.
pub fn from_seed(
    recording: Derived<'_>,
    seed: &Path,
    store: &Store,
    on_event: &dyn Fn(Event),
) -> Result<Prepared, PrepareError> {
    let manifest = recording.manifest();
    if manifest.backend != BackendKind::Vm {
        return Err(PrepareError::NotSpread);
    }
    check(seed, recording.path())?;
    check_allowed(manifest.experiment.machine.memory_mib)?;
    let contents = contents(manifest);
    seed::unpack(store, &contents, seed, on_event)?;
    let provision = Provision::new(
        store.clone(),
        manifest.experiment.machine.arch,
        Options::default(),
        on_event,
    );
    let lab = Preparation::new(provision, None);
    let command = match &manifest.qemu {
        Some(recorded) => lab.qemu_again(recorded)?,
        None => Vec::new(),
    };
    let mut artifacts = Artifacts::new();
    for sha256 in contents.kernels {
        artifacts.insert(sha256, store.kernel_image(sha256));
    }
    for sha256 in contents.images {
        artifacts.insert(sha256, store.image(sha256));
    }
    let manifest = manifest.clone();
    Ok(Prepared { manifest, unbuilt: Vec::new(), artifacts, command, store: store.clone() })
}
