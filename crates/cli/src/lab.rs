//! From the command line's options and the configuration to a lab.

use std::path::PathBuf;

use preemptlab_lab::{Assignment, Config, Lab, Places};
use preemptlab_provision::{Options, Proxies};

use crate::{args::Machines, exit, progress::Shown};

/// Reads the configuration: what the command line sets, the project's file, the user's file.
pub fn config(store: Option<PathBuf>, assignments: Vec<Assignment>) -> exit::Result<Config> {
    Ok(Config::read(Places {
        store,
        assignments,
        folder: std::env::current_dir().ok(),
        user_file: of_user("XDG_CONFIG_HOME", ".config")
            .map(|folder| folder.join("preemptlab/config.toml")),
        home: folder("HOME"),
    })?)
}

/// Returns the lab on this machine, with the store that was named or the user's own.
pub fn here<'a>(config: &Config, machines: Option<&Machines>, shown: &'a Shown) -> Lab<'a> {
    Lab {
        store: config.store().map(PathBuf::from),
        cache: of_user("XDG_CACHE_HOME", ".cache"),
        packages: Options {
            mirror: config.mirror().map(str::to_owned),
            snapshot: config.snapshot().map(str::to_owned),
            allow_expired: config.allow_expired(),
            offline: config.offline(),
            refresh: false,
            apt_config: std::env::var_os("APT_CONFIG").map(PathBuf::from),
            proxies: proxies(),
            ubuntu: config.ubuntu(),
            fedora: config.fedora(),
        },
        qemu: config.qemu().map(PathBuf::from),
        jobs: machines.and_then(|machines| machines.jobs).or(config.jobs()),
        allow_build_scripts: machines.is_some_and(|machines| machines.allow_build_scripts),
        watch: shown,
    }
}

/// Returns the proxies that the environment names, in the variables that curl reads too.
fn proxies() -> Proxies {
    let first = |names: &[&str]| names.iter().find_map(|name| std::env::var(name).ok());
    Proxies {
        http: first(&["http_proxy", "all_proxy", "ALL_PROXY"]),
        https: first(&["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]),
        none_for: first(&["no_proxy", "NO_PROXY"]).unwrap_or_default(),
    }
}

/// Returns a folder of the XDG Base Directory Specification.
fn of_user(variable: &str, below_home: &str) -> Option<PathBuf> {
    folder(variable).or_else(|| Some(folder("HOME")?.join(below_home)))
}

fn folder(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}
