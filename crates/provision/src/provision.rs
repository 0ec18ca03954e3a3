use std::{
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use preemptlab_model::{Arch, Distro, Kernel, KernelRef, Package, PackageName};

use crate::{
    AptError, Build, Event, KbuildError, KernelError, KmodError, Module, ModuleError, Offer,
    Options, Other, ProgramError, ProvisionedKernel, Qemu, QemuError, Store, TreeError,
    capsule::{self, CapsuleError},
    distribution::{archive::Archive, debian::sources},
    kernel::{
        self,
        kbuild::{BuiltWith, Kit},
        kmod::{self, Headers},
        modules::{self, ModuleSource, Origin},
    },
    programs, qemu,
    supplies::Supplies,
};

/// Refuses a kernel whose source others can write to: a build runs the source's scripts.
///
/// # Errors
///
/// [`crate::TreeError::Foreign`]
pub fn check_owner(kernel: &KernelRef) -> Result<(), KernelError> {
    match kernel::source(kernel).stranger() {
        Some(stranger) => {
            let name = kernel.to_string();
            Err(KbuildError::Tree(TreeError::Foreign { name, stranger }).into())
        }
        None => Ok(()),
    }
}

/// Brings kernels, QEMU and packages into a store.
///
/// The package lists are prepared on first use, once. Every method holds the store's lock.
pub struct Provision<'a> {
    supplies: Supplies<'a>,
}

impl<'a> Provision<'a> {
    /// Keeps the store, the architecture of guests and the options; the first request opens and fetches.
    pub fn new(store: Store, guest: Arch, options: Options, on_event: &'a dyn Fn(Event)) -> Self {
        Self { supplies: Supplies::new(store, guest, options, on_event) }
    }

    /// Tells the observer.
    pub fn tell(&self, event: Event) {
        (self.supplies.on_event)(event);
    }

    /// Returns the provision without builds: a kernel from source that the store lacks is an error.
    #[must_use]
    pub fn without_builds(mut self) -> Self {
        self.supplies.builds = false;
        self
    }

    /// Returns the provision that runs, or refuses to run, the programs that a user's own kernel
    /// brings along to build modules.
    #[must_use]
    pub fn with_build_scripts(mut self, build_scripts: bool) -> Self {
        self.supplies.build_scripts = build_scripts;
        self
    }

    /// Refuses kernels whose source others can write to, unless build scripts are allowed, before
    /// any download.
    ///
    /// # Errors
    ///
    /// [`crate::TreeError::Foreign`]
    pub fn check_owners(&self, kernels: &[KernelRef]) -> Result<(), KernelError> {
        match self.supplies.build_scripts {
            true => Ok(()),
            false => kernels.iter().try_for_each(check_owner),
        }
    }

    /// Refuses kernels whose modules would be built by others' build scripts that are not allowed,
    /// before any download.
    ///
    /// # Errors
    ///
    /// [`KmodError::NotAllowed`]
    pub fn check_build_scripts(
        &self,
        kernels: &[KernelRef],
        modules: &[String],
    ) -> Result<(), ModuleError> {
        let mut own = modules.iter().filter(|name| is_own(name));
        let (Some(name), false) = (own.next(), self.supplies.build_scripts) else { return Ok(()) };
        let tree = kernels.iter().find_map(|kernel| kernel::source(kernel).headers());
        let Some(tree) = tree else { return Ok(()) };
        let source = kmod::find(&name.replace('-', "_"))?;
        Err(KmodError::NotAllowed { name: source.name, tree }.into())
    }

    /// Refuses trees and revisions that are not there, before any download.
    ///
    /// # Errors
    ///
    /// [`KernelError`]
    pub fn check_sources(&self, kernels: &[KernelRef]) -> Result<(), KernelError> {
        kernels.iter().try_for_each(|kernel| kernel::source(kernel).check(&self.supplies))
    }

