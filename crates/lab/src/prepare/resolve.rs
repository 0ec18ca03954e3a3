use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    path::PathBuf,
};

use preemptlab_backend_qemu::{Artifacts, check_allowed};
use preemptlab_experiment::{Experiment, Manifest, manifest_on};
use preemptlab_model::{Arch, BackendKind, Kernel, KernelRef, Package};
use preemptlab_provision::{
    Event, GuestImage, KbuildError, KernelError, Module, ModuleError, Own, ProvisionedKernel,
    build_image,
};
use preemptlab_recording::{Image, QemuUsed};
use preemptlab_workload::Workload;

use super::{Preparation, PrepareError, Prepared};

/// Packages that a workload needs of Debian.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Wanted<'a> {
    packages: Vec<&'a str>,
    assumed: Vec<&'a str>,
}

impl<'a> Wanted<'a> {
    fn of(workload: &'a Workload, guest: Arch) -> Self {
        Self { packages: workload.packages(guest), assumed: workload.assumed_packages() }
    }
}

/// Modules that a workload needs of a kernel, those that it has where the kernel does, and those that it loads itself.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WantedModules<'a> {
    needed: Vec<&'a str>,
    further: Vec<&'static str>,
    files: Vec<&'a str>,
}

impl<'a> WantedModules<'a> {
    pub(crate) fn of(workload: &'a Workload) -> Self {
        Self {
            needed: workload.modules(),
            further: workload.wanted_modules(),
            files: workload.module_files(),
        }
    }

    /// Returns one of them; `None` where there is none.
    pub(crate) fn any(&self) -> Option<&str> {
        self.needed.iter().chain(&self.further).chain(&self.files).next().copied()
    }
}

/// Modules of a kernel in a guest's image, each with its path there and after those that it depends on.
#[derive(Debug, Default)]
pub(crate) struct GuestModules {
    /// Modules that the guest loads.
    loaded: Vec<(String, Vec<u8>)>,
    /// Modules that are the workload's files.
    files: Vec<(String, Vec<u8>)>,
}

/// A kernel of an experiment.
enum Found {
    /// Kernel that was brought to this machine.
    Provisioned(Box<ProvisionedKernel>),
    /// Kernel that was on the machine already.
    Installed(Kernel),
}

impl Found {
    fn kernel(&self) -> &Kernel {
        match self {
            Self::Provisioned(kernel) => &kernel.kernel,
            Self::Installed(kernel) => kernel,
        }
    }

    fn into_kernel(self) -> Kernel {
        match self {
            Self::Provisioned(kernel) => kernel.kernel,
            Self::Installed(kernel) => kernel,
        }
    }
}

/// Refuses experiments that need modules in the machine's own kernel.
fn refuse_modules(experiment: &Experiment) -> Result<(), PrepareError> {
    let refuse = |what| Err(PrepareError::NeedsModules { what });
    if let Some(module) = experiment.machine.modules.first() {
        return refuse(format!("the experiment asks for the kernel module `{module}`"));
    }
    for (name, workload) in &experiment.workload {
        if workload.needs_player() {
            return refuse(format!("the workload `{name}` plays a scenario in the kernel"));
        }
        if let Some(module) = WantedModules::of(workload).any() {
            return refuse(format!(
                "the workload `{name}` works with the kernel module `{module}`"
            ));
        }
    }
    Ok(())
}

