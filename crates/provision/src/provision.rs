use std::{
    cell::OnceCell,
    path::{Path, PathBuf},
};

use preemptlab_model::{KernelRef, Package};

use crate::{
    AptError, Build, Event, KbuildError, KernelError, KmodError, Module, ModuleError, Offer,
    ProvisionedKernel, Qemu, QemuError, Store, StoreLock,
    apt::{Apt, Lists},
    kbuild::Recipe,
    kernels,
    kmod::{self, Headers},
    modules::{self, ModuleSource},
    qemu,
};

/// What a person may choose.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Debian's main archive; `None` for that of the machine's own apt.
    pub mirror: Option<String>,
    /// Use suites whose release file is older than it may be.
    pub allow_expired: bool,
    /// Refresh the package lists even if they are fresh.
    pub refresh: bool,
    /// What `APT_CONFIG` names, which the machine's own apt reads first (apt.conf(5)).
    pub apt_config: Option<PathBuf>,
}

/// Brings kernels, QEMU and packages into a store.
///
/// The package lists are prepared on first use, once. Every method holds the store's lock.
pub struct Provision<'a> {
    store: Store,
    options: Options,
    lists: OnceCell<Lists>,
    builds: bool,
    build_scripts: bool,
    on_event: &'a dyn Fn(Event),
}

impl<'a> Provision<'a> {
    /// Keeps the store and the options; the first request opens and fetches.
    pub fn new(store: Store, options: Options, on_event: &'a dyn Fn(Event)) -> Self {
        Self {
            store,
            options,
            lists: OnceCell::new(),
            builds: true,
            build_scripts: false,
            on_event,
        }
    }

    /// Tells whoever watches.
    pub fn tell(&self, event: Event) {
        (self.on_event)(event);
    }

    /// The same, but a kernel from source that the store does not have is an error and not built.
    #[must_use]
    pub fn without_builds(self) -> Self {
        Self { builds: false, ..self }
    }

    /// The same, which runs what a kernel of a user's own brings along to build modules, or refuses
    /// to.
    #[must_use]
    pub fn with_build_scripts(self, build_scripts: bool) -> Self {
        Self { build_scripts, ..self }
    }

    /// Refuses kernels for which modules of preemptlab's own would be built by build scripts that
    /// nobody has allowed, before anything is brought here in vain.
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
        let (Some(name), false) = (own.next(), self.build_scripts) else { return Ok(()) };
        let folder = kernels.iter().find_map(|kernel| match kernel {
            KernelRef::File { modules, .. } => modules.as_ref(),
            _ => None,
        });
        let Some(folder) = folder else { return Ok(()) };
        let source = kmod::find(&name.replace('-', "_"))?;
        Err(KmodError::NotAllowed { name: source.name, tree: folder.join("build") }.into())
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The kernel that a name means. One from source is built, unless the store has it.
    ///
    /// # Errors
    ///
    /// [`KernelError`]
    pub fn kernel(&self, name: &KernelRef) -> Result<ProvisionedKernel, KernelError> {
        let lock = self.store.lock(self.on_event)?;
        match name {
            KernelRef::Debian { version, flavour } => self.with_apt(&lock, |apt| {
                kernels::debian(apt, &self.store, version, *flavour, self.on_event)
            }),
            KernelRef::Source { version, flavour, symbols } => {
                let wanted = (name, version.as_str(), *flavour, symbols);
                let recipe = self.with_apt(&lock, |apt| Recipe::find(apt, wanted, None))?;
                self.built(name, &recipe, lock)
            }
            KernelRef::File { image, modules } => {
                kernels::file(&self.store, &lock, image, modules.as_deref())
            }
            KernelRef::Host { .. } => Err(KernelError::OfHost(name.clone())),
        }
    }

    /// The kernel of that name from exactly these packages, as a recording names them: what is from
    /// source is built again, and whether it becomes the same is left to the caller to check.
    ///
    /// # Errors
    ///
    /// [`KernelError`]
    pub fn kernel_exact(
        &self,
        name: &KernelRef,
        packages: &[Package],
    ) -> Result<ProvisionedKernel, KernelError> {
        let KernelRef::Source { version, flavour, symbols } = name else {
            return self.kernel(name);
        };
        let lock = self.store.lock(self.on_event)?;
        let wanted = (name, version.as_str(), *flavour, symbols);
        let recipe = self.with_apt(&lock, |apt| Recipe::find(apt, wanted, Some(packages)))?;
        self.built(name, &recipe, lock)
    }

    /// A kernel from source. The store's lock is not held while it is built.
    fn built(
        &self,
        name: &KernelRef,
        recipe: &Recipe,
        lock: StoreLock,
    ) -> Result<ProvisionedKernel, KernelError> {
        if recipe.built(&self.store).is_none() {
            if !self.builds {
                return Err(KbuildError::NotBuilt.into());
            }
            let programs =
                self.with_apt(&lock, |apt| recipe.fetch(apt, &self.store, &lock, self.on_event))?;
            drop(lock);
            let keep = |image: &[u8]| {
                let _lock = self.store.lock(self.on_event)?;
                kernels::keep_image(&self.store, image)
            };
            recipe.build(&self.store, &programs, keep, self.on_event)?;
        }
        let built = recipe.built(&self.store).ok_or(KbuildError::NotBuilt)?;
        kernels::built(&self.store, name, recipe, built)
    }