    /// Returns the architecture of guests.
    pub fn guest(&self) -> Arch {
        self.supplies.arch
    }

    /// Returns the store.
    pub fn store(&self) -> &Store {
        &self.supplies.store
    }

    /// Returns the kernel of a name. One from source is built, unless the store has it.
    ///
    /// # Errors
    ///
    /// [`KernelError`]
    pub fn kernel(&self, name: &KernelRef) -> Result<ProvisionedKernel, KernelError> {
        kernel::source(name).resolve(&self.supplies)
    }

    /// Brings the kernel here that a recording was made with: one of Debian's from its exact version, one
    /// from source built again from exactly its packages.
    ///
    /// # Errors
    ///
    /// [`KernelError`], also where another kernel has its name now.
    pub fn kernel_again(&self, recorded: &Kernel) -> Result<ProvisionedKernel, KernelError> {
        let kernel = kernel::source(&recorded.name).pin(&self.supplies, recorded)?;
        if kernel.kernel.image_sha256 != recorded.image_sha256 {
            return Err(KernelError::NotAgain("another build has its name now"));
        }
        Ok(kernel)
    }

    /// Brings the image here that a recording was made with, unless the store has it. Another file under the
    /// name of a recorded package is an error all the same.
    ///
    /// # Errors
    ///
    /// [`KernelError`], also where another kernel has its name now.
    pub fn kernel_image_again(&self, recorded: &Kernel) -> Result<PathBuf, KernelError> {
        kernel::source(&recorded.name).check_recorded(recorded)?;
        let path = self.supplies.store.kernel_image(recorded.image_sha256);
        match path.exists() {
            true => Ok(path),
            false => Ok(self.kernel_again(recorded)?.image),
        }
    }

    /// Returns whether a name means files of the user's own, which may change behind a recording.
    pub fn is_own(name: &KernelRef) -> bool {
        kernel::source(name).is_own()
    }

    /// Returns the user's own packages, which no mirror has, if a kernel's name gives some: a file for each
    /// package of its recorded kernel.
    pub fn own_packages(name: &KernelRef) -> Vec<PathBuf> {
        kernel::source(name).packages().to_vec()
    }

    /// Returns whether a package of a recorded kernel is this machine's, which built the kernel, and not the guests'.
    pub fn is_of_this_machine(name: &KernelRef, package: &Package) -> bool {
        kernel::source(name).is_built() && !sources::is_configurations(package)
    }

    /// Brings the packages of a recorded kernel from another distribution's archive than Debian's, each with
    /// its file in the store; none for other kernels.
    ///
    /// # Errors
    ///
    /// [`KernelError`] when one is no longer on offer and not in the store.
    pub fn archived_packages(
        &self,
        recorded: &Kernel,
    ) -> Result<Vec<(Package, PathBuf)>, KernelError> {
        kernel::source(&recorded.name).archived(&self.supplies, recorded)
    }

    /// Returns the user's own folder of modules, if a kernel's name gives one.
    pub fn own_modules(name: &KernelRef) -> Option<PathBuf> {
        kernel::source(name).modules().map(Path::to_owned)
    }

    /// Modules of a kernel with those they depend on, in the order in which they can be loaded:
    /// those of preemptlab, whose names start with `preemptlab_` and which are built, after the
    /// kernel's. Built-in modules are not among them. For no names nothing is
    /// downloaded.
    ///
    /// # Errors
    ///
    /// [`ModuleError`]
    pub fn modules(
        &self,
        kernel: &ProvisionedKernel,
        names: &[&str],
    ) -> Result<Vec<Module>, ModuleError> {
        let (own, mut names): (Vec<&str>, Vec<&str>) =
            names.iter().copied().partition(|name| is_own(name));
        let mut built = Vec::new();
        let mut needed = Vec::new();
        for name in own {
            let (module, depends) = self.built_module(kernel, &name.replace('-', "_"))?;
            if !built.contains(&module) {
                built.push(module);
            }
            needed.extend(depends);
        }
        names.extend(needed.iter().map(String::as_str));
        let mut modules = self.kernel_modules(kernel, &names)?;
        modules.extend(built);
        Ok(modules)
    }

