//! The files of a kernel's build that the store keeps to build modules for the kernel later: the
//! headers, the Makefiles and the programs that Debian's packages of headers hold as well
//! (scripts/package/install-extmod-build of Linux).

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use preemptlab_model::{Digest, KernelConfig, Platform};

use crate::{Store, StoreError, StoreLock, store::whole::is_whole};

/// Counts up when a kit is to hold other files.
const LAYOUT: u32 = 1;

const ARCHIVE: &str = "kit.tar.zst";

/// How hard the archive is packed: some 70 MB become a tenth within a second.
const LEVEL: i32 = 3;

/// Folders that are kept whole, but for the objects of their programs.
const FOLDERS: [&str; 2] = ["include", "scripts"];

/// Folders of the architecture that are kept.
const ARCH_FOLDERS: [&str; 2] = ["include", "scripts"];

/// Files of the source that are kept, and those of the build. Make writes one of its own over the
/// Makefile if it builds outside of the source.
const OF_SOURCE: [&str; 2] = ["Makefile", "Kbuild"];
const OF_BUILD: [&str; 2] = [".config", "tools/objtool/objtool"];

/// The symbols that the kernel exports: their name without modules, and with them.
const SYMBOLS: [&str; 2] = ["vmlinux.symvers", "Module.symvers"];

/// Depth to which folders are searched.
const DEPTH_MAX: u32 = 16;

/// Makes the file that modules are linked with, which no kernel needs itself.
pub(crate) const TARGET: &str = "modules_prepare";

/// Returns whether the kernel that is built in a folder loads modules. One that loads none has no kit.
pub(crate) fn is_wanted(output: &Path) -> Result<bool, StoreError> {
    let path = output.join(".config");
    let text = fs::read_to_string(&path).map_err(StoreError::at(&path))?;
    Ok(KernelConfig::parse(&text).is_builtin("MODULES"))
}

/// Files from which modules for one build of a kernel are built, in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kit {
    build: Digest,
    key: Digest,
}

impl Kit {
    /// Returns the kit of a build. Programs that were compiled with a toolchain of the store know it
    /// by its path, so that a store at another place has another kit.
    pub(crate) fn new(build: Digest, tools: Option<&Path>) -> Self {
        let tools = tools.map(|root| root.as_os_str().as_encoded_bytes());
        Self { build, key: Digest::of_json(&(LAYOUT, build, tools.map(Digest::of))) }
    }

    /// Returns the digest of everything that the kernel was built from.
    pub(crate) const fn build(self) -> Digest {
        self.build
    }

    /// Returns whether the store has it.
    pub(crate) fn is_kept(self, store: &Store) -> bool {
        is_whole(&store.headers(self.key))
    }

    /// Takes it out of a finished build.
    pub(crate) fn keep(
        self,
        store: &Store,
        lock: &StoreLock,
        (tree, output): (&Path, &Path),
        guest: &Platform,
    ) -> Result<(), StoreError> {
        let folder = store.headers(self.key);
        lock.fill(&folder, |draft| {
            let path = draft.join(ARCHIVE);
            pack(tree, output, guest.kernel_folder, &path).map_err(StoreError::at(&path))
        })
    }

    /// Unpacks it.
    pub(crate) fn unpack(self, store: &Store, folder: &Path) -> Result<(), StoreError> {
        let path = store.headers(self.key).join(ARCHIVE);
        let unpack = || {
            let packed = zstd::stream::read::Decoder::new(File::open(&path)?)?;
            let mut archive = tar::Archive::new(packed);
            archive.set_preserve_mtime(false);
            archive.unpack(folder)
        };
        unpack().map_err(StoreError::at(&path))
    }
}

/// Writes the archive of a build. The files of the build stand before those of the source.
fn pack(tree: &Path, output: &Path, folder: &str, path: &Path) -> io::Result<()> {
    let mut files = BTreeMap::new();
    let arch = format!("arch/{folder}");
    for root in [output, tree] {
        for folder in FOLDERS {
            find(root, folder, DEPTH_MAX, &mut files)?;
        }
        for folder in ARCH_FOLDERS {
            find(root, &format!("{arch}/{folder}"), DEPTH_MAX, &mut files)?;
        }
    }
    let mut of_arch = BTreeMap::new();
    find(tree, &arch, 0, &mut of_arch)?;
    let is_make = |path: &String, _: &mut PathBuf| {
        let name = path.rsplit('/').next().unwrap_or(path);
        name == "Kbuild" || name.starts_with("Makefile")
    };
    of_arch.retain(is_make);
    files.append(&mut of_arch);
    let mut add = |root: &Path, from: &str, to: &str| {
        let path = root.join(from);
        if path.is_file() {
            files.entry(to.to_owned()).or_insert(path);
        }
    };
    OF_SOURCE.iter().for_each(|file| add(tree, file, file));
    OF_BUILD.iter().for_each(|file| add(output, file, file));
    SYMBOLS.iter().for_each(|file| add(output, file, SYMBOLS[1]));

    let packed = zstd::stream::write::Encoder::new(File::create(path)?, LEVEL)?;
    let mut archive = tar::Builder::new(packed);
    for (name, path) in files {
        let mut file = File::open(&path)?;
        let metadata = file.metadata()?;
        let mut header = tar::Header::new_gnu();
        header.set_size(metadata.len());
        header.set_mode(0o644 | (metadata.permissions().mode() & 0o111));
        archive.append_data(&mut header, &name, &mut file)?;
    }
    archive.into_inner()?.finish()?.sync_all()
}