impl Preparation<'_> {
    /// Resolves a new experiment to the builds on offer now. A kernel that cannot be built keeps
    /// its cells, which are unavailable, and the others remain.
    ///
    /// # Errors
    ///
    /// [`PrepareError`]
    pub fn resolve(&self, experiment: Experiment) -> Result<Prepared, PrepareError> {
        let mut experiment = self.with_files_of_host(experiment);
        let is_host = self.backend == BackendKind::Host;
        if !is_host {
            check_allowed(experiment.machine.memory_mib)?;
        }
        for (missing, other) in
            experiment.factors.choose(|kernel| self.provision.is_offered(kernel))?
        {
            let instead = format!("no mirror has {missing} any more: {other} takes its place");
            self.provision.tell(Event::Warning(instead));
        }
        self.check_build_scripts(&experiment)?;
        if !is_host {
            let kernels: Vec<KernelRef> = experiment.factors.kernels().cloned().collect();
            self.provision.check_sources(&kernels)?;
        }
        let qemu = if is_host { None } else { Some(self.provision.qemu(self.qemu.as_deref())?) };
        if is_host {
            refuse_modules(&experiment)?;
        }
        let mut artifacts = Artifacts::new();
        let (mut kernels, mut images) = (Vec::new(), Vec::new());
        let mut configs = BTreeMap::new();
        let (mut unavailable, mut unbuilt) = (BTreeMap::new(), Vec::new());
        let guest = self.provision.guest();
        let packages = self.packages(&experiment)?;
        for name in experiment.factors.kernels() {
            let kernel = match self.kernel(name) {
                Err(PrepareError::Kernel(KernelError::Build(error))) if error.is_of_kernel() => {
                    if matches!(error, KbuildError::NotBuilt) {
                        unbuilt.push(name.clone());
                    }
                    (self.on_kernel)(name, Err(&error.to_string()));
                    unavailable.insert(name.clone(), error.to_string());
                    continue;
                }
                kernel => kernel?,
            };
            (self.on_kernel)(name, Ok(kernel.kernel()));
            if let Found::Provisioned(kernel) = &kernel {
                artifacts.insert(kernel.kernel.image_sha256, kernel.image.clone());
                configs.extend(kernel.config.clone().map(|config| (name.clone(), config)));
            }
            let mut modules = BTreeMap::new();
            for (workload_name, workload) in &experiment.workload {
                let packages = &packages[&Wanted::of(workload, guest)];
                let modules: &GuestModules = match modules.entry(WantedModules::of(workload)) {
                    Entry::Occupied(entry) => entry.into_mut(),
                    Entry::Vacant(entry) => entry.insert(match &kernel {
                        Found::Provisioned(kernel) if !is_host => {
                            self.modules(&experiment.machine.modules, workload, kernel)?
                        }
                        _ => GuestModules::default(),
                    }),
                };
                let what = format!("the guest image of {workload_name} for {name}");
                self.provision.tell(Event::Packing { what });
                let image = self.build_image(modules, packages, workload)?;
                artifacts.insert(image.sha256, image.path);
                images.push(Image {
                    sha256: image.sha256,
                    kernel: name.clone(),
                    workload: workload_name.to_string(),
                    packages: packages.iter().map(|(package, _)| package.clone()).collect(),
                });
            }
            kernels.push(kernel.into_kernel());
        }
        Ok(Prepared {
            command: qemu.as_ref().map(|qemu| qemu.command.clone()).unwrap_or_default(),
            manifest: Manifest {
                overrides: self.overrides.to_vec(),
                ..manifest_on(
                    self.backend,
                    experiment,
                    (kernels, configs),
                    unavailable,
                    qemu.map(|qemu| QemuUsed { build: qemu.build, packages: qemu.packages }),
                    images,
                )
            },
            unbuilt,
            artifacts,
            store: self.provision.store().clone(),
        })
    }

    /// Refuses an experiment that would run a stranger's build scripts.
    pub(crate) fn check_build_scripts(&self, experiment: &Experiment) -> Result<(), PrepareError> {
        let Experiment { factors, machine, .. } = experiment;
        let kernels: Vec<KernelRef> = factors.kernels().cloned().collect();
        self.provision.check_owners(&kernels)?;
        Ok(self.provision.check_build_scripts(&kernels, &machine.modules)?)
    }

    /// Returns the kernel of a name, which the machine may have itself.
    fn kernel(&self, name: &KernelRef) -> Result<Found, PrepareError> {
        Ok(match Self::installed(self.backend, name)? {
            Some(kernel) => Found::Installed(kernel),
            None => Found::Provisioned(Box::new(self.provision.kernel(name)?)),
        })
    }

    /// Returns the packages of every workload; workloads with the same packages ask apt once.
    fn packages<'a>(
        &self,
        experiment: &'a Experiment,
    ) -> Result<BTreeMap<Wanted<'a>, Vec<(Package, PathBuf)>>, PrepareError> {
        let guest = self.provision.guest();
        let of = |workload| Wanted::of(workload, guest);
        let wanted: BTreeSet<Wanted<'a>> = experiment.workload.values().map(of).collect();
        wanted
            .into_iter()
            .map(|wanted| {
                let packages = self.provision.packages(&wanted.packages, &wanted.assumed)?;
                Ok((wanted, packages))
            })
            .collect()
    }

    /// Returns the modules of a kernel that the experiment names and a workload needs, those of the workload's
    /// further ones that the kernel has, and those that are its files.
    pub(crate) fn modules(
        &self,
        names: &[String],
        workload: &Workload,
        kernel: &ProvisionedKernel,
    ) -> Result<GuestModules, PrepareError> {
        let wanted = WantedModules::of(workload);
        let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
        for further in wanted.further {
            match self.provision.modules(kernel, &[further]) {
                Ok(_) => names.push(further),
                Err(ModuleError::Unknown { .. } | ModuleError::NoModules { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        names.extend(&wanted.needed);
        let loaded = self.provision.modules(kernel, &names).map_err(|error| match &error {
            ModuleError::Unknown { name, .. } | ModuleError::NoModules { name, .. }
                if wanted.needed.contains(&name.as_str()) =>
            {
                PrepareError::NoDisk(error)
            }
            _ => error.into(),
        })?;
        let files = self.provision.modules(kernel, &wanted.files)?;
        let in_image = |modules: Vec<Module>| {
            modules.into_iter().map(|module| (module.path, module.bytes)).collect()
        };
        Ok(GuestModules { loaded: in_image(loaded), files: in_image(files) })
    }

    pub(crate) fn build_image(
        &self,
        modules: &GuestModules,
        packages: &[(Package, PathBuf)],
        workload: &Workload,
    ) -> Result<GuestImage, PrepareError> {
        let files = workload
            .files_sha256()
            .map(|sha256| self.folders.get(&sha256).ok_or(PrepareError::FilesMissing(sha256)));
        let guest = self.provision.guest();
        let own = Own {
            guest,
            prepare: &workload.prepare(guest),
            files: files.transpose()?,
            module_files: &modules.files,
            player: workload.needs_player(),
        };
        Ok(build_image(&self.provision.store().images(), packages, &modules.loaded, own)?)
    }
}
