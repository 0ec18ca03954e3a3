//! A compiler with its tools from Debian's packages, unpacked into the store.
//!
//! A build uses nothing of the machine but a shell and its simple tools, whose output is the same
//! everywhere. Headers and libraries come from these packages as well, and programs that are
//! compiled to run during a build run with them.

mod wrap;

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use preemptlab_model::{Digest, Package, Platform};

pub(crate) use self::wrap::wrap;
use crate::{
    DebError, Event, PackageError, Store, StoreError, StoreLock,
    distribution::{Candidate, Distribution, deb},
    platform::{HOST, named},
    store::whole::is_whole,
};

/// Counts up when the same packages are to be unpacked differently.
const LAYOUT: u32 = 2;

/// The same where a compiler builds for another architecture.
const LAYOUT_OF_CROSS: u32 = 1;

/// Folders of the machine's own programs.
pub(crate) const MACHINE_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// First parts of the names of packages that nothing here is built with: dependencies of the
/// compiler for programs that are checked or counted while they run.
const NOT_USED: [&str; 11] = [
    "debconf",
    "libasan",
    "libatomic",
    "libcc1-",
    "libgomp",
    "libhwasan",
    "libitm",
    "liblsan",
    "libquadmath",
    "libtsan",
    "libubsan",
];

/// The ending of a package that only has links to the compiler's own, whose name ends with the
/// architecture; one without an ending has, too.
const LINKS_SUFFIX: &str = "-for-host";

/// First parts of the paths that are kept of a compiler's packages that builds for another architecture, of which
/// `{triplet}` is.
const KEPT_OF_CROSS: [&str; 3] =
    ["usr/bin/{triplet}-", "usr/lib/gcc-cross/{triplet}/", "usr/libexec/gcc-cross/{triplet}/"];

/// First parts of the paths that are kept of the packages.
const KEPT: [&str; 17] = [
    "usr/bin/bc",
    "usr/bin/bison",
    "usr/bin/flex",
    "usr/bin/m4",
    "usr/bin/make",
    "usr/bin/openssl",
    "usr/bin/pahole",
    "usr/bin/{triplet}-",
    "usr/bin/xz",
    "usr/bin/zstd",
    "usr/include/",
    "usr/lib/gcc/{triplet}/",
    "usr/lib/linux/uapi/{kernel}/",
    "usr/lib/{triplet}/",
    "usr/lib64/",
    "usr/libexec/gcc/{triplet}/",
    "usr/share/bison/",
];

/// Large programs for link-time optimization, which nothing here is built with.
const LEFT_OUT: [&str; 2] = ["/lto1", "-lto-dump-"];

/// The names by which compilers start programs that have the architecture in their own.
const SHORT_NAMES: [&str; 2] = ["as", "ld"];

/// The folder in which a compiler for another architecture has them.
const FOLDER_OF_CROSS: &str = "usr/{triplet}/bin";
const SCRIPT_OF_CROSS: &str = r#"#!/bin/sh
exec "$PREEMPTLAB_TOOLS/usr/bin/{triplet}-NAME" "$@"
"#;

/// Links of a merged /usr, which linker scripts count on.
const MERGED: [&str; 2] = ["lib", "lib64"];

/// The compiler of programs that run during the build: with the loader and the libraries of these
/// packages, and an old kind of path to them that libraries pass on to those they need themselves.
pub(crate) const HOST_COMPILER: &str = "preemptlab-host-cc";
const HOST_SCRIPT: &str = r#"#!/bin/sh
libraries="$PREEMPTLAB_TOOLS/usr/lib/{triplet}"
exec "${0%/*}/COMPILER" "-Wl,--dynamic-linker=$libraries/{loader}" \
    -Wl,--disable-new-dtags "-Wl,-rpath,$libraries" "$@"
"#;

/// The packages of a toolchain, resolved.
#[derive(Clone, Debug)]
pub(crate) struct Toolchain {
    guest: &'static Platform,
    candidates: Vec<Candidate>,
}

/// Unpacked toolchain.
pub(crate) struct Programs {
    guest: &'static Platform,
    root: PathBuf,
}

impl Toolchain {
    /// Creates the toolchain of a compiler's packages; those that nothing is built with are left
    /// out.
    pub(crate) fn new(mut candidates: Vec<Candidate>, guest: &'static Platform) -> Self {
        let name = |candidate: &Candidate| candidate.package.name.to_string();
        candidates.retain(|found| !NOT_USED.iter().any(|start| name(found).starts_with(start)));
        let names: Vec<_> = candidates.iter().map(name).collect();
        candidates.retain(|found| !is_links(&name(found), &names));
        Self { guest, candidates }
    }

