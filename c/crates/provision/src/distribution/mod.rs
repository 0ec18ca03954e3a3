//! Distributions: the packages that they offer, and the kernels among these.
//!
//! Callers know the trait [`Distribution`]. Some packages are Debian's for every kernel: the programs of
//! guests, QEMU, compilers, and the source of kernels named `source:`.

mod build;
pub(crate) mod deb;
pub(crate) mod debian;
mod web;

use std::path::PathBuf;

use preemptlab_model::{Package, PackageName, Platform};

pub use self::{
    build::Build,
    deb::DebError,
    debian::{
        apt::{AptError, LeftOut, Trouble},
        mirror::{Mirror, MirrorError, has_apt},
        needs,
        release::{Index, IndexError, Named, Release},
        signature::{Keys, SignatureError, Signed, signed_text},
    },
    web::Proxies,
};
pub(crate) use self::{
    build::{BuildPackages, between, misspelt, nearest, newest, resolve},
    debian::apt::{Candidate, LeftOutNote},
};

/// The packages of a distribution, while the store is locked.
pub(crate) trait Distribution {
    /// Returns the names of the architecture whose kernels it offers.
    fn guest(&self) -> &'static Platform;

    /// Lists every build of a kernel on offer, the oldest first.
    fn builds(&self) -> Result<Vec<Build>, AptError>;

    /// Lists the names of all packages with this prefix.
    fn names(&self, prefix: &'static str) -> Result<Vec<PackageName>, AptError>;

    /// Finds the preferred version of each package; `None` where no suite has it. A name may carry a
    /// version, as in `zlib1g=1:1.3`.
    fn find(&self, names: &[&str]) -> Result<Vec<Option<Candidate>>, AptError>;

    /// Finds the preferred version of each package, as [`Distribution::find`] does, or fails.
    fn show(&self, names: &[&str]) -> Result<Vec<Candidate>, AptError> {
        let found = self.find(names)?.into_iter().zip(names);
        found.map(|(found, name)| found.ok_or_else(|| self.unknown(name))).collect()
    }

    /// Lists every version of a package, the newest first.
    fn versions(&self, name: &str) -> Result<Vec<Candidate>, AptError>;

    /// Finds exactly these packages; one whose content differs counts as unknown.
    fn exact(&self, packages: &[Package]) -> Result<Vec<Candidate>, AptError>;

    /// Resolves packages with everything they depend on, sorted by name, where nothing is installed
    /// except the `assumed` packages.
    fn closure(&self, names: &[&str], assumed: &[&str]) -> Result<Vec<Candidate>, AptError>;

    /// Brings packages into the store, with a result for each. A package that is there is not
    /// downloaded again, and an interrupted download is resumed.
    fn fetch_each(&self, wanted: &[Candidate]) -> Result<Vec<Result<PathBuf, AptError>>, AptError>;

    /// Brings packages into the store, as [`Distribution::fetch_each`] does, or fails.
    fn fetch(&self, wanted: &[Candidate]) -> Result<Vec<PathBuf>, AptError> {
        self.fetch_each(wanted)?.into_iter().collect()
    }

    /// Returns the error of a package that no suite has.
    fn unknown(&self, name: &str) -> AptError;

    /// Returns the suites that are left out.
    fn left_out(&self) -> &[LeftOut];
}
