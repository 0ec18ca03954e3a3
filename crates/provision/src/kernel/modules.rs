//! Kernel modules, in the order in which they can be loaded.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use object::{Object, ObjectSection};
use preemptlab_model::Package;

use crate::{
    Event, KmodError, PackageError, Store, StoreLock,
    distribution::{Candidate, Distribution, deb},
    error::from_package_errors,
    package::Kind,
    store::whole::is_whole,
};

/// The largest module that is read, unpacked, in bytes.
pub(super) const MODULE_BYTES_MAX: u64 = 256 << 20;

/// Depth to which a folder of modules is searched.
const DEPTH_MAX: u32 = 32;

/// Kernel module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Name of the module, with underscores.
    pub name: String,
    /// Absolute path of the module in the guest image.
    pub path: String,
    /// The module itself, uncompressed.
    pub bytes: Vec<u8>,
    /// The package that it came from; `None` when it came from a folder or was built.
    pub package: Option<Package>,
}

/// Place of a kernel's modules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ModuleSource {
    /// There are none, for this reason.
    None(String),
    /// The modules are in a folder, as in `/lib/modules/RELEASE`.
    Folder(PathBuf),
    /// The modules are in a package.
    Package {
        /// Package with the modules.
        candidate: Candidate,
        /// Path of the kernel's `modules.builtin`.
        builtin: PathBuf,
    },
    /// The modules were in packages of the user's own, and are unpacked.
    Unpacked {
        /// Folder with the modules.
        folder: PathBuf,
        /// Path of the kernel's `modules.builtin`.
        builtin: PathBuf,
        /// The kernel of the packages, in words.
        place: String,
        /// Advice about modules that are missing, to follow a message; empty where there is none.
        further: String,
    },
}

/// Origin of modules, for records and messages.
#[derive(Clone, Copy)]
pub(crate) enum Origin<'a> {
    /// A folder of the user's own or of a build.
    Folder,
    /// A package of a distribution.
    Package(&'a Package),
    /// Packages of the user's own, in words, with advice about modules that are missing.
    Files { place: &'a str, further: &'a str },
}

/// Reason why modules cannot be provided.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// The kernel came without modules.
    #[error("the module `{name}` is needed, but {reason}")]
    NoModules {
        /// Name of the module.
        name: String,
        /// Reason, in words.
        reason: String,
    },
    /// The kernel has no such module.
    #[error("{place} has no module `{name}`, and it is not built in{further}")]
    Unknown {
        /// Name of the module.
        name: String,
        /// The package or the folder that was searched.
        place: String,
        /// Advice, to follow the message; empty where there is none.
        further: String,
    },
    /// The module is damaged.
    #[error("the module `{}` cannot be read: {reason}", path.display())]
    Unreadable {
        /// Path of the module's file.
        path: PathBuf,
        /// Error, in words.
        reason: String,
    },
    /// Modules need each other.
    #[error("the module `{0}` depends on itself")]
    Cycle(String),
    /// A module of preemptlab's own cannot be built.
    #[error(transparent)]
    Build(#[from] KmodError),
    /// The package cannot be used.
    #[error(transparent)]
    Packages(PackageError),
}

from_package_errors!(ModuleError);

/// Unpacks the modules of a package into the store, side by side, and returns their folder.
pub(crate) fn unpacked(
    distribution: &dyn Distribution,
    store: &Store,
    lock: &StoreLock,
    candidate: &Candidate,
    on_event: &dyn Fn(Event),
) -> Result<PathBuf, ModuleError> {
    let folder = store.modules(candidate.package.sha256);
    if is_whole(&folder) {
        return Ok(folder);
    }
    let debs = distribution.fetch(std::slice::from_ref(candidate))?;
    lock.fill(&folder, |draft| {
        on_event(Event::Unpacking { what: candidate.package.name.to_string() });
        for deb in debs {
            deb::visit(&deb, |item, content| {
                let path = Path::new(item.path);
                let is_module = item.kind == Kind::File && module_name(path).is_some();
                match path.file_name().filter(|_| is_module) {
                    Some(file) => io::copy(content, &mut File::create(draft.join(file))?).map(drop),
                    None => Ok(()),
                }
            })?;
        }
        Ok::<_, ModuleError>(())
    })?;
    Ok(folder)
}

/// Returns a module that was built, and the names of the kernel's modules that it depends on.
pub(crate) fn built(name: &str, bytes: Vec<u8>) -> Result<(Module, Vec<String>), ModuleError> {
    let path = format!("/lib/modules/{name}.ko");
    let depends = depends(&bytes).map_err(|reason| unreadable(Path::new(&path), reason))?;
    Ok((Module { name: name.to_owned(), path, bytes, package: None }, depends))
}