    /// Returns a module of preemptlab's own, and the kernel's modules that it depends on.
    fn built_module(
        &self,
        kernel: &ProvisionedKernel,
        name: &str,
    ) -> Result<(Module, Vec<String>), ModuleError> {
        let source = kmod::find(name)?;
        let release = &kernel.kernel.release;
        let Supplies { store, on_event, .. } = &self.supplies;
        let bytes = match &kernel.headers {
            Headers::None(reason) => {
                Err(KmodError::NoHeaders { release: release.clone(), reason: reason.clone() })
            }
            Headers::Tree(tree) if !self.supplies.build_scripts => {
                Err(KmodError::NotAllowed { name: source.name, tree: tree.clone() })
            }
            Headers::Tree(tree) => {
                let lock = self.supplies.lock()?;
                kmod::from_tree(source, release, tree, (store, &lock), on_event)
            }
            Headers::Package { name, assumed } => {
                let headers = (name.as_str(), assumed.as_str());
                let lock = self.supplies.lock()?;
                self.supplies.with_both(&lock, |both| {
                    let packages = (both, store, &lock);
                    kmod::from_package(source, release, headers, packages, on_event)
                })
            }
            Headers::Kit(kit, with) => self.module_of_kit(source, kernel, *kit, with),
        };
        modules::built(source.name, bytes?)
    }

    /// Returns a module for a kernel that was built. Without its kit the kernel is built again.
    fn module_of_kit(
        &self,
        source: &kmod::Source,
        kernel: &ProvisionedKernel,
        kit: Kit,
        with: &BuiltWith,
    ) -> Result<Vec<u8>, KmodError> {
        let Supplies { store, on_event, .. } = &self.supplies;
        let release = &kernel.kernel.release;
        if let Some(bytes) = kmod::kept_of_kit(source, release, kit, store) {
            return Ok(bytes);
        }
        if !kit.is_kept(store) {
            let kept = kernel::source(&kernel.kernel.name).keep_kit(&self.supplies, &kernel.kernel);
            kept.map_err(|error| KmodError::NoHeaders {
                release: release.clone(),
                reason: error.to_string(),
            })?;
        }
        let lock = self.supplies.lock()?;
        let here = (store, &lock);
        let tools = match with {
            BuiltWith::Here(tools) => tools.clone(),
            with => self
                .supplies
                .with(Arch::HOST, &lock, |distribution| with.tools(distribution, here, on_event))?,
        };
        kmod::from_kit(source, release, (kit, &tools), here, on_event)
    }

    /// Builds a module of preemptlab's own for this machine's kernel, in its build tree and with this
    /// machine's programs.
    ///
    /// # Errors
    ///
    /// [`KmodError::NoHeaders`], [`KmodError::Foreign`] where the tree is neither root's nor this
    /// user's, and [`KmodError::Failed`].
    pub fn module_of_tree(
        &self,
        name: &str,
        release: &str,
        tree: &Path,
    ) -> Result<Vec<u8>, ModuleError> {
        let source = kmod::find(name)?;
        if !self.supplies.build_scripts {
            // The tree is there, or its absence is told below.
            let owner = |path: &Path| std::fs::metadata(path).ok().map(|metadata| metadata.uid());
            let owners = [owner(tree), owner(&tree.join("Makefile"))];
            let user = rustix::process::geteuid().as_raw();
            kmod::check_owners(source, tree, owners.into_iter().flatten(), user)?;
        }
        let lock = self.supplies.lock()?;
        let here = (&self.supplies.store, &lock);
        Ok(kmod::from_tree(source, release, tree, here, self.supplies.on_event)?)
    }

