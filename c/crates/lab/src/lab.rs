//! The machine on which actions take place.

use std::{path::PathBuf, thread, time::Duration};

use preemptlab_experiment::Derived;
use preemptlab_files::OutFolder;
use preemptlab_model::Arch;
use preemptlab_provision::{Options, Provision, Store};
use preemptlab_runner::RunError;

use crate::{Error, Event, Preparation, Prepared, Result, Watch, children};

/// Longest time by which a signal may reach this process later than its child.
const SIGNAL_LAG: Duration = Duration::from_millis(50);

/// The machine on which actions take place, and their observer.
pub struct Lab<'a> {
    /// The store that was named.
    pub store: Option<PathBuf>,
    /// The user's folder of caches, which has the store where none was named.
    pub cache: Option<PathBuf>,
    /// Where packages come from.
    pub packages: Options,
    /// QEMU that replaces that of Debian.
    pub qemu: Option<PathBuf>,
    /// Virtual machines at a time that were asked for.
    pub jobs: Option<u16>,
    /// Runs build scripts that others may have written.
    pub allow_build_scripts: bool,
    /// The observer.
    pub watch: &'a dyn Watch,
}

impl Lab<'_> {
    /// Opens the store.
    ///
    /// # Errors
    ///
    /// When there is no place for it, or it cannot be used.
    pub fn open_store(&self) -> Result<Store> {
        let path = match (&self.store, &self.cache) {
            (Some(named), _) => named.clone(),
            (None, Some(cache)) => {
                // The opening of the store reports a failure.
                let _ = preemptlab_files::create_folder(cache);
                cache.join("preemptlab")
            }
            (None, None) => {
                return Err(Error::user("there is no home folder; name a store with --store"));
            }
        };
        let cancel = self.watch.cancel()?;
        Ok(Store::open(path)?.until(cancel.flag()))
    }

    /// Returns the number of virtual machines at a time: the given one, or one a CPU.
    pub fn jobs(&self) -> usize {
        self.jobs.map_or_else(
            || thread::available_parallelism().map_or(1, std::num::NonZero::get),
            usize::from,
        )
    }

    /// Calls `work` with a source of kernels and packages for guests of an architecture. An interruption ends it, and the programs that
    /// are at work.
    ///
    /// # Errors
    ///
    /// Those of `work`, or that the user ended it.
    pub fn provide<T>(
        &self,
        store: Store,
        guest: Arch,
        work: impl FnOnce(Provision<'_>) -> Result<T>,
    ) -> Result<T> {
        let cancel = self.watch.cancel()?;
        let on_event = |event| self.watch.on(Event::Provision(event));
        self.watch.on(Event::Providing);
        let work = || {
            let provision = Provision::new(store, guest, self.packages.clone(), &on_event);
            work(provision.with_build_scripts(self.allow_build_scripts))
        };
        let result = children::ended_when(|| cancel.is_cancelled(), work);
        self.watch.on(Event::Provided);
        if result.is_err() && !cancel.is_cancelled() {
            // Of a signal to several processes another one may hear first.
            thread::sleep(SIGNAL_LAG);
        }
        if cancel.is_cancelled() { Err(RunError::Cancelled.into()) } else { result }
    }

    /// Returns the preparation of experiments with the lab's QEMU.
    pub fn preparation<'p>(&self, provision: Provision<'p>) -> Preparation<'p> {
        Preparation::new(provision, self.qemu.clone())
    }

    /// Brings everything here that the cells of a recording need, exactly as they had it.
    ///
    /// # Errors
    ///
    /// When something is unavailable now.
    pub fn pinned(&self, recording: Derived<'_>) -> Result<Prepared> {
        let store = self.open_store()?;
        let folders = recording.folders()?;
        let guest = recording.manifest().experiment.machine.arch;
        self.provide(store, guest, |provision| {
            Ok(self.preparation(provision).with_folders(&folders).pin(recording)?)
        })
    }

    pub(crate) fn note(&self, text: impl Into<String>) {
        self.watch.on(Event::Note(text.into()));
    }
}

/// Returns the folder of a recording or a search that the user did not name.
pub fn chosen(name: impl AsRef<std::path::Path>) -> OutFolder {
    OutFolder::chosen(".", std::path::Path::new(preemptlab_analysis::meant::RUNS).join(name))
}