/// Loads some modules of a folder with those they depend on, each after its dependencies. Modules
/// that are built into the kernel are left out.
pub(crate) fn load(
    folder: &Path,
    builtin: &Path,
    names: &[&str],
    origin: Origin<'_>,
) -> Result<Vec<Module>, ModuleError> {
    let mut files = BTreeMap::new();
    index(folder, DEPTH_MAX, &mut files).map_err(|error| unreadable(folder, error.to_string()))?;
    // A kernel without this file has nothing built in that could be asked for as a module.
    let builtin = preemptlab_files::read(builtin, MODULE_BYTES_MAX).unwrap_or_default();
    let builtin = String::from_utf8_lossy(&builtin);
    let builtin = builtin.lines().filter_map(|line| module_name(Path::new(line))).collect();
    let mut loader =
        Loader { folder, files, builtin, origin, entered: BTreeSet::new(), loaded: Vec::new() };
    for name in names {
        loader.load(&name.replace('-', "_"))?;
    }
    Ok(loader.loaded)
}

struct Loader<'a> {
    folder: &'a Path,
    files: BTreeMap<String, PathBuf>,
    builtin: BTreeSet<String>,
    origin: Origin<'a>,
    entered: BTreeSet<String>,
    loaded: Vec<Module>,
}

impl Loader<'_> {
    fn load(&mut self, name: &str) -> Result<(), ModuleError> {
        if self.builtin.contains(name) || self.loaded.iter().any(|module| module.name == name) {
            return Ok(());
        }
        if !self.entered.insert(name.to_owned()) {
            return Err(ModuleError::Cycle(name.to_owned()));
        }
        let Some(file) = self.files.get(name) else {
            let (place, further) = match self.origin {
                Origin::Folder => (self.folder.display().to_string(), ""),
                Origin::Package(package) => (package.name.to_string(), ""),
                Origin::Files { place, further } => (place.to_owned(), further),
            };
            let (name, further) = (name.to_owned(), further.to_owned());
            return Err(ModuleError::Unknown { name, place, further });
        };
        let bytes = read(file).map_err(|error| unreadable(file, error.to_string()))?;
        let depends = depends(&bytes).map_err(|reason| unreadable(file, reason))?;
        for dependency in depends {
            self.load(&dependency)?;
        }
        let path = format!("/lib/modules/{name}.ko");
        let package = match self.origin {
            Origin::Package(package) => Some(package.clone()),
            Origin::Folder | Origin::Files { .. } => None,
        };
        self.loaded.push(Module { name: name.to_owned(), path, bytes, package });
        Ok(())
    }
}

fn unreadable(path: &Path, reason: String) -> ModuleError {
    ModuleError::Unreadable { path: path.to_owned(), reason }
}

/// Finds every module under a folder. Links are passed over: `build` and `source` lead elsewhere.
fn index(folder: &Path, depth: u32, files: &mut BTreeMap<String, PathBuf>) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    // The order of a folder's entries is chance, and so would be which of two namesakes is taken.
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (kind, path) = (entry.file_type()?, entry.path());
        if kind.is_dir() && depth > 0 {
            index(&path, depth - 1, files)?;
        } else if let (true, Some(name)) = (kind.is_file(), module_name(&path)) {
            files.entry(name).or_insert(path);
        }
    }
    Ok(())
}

/// Returns the module's name in a path, in which `-` and `_` are the same.
pub(super) fn module_name(path: &Path) -> Option<String> {
    let (name, ending) = path.file_name()?.to_str()?.split_once(".ko")?;
    ["", ".xz", ".zst", ".gz"].contains(&ending).then(|| name.replace('-', "_"))
}

/// Reads a module's file, and decompresses it.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = preemptlab_files::open(path)?;
    let reader: Box<dyn Read> = match path.extension().and_then(|extension| extension.to_str()) {
        Some("xz") => Box::new(liblzma::read::XzDecoder::new(file)),
        Some("zst") => Box::new(zstd::stream::read::Decoder::new(file)?),
        Some("gz") => Box::new(flate2::read::GzDecoder::new(file)),
        _ => Box::new(file),
    };
    let mut bytes = Vec::new();
    match reader.take(MODULE_BYTES_MAX + 1).read_to_end(&mut bytes)? as u64 > MODULE_BYTES_MAX {
        true => Err(io::ErrorKind::FileTooLarge.into()),
        false => Ok(bytes),
    }
}