    /// Modules of a kernel with those they depend on, in the order in which they can be loaded:
    /// those of preemptlab, whose names start with `preemptlab_` and which are built, after the
    /// kernel's. What is built into the kernel is not among them. For no names nothing is
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

    /// A module of preemptlab's own, and those of the kernel that it depends on.
    fn built_module(
        &self,
        kernel: &ProvisionedKernel,
        name: &str,
    ) -> Result<(Module, Vec<String>), ModuleError> {
        let source = kmod::find(name)?;
        let release = &kernel.kernel.release;
        let lock = self.store.lock(self.on_event)?;
        let bytes = match &kernel.headers {
            Headers::None(reason) => {
                Err(KmodError::NoHeaders { release: release.clone(), reason: reason.clone() })
            }
            Headers::Tree(tree) if !self.build_scripts => {
                Err(KmodError::NotAllowed { name: source.name, tree: tree.clone() })
            }
            Headers::Tree(tree) => {
                kmod::from_tree(source, release, tree, (&self.store, &lock), self.on_event)
            }
            Headers::Package { name, assumed } => self.with_apt(&lock, |apt| {
                let headers = (name.as_str(), assumed.as_str());
                let here = (apt, &self.store, &lock);
                kmod::from_package(source, release, headers, here, self.on_event)
            }),
        };
        modules::built(source.name, bytes?)
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
                modules::load(folder, &folder.join("modules.builtin"), names, None)
            }
            ModuleSource::Package { candidate, builtin } => {
                let lock = self.store.lock(self.on_event)?;
                let folder = self.with_apt(&lock, |apt| {
                    modules::unpacked(apt, &self.store, &lock, candidate, self.on_event)
                })?;
                modules::load(&folder, builtin, names, Some(&candidate.package))
            }
        }
    }

    /// The newest kernel of each series and flavour, with its configuration.
    ///
    /// # Errors
    ///
    /// [`KernelError`] when there is nothing to show; a configuration that cannot be read is part
    /// of its row.
    pub fn offered(&self) -> Result<Vec<Offer>, KernelError> {
        let lock = self.store.lock(self.on_event)?;
        self.with_apt(&lock, |apt| kernels::offered(apt, &self.store, self.on_event))
    }

    /// Every kernel on offer, oldest first.
    ///
    /// # Errors
    ///
    /// [`KernelError`]
    pub fn builds(&self) -> Result<Vec<Build>, KernelError> {
        let lock = self.store.lock(self.on_event)?;
        self.with_apt(&lock, |apt| Ok(kernels::builds(apt)?))
    }

    /// QEMU: the one at `path`, or release 13's.
    ///
    /// # Errors
    ///
    /// [`QemuError`]
    pub fn qemu(&self, path: Option<&Path>) -> Result<Qemu, QemuError> {
        if let Some(path) = path {
            return qemu::file(path);
        }
        let lock = self.store.lock(self.on_event)?;
        self.with_apt(&lock, |apt| qemu::debian(apt, &self.store, &lock, self.on_event))
    }

    /// The QEMU that consists of exactly these packages, as a recording names them.
    ///
    /// # Errors
    ///
    /// [`QemuError`]
    pub fn qemu_exact(&self, packages: &[Package]) -> Result<Qemu, QemuError> {
        if let Some(qemu) = qemu::in_store(&self.store, packages)? {
            return Ok(qemu);
        }
        let lock = self.store.lock(self.on_event)?;
        self.with_apt(&lock, |apt| {
            let candidates = apt.exact(packages)?;
            qemu::unpacked(apt, &self.store, &lock, &candidates, self.on_event)
        })
    }

    /// Exactly these packages, as a recording names them, each with its file in the store.
    ///
    /// # Errors
    ///
    /// [`AptError`] when one is no longer on offer and not in the store.
    pub fn packages_exact(
        &self,
        packages: &[Package],
    ) -> Result<Vec<(Package, PathBuf)>, AptError> {
        let file = |package: &Package| self.store.package(package.sha256);
        if !packages.iter().all(|package| file(package).exists()) {
            let lock = self.store.lock(self.on_event)?;
            self.with_apt(&lock, |apt| apt.fetch(&apt.exact(packages)?))?;
        }
        Ok(packages.iter().map(|package| (package.clone(), file(package))).collect())
    }

    /// Packages with everything they depend on, except the `assumed` packages and what only these
    /// depend on; each with its file in the store, sorted by name.
    ///
    /// # Errors
    ///
    /// [`AptError`]
    pub fn packages(
        &self,
        names: &[&str],
        assumed: &[&str],
    ) -> Result<Vec<(Package, PathBuf)>, AptError> {
        let lock = self.store.lock(self.on_event)?;
        self.with_apt(&lock, |apt| {
            let candidates = apt.closure(names, assumed)?;
            let paths = apt.fetch(&candidates)?;
            Ok(candidates.into_iter().map(|candidate| candidate.package).zip(paths).collect())
        })
    }

    fn with_apt<T, E: From<AptError>>(
        &self,
        lock: &StoreLock,
        work: impl FnOnce(&Apt<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let root = self.store.apt();
        let lists = match self.lists.get() {
            Some(lists) => lists,
            None => {
                let lists = Lists::prepare(&root, lock, &self.options, self.on_event)?;
                self.lists.get_or_init(|| lists)
            }
        };
        work(&Apt::new(&self.store, &root, lock, lists, self.on_event))
    }
}

/// Whether a module is one of preemptlab's own.
fn is_own(name: &str) -> bool {
    name.replace('-', "_").starts_with(kmod::PREFIX)
}
