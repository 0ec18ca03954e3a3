//! The supplies with which everything is brought here: the store and a distribution's packages.

use std::cell::OnceCell;

use preemptlab_model::{Arch, Platform};

use crate::{
    AptError, Event, Options, Store, StoreError, StoreLock,
    distribution::{
        Distribution,
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
