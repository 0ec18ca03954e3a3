//! Distributions: the packages that they offer, and the kernels among these.
//!
//! Callers know two traits: [`Kernels`], which every distribution has, and [`Distribution`], which Debian has:
//! some packages are Debian's for every kernel, namely the programs of guests, QEMU, compilers, and the source
//! of kernels named `source:`. Of Ubuntu and Fedora only kernels are used (`archive`).

pub(crate) mod archive;
mod build;
pub(crate) mod deb;
pub(crate) mod debian;
pub(crate) mod fedora;
mod ubuntu;
pub(crate) mod web;

use std::path::PathBuf;

use preemptlab_model::{Package, PackageName, Platform};

pub use self::{
    archive::{error::ArchiveError, other::Other},
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
    build::{between, misspelt, nearest, newest, resolve},
    debian::{
        apt::{Candidate, LeftOutNote},
        names::BuildPackages,
    },
};
use crate::PackageError;

/// The kernels of a distribution, while the store is locked.
pub(crate) trait Kernels {
    /// Lists every build of a kernel on offer, the oldest first.
    fn builds(&self) -> Result<Vec<Build>, PackageError>;

    /// Returns the suites that are left out.
    fn left_out(&self) -> &[LeftOut];
}

/// The packages of this machine, and those for guests, which may have another architecture.
#[derive(Clone, Copy)]
pub(crate) struct Packages<'a> {
    /// Those of this machine.
    pub here: &'a dyn Distribution,
    /// Those for guests.
    pub guest: &'a dyn Distribution,
}

/// The packages of a distribution, while the store is locked.
pub(crate) trait Distribution: Kernels {
    /// Returns the names of the architecture whose kernels it offers.
    fn guest(&self) -> &'static Platform;

    /// Returns the names of the packages of builds on offer.
    fn packages_of(&self, builds: &[&Build]) -> Result<Vec<BuildPackages>, AptError>;

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
}
