use preemptlab_model::Package;
use preemptlab_provision::{GuestImage, ProvisionedKernel, build_image};
use preemptlab_recording::{Image, Manifest, QemuUsed};
use preemptlab_spec::Experiment;
use preemptlab_vm::Artifacts;
use preemptlab_workload::Workload;

use crate::{Lab, LabError, Prepared};

impl Lab<'_> {
    /// Resolves a new experiment to what is on offer now.
    ///
    /// # Errors
    ///
    /// [`LabError`]
    pub fn resolve(&self, experiment: Experiment) -> Result<Prepared, LabError> {
        let qemu = self.provision.qemu(self.qemu.as_deref())?;
        let mut artifacts = Artifacts::new();
        let (mut kernels, mut images) = (Vec::new(), Vec::new());
        for name in &experiment.factors.kernel {
            let kernel = self.provision.kernel(name)?;
            artifacts.insert(kernel.kernel.image_sha256, kernel.image.clone());
            for (workload_name, workload) in &experiment.workload {
                let (image, packages) = self.image(&experiment, &kernel, workload)?;
                artifacts.insert(image.sha256, image.path);
                images.push(Image {
                    sha256: image.sha256,
                    kernel: name.clone(),
                    workload: workload_name.clone(),
                    packages,
                });
            }
            kernels.push(kernel.kernel);
        }
        let used = QemuUsed { build: qemu.build, packages: qemu.packages };
        Ok(Prepared {
            manifest: Manifest::new(experiment, kernels, used, images),
            artifacts,
            command: qemu.command,
            store: self.provision.store().clone(),
        })
    }

    fn image(
        &self,
        experiment: &Experiment,
        kernel: &ProvisionedKernel,
        workload: &Workload,
    ) -> Result<(GuestImage, Vec<Package>), LabError> {
        let packages = self.provision.packages(workload.packages(), workload.assumed_packages())?;
        let image = self.build_image(&experiment.machine.modules, kernel, &packages)?;
        Ok((image, packages.into_iter().map(|(package, _)| package).collect()))
    }

    pub(crate) fn build_image(
        &self,
        modules: &[String],
        kernel: &ProvisionedKernel,
        packages: &[(Package, std::path::PathBuf)],
    ) -> Result<GuestImage, LabError> {
        let names: Vec<&str> = modules.iter().map(String::as_str).collect();
        let modules: Vec<_> = self
            .provision
            .modules(kernel, &names)?
            .into_iter()
            .map(|module| (module.path, module.bytes))
            .collect();
        Ok(build_image(&self.provision.store().images(), packages, &modules)?)
    }
}
