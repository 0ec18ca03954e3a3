use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use preemptlab_model::Package;
use preemptlab_provision::{
    GuestImage, KbuildError, KernelError, Own, ProvisionedKernel, build_image,
};
use preemptlab_recording::{Image, Manifest, QemuUsed};
use preemptlab_spec::Experiment;
use preemptlab_vm::Artifacts;
use preemptlab_workload::Workload;

use crate::{Lab, LabError, Prepared};

/// What a workload wants of Debian.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Wanted<'a> {
    packages: Vec<&'a str>,
    assumed: Vec<&'a str>,
}

impl<'a> Wanted<'a> {
    fn of(workload: &'a Workload) -> Self {
        Self { packages: workload.packages(), assumed: workload.assumed_packages() }
    }
}

impl Lab<'_> {
    /// Resolves a new experiment to what is on offer now. A kernel that cannot be built keeps its
    /// cells, which are unavailable, and the others go on.
    ///
    /// # Errors
    ///
    /// [`LabError`]
    pub fn resolve(&self, experiment: Experiment) -> Result<Prepared, LabError> {
        let qemu = self.provision.qemu(self.qemu.as_deref())?;
        let mut artifacts = Artifacts::new();
        let (mut kernels, mut images) = (Vec::new(), Vec::new());
        let (mut unavailable, mut unbuilt) = (BTreeMap::new(), Vec::new());
        let packages = self.packages(&experiment)?;
        for name in &experiment.factors.kernel {
            let kernel = match self.provision.kernel(name) {
                Err(KernelError::Build(error)) if error.is_of_kernel() => {
                    if matches!(error, KbuildError::NotBuilt) {
                        unbuilt.push(name.clone());
                    }
                    unavailable.insert(name.clone(), error.to_string());
                    continue;
                }
                kernel => kernel?,
            };
            artifacts.insert(kernel.kernel.image_sha256, kernel.image.clone());
            for (workload_name, workload) in &experiment.workload {
                let packages = &packages[&Wanted::of(workload)];
                let modules = &experiment.machine.modules;
                let image = self.build_image(modules, &kernel, packages, workload)?;
                artifacts.insert(image.sha256, image.path);
                images.push(Image {
                    sha256: image.sha256,
                    kernel: name.clone(),
                    workload: workload_name.clone(),
                    packages: packages.iter().map(|(package, _)| package.clone()).collect(),
                });
            }
            kernels.push(kernel.kernel);
        }
        let used = QemuUsed { build: qemu.build, packages: qemu.packages };
        Ok(Prepared {
            manifest: Manifest::without(experiment, kernels, unavailable, used, images),
            unbuilt,
            artifacts,
            command: qemu.command,
            store: self.provision.store().clone(),
        })
    }

    /// The packages of every workload; those that want the same ask apt once.
    fn packages<'a>(
        &self,
        experiment: &'a Experiment,
    ) -> Result<BTreeMap<Wanted<'a>, Vec<(Package, PathBuf)>>, LabError> {
        let wanted: BTreeSet<Wanted<'a>> = experiment.workload.values().map(Wanted::of).collect();
        wanted
            .into_iter()
            .map(|wanted| {
                let packages = self.provision.packages(&wanted.packages, &wanted.assumed)?;
                Ok((wanted, packages))
            })
            .collect()
    }

    pub(crate) fn build_image(
        &self,
        modules: &[String],
        kernel: &ProvisionedKernel,
        packages: &[(Package, PathBuf)],
        workload: &Workload,
    ) -> Result<GuestImage, LabError> {
        let names: Vec<&str> = modules.iter().map(String::as_str).collect();
        let modules: Vec<_> = self
            .provision
            .modules(kernel, &names)?
            .into_iter()
            .map(|module| (module.path, module.bytes))
            .collect();
        let files = workload
            .files_sha256()
            .map(|sha256| self.folders.get(&sha256).ok_or(LabError::FilesMissing(sha256)));
        let own = Own {
            prepare: &workload.prepare(),
            files: files.transpose()?,
            player: workload.needs_player(),
        };
        Ok(build_image(&self.provision.store().images(), packages, &modules, own)?)
    }
}
