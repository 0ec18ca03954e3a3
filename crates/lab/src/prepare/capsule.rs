//! The capsule: a recording with everything that its cells need.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use preemptlab_experiment::{Derived, Recording};
use preemptlab_model::{BackendKind, Package};
use preemptlab_provision::{
    Provision,
    capsule::{Contents, Needs},
};

use super::{Preparation, PrepareError, pin::gone};

impl Preparation<'_> {
    /// Brings everything here that a capsule of a recording holds, exactly as the recording names it.
    ///
    /// # Errors
    ///
    /// [`PrepareError::NotPacked`], and those of [`pin`](Self::pin).
    pub fn capsule(&self, recording: Derived<'_>) -> Result<Contents, PrepareError> {
        let needs = needs(&recording)?;
        self.pin(recording)?;
        let manifest = recording.manifest();
        let (mut here, mut guests, mut own) = (BTreeSet::new(), BTreeSet::new(), BTreeMap::new());
        for kernel in &manifest.kernels {
            let packages = kernel.packages.iter().cloned();
            let archived = self.provision.archived_packages(kernel).map_err(gone(kernel))?;
            match Provision::own_packages(&kernel.name) {
                _ if !archived.is_empty() => own.extend(archived),
                files if files.is_empty() => {
                    let is_here =
                        |package: &Package| Provision::is_of_this_machine(&kernel.name, package);
                    let (of_here, of_guests): (Vec<_>, Vec<_>) = packages.partition(is_here);
                    here.extend(of_here);
                    guests.extend(of_guests);
                }
                // No mirror has these. The capsule holds their kernel's image.
                files => own.extend(packages.zip(files)),
            }
        }
        guests.extend(manifest.images.iter().flat_map(|image| &image.packages).cloned());
        let [here, guests] = [here, guests].map(Vec::from_iter);
        let own: Vec<(Package, PathBuf)> = own.into_iter().collect();
        Ok(self.provision.capsule(needs, [&here, &guests], &own, recording.files())?)
    }
}

/// Returns what the cells of a recording need.
pub(crate) fn needs(recording: &Recording) -> Result<Needs, PrepareError> {
    let manifest = recording.manifest();
    let not_packed = |reason| PrepareError::NotPacked { path: recording.path().to_owned(), reason };
    if manifest.backend != BackendKind::Vm {
        return Err(not_packed(
            "its cells are of a machine's own time, and no execution repeats them",
        ));
    }
    let qemu = manifest.qemu.as_ref().ok_or_else(|| not_packed("it has no cell to execute"))?;
    if qemu.packages.is_empty() {
        return Err(not_packed(
            "it was made with a QEMU of somebody's own, and a capsule holds Debian's, whose signature anybody can \
             check; run the experiment anew without `qemu` in the configuration",
        ));
    }
    Ok(Needs {
        qemu: qemu.packages.clone(),
        kernels: manifest.kernels.iter().map(|kernel| kernel.image_sha256).collect(),
        images: manifest.images.iter().map(|image| image.sha256).collect(),
    })
}
