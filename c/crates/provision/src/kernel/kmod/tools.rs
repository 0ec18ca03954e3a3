//! A kernel's headers and the compiler that they depend on, unpacked into the store.

use std::{
    fs,
    path::{Path, PathBuf},
};

use preemptlab_model::Digest;

use super::{KmodError, make::Make};
use crate::{
    AptError, Event, PackageError, Store, StoreError, StoreLock,
    distribution::{Candidate, Distribution},
    kernel::toolchain::{self, Programs, Toolchain},
    store::whole::is_whole,
};

/// Counts up when the same packages are to be unpacked differently.
const LAYOUT: u32 = 1;

/// First parts of the names of the packages with a kernel's headers and its build programs; all
/// other packages are the compiler and its tools.
const HEADERS: [&str; 2] = ["linux-headers-", "linux-kbuild-"];

/// Packages that a build uses, besides the dependencies of the headers.
const BUILT_WITH: &str = "make";

/// Dependencies of the headers that no module is built with.
const NOT_BUILT_WITH: [&str; 3] = ["binutils", "linux-base", "pahole"];

/// The beginnings of the packages that the build programs depend on to sign modules.
const NOT_USED: [&str; 3] = ["libssl", "linux-", "openssl-"];

/// The packages to build modules of one kernel with.
pub(super) struct Tools {
    release: String,
    name: String,
    headers: Vec<Candidate>,
    compiler: Toolchain,
}

/// Tools of a kernel's modules, unpacked.
pub(super) struct Unpacked {
    headers: PathBuf,
    compiler: Programs,
    tree: PathBuf,
}

impl Tools {
    /// Resolves the package with a kernel's headers, with its dependencies.
    pub(super) fn find(
        distribution: &dyn Distribution,
        release: &str,
        name: &str,
        assumed: &str,
    ) -> Result<Self, KmodError> {
        let assumed: Vec<_> = NOT_BUILT_WITH.into_iter().chain([assumed]).collect();
        let binutils = format!("binutils-{}", distribution.guest().package_suffix());
        let names = [BUILT_WITH, &binutils, name];
        let candidates = distribution.closure(&names, &assumed).map_err(|error| match error {
            AptError::Unknown { name: missing, .. } if missing == name => KmodError::NoHeaders {
                release: release.to_owned(),
                reason: format!(
                    "the mirror has no `{name}`; choose a newer kernel, or name a mirror that \
                     keeps old packages with `--set mirror=URL`"
                ),
            },
            error => error.into(),
        })?;
        let starts = |candidate: &Candidate, beginnings: &[&str]| {
            beginnings.iter().any(|beginning| candidate.package.name.starts_with(beginning))
        };
        let (headers, mut compiler): (Vec<_>, Vec<_>) =
            candidates.into_iter().partition(|candidate| starts(candidate, &HEADERS));
        compiler.retain(|candidate| !starts(candidate, &NOT_USED));
        let compiler = Toolchain::new(compiler, distribution.guest());
        Ok(Self { release: release.to_owned(), name: name.to_owned(), headers, compiler })
    }

    /// Computes the digest of all packages.
    pub(super) fn digest(&self) -> Digest {
        Digest::of_json(&[toolchain::digest_of(LAYOUT, &self.headers), self.compiler.digest()])
    }

    /// Downloads and unpacks the packages that the store does not have yet.
    pub(super) fn unpacked(
        &self,
        distribution: &dyn Distribution,
        store: &Store,
        lock: &StoreLock,
        on_event: &dyn Fn(Event),
    ) -> Result<Unpacked, KmodError> {
        let compiler = self.compiler.unpacked(distribution, store, lock, on_event)?;
        let headers = store.headers(toolchain::digest_of(LAYOUT, &self.headers));
        if !is_whole(&headers) {
            let folder = distribution.guest().kernel_folder;
            let debs = distribution.fetch(&self.headers)?;
            lock.fill(&headers, |draft| {
                on_event(Event::Unpacking { what: self.name.clone() });
                debs.iter().try_for_each(|deb| {
                    toolchain::unpack(deb, draft, |path| is_header(path, folder))
                })?;
                toolchain::wrap(draft)?;
                self.move_makefile(draft)
            })?;
        }
        let tree = self.tree(&headers);
        Ok(Unpacked { headers, compiler, tree })
    }

    /// Returns the build tree in the unpacked headers.
    fn tree(&self, headers: &Path) -> PathBuf {
        headers.join("usr/src").join(format!("linux-headers-{}", self.release))
    }

    /// Lets the tree's Makefile find itself and that of the headers that flavours share, which it
    /// names by the paths that they have when they are installed.
    fn move_makefile(&self, headers: &Path) -> Result<(), KmodError> {
        let path = self.tree(headers).join("Makefile");
        let missing = || {
            let (package, what) = (self.name.clone(), "Makefile".to_owned());
            PackageError::Lacks { package, what }
        };
        let text = fs::read_to_string(&path).map_err(|_| missing())?;
        let moved = text.replace("/usr/src/", "$(preemptlab_src)/");
        let here = "preemptlab_src := $(realpath $(dir $(lastword $(MAKEFILE_LIST)))..)";
        fs::write(&path, format!("{here}\n{moved}")).map_err(StoreError::at(&path))?;
        Ok(())
    }
}

impl Unpacked {
    /// Returns the make that builds with these tools.
    pub(super) fn make(&self) -> Make {
        Make::of_packages(&self.compiler, &self.headers, &self.tree)
    }
}

/// Returns whether a path of the headers is needed; those of other architectures are not.
fn is_header(path: &str, folder: &str) -> bool {
    match path.split('/').collect::<Vec<_>>()[..] {
        ["usr", "src", _, "arch", architecture, _, ..] => architecture == folder,
        ["usr", "share", ..] => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_builds_need_is_unpacked() {
        for path in [
            "usr/src/linux-headers-6.12-common/arch/Kconfig",
            "usr/src/linux-headers-6.12-common/arch/x86/include/asm/tsc.h",
            "usr/src/linux-headers-6.12-common/include/soc/arc/arch/mcip.h",
            "usr/lib/linux-kbuild-6.12/scripts/mod/modpost",
        ] {
            assert!(is_header(path, "x86"), "{path}");
        }
        for path in ["usr/src/linux-headers-6.12-common/arch/arm64/Makefile", "usr/share/doc/a"] {
            assert!(!is_header(path, "x86"), "{path}");
        }
    }
}
