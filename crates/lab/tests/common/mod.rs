//! A lab for tests, and an experiment.

#![allow(dead_code, reason = "each test crate uses its own part")]

use std::{
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use preemptlab_experiment::Overrides;
use preemptlab_files::OutFolder;
use preemptlab_lab::{
    Blame, Budget, Change, Error, Event, Execution, GateExperiment, GateRequest, Lab, Result,
    Wanted, Watch,
};
use preemptlab_model::BackendKind;
use preemptlab_provision::Options;
use preemptlab_runner::Cancel;
use preemptlab_stats::GateRule;

/// Keeps the events that it is told, and ends actions where that is wished.
#[derive(Default)]
pub struct Told {
    pub cancel: Cancel,
    pub notes: Mutex<Vec<String>>,
    pub provided: Mutex<Vec<&'static str>>,
    executed: AtomicUsize,
}

impl Told {
    /// Returns the number of cells that were executed.
    pub fn executed(&self) -> usize {
        self.executed.load(Ordering::Relaxed)
    }
}

impl Watch for Told {
    fn on(&self, event: Event<'_>) {
        match event {
            Event::Note(text) | Event::Warning(text) => self.notes.lock().unwrap().push(text),
            Event::Providing => self.provided.lock().unwrap().push("providing"),
            Event::Provided => self.provided.lock().unwrap().push("provided"),
            Event::Cells { change: Change::Finished { .. }, .. } => {
                self.executed.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
    }

    fn cancel(&self) -> Result<Cancel> {
        Ok(self.cancel.clone())
    }
}

/// Returns the user's own store, or that of `PREEMPTLAB_STORE`. A new user has no folder of caches yet.
pub fn own_store() -> PathBuf {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    folder("PREEMPTLAB_STORE").unwrap_or_else(|| {
        let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
        let cache = cache.unwrap();
        std::fs::create_dir_all(&cache).unwrap();
        cache.join("preemptlab")
    })
}

pub fn lab<'a>(folder: &Path, watch: &'a Told) -> Lab<'a> {
    Lab {
        store: Some(folder.join("store")),
        cache: None,
        packages: Options::default(),
        qemu: None,
        jobs: Some(1),
        allow_build_scripts: false,
        watch,
    }
}

pub fn committed(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies").join(name)
}

pub fn execution<'a>(out: &'a OutFolder, backend: BackendKind, trace: bool) -> Execution<'a> {
    let wanted = Wanted::read(&committed("gate.toml"), &Overrides::default()).unwrap();
    let (no_cache, retry_failed) = (false, false);
    Execution { wanted, out, backend, no_cache, retry_failed, trace, engine: None }
}

pub fn gate_request<'a>(base: &'a str, new: &'a str) -> GateRequest<'a> {
    GateRequest {
        base,
        new,
        experiment: GateExperiment::Own,
        rule: GateRule::default(),
        budget: Budget::Cells(60),
        preempt: &[],
        arch: None,
        seed: None,
        trace: true,
        out: None,
    }
}

/// Asserts whose fault an error is, and that it says so.
pub fn blames<T>(result: Result<T>, blame: Blame, words: &str) -> Error {
    let error = result.err().expect("it ends early");
    assert_eq!(error.blame(), blame, "{error}");
    assert!(error.to_string().contains(words), "{error}");
    error
}