    fn kernel_modules(
        &self,
        kernel: &ProvisionedKernel,
        names: &[&str],
    ) -> Result<Vec<Module>, ModuleError> {
        let Some(first) = names.first() else { return Ok(Vec::new()) };
        match &kernel.modules {
            ModuleSource::None(reason) => {
                Err(ModuleError::NoModules { name: (*first).to_owned(), reason: reason.clone() })
            }
            ModuleSource::Folder(folder) => {
                let builtin = folder.join("modules.builtin");
                modules::load(folder, &builtin, names, Origin::Folder)
            }
            ModuleSource::Package { candidate, builtin } => {
                let Supplies { store, on_event, .. } = &self.supplies;
                let folder = self.supplies.ask(self.supplies.arch, |distribution, lock| {
                    modules::unpacked(distribution, store, lock, candidate, on_event)
                })?;
                modules::load(&folder, builtin, names, Origin::Package(&candidate.package))
            }
            ModuleSource::Unpacked { folder, builtin, place, further } => {
                modules::load(folder, builtin, names, Origin::Files { place, further })
            }
        }
    }

    /// Returns the newest kernel of each series and flavour, with its configuration: Debian's, and those of the
    /// distributions that have a mirror. One of these that gives nothing is told.
    ///
    /// # Errors
    ///
    /// [`KernelError`] when Debian has nothing to show; a configuration that cannot be read is part
    /// of its row.
    pub fn offered(&self) -> Result<Vec<Offer>, KernelError> {
        let mut offers = self.supplies.ask(self.supplies.arch, |distribution, _| {
            kernel::offered(distribution, &self.supplies.store, self.supplies.on_event)
        })?;
        self.each_other(|of| {
            offers.extend(kernel::offered_by(&self.supplies, of)?);
            Ok(())
        });
        Ok(offers)
    }

    /// Returns every kernel on offer, the oldest of each distribution first, as [`Provision::offered`] does.
    ///
    /// # Errors
    ///
    /// [`KernelError`]
    pub fn builds(&self) -> Result<Vec<Build>, KernelError> {
        let of = |distribution| {
            self.supplies.kernels(distribution, |kernels| Ok::<_, KernelError>(kernels.builds()?))
        };
        let mut builds = of(Distro::Debian)?;
        self.each_other(|other| {
            builds.extend(of(other.distribution())?);
            Ok(())
        });
        Ok(builds)
    }

    /// Asks every other distribution that has a mirror, and tells the errors.
    fn each_other(&self, mut ask: impl FnMut(Other) -> Result<(), KernelError>) {
        for of in Other::ALL {
            if Archive::is_named(of, &self.supplies.options)
                && let Err(error) = ask(of)
            {
                let title = of.distribution().title();
                self.tell(Event::Warning(format!("{title}'s kernels cannot be listed: {error}")));
            }
        }
    }

    /// Returns whether a kernel of a distribution's packages is on offer. Others are always taken for that.
    ///
    /// # Errors
    ///
    /// [`KernelError`]
    pub fn is_offered(&self, name: &KernelRef) -> Result<bool, KernelError> {
        kernel::is_offered(&self.supplies, name)
    }

    /// Returns every kernel on offer between two of a distribution and a flavour, both included, the
    /// oldest first; none where the first is the newer one, or where they are in no packages.
    ///
    /// # Errors
    ///
    /// [`KernelError`]
    pub fn builds_between(&self, ends: [&KernelRef; 2]) -> Result<Vec<KernelRef>, KernelError> {
        kernel::between(&self.supplies, ends)
    }

    /// Returns QEMU: the one at `path`, or release 13's.
    ///
    /// # Errors
    ///
    /// [`QemuError`]
    pub fn qemu(&self, path: Option<&Path>) -> Result<Qemu, QemuError> {
        if let Some(path) = path {
            return qemu::file(path);
        }
        let Supplies { store, on_event, .. } = &self.supplies;
        self.supplies
            .ask(Arch::HOST, |distribution, lock| qemu::debian(distribution, store, lock, on_event))
    }

