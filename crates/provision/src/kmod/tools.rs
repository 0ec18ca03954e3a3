//! A kernel's headers and the compiler that they depend on, unpacked into the store.
//!
//! Their programs run through the loader and with the libraries of the same packages, because
//! those of the machine may be older. As make and the compiler start each other by name, a script
//! with the program's name does it, and the program itself gets another one.

use std::{
    fs,
    io::{self, Read},
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use preemptlab_model::Digest;

use super::{KmodError, make::Make};
use crate::{
    AptError, DebError, Event, Store, StoreError, StoreLock,
    apt::{Apt, Candidate},
    deb,
};

/// Counts up when the same packages are to be unpacked differently.
const LAYOUT: u32 = 1;

/// How the packages with a kernel's headers and its build programs begin; the others are the
/// compiler and its friends.
const HEADERS: [&str; 2] = ["linux-headers-", "linux-kbuild-"];

/// What is built with, besides what headers depend on.
const BUILT_WITH: [&str; 2] = ["make", "binutils-x86-64-linux-gnu"];

/// What headers depend on and no module is built with.
const NOT_BUILT_WITH: [&str; 3] = ["binutils", "linux-base", "pahole"];

/// The beginnings of the packages that the compiler depends on to link programs, and the build
/// programs to sign modules.
const NOT_USED: [&str; 14] = [
    "libasan",
    "libatomic",
    "libcc1-",
    "libgcc-1",
    "libgomp",
    "libhwasan",
    "libitm",
    "liblsan",
    "libquadmath",
    "libssl",
    "libtsan",
    "libubsan",
    "linux-",
    "openssl-",
];

/// What the package with the compiler itself ends with, where there is one. Those without it, and
/// those with another ending in its place, only have links to it.
const COMPILER_SUFFIX: &str = "-x86-64-linux-gnu";
const LINKS_SUFFIX: &str = "-for-host";

/// What is kept of the compiler's packages: the programs, by the beginnings of their paths.
const TOOLS: [&str; 5] = [
    "usr/bin/make",
    "usr/bin/x86_64-linux-gnu-",
    "usr/lib/gcc/x86_64-linux-gnu/",
    "usr/lib/x86_64-linux-gnu/",
    "usr/libexec/gcc/x86_64-linux-gnu/",
];

/// Large programs for link-time optimization, which modules are not built with.
const LEFT_OUT: [&str; 2] = ["/lto1", "-lto-dump-"];

/// Where programs are that others start, in the compiler's packages and in the headers.
const PROGRAM_FOLDERS: [&str; 3] = ["usr/bin", "usr/lib", "usr/libexec"];

/// The names by which the compiler starts its assembler and its linker.
const SHORT_NAMES: [&str; 2] = ["as", "ld"];

/// What a program is called whose name a script has taken.
const PROGRAM_SUFFIX: &str = ".program";

/// The variable with the folder of the compiler's packages, which the scripts read.
const VARIABLE: &str = "PREEMPTLAB_TOOLS";

/// Starts the program beside it.
const SCRIPT: &str = r#"#!/bin/sh
libraries="$PREEMPTLAB_TOOLS/usr/lib/x86_64-linux-gnu"
exec "$libraries/ld-linux-x86-64.so.2" --inhibit-cache --library-path "$libraries" \
    --argv0 "$0" "${0%/*}/NAME" "$@"
"#;

/// How deep folders of programs are searched.
const DEPTH_MAX: u32 = 16;

/// The packages to build modules of one kernel with.
pub(super) struct Tools {
    release: String,
    name: String,
    headers: Vec<Candidate>,
    compiler: Vec<Candidate>,
}

/// The same, unpacked.
pub(super) struct Unpacked {
    headers: PathBuf,
    compiler: PathBuf,
    tree: PathBuf,
}

impl Tools {
    /// Resolves the package with a kernel's headers, with what it depends on.
    pub(super) fn find(
        apt: &Apt<'_>,
        release: &str,
        name: &str,
        assumed: &str,
    ) -> Result<Self, KmodError> {
        let assumed: Vec<_> = NOT_BUILT_WITH.into_iter().chain([assumed]).collect();
        let names: Vec<_> = BUILT_WITH.into_iter().chain([name]).collect();
        let candidates = apt.closure(&names, &assumed).map_err(|error| match error {
            AptError::Unknown { name: missing, .. } if missing == name => KmodError::NoHeaders {
                release: release.to_owned(),
                reason: format!(
                    "the mirror has no `{name}`; choose a newer kernel, or name a mirror that \
                     keeps old packages with `--mirror URL`"
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
        let names: Vec<_> = compiler.iter().map(|found| found.package.name.clone()).collect();
        compiler.retain(|candidate| !is_links(&candidate.package.name, &names));
        Ok(Self { release: release.to_owned(), name: name.to_owned(), headers, compiler })
    }

    /// Of all packages.
    pub(super) fn digest(&self) -> Digest {
        Digest::of_json(&[digest_of(&self.headers), digest_of(&self.compiler)])
    }

    /// Downloads and unpacks what the store does not have yet.
    pub(super) fn unpacked(
        &self,
        apt: &Apt<'_>,
        store: &Store,
        lock: &StoreLock,
        on_event: &dyn Fn(Event),
    ) -> Result<Unpacked, KmodError> {
        let compiler = store.toolchain(digest_of(&self.compiler));
        if !compiler.is_dir() {
            let debs = apt.fetch(&self.compiler)?;
            lock.fill(&compiler, |draft| {
                on_event(Event::Unpacking { what: "the compiler of kernel modules".to_owned() });
                debs.iter().try_for_each(|deb| unpack(deb, draft, is_tool))?;
                wrap(draft)?;
                short_names(draft)
            })?;
        }
        let headers = store.headers(digest_of(&self.headers));
        if !headers.is_dir() {
            let debs = apt.fetch(&self.headers)?;
            lock.fill(&headers, |draft| {
                on_event(Event::Unpacking { what: self.name.clone() });
                debs.iter().try_for_each(|deb| unpack(deb, draft, is_header))?;
                wrap(draft)?;
                self.move_makefile(draft)
            })?;
        }
        let tree = self.tree(&headers);
        Ok(Unpacked { headers, compiler, tree })
    }

    /// The build tree in the unpacked headers.
    fn tree(&self, headers: &Path) -> PathBuf {
        headers.join("usr/src").join(format!("linux-headers-{}", self.release))
    }

    /// Lets the tree's Makefile find itself and that of the headers that flavours share, which it
    /// names by the paths that they have when they are installed.
    fn move_makefile(&self, headers: &Path) -> Result<(), KmodError> {
        let path = self.tree(headers).join("Makefile");
        let missing = |what| KmodError::Package { package: self.name.clone(), what };
        let text = fs::read_to_string(&path).map_err(|_| missing("Makefile"))?;
        let moved = text.replace("/usr/src/", "$(preemptlab_src)/");
        let here = "preemptlab_src := $(realpath $(dir $(lastword $(MAKEFILE_LIST)))..)";
        fs::write(&path, format!("{here}\n{moved}")).map_err(StoreError::at(&path))?;
        Ok(())
    }
}

impl Unpacked {
    /// How to build with them.
    pub(super) fn make(&self) -> Make {
        let environment = vec![
            (VARIABLE, self.compiler.clone().into_os_string()),
            // Debian's Makefile asks dpkg otherwise, and until 6.1 it takes the compiler with the
            // architecture in its name only for another architecture than that of the build.
            ("DEB_BUILD_ARCH", "amd64".into()),
            ("DEB_HOST_GNU_TYPE", "x86_64-linux-gnu".into()),
        ];
        Make::of_packages(&self.compiler.join("usr/bin"), &self.headers, &self.tree, environment)
    }
}

/// Whether a package only has links to what another one of these has.
fn is_links(name: &str, names: &[String]) -> bool {
    let plain = name.strip_suffix(LINKS_SUFFIX).unwrap_or(name);
    names.contains(&format!("{plain}{COMPILER_SUFFIX}"))
}

fn digest_of(candidates: &[Candidate]) -> Digest {
    let mut digests: Vec<_> = candidates.iter().map(|candidate| candidate.package.sha256).collect();
    digests.sort();
    Digest::of_json(&(LAYOUT, digests))
}

fn unpack(deb: &Path, folder: &Path, wanted: fn(&str) -> bool) -> Result<(), DebError> {
    deb::visit(deb, |path, entry| match wanted(path) {
        true => entry.unpack_in(folder).map(drop),
        false => Ok(()),
    })
}

fn is_tool(path: &str) -> bool {
    TOOLS.iter().any(|tool| path.starts_with(tool))
        && !LEFT_OUT.iter().any(|large| path.contains(large))
}

/// Whether a path of the headers is needed: what other architectures have is not.
fn is_header(path: &str) -> bool {
    match path.split('/').collect::<Vec<_>>()[..] {
        ["usr", "src", _, "arch", architecture, _, ..] => architecture == "x86",
        ["usr", "share", ..] => false,
        _ => true,
    }
}

/// Puts a script in the place of every program.
fn wrap(root: &Path) -> Result<(), KmodError> {
    for folder in PROGRAM_FOLDERS {
        let folder = root.join(folder);
        if folder.is_dir() {
            wrap_in(&folder, DEPTH_MAX).map_err(StoreError::at(&folder))?;
        }
    }
    Ok(())
}

fn wrap_in(folder: &Path, depth: u32) -> io::Result<()> {
    for entry in fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()? {
        let (kind, path) = (entry.file_type()?, entry.path());
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if kind.is_dir() && depth > 0 {
            wrap_in(&path, depth - 1)?;
        } else if kind.is_file() && is_program(&path, name)? {
            let program = format!("{name}{PROGRAM_SUFFIX}");
            fs::rename(&path, folder.join(&program))?;
            fs::write(&path, SCRIPT.replace("NAME", &program))?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

/// Whether a file is an executable that is no library, no script, and not wrapped.
fn is_program(path: &Path, name: &str) -> io::Result<bool> {
    if name.contains(".so") || name.ends_with(PROGRAM_SUFFIX) {
        return Ok(false);
    }
    if fs::metadata(path)?.permissions().mode() & 0o111 == 0 {
        return Ok(false);
    }
    let mut magic = Vec::new();
    fs::File::open(path)?.take(4).read_to_end(&mut magic)?;
    Ok(magic == b"\x7fELF")
}

/// The names without an architecture are in a package that not every compiler depends on.
fn short_names(root: &Path) -> Result<(), KmodError> {
    for name in SHORT_NAMES {
        let path = root.join("usr/bin").join(name);
        symlink(format!("x86_64-linux-gnu-{name}"), &path).map_err(StoreError::at(&path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn packages_of_links_are_left_to_what_they_lead_to() {
        let names = ["gcc-14", "gcc-14-for-host", "gcc-14-x86-64-linux-gnu", "cpp-12", "make"];
        let names = names.map(str::to_owned);
        let links: Vec<_> = names.iter().filter(|name| is_links(name, &names)).collect();
        assert_eq!(links, ["gcc-14", "gcc-14-for-host"]);
    }

    #[test]
    fn only_what_builds_need_is_unpacked() {
        for path in [
            "usr/bin/x86_64-linux-gnu-gcc-14",
            "usr/libexec/gcc/x86_64-linux-gnu/14/cc1",
            "usr/lib/x86_64-linux-gnu/libc.so.6",
        ] {
            assert!(is_tool(path), "{path}");
        }
        for path in ["usr/bin/as", "usr/libexec/gcc/x86_64-linux-gnu/14/lto1", "usr/share/doc/make"]
        {
            assert!(!is_tool(path), "{path}");
        }
        for path in [
            "usr/src/linux-headers-6.12-common/arch/Kconfig",
            "usr/src/linux-headers-6.12-common/arch/x86/include/asm/tsc.h",
            "usr/src/linux-headers-6.12-common/include/soc/arc/arch/mcip.h",
            "usr/lib/linux-kbuild-6.12/scripts/mod/modpost",
        ] {
            assert!(is_header(path), "{path}");
        }
        for path in ["usr/src/linux-headers-6.12-common/arch/arm64/Makefile", "usr/share/doc/a"] {
            assert!(!is_header(path), "{path}");
        }
    }

    #[test]
    fn a_wrapped_program_runs_with_the_libraries_that_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let programs = folder.path().join("usr/bin");
        fs::create_dir_all(&programs).unwrap();
        fs::copy("/bin/echo", programs.join("say")).unwrap();
        fs::write(programs.join("script"), "#!/bin/sh\n").unwrap();
        symlink("say", programs.join("tell")).unwrap();
        wrap(folder.path()).unwrap();
        // Wrapping what is wrapped changes nothing.
        wrap(folder.path()).unwrap();
        let mut names: Vec<_> =
            fs::read_dir(&programs).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["say", "say.program", "script", "tell"]);
        let run = |libraries: &str| {
            let mut command = Command::new(programs.join("tell"));
            command.args(["two words", "*"]).env(VARIABLE, libraries).output().unwrap()
        };
        assert_eq!(run("").stdout, b"two words *\n");
        assert!(!run("/nonexistent").status.success());
    }
}