/// Returns the names in `depends=` of the section `.modinfo` (scripts/mod/modpost.c,
/// `add_depends`).
fn depends(module: &[u8]) -> Result<Vec<String>, String> {
    let file = object::File::parse(module).map_err(|error| error.to_string())?;
    let section = file.section_by_name(".modinfo").ok_or("it has no section .modinfo")?;
    let data = section.data().map_err(|error| error.to_string())?;
    Ok(names_in(data))
}

fn names_in(modinfo: &[u8]) -> Vec<String> {
    modinfo
        .split(|byte| *byte == 0)
        .filter_map(|field| field.strip_prefix(b"depends="))
        .flat_map(|list| list.split(|byte| *byte == b','))
        .filter(|name| !name.is_empty())
        .map(|name| String::from_utf8_lossy(name).replace('-', "_"))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Returns an ELF file with nothing but a `.modinfo`.
    fn module(depends: &str) -> Vec<u8> {
        let modinfo = format!("license=GPL\0depends={depends}\0name=x\0");
        let names = "\0.modinfo\0.shstrtab\0";
        let section = |name: u32, kind: u32, offset: usize, size: usize| {
            let mut header = Vec::new();
            header.extend(name.to_le_bytes());
            header.extend(kind.to_le_bytes());
            header.extend([0; 16]);
            header.extend((offset as u64).to_le_bytes());
            header.extend((size as u64).to_le_bytes());
            header.extend([0; 8]);
            header.extend(1_u64.to_le_bytes());
            header.extend([0; 8]);
            header
        };
        let (names_at, modinfo_at) = (64, 64 + names.len());
        let sections_at = modinfo_at + modinfo.len();
        let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
        elf.resize(16, 0);
        elf.extend([1, 0, 62, 0, 1, 0, 0, 0]);
        elf.extend([0; 16]);
        elf.extend((sections_at as u64).to_le_bytes());
        elf.extend([0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 64, 0, 3, 0, 2, 0]);
        elf.extend(names.bytes());
        elf.extend(modinfo.bytes());
        elf.extend(section(0, 0, 0, 0));
        elf.extend(section(1, 1, modinfo_at, modinfo.len()));
        elf.extend(section(10, 3, names_at, names.len()));
        elf
    }

    #[test]
    fn dependencies_are_read_from_modinfo() {
        assert_eq!(depends(&module("a,b-c")).unwrap(), ["a", "b_c"]);
        assert!(depends(&module("")).unwrap().is_empty());
        assert!(depends(b"not a module").is_err());
        assert!(names_in(b"depends").is_empty());
    }

    #[test]
    fn modules_come_after_what_they_depend_on() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("kernel/drivers");
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("top-one.ko"), module("middle,compiled")).unwrap();
        let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
        xz.write_all(&module("base_a,base-b")).unwrap();
        fs::write(deep.join("middle.ko.xz"), xz.finish().unwrap()).unwrap();
        let zst = zstd::encode_all(&module("")[..], 1).unwrap();
        fs::write(deep.join("base-a.ko.zst"), zst).unwrap();
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&module("base-a")).unwrap();
        fs::write(deep.join("base-b.ko.gz"), gz.finish().unwrap()).unwrap();
        let builtin = folder.path().join("modules.builtin");
        fs::write(&builtin, "kernel/lib/compiled.ko\n").unwrap();

        let modules =
            load(folder.path(), &builtin, &["top_one", "base_b"], Origin::Folder).unwrap();
        let names: Vec<_> = modules.iter().map(|module| module.name.as_str()).collect();
        assert_eq!(names, ["base_a", "base_b", "middle", "top_one"]);
        assert_eq!(modules[0].path, "/lib/modules/base_a.ko");
        assert_eq!(modules[0].bytes, module(""));
        assert!(load(folder.path(), &builtin, &["compiled"], Origin::Folder).unwrap().is_empty());
        assert!(matches!(
            load(folder.path(), &builtin, &["nothing"], Origin::Folder),
            Err(ModuleError::Unknown { .. })
        ));
    }

    #[test]
    fn damaged_modules_and_cycles_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let builtin = folder.path().join("modules.builtin");
        fs::write(folder.path().join("a.ko"), module("b")).unwrap();
        fs::write(folder.path().join("b.ko"), module("a")).unwrap();
        fs::write(folder.path().join("c.ko.xz"), b"\xfd7zXZ").unwrap();
        assert!(matches!(
            load(folder.path(), &builtin, &["a"], Origin::Folder),
            Err(ModuleError::Cycle(_))
        ));
        assert!(matches!(
            load(folder.path(), &builtin, &["c"], Origin::Folder),
            Err(ModuleError::Unreadable { .. })
        ));
    }
}
