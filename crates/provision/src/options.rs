use std::path::PathBuf;

use crate::Proxies;

/// Choices of a person about packages.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Debian's main archive; `None` for that of the machine's own apt.
    pub mirror: Option<String>,
    /// Archive that keeps every version of every package, for those that the mirror no longer has.
    pub snapshot: Option<String>,
    /// Use suites whose release file is older than it may be.
    pub allow_expired: bool,
    /// Use the store alone: refresh and download nothing.
    pub offline: bool,
    /// Refresh the package lists even if they are fresh.
    pub refresh: bool,
    /// File that `APT_CONFIG` names, which the machine's own apt reads first (apt.conf(5)).
    pub apt_config: Option<PathBuf>,
    /// Proxies for downloads without apt.
    pub proxies: Proxies,
    /// Archive of Ubuntu's kernels.
    pub ubuntu: UbuntuArchive,
    /// Repositories of Fedora's kernels.
    pub fedora: FedoraRepositories,
}

/// Choices of a person about Fedora's repositories, of which kernels alone are taken.
#[derive(Clone, Debug, Default)]
pub struct FedoraRepositories {
    /// Addresses of the folders that hold `repodata`; none where no kernel of Fedora is asked for.
    pub repositories: Vec<String>,
    /// File of OpenPGP keys that are accepted beside those that preemptlab brings.
    pub keys: Option<PathBuf>,
}

/// Choices of a person about Ubuntu's archive, of which kernels alone are taken.
#[derive(Clone, Debug, Default)]
pub struct UbuntuArchive {
    /// Address of the archive; `None` where no kernel of Ubuntu is asked for.
    pub mirror: Option<String>,
    /// Suites that are read, such as `noble-updates`; those of one release where there are none.
    pub suites: Vec<String>,
    /// File of OpenPGP keys that are accepted beside those that preemptlab brings.
    pub keys: Option<PathBuf>,
}
