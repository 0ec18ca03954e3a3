//! The supplies with which everything is brought here: the store, Debian's packages, and the kernels of other
//! distributions.

use std::cell::OnceCell;

use preemptlab_model::{Arch, Distro, Platform};

use crate::{
    AptError, Event, Options, Other, PackageError, Store, StoreError, StoreLock,
    distribution::{
        Distribution, Kernels, Packages,
        archive::Archive,
        debian::apt::{Apt, Lists},
    },
};

/// The store, the package lists, which are prepared on first use, once, and the user's choices.
pub(crate) struct Supplies<'a> {
    pub(crate) store: Store,
    /// Architecture of guests: of their kernels, modules and programs.
    pub(crate) arch: Arch,
    pub(crate) options: Options,
    /// The lists for each architecture, in the order of [`Arch::ALL`].
    lists: [OnceCell<Lists>; Arch::ALL.len()],
    ubuntu: OnceCell<Archive>,
    fedora: OnceCell<Archive>,
    /// Whether kernels are built that the store does not have.
    pub(crate) builds: bool,
    /// Whether build scripts run that others can write to.
    pub(crate) build_scripts: bool,
    pub(crate) on_event: &'a dyn Fn(Event),
}

impl<'a> Supplies<'a> {
    pub(crate) fn new(
        store: Store,
        arch: Arch,
        options: Options,
        on_event: &'a dyn Fn(Event),
    ) -> Self {
        Self {
            store,
            arch,
            options,
            lists: Default::default(),
            ubuntu: OnceCell::new(),
            fedora: OnceCell::new(),
            builds: true,
            build_scripts: false,
            on_event,
        }
    }

    /// Returns the names of the guests' architecture.
    pub(crate) fn guest(&self) -> &'static Platform {
        self.arch.platform()
    }

    /// Locks the store.
    pub(crate) fn lock(&self) -> Result<StoreLock, StoreError> {
        self.store.lock(self.on_event)
    }

    /// Returns the archive of a distribution other than Debian, whose lists are read on first use, once.
    pub(crate) fn archive(&self, of: Other, lock: &StoreLock) -> Result<&Archive, PackageError> {
        let cell = match of {
            Other::Ubuntu => &self.ubuntu,
            Other::Fedora => &self.fedora,
        };
        match cell.get() {
            Some(archive) => Ok(archive),
            None => {
                let (here, guest) = ((&self.store, lock), self.guest());
                let archive = Archive::open(of, here, guest, &self.options, self.on_event)?;
                Ok(cell.get_or_init(|| archive))
            }
        }
    }

    /// Locks the store, and gives the kernels that a distribution offers to a function while it is locked.
    pub(crate) fn kernels<T, E: From<PackageError>>(
        &self,
        of: Distro,
        work: impl FnOnce(&dyn Kernels) -> Result<T, E>,
    ) -> Result<T, E> {
        let lock = self.lock().map_err(PackageError::from)?;
        match Other::of(of) {
            Some(other) => work(self.archive(other, &lock)?),
            None => {
                // What the function says of its error is not apt's.
                let apt = |apt: &dyn Distribution| Ok::<_, PackageError>(work(apt));
                self.with(self.arch, &lock, apt)?
            }
        }
    }

    /// Locks the store, and gives the distribution's packages for an architecture to a function while it is locked: QEMU,
    /// compilers and sources are this machine's, kernels, modules and programs the guests'.
    pub(crate) fn ask<T, E: From<AptError> + From<StoreError>>(
        &self,
        of: Arch,
        work: impl FnOnce(&dyn Distribution, &StoreLock) -> Result<T, E>,
    ) -> Result<T, E> {
        let lock = self.lock()?;
        self.with(of, &lock, |packages| work(packages, &lock))
    }

    /// Gives the distribution's packages for an architecture to a function while the store is locked.
    pub(crate) fn with<T, E: From<AptError>>(
        &self,
        of: Arch,
        lock: &StoreLock,
        work: impl FnOnce(&dyn Distribution) -> Result<T, E>,
    ) -> Result<T, E> {
        let root = self.store.apt(of.platform());
        let (lists, both) = (self.lists(of, lock)?, (of, self.guest()));
        work(&Apt::new(&self.store, (&root, lock), lists, both, &self.options, self.on_event))
    }

    /// Gives this machine's packages and those of guests to a function while the store is locked.
    pub(crate) fn with_both<T, E: From<AptError>>(
        &self,
        lock: &StoreLock,
        work: impl FnOnce(Packages<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.with(Arch::HOST, lock, |here| {
            self.with(self.arch, lock, |guest| work(Packages { here, guest }))
        })
    }

    /// Returns the lists for an architecture. Those of this machine come first: without the machine's apt, theirs is the
    /// one that reads all others.
    fn lists(&self, of: Arch, lock: &StoreLock) -> Result<&Lists, AptError> {
        if of != Arch::HOST {
            self.lists(Arch::HOST, lock)?;
        }
        let cell = &self.lists[of as usize];
        match cell.get() {
            Some(lists) => Ok(lists),
            None => {
                let here = (&self.store, lock);
                let lists = Lists::prepare(here, of.platform(), &self.options, self.on_event)?;
                Ok(cell.get_or_init(|| lists))
            }
        }
    }
}