    /// Returns the names of the architecture that it builds for.
    pub(crate) fn guest(&self) -> &'static Platform {
        self.guest
    }

    /// Computes the digest of all packages.
    pub(crate) fn digest(&self) -> Digest {
        let packages = digest_of(LAYOUT, &self.candidates);
        match self.guest == HOST {
            true => packages,
            // The same packages are unpacked otherwise for each architecture that is built for.
            false => Digest::of_json(&(LAYOUT_OF_CROSS, self.guest.triplet, packages)),
        }
    }

    /// Returns every package.
    pub(crate) fn packages(&self) -> impl Iterator<Item = &Package> {
        self.candidates.iter().map(|candidate| &candidate.package)
    }

    /// Downloads and unpacks them, unless the store has them.
    pub(crate) fn unpacked(
        &self,
        distribution: &dyn Distribution,
        store: &Store,
        lock: &StoreLock,
        on_event: &dyn Fn(Event),
    ) -> Result<Programs, PackageError> {
        let root = store.toolchain(self.digest());
        if !is_whole(&root) {
            let debs = distribution.fetch(&self.candidates)?;
            lock.fill(&root, |draft| {
                on_event(Event::Unpacking { what: "the compiler of kernels".to_owned() });
                for deb in &debs {
                    unpack(deb, draft, |path| is_kept(path, self.guest))?;
                }
                Ok::<_, PackageError>(finish(draft, self.guest)?)
            })?;
        }
        Ok(Programs { guest: self.guest, root })
    }
}

impl Programs {
    /// Returns the programs in a folder, for tests.
    #[cfg(test)]
    pub(crate) fn at(root: &Path) -> Self {
        Self { guest: preemptlab_model::Arch::Amd64.platform(), root: root.to_owned() }
    }

    /// Returns the names of the architecture that they build for.
    pub(crate) fn guest(&self) -> &'static Platform {
        self.guest
    }

    /// Returns the folder of the programs.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of a program.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.root.join("usr/bin").join(name)
    }

    /// Returns the `PATH` on which the programs find each other, and the machine's simple tools.
    pub(crate) fn path(&self) -> OsString {
        let mut path = self.root.join("usr/bin").into_os_string();
        path.push(":");
        path.push(MACHINE_PATH);
        path
    }

    /// Returns the variables by which the programs find their own files.
    pub(crate) fn environment(&self) -> Vec<(&'static str, OsString)> {
        vec![
            (wrap::VARIABLE, self.root.clone().into_os_string()),
            ("M4", self.program("m4").into_os_string()),
            ("BISON_PKGDATADIR", self.root.join("usr/share/bison").into_os_string()),
        ]
    }
}

/// Computes the digest of packages and the layout of their unpacked files, whatever their order.
pub(crate) fn digest_of(layout: u32, candidates: &[Candidate]) -> Digest {
    let mut digests: Vec<_> = candidates.iter().map(|candidate| candidate.package.sha256).collect();
    digests.sort();
    Digest::of_json(&(layout, digests))
}

/// Unpacks a part of a package.
pub(crate) fn unpack(
    deb: &Path,
    folder: &Path,
    wanted: impl Fn(&str) -> bool,
) -> Result<(), DebError> {
    deb::visit(deb, |item, content| match wanted(item.path) {
        true => deb::unpack_entry(item, content, folder),
        false => Ok(()),
    })
}

/// Returns whether make and shells take a path as one word, without a special meaning.
pub(crate) fn is_plain(path: &Path) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+@,~".contains(byte);
    path.as_os_str().as_encoded_bytes().iter().all(|byte| is_plain(byte) || *byte >= 0x80)
}

/// Returns whether a package only has links to files of another one of these.
fn is_links(name: &str, names: &[String]) -> bool {
    let plain = name.strip_suffix(LINKS_SUFFIX).unwrap_or(name);
    names.contains(&format!("{plain}-{}", HOST.package_suffix()))
}

fn is_kept(path: &str, guest: &Platform) -> bool {
    let is =
        |kept: &[&str], of: &Platform| kept.iter().any(|kept| path.starts_with(&named(kept, of)));
    (is(&KEPT, HOST) || is(&KEPT_OF_CROSS, guest))
        && !LEFT_OUT.iter().any(|large| path.contains(large))
}

/// Makes the unpacked programs start each other.
fn finish(root: &Path, guest: &Platform) -> Result<(), StoreError> {
    wrap(root)?;
    let programs = root.join("usr/bin");
    let link = |target: &str, path: PathBuf| match path.symlink_metadata() {
        Ok(_) => Ok(()),
        Err(_) => symlink(target, &path).map_err(StoreError::at(&path)),
    };
    for name in SHORT_NAMES {
        link(&format!("{}-{name}", HOST.triplet), programs.join(name))?;
    }
    if guest != HOST {
        let folder = root.join(named(FOLDER_OF_CROSS, guest));
        fs::create_dir_all(&folder).map_err(StoreError::at(&folder))?;
        for name in SHORT_NAMES {
            script(&folder.join(name), &named(SCRIPT_OF_CROSS, guest).replace("NAME", name))?;
        }
    }
    for name in MERGED {
        link(&format!("usr/{name}"), root.join(name))?;
    }
    let compiler = named("{triplet}-gcc-", HOST);
    let mut compilers: Vec<_> = fs::read_dir(&programs)
        .and_then(|entries| entries.collect::<Result<Vec<_>, _>>())
        .map_err(StoreError::at(&programs))?
        .into_iter()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.strip_prefix(&compiler).is_some_and(|rest| rest.parse::<u32>().is_ok()))
        .collect();
    compilers.sort();
    if let [compiler] = compilers.as_slice() {
        let text = named(HOST_SCRIPT, HOST).replace("COMPILER", compiler);
        script(&programs.join(HOST_COMPILER), &text)?;
    }
    Ok(())
}

