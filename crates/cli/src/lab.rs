//! From the command line's options to a lab.

use std::path::PathBuf;

use preemptlab_lab::Lab;
use preemptlab_provision::Options;

use crate::{
    args::{Machines, Packages},
    progress::Shown,
};

/// Returns the lab on this machine, with the store that was named or the user's own.
pub fn here<'a>(
    store: Option<PathBuf>,
    machines: Option<&Machines>,
    packages: &Packages,
    shown: &'a Shown,
) -> Lab<'a> {
    Lab {
        store,
        cache: cache(),
        packages: Options {
            mirror: packages.mirror.clone(),
            allow_expired: packages.allow_expired,
            refresh: packages.refresh,
            apt_config: std::env::var_os("APT_CONFIG").map(PathBuf::from),
        },
        qemu: machines.and_then(|machines| machines.qemu.clone()),
        jobs: machines.and_then(|machines| machines.jobs),
        allow_build_scripts: machines.is_some_and(|machines| machines.allow_build_scripts),
        watch: shown,
    }
}

/// Returns the folder of the XDG Base Directory Specification.
fn cache() -> Option<PathBuf> {
    let folder =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))
}

/// Returns the lab of a machine that needs no mirror, with the store that was named or the user's own.
pub fn offline<'a>(store: Option<PathBuf>, shown: &'a Shown) -> Lab<'a> {
    here(store, None, &Packages::default(), shown)
}