    /// Returns the QEMU that consists of exactly these packages, as a recording names them.
    ///
    /// # Errors
    ///
    /// [`QemuError`]
    pub fn qemu_exact(&self, packages: &[Package]) -> Result<Qemu, QemuError> {
        let Supplies { store, on_event, .. } = &self.supplies;
        if let Some(qemu) = qemu::in_store(store, packages, self.supplies.guest())? {
            return Ok(qemu);
        }
        self.supplies.ask(Arch::HOST, |distribution, lock| {
            qemu::unpacked(distribution, store, lock, &distribution.exact(packages)?, on_event)
        })
    }

    /// Returns exactly these packages of guests, as a recording names them, each with its file in the store.
    ///
    /// # Errors
    ///
    /// [`AptError`] when one is no longer on offer and not in the store.
    pub fn packages_exact(
        &self,
        packages: &[Package],
    ) -> Result<Vec<(Package, PathBuf)>, AptError> {
        self.exact(self.supplies.arch, packages)
    }

    fn exact(&self, of: Arch, packages: &[Package]) -> Result<Vec<(Package, PathBuf)>, AptError> {
        let file = |package: &Package| self.supplies.store.package(package.sha256);
        if !packages.iter().all(|package| file(package).exists()) {
            self.supplies
                .ask(of, |distribution, _| distribution.fetch(&distribution.exact(packages)?))?;
        }
        Ok(packages.iter().map(|package| (package.clone(), file(package))).collect())
    }

    /// Collects everything that a capsule of a recording holds. `here` are packages of this machine that built kernels,
    /// `guests` those of guests of which kernels and images hold some files; `own` are those of them that are no
    /// packages of Debian, by their files; `recording` has the recording's files by their names in its folder.
    ///
    /// # Errors
    ///
    /// When a package is no longer on offer and not in the store, or a file of the store is damaged.
    pub fn capsule(
        &self,
        needs: capsule::Needs,
        [here, guests]: [&[Package]; 2],
        own: &[(Package, PathBuf)],
        recording: Vec<(String, PathBuf)>,
    ) -> Result<capsule::Contents, CapsuleError> {
        let Supplies { store, on_event, .. } = &self.supplies;
        self.exact(Arch::HOST, &needs.qemu)?;
        let others = [self.exact(Arch::HOST, here)?, self.packages_exact(guests)?].concat();
        capsule::Contents::collect(store, needs, recording, &others, own, on_event)
    }

    /// Packages with everything they depend on, except the `assumed` packages and those that only
    /// these depend on; each with its file in the store, sorted by name.
    ///
    /// # Errors
    ///
    /// [`AptError`]
    pub fn packages(
        &self,
        names: &[&str],
        assumed: &[&str],
    ) -> Result<Vec<(Package, PathBuf)>, AptError> {
        self.supplies.ask(self.supplies.arch, |distribution, _| {
            let candidates = distribution.closure(names, assumed)?;
            let paths = distribution.fetch(&candidates)?;
            Ok(candidates.into_iter().map(|candidate| candidate.package).zip(paths).collect())
        })
    }

    /// Returns the whole path of a program, which is named as in a shell or by its path, in packages and
    /// their dependencies.
    ///
    /// # Errors
    ///
    /// [`ProgramError`], which names the packages' programs where this one is not among them.
    pub fn program(&self, program: &str, of: &[PackageName]) -> Result<String, ProgramError> {
        let names: Vec<&str> = of.iter().map(PackageName::as_str).collect();
        programs::find(program, of, &self.packages(&names, &[])?)
    }
}

/// Returns whether a module is one of preemptlab's own.
fn is_own(name: &str) -> bool {
    name.replace('-', "_").starts_with(kmod::PREFIX)
}
