use std::ffi::OsString;

use preemptlab_backend_qemu::{Artifacts, check_allowed};
use preemptlab_experiment::{Derived, Experiment, Manifest};
use preemptlab_model::{BackendKind, Kernel};
use preemptlab_provision::{KernelError, Provision, ProvisionedKernel};
use preemptlab_recording::{Image, QemuUsed};
use preemptlab_workload::Workload;

use super::{
    Preparation, PrepareError, Prepared,
    resolve::{GuestModules, WantedModules},
};

impl Preparation<'_> {
    /// Brings exactly the inputs of a recording to this machine. An input that the store still has
    /// is not fetched again, so this needs no mirror on the machine that made the recording.
    ///
    /// # Errors
    ///
    /// [`PrepareError`] when an input is unavailable now or has changed.
    pub fn pin(&self, recording: Derived<'_>) -> Result<Prepared, PrepareError> {
        let manifest = recording.manifest().clone();
        self.check_build_scripts(&manifest.experiment)?;
        if manifest.backend != BackendKind::Host {
            check_allowed(manifest.experiment.machine.memory_mib)?;
        }
        let command = match &manifest.qemu {
            Some(recorded) => self.qemu_again(recorded)?,
            None => Vec::new(),
        };
        let mut artifacts = Artifacts::new();
        let is_host = manifest.backend == BackendKind::Host;
        // The machine boots its own kernel.
        for kernel in manifest.kernels.iter().filter(|_| !is_host) {
            let path = self.provision.kernel_image_again(kernel);
            artifacts.insert(kernel.image_sha256, path.map_err(gone(kernel))?);
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

    /// Brings the inputs of a recording here, to continue it: kernels in files of the user must
    /// still be those of the recording, although the store has copies of them.
    ///
    /// # Errors
    ///
    /// [`PrepareError::Changed`], and the errors of [`pin`](Self::pin).
    pub fn go_on(&self, recording: Derived<'_>) -> Result<Prepared, PrepareError> {
        let manifest = recording.manifest();
        self.check_build_scripts(&manifest.experiment)?;
        for kernel in &manifest.kernels {
            self.check_unchanged(manifest, kernel)?;
        }
        self.pin(recording)
    }

    fn check_unchanged(&self, manifest: &Manifest, recorded: &Kernel) -> Result<(), PrepareError> {
        let changed = |how: String| PrepareError::Changed { what: recorded.name.to_string(), how };
        let is_host = manifest.backend == BackendKind::Host;
        let name = &recorded.name;
        let present = match Self::installed(manifest.backend, name)? {
            Some(kernel) => kernel,
            None if Provision::is_own(name) => {
                self.provision.kernel(name).map_err(|error| changed(error.to_string()))?.kernel
            }
            None => return Ok(()),
        };
        if present.image_sha256 != recorded.image_sha256 {
            return Err(changed(format!(
                "its SHA-256 was {}, and is {}",
                recorded.image_sha256.short(),
                present.image_sha256.short()
            )));
        }
        // Packages have more in them than the image.
        let mut packages = recorded.packages.iter().zip(&present.packages);
        if let Some((was, is)) = packages.find(|(was, is)| was.sha256 != is.sha256) {
            return Err(changed(format!(
                "the SHA-256 of its package {} was {}, and is {}",
                was.name,
                was.sha256.short(),
                is.sha256.short()
            )));
        }
        // An equal image is an equal kernel, whatever its commit is called now.
        if (Kernel { source: None, ..present }) != (Kernel { source: None, ..recorded.clone() }) {
            return Err(changed("its configuration was changed".to_owned()));
        }
        let Some(folder) = Provision::own_modules(name) else { return Ok(()) };
        let Experiment { machine, workload, .. } = &manifest.experiment;
        let has_modules = |of: &Workload| WantedModules::of(of).any().is_some();
        if is_host || machine.modules.is_empty() && !workload.values().any(has_modules) {
            return Ok(());
        }
        // The image holds the modules, and is the digest of all of them.
        for image in manifest.images.iter().filter(|image| image.kernel == recorded.name) {
            match self.image_again(manifest, image) {
                Err(PrepareError::OtherImage) => {
                    let how = format!("its modules in {} were changed", folder.display());
                    return Err(changed(how));
                }
                Err(PrepareError::Module(error) | PrepareError::NoDisk(error)) => {
                    return Err(changed(error.to_string()));
                }
                again => again?,
            }
        }
        Ok(())
    }

    pub(crate) fn qemu_again(&self, recorded: &QemuUsed) -> Result<Vec<OsString>, PrepareError> {
        let qemu = match &self.qemu {
            Some(path) => self.provision.qemu(Some(path))?,
            None => self.provision.qemu_exact(&recorded.packages)?,
        };
        if qemu.build == recorded.build {
            return Ok(qemu.command);
        }
        Err(PrepareError::OtherQemu {
            recorded: recorded.build.version.clone(),
            present: qemu.build.version,
        })
    }

    fn kernel_again(&self, recorded: &Kernel) -> Result<ProvisionedKernel, PrepareError> {
        self.provision.kernel_again(recorded).map_err(gone(recorded))
    }

    fn image_again(&self, manifest: &Manifest, recorded: &Image) -> Result<(), PrepareError> {
        let kernel = manifest.kernel(&recorded.kernel).ok_or(PrepareError::OtherImage)?;
        let packages = self.provision.packages_exact(&recorded.packages)?;
        let Experiment { machine, workload, .. } = &manifest.experiment;
        let workload = workload.get(recorded.workload.as_str()).ok_or(PrepareError::OtherImage)?;
        let modules = match manifest.backend {
            BackendKind::Host => GuestModules::default(),
            _ => self.modules(&machine.modules, workload, &self.kernel_again(kernel)?)?,
        };
        let image = self.build_image(&modules, &packages, workload)?;
        if image.sha256 == recorded.sha256 { Ok(()) } else { Err(PrepareError::OtherImage) }
    }
}

/// Returns a function that says which recorded kernel cannot be had, for `map_err`. No mirror has the
/// files of the user's own.
pub(super) fn gone(recorded: &Kernel) -> impl FnOnce(KernelError) -> PrepareError {
    let name = recorded.name.clone();
    move |error| match error {
        KernelError::Own { .. } | KernelError::Package { .. } => {
            PrepareError::Changed { what: name.to_string(), how: error.to_string() }
        }
        error => {
            let release = recorded.release.clone();
            PrepareError::KernelGone { name, release, reason: Box::new(error) }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fs};

    use preemptlab_experiment::{RecordingWriter, manifest_on};
    use preemptlab_model::Arch;
    use preemptlab_provision::{Options, Store};

    use super::*;

    /// Returns the start of a bzImage with this release (Documentation/arch/x86/boot.rst).
    fn image(release: &str) -> Vec<u8> {
        let mut image = vec![0; 0x400];
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x206..0x208].copy_from_slice(&0x20f_u16.to_le_bytes());
        image[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
        image[0x300..0x300 + release.len()].copy_from_slice(release.as_bytes());
        image
    }

    fn code(result: Result<Prepared, PrepareError>) -> String {
        match result {
            Ok(_) => "goes on".to_owned(),
            Err(error) if error.is_of_other_inputs() => error.to_string(),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn a_kernel_that_was_replaced_is_noticed_although_the_store_has_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bzImage");
        fs::write(&path, image("6.12.1-mine")).unwrap();
        let text = format!(
            "format = 1\nname = \"mine\"\n[factors]\nkernel = [\"file:{}\"]\n\
             preempt = [\"none\"]\n[workload.a]\nkind = \"cyclictest\"\n",
            path.display()
        );
        let experiment = Experiment::parse(&text).unwrap();
        let on_event = |_| ();
        let store = Store::open(folder.path().join("store")).unwrap();
        let lab = || {
            Preparation::new(
                Provision::new(store.clone(), Arch::default(), Options::default(), &on_event),
                None,
            )
        };
        let name = &experiment.factors.kernel[0].kernel;
        let kernel = lab().provision.kernel(name).unwrap().kernel;
        let packages = Vec::new();
        let recorded = Image {
            sha256: lab()
                .build_image(&GuestModules::default(), &[], &experiment.workload["a"])
                .unwrap()
                .sha256,
            kernel: name.clone(),
            workload: "a".to_owned(),
            packages,
        };
        let manifest = manifest_on(
            BackendKind::Vm,
            experiment,
            (vec![kernel], BTreeMap::new()),
            BTreeMap::new(),
            None,
            vec![recorded],
        );
        let writer = RecordingWriter::open(&folder.path().join("run"), &manifest).unwrap();
        let derived = Derived::check(writer.recording()).unwrap();
        let go_on = || code(lab().go_on(derived));
        assert_eq!(go_on(), "goes on");

        fs::write(&path, image("6.12.2-mine")).unwrap();
        let said = go_on();
        assert!(said.contains("bzImage is not what the recording was made with"), "{said}");
        assert!(said.contains("another folder with --out"), "{said}");
        // The recording itself can be executed again: the store has its inputs.
        assert_eq!(code(lab().pin(derived)), "goes on");

        fs::write(&path, image("6.12.1-mine")).unwrap();
        assert_eq!(go_on(), "goes on");
        fs::write(folder.path().join("config"), "CONFIG_HZ=1000\n").unwrap();
        assert!(go_on().contains("its configuration was changed"));
        fs::remove_file(folder.path().join("config")).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(go_on().contains("cannot be read"));
    }
}
