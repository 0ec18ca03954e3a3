//! Experiments, prepared as `preemptlab run` does, and the processor time of children.

#![allow(dead_code, reason = "each benchmark takes what it needs")]

use std::{
    env,
    path::{Path, PathBuf},
    time::Duration,
};

use preemptlab_experiment::Experiment;
use preemptlab_lab::{Preparation, Prepared};
use preemptlab_model::Arch;
use preemptlab_provision::{Options, Provision, Store};

/// Brings all that the quick study needs into the store that preemptlab itself would use.
pub fn prepare() -> Prepared {
    let study = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/quick.toml");
    prepare_text(&std::fs::read_to_string(study).expect("the study"))
}

/// Brings all that an experiment needs.
pub fn prepare_text(text: &str) -> Prepared {
    let experiment = Experiment::parse(text).expect("an experiment");
    let folder = |name: &str| env::var_os(name).map(PathBuf::from);
    let store = folder("PREEMPTLAB_STORE").unwrap_or_else(|| {
        let cache = folder("XDG_CACHE_HOME");
        let cache = cache.unwrap_or_else(|| folder("HOME").expect("a home").join(".cache"));
        std::fs::create_dir_all(&cache).expect("a folder of caches");
        cache.join("preemptlab")
    });
    let store = Store::open(store).expect("a store");
    let provision = Provision::new(store, Arch::default(), Options::default(), &|_| ());
    Preparation::new(provision, None).resolve(experiment).expect("everything that it needs")
}

/// Returns the CPU time of the children that ended: `cutime` and `cstime` of `/proc/self/stat`, in
/// ticks of `USER_HZ`, which is 100 on every machine that runs this (proc(5)).
pub fn children_cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("procfs");
    let fields: Vec<&str> =
        stat.rsplit_once(')').expect("a command").1.split_whitespace().collect();
    let ticks: u64 =
        [13, 14].iter().map(|field| fields[*field].parse::<u64>().expect("ticks")).sum();
    Duration::from_millis(ticks * 10)
}
