//! The supplies with which everything is brought here: the store, Debian's packages, and the kernels of other
//! distributions.

use std::cell::OnceCell;

use preemptlab_model::{Arch, Distro, Platform};

use crate::{
    AptError, Event, Options, Other, PackageError, Store, StoreError, StoreLock,
    distribution::{
        Distribution, Kernels,
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
    lists: OnceCell<Lists>,
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
            lists: OnceCell::new(),
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
                self.with(&lock, apt)?
            }
        }
    }

    /// Locks the store, and gives the distribution's packages to a function while it is locked.
    pub(crate) fn ask<T, E: From<AptError> + From<StoreError>>(
        &self,
        work: impl FnOnce(&dyn Distribution, &StoreLock) -> Result<T, E>,
    ) -> Result<T, E> {
        let lock = self.lock()?;
        self.with(&lock, |packages| work(packages, &lock))
    }

    /// Gives the distribution's packages to a function while the store is locked.
    pub(crate) fn with<T, E: From<AptError>>(
        &self,
        lock: &StoreLock,
        work: impl FnOnce(&dyn Distribution) -> Result<T, E>,
    ) -> Result<T, E> {
        let root = self.store.apt();
        let lists = match self.lists.get() {
            Some(lists) => lists,
            None => {
                let here = (&self.store, lock);
                let lists = Lists::prepare(here, &self.options, self.on_event)?;
                self.lists.get_or_init(|| lists)
            }
        };
        let guest = self.guest();
        work(&Apt::new(&self.store, (&root, lock), lists, guest, &self.options, self.on_event))
    }
}