/// Writes a script that can be executed.
fn script(path: &Path, text: &str) -> Result<(), StoreError> {
    fs::write(path, text)
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(0o755)))
        .map_err(StoreError::at(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_links_are_left_to_what_they_lead_to() {
        let names = ["gcc-14", "gcc-14-for-host", "gcc-14-x86-64-linux-gnu", "cpp-12", "make"];
        let names = names.map(str::to_owned);
        let links: Vec<_> = names.iter().filter(|name| is_links(name, &names)).collect();
        assert_eq!(links, ["gcc-14", "gcc-14-for-host"]);
    }

    #[test]
    fn a_compiler_for_another_architecture_is_unpacked_for_it() {
        let guest = preemptlab_model::Arch::Arm64.platform();
        for path in [
            "usr/bin/aarch64-linux-gnu-gcc-14",
            "usr/lib/gcc-cross/aarch64-linux-gnu/14/libgcc.a",
            "usr/libexec/gcc-cross/aarch64-linux-gnu/14/cc1",
        ] {
            assert!(is_kept(path, guest) && !is_kept(path, HOST), "{path}");
        }
        assert!(!is_kept("usr/libexec/gcc-cross/aarch64-linux-gnu/14/lto1", guest));
        let digest = |guest| Toolchain::new(Vec::new(), guest).digest();
        assert_ne!(digest(guest), digest(HOST));
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("usr/bin")).unwrap();
        finish(folder.path(), guest).unwrap();
        let link = fs::read_link(folder.path().join("usr/bin/as")).unwrap();
        assert_eq!(link, Path::new("x86_64-linux-gnu-as"));
        let cross = folder.path().join("usr/aarch64-linux-gnu/bin/as");
        let said = fs::read_to_string(cross).unwrap();
        assert!(said.ends_with("/usr/bin/aarch64-linux-gnu-as\" \"$@\"\n"), "{said}");
    }

    #[test]
    fn only_what_builds_need_is_unpacked() {
        for path in [
            "usr/bin/x86_64-linux-gnu-gcc-14",
            "usr/include/stdio.h",
            "usr/libexec/gcc/x86_64-linux-gnu/14/cc1",
            "usr/lib/x86_64-linux-gnu/libc.so.6",
        ] {
            assert!(is_kept(path, HOST), "{path}");
        }
        for path in ["usr/bin/as", "usr/libexec/gcc/x86_64-linux-gnu/14/lto1", "usr/share/doc/make"]
        {
            assert!(!is_kept(path, HOST), "{path}");
        }
    }

    #[test]
    fn paths_are_checked_for_what_make_and_shells_read_into_them() {
        for path in ["/home/a/.cache/preemptlab", "/lib/modules/6.12.1+deb13-amd64", "/tmp/ä"] {
            assert!(is_plain(Path::new(path)), "{path}");
        }
        for path in ["/a b", "/a:b", "/a$b", "/a#b", "/a;b", "/a%b", "/a\\b", "/a'b", "/a\nb"] {
            assert!(!is_plain(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn programs_are_finished_once() {
        let folder = tempfile::tempdir().unwrap();
        let programs = folder.path().join("usr/bin");
        fs::create_dir_all(&programs).unwrap();
        for name in ["x86_64-linux-gnu-gcc-14", "x86_64-linux-gnu-gcc-ar-14"] {
            fs::write(programs.join(name), "#!/bin/sh\necho \"${0##*/}\" \"$@\"\n").unwrap();
            fs::set_permissions(programs.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        finish(folder.path(), HOST).unwrap();
        finish(folder.path(), HOST).unwrap();
        assert!(folder.path().join("lib").is_symlink() && programs.join("ld").is_symlink());
        let said = std::process::Command::new(programs.join(HOST_COMPILER))
            .args(["-c", "two words"])
            .env(wrap::VARIABLE, "/tools")
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8(said.stdout).unwrap(),
            "x86_64-linux-gnu-gcc-14 \
             -Wl,--dynamic-linker=/tools/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 \
             -Wl,--disable-new-dtags -Wl,-rpath,/tools/usr/lib/x86_64-linux-gnu -c two words\n"
        );
    }
}