/// Finds the files of a folder, if there is one, that are not there yet. Links lead to devicetrees.
fn find(
    root: &Path,
    folder: &str,
    depth: u32,
    files: &mut BTreeMap<String, PathBuf>,
) -> io::Result<()> {
    let entries = match fs::read_dir(root.join(folder)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let kind = entry.file_type()?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = format!("{folder}/{name}");
        if kind.is_dir() && depth > 0 {
            find(root, &path, depth - 1, files)?;
        } else if kind.is_file() && !is_left_over(&name) {
            files.entry(path).or_insert_with(|| entry.path());
        }
    }
    Ok(())
}

/// Returns whether a file is left over from the compilation of a program.
fn is_left_over(name: &str) -> bool {
    name.ends_with(".o") || name.starts_with('.') && name.ends_with(".cmd")
}

#[cfg(test)]
mod tests {
    use preemptlab_model::Arch;

    use super::*;

    #[test]
    fn a_kit_holds_what_modules_are_built_from() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, path.strip_prefix(folder.path()).unwrap().to_str().unwrap()).unwrap();
        };
        for path in [
            "tree/Makefile",
            "tree/Kbuild",
            "tree/kernel/fork.c",
            "tree/include/linux/sched.h",
            "tree/include/generated/stale.h",
            "tree/scripts/mod/modpost.c",
            "tree/arch/x86/Makefile",
            "tree/arch/x86/Makefile.um",
            "tree/arch/x86/include/asm/tsc.h",
            "tree/arch/x86/kernel/tsc.c",
            "tree/arch/arm/include/asm/a.h",
            "build/Makefile",
            "build/.config",
            "build/vmlinux.symvers",
            "build/vmlinux.o",
            "build/include/generated/stale.h",
            "build/arch/x86/include/generated/asm/b.h",
            "build/scripts/mod/modpost",
            "build/scripts/mod/modpost.o",
            "build/scripts/mod/.modpost.cmd",
            "build/tools/objtool/objtool",
            "build/tools/objtool/check.o",
        ] {
            write(path);
        }
        let programs = ["build/scripts/mod/modpost", "build/tools/objtool/objtool"];
        for program in programs.map(|path| folder.path().join(path)) {
            fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let store = Store::open(folder.path().join("store")).unwrap();
        let lock = store.lock(&|_| ()).unwrap();
        let kit = Kit::new(Digest::of(b"a build"), None);
        assert!(!kit.is_kept(&store));
        let (tree, output) = (folder.path().join("tree"), folder.path().join("build"));
        kit.keep(&store, &lock, (&tree, &output), Arch::Amd64.platform()).unwrap();
        assert!(kit.is_kept(&store));

        let unpacked = folder.path().join("unpacked");
        kit.unpack(&store, &unpacked).unwrap();
        let mut files = BTreeMap::new();
        for name in ["include", "scripts", "arch", "tools", "kernel"] {
            find(&unpacked, name, DEPTH_MAX, &mut files).unwrap();
        }
        let names: Vec<_> = files.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "arch/x86/Makefile",
                "arch/x86/Makefile.um",
                "arch/x86/include/asm/tsc.h",
                "arch/x86/include/generated/asm/b.h",
                "include/generated/stale.h",
                "include/linux/sched.h",
                "scripts/mod/modpost",
                "scripts/mod/modpost.c",
                "tools/objtool/objtool",
            ]
        );
        let text = |path: &str| fs::read_to_string(unpacked.join(path)).unwrap();
        assert_eq!(text("Makefile"), "tree/Makefile");
        assert_eq!(text("Module.symvers"), "build/vmlinux.symvers");
        // Files of the build replace those of a source that was built in place.
        assert_eq!(text("include/generated/stale.h"), "build/include/generated/stale.h");
        let mode = |path: &str| fs::metadata(unpacked.join(path)).unwrap().permissions().mode();
        assert!(mode("scripts/mod/modpost") & 0o111 != 0 && mode(".config") & 0o111 == 0);

        // The programs of a build know the toolchain of their store by its path.
        let moved = [Some(Path::new("/a")), Some(Path::new("/b")), None];
        let keys = moved.map(|tools| Kit::new(Digest::of(b"a build"), tools).key);
        assert!(keys[0] != keys[1] && keys[1] != keys[2]);
    }
}
