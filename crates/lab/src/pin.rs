use std::ffi::OsString;

use preemptlab_model::{BackendKind, Kernel, KernelRef};
use preemptlab_provision::ProvisionedKernel;
use preemptlab_recording::{Image, Manifest, QemuUsed};
use preemptlab_spec::Experiment;
use preemptlab_vm::Artifacts;

use crate::{Lab, LabError, Prepared};

impl Lab<'_> {
    /// Brings exactly that here what a recording was made with. What the store still has is not
    /// asked for again, so that this needs no mirror on the machine that made the recording.
    ///
    /// # Errors
    ///
    /// [`LabError`] when something cannot be had any more or is something else now.
    pub fn pin(&self, manifest: Manifest) -> Result<Prepared, LabError> {
        let command = match &manifest.qemu {
            Some(recorded) => self.qemu_again(recorded)?,
            None => Vec::new(),
        };
        let mut artifacts = Artifacts::new();
        let is_host = manifest.backend == BackendKind::Host;
        // The machine boots its own kernel.
        for kernel in manifest.kernels.iter().filter(|_| !is_host) {
            let path = self.provision.store().kernel_image(kernel.image_sha256);
            let path = if path.exists() { path } else { self.kernel_again(kernel)?.image };
            artifacts.insert(kernel.image_sha256, path);
        }
        for image in &manifest.images {
            let path = self.provision.store().image(image.sha256);
            if !path.exists() {
                self.image_again(&manifest, image)?;
            }
            artifacts.insert(image.sha256, path);
        }
        let store = self.provision.store().clone();
        Ok(Prepared { manifest, unbuilt: Vec::new(), artifacts, command, store })
    }

    fn qemu_again(&self, recorded: &QemuUsed) -> Result<Vec<OsString>, LabError> {
        let qemu = match &self.qemu {
            Some(path) => self.provision.qemu(Some(path))?,
            None => self.provision.qemu_exact(&recorded.packages)?,
        };
        if qemu.build == recorded.build {
            return Ok(qemu.command);
        }
        Err(LabError::OtherQemu {
            recorded: recorded.build.version.clone(),
            present: qemu.build.version,
        })
    }

    fn kernel_again(&self, recorded: &Kernel) -> Result<ProvisionedKernel, LabError> {
        let gone = |reason: String| LabError::KernelGone {
            name: recorded.name.clone(),
            release: recorded.release.clone(),
            reason,
        };
        let exact = match &recorded.name {
            KernelRef::Debian { .. } => format!("debian:{}", recorded.release)
                .parse()
                .map_err(|_| gone("its release is no version".to_owned()))?,
            other
            @ (KernelRef::Source { .. } | KernelRef::File { .. } | KernelRef::Host { .. }) => {
                other.clone()
            }
        };
        let kernel = self.provision.kernel_exact(&exact, &recorded.packages);
        let kernel = kernel.map_err(|error| gone(error.to_string()))?;
        if kernel.kernel.image_sha256 != recorded.image_sha256 {
            return Err(gone(match &recorded.name {
                KernelRef::Source { .. } => "this preemptlab builds another kernel from the same \
                                             packages; use the one that made the recording"
                    .to_owned(),
                _ => "another build has its name now".to_owned(),
            }));
        }
        Ok(kernel)
    }

    fn image_again(&self, manifest: &Manifest, recorded: &Image) -> Result<(), LabError> {
        let kernel = manifest.kernel(&recorded.kernel).ok_or(LabError::OtherImage)?;
        let packages = self.provision.packages_exact(&recorded.packages)?;
        let Experiment { machine, workload, .. } = &manifest.experiment;
        let modules = match manifest.backend {
            BackendKind::Host => Vec::new(),
            _ => self.modules(&machine.modules, &self.kernel_again(kernel)?)?,
        };
        let workload = workload.get(&recorded.workload).ok_or(LabError::OtherImage)?;
        let image = self.build_image(&modules, &packages, workload)?;
        if image.sha256 == recorded.sha256 { Ok(()) } else { Err(LabError::OtherImage) }
    }
}
