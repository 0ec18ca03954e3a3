//! A kernel's headers and the compiler that they depend on, unpacked into the store.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use preemptlab_model::{Digest, Platform};

use super::{KmodError, make::Make};
use crate::{
    AptError, Event, PackageError, Store, StoreError, StoreLock,
    distribution::{Candidate, Distribution, Packages},
    kernel::toolchain::{self, Programs, Toolchain},
    platform::HOST,
    store::whole::is_whole,
};

/// Counts up when the same packages are to be unpacked differently.
const LAYOUT: u32 = 1;

/// First parts of the names of the packages with a kernel's headers, and with its build programs; all other packages
/// are the compiler and its tools.
const HEADERS: &str = "linux-headers-";
const PROGRAMS: &str = "linux-kbuild-";

/// Packages that a build uses, besides the dependencies of the headers.
const BUILT_WITH: &str = "make";

/// Dependencies of the headers that no module is built with. The binutils that build for the guest are named apart.
const NOT_BUILT_WITH: [&str; 2] = ["linux-base", "pahole"];
const BINUTILS: &str = "binutils";

/// The beginnings of the packages that the build programs depend on to sign modules.
const NOT_USED: [&str; 3] = ["libssl", "linux-", "openssl-"];

/// The packages to build modules of one kernel with.
pub(super) struct Tools {
    release: String,
    name: String,
    /// The headers of the kernel.
    headers: Vec<Candidate>,
    /// Its build programs, which run on this machine.
    programs: Vec<Candidate>,
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
        packages: Packages<'_>,
        release: &str,
        name: &str,
        assumed: &str,
    ) -> Result<Self, KmodError> {
        let guest = packages.here.guest();
        let assumed: Vec<_> =
            [BINUTILS].into_iter().chain(NOT_BUILT_WITH).chain([assumed]).collect();
        let binutils = format!("binutils-{}", guest.package_suffix());
        let missing = |error| match error {
            AptError::Unknown { name: missing, .. } if missing == name => KmodError::NoHeaders {
                release: release.to_owned(),
                reason: format!(
                    "the mirror has no `{name}`; choose a newer kernel, or name a mirror that \
                     keeps old packages with `--set mirror=URL`"
                ),
            },
            error => error.into(),
        };
        let starts = |candidate: &Candidate, beginnings: &[&str]| {
            beginnings.iter().any(|beginning| candidate.package.name.starts_with(beginning))
        };
        let closure = |packages: &dyn Distribution, names: &[&str], assumed: &[&str]| {
            packages.closure(names, assumed).map_err(missing)
        };
        let (headers, built): (Vec<_>, Vec<_>) = if guest == HOST {
            closure(packages.here, &[BUILT_WITH, &binutils, name], &assumed)?
                .into_iter()
                .partition(|candidate| starts(candidate, &[HEADERS]))
        } else {
            let depends = closure(packages.guest, &[name], &assumed)?;
            let names = depends.iter().filter_map(|it| on_this_machine(&it.package.name, guest));
            let names: BTreeSet<String> = names.chain([BUILT_WITH.to_owned(), binutils]).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let headers = depends.into_iter().filter(|it| starts(it, &[HEADERS])).collect();
            // Here binutils are a dependency of the compiler alone, and are those that build for the guest.
            (headers, closure(packages.here, &names, &NOT_BUILT_WITH)?)
        };
        let (programs, mut compiler): (Vec<_>, Vec<_>) =
            built.into_iter().partition(|candidate| starts(candidate, &[PROGRAMS]));
        compiler.retain(|candidate| !starts(candidate, &NOT_USED));
        let compiler = Toolchain::new(compiler, guest);
        Ok(Self { release: release.to_owned(), name: name.to_owned(), headers, programs, compiler })
    }

    /// Computes the digest of all packages.
    pub(super) fn digest(&self) -> Digest {
        Digest::of_json(&[self.headers_digest(), self.compiler.digest()])
    }

    /// Computes the digest of the headers and the build programs.
    fn headers_digest(&self) -> Digest {
        let packages: Vec<_> = self.headers.iter().chain(&self.programs).cloned().collect();
        toolchain::digest_of(LAYOUT, &packages)
    }

    /// Downloads and unpacks the packages that the store does not have yet.
    pub(super) fn unpacked(
        &self,
        Packages { here, guest }: Packages<'_>,
        store: &Store,
        lock: &StoreLock,
        on_event: &dyn Fn(Event),
    ) -> Result<Unpacked, KmodError> {
        let compiler = self.compiler.unpacked(here, store, lock, on_event)?;
        let headers = store.headers(self.headers_digest());
        if !is_whole(&headers) {
            let folder = here.guest().kernel_folder;
            let mut debs = guest.fetch(&self.headers)?;
            debs.extend(here.fetch(&self.programs)?);
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

/// Returns the package of this machine that does there what one of the guest's architecture does: the same build
/// programs, and the compiler that builds for the guest. Others are of no use.
fn on_this_machine(name: &str, guest: &Platform) -> Option<String> {
    if name.starts_with(PROGRAMS) {
        return Some(name.to_owned());
    }
    // `gcc-14`, and since 7.x `gcc-14-for-host`, which leads to `gcc-14-aarch64-linux-gnu`.
    let version = name.strip_prefix("gcc-")?;
    let version = version.strip_suffix("-for-host").unwrap_or(version);
    version.parse::<u32>().ok()?;
    Some(format!("gcc-{version}-{}", guest.package_suffix()))
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
    fn build_programs_and_the_compiler_are_this_machine_s() {
        let guest = preemptlab_model::Arch::Arm64.platform();
        let found = |name| on_this_machine(name, guest);
        assert_eq!(found("linux-kbuild-6.12.1").as_deref(), Some("linux-kbuild-6.12.1"));
        for name in ["gcc-14", "gcc-14-for-host"] {
            assert_eq!(found(name).as_deref(), Some("gcc-14-aarch64-linux-gnu"));
        }
        for name in ["gcc-14-base", "cpp-14", "libc6", "linux-headers-6.12.1-common"] {
            assert_eq!(found(name), None, "{name}");
        }
    }

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
