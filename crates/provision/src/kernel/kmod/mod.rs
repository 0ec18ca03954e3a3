//! The project's own kernel modules, built for a kernel from its headers.
//!
//! The compiler comes from Debian's packages, as QEMU does, and not from the machine: a module is
//! part of the guest image, whose bytes are part of every cell's identity. It is the compiler that
//! the headers depend on, so it is the kernel's own.

mod error;
mod make;
mod source;
mod tools;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use preemptlab_model::Digest;
use serde::Serialize;

pub use self::error::KmodError;
pub(crate) use self::source::{PREFIX, Source};
use self::{make::Make, tools::Tools};
use crate::{
    Event, KbuildError, Store, StoreError, StoreLock,
    distribution::Packages,
    kernel::kbuild::{BuiltWith, Kit, Make as KernelMake, Tools as KernelTools},
    store::whole::is_whole,
};

/// Counts up when the same source and packages are to make another module.
const RECIPE: u32 = 1;

/// Headers that a kernel's modules are built from.
#[derive(Clone, Debug)]
pub(crate) enum Headers {
    /// There are none, for this reason.
    None(String),
    /// A build tree of this machine, as `/lib/modules/RELEASE/build`.
    Tree(std::path::PathBuf),
    /// A package with its dependencies.
    Package {
        /// Name of the package.
        name: String,
        /// The kernel's package that it depends on as well, and no build needs.
        assumed: String,
    },
    /// The kit of the build that made the kernel, and the programs of that build.
    Kit(Kit, Box<BuiltWith>),
}

/// Everything that the bytes of a module depend on.
#[derive(Serialize)]
struct Inputs<'a> {
    recipe: u32,
    name: &'a str,
    source: Digest,
    release: &'a str,
    tools: Digest,
}

/// Finds the source of the module of this name.
pub(crate) fn find(name: &str) -> Result<&'static Source, KmodError> {
    Source::find(name)
        .ok_or_else(|| KmodError::Unknown { name: name.to_owned(), known: Source::names() })
}

/// Builds a module from the packages of a Debian kernel's headers, unless that was done before.
pub(crate) fn from_package(
    source: &Source,
    release: &str,
    (name, assumed): (&str, &str),
    (packages, store, lock): (Packages<'_>, &Store, &StoreLock),
    on_event: &dyn Fn(Event),
) -> Result<Vec<u8>, KmodError> {
    make::check_path(store.root())?;
    let tools = Tools::find(packages, release, name, assumed)?;
    let inputs = Inputs {
        recipe: RECIPE,
        name: source.name,
        source: source.digest(),
        release,
        tools: tools.digest(),
    };
    let folder = store.kmod(Digest::of_json(&inputs));
    let file = format!("{}.ko", source.name);
    if !is_whole(&folder) {
        let unpacked = tools.unpacked(packages, store, lock, on_event)?;
        lock.fill(&folder, |draft| {
            let make = unpacked.make();
            let make = |root: &Path| make.run(source, release, root, lock);
            let module = build(source, release, &make, draft, on_event)?;
            let path = draft.join(&file);
            fs::write(&path, module).map_err(StoreError::at(&path))?;
            Ok::<_, KmodError>(())
        })?;
    }
    let path = folder.join(file);
    Ok(fs::read(&path).map_err(StoreError::at(&path))?)
}

/// Returns the folder of a module for a kernel that was built, and the module's file there.
fn folder_of_kit(source: &Source, release: &str, kit: Kit, store: &Store) -> (PathBuf, PathBuf) {
    let inputs = Inputs {
        recipe: RECIPE,
        name: source.name,
        source: source.digest(),
        release,
        tools: kit.build(),
    };
    let folder = store.kmod(Digest::of_json(&inputs));
    let file = folder.join(format!("{}.ko", source.name));
    (folder, file)
}

/// Returns a module that was built before from the kit of a kernel.
pub(crate) fn kept_of_kit(
    source: &Source,
    release: &str,
    kit: Kit,
    store: &Store,
) -> Option<Vec<u8>> {
    let (folder, file) = folder_of_kit(source, release, kit, store);
    is_whole(&folder).then(|| fs::read(file).ok()).flatten()
}

/// Builds a module from the kit of a kernel, unless that was done before. The kernel's own programs
/// build it.
pub(crate) fn from_kit(
    source: &Source,
    release: &str,
    (kit, tools): (Kit, &KernelTools),
    (store, lock): (&Store, &StoreLock),
    on_event: &dyn Fn(Event),
) -> Result<Vec<u8>, KmodError> {
    make::check_path(store.root())?;
    let (folder, file) = folder_of_kit(source, release, kit, store);
    if !is_whole(&folder) {
        lock.fill(&folder, |draft| {
            let headers = draft.join("headers");
            kit.unpack(store, &headers)?;
            let log = draft.join("log");
            let make = KernelMake { tools, tree: &headers, output: None, log: &log, lock };
            let make = |root: &Path| {
                let variables = make::variables(source, root, &[&headers]);
                match make.run("modules", &variables, || ()).map_err(unbuilt(source, release))? {
                    true => Ok(()),
                    false => {
                        let (name, release) = (source.name, release.to_owned());
                        Err(KmodError::Failed { name, release, output: make.end()? })
                    }
                }
            };
            let module = build(source, release, &make, draft, on_event)?;
            fs::remove_dir_all(&headers).map_err(StoreError::at(&headers))?;
            fs::remove_file(&log).map_err(StoreError::at(&log))?;
            let path = draft.join(file.file_name().unwrap_or_default());
            fs::write(&path, module).map_err(StoreError::at(&path))?;
            Ok::<_, KmodError>(())
        })?;
    }
    Ok(fs::read(&file).map_err(StoreError::at(&file))?)
}

/// Says which module an error of the kernel's make is about.
fn unbuilt(source: &Source, release: &str) -> impl Fn(KbuildError) -> KmodError {
    move |error| match error {
        KbuildError::Packages(error) => KmodError::Packages(error),
        KbuildError::Tool(error) => KmodError::Tool(error),
        error => KmodError::Failed {
            name: source.name,
            release: release.to_owned(),
            output: error.to_string(),
        },
    }
}

/// Refuses a build tree that is neither root's nor the user's: the user, perhaps root, executes its
/// Makefile.
pub(crate) fn check_owners(
    source: &Source,
    tree: &Path,
    owners: impl IntoIterator<Item = u32>,
    user: u32,
) -> Result<(), KmodError> {
    match owners.into_iter().find(|owner| ![0, user].contains(owner)) {
        None => Ok(()),
        Some(owner) => {
            let (name, tree) = (source.name.to_owned(), tree.to_owned());
            Err(KmodError::Foreign { name, tree, owner, user })
        }
    }
}

/// Builds a module in a build tree of this machine, with this machine's programs. It is built each
/// time, because the tree may have changed.
pub(crate) fn from_tree(
    source: &Source,
    release: &str,
    tree: &Path,
    (store, lock): (&Store, &StoreLock),
    on_event: &dyn Fn(Event),
) -> Result<Vec<u8>, KmodError> {
    // Not a link to nowhere, as a folder has that was copied without its build tree.
    let tree = fs::canonicalize(tree).ok().filter(|tree| tree.join("Makefile").is_file());
    let tree = tree.ok_or_else(|| KmodError::NoHeaders {
        release: release.to_owned(),
        reason: "its folder of modules has no `build` that leads to a build tree; build the \
                 kernel here and name the folder that `make modules_install` made"
            .to_owned(),
    })?;
    make::check_path(store.root())?;
    make::check_path(&tree)?;
    let draft = store.kmod_draft(lock)?;
    let make = Make::of_machine(&tree);
    let make = |root: &Path| make.run(source, release, root, lock);
    build(source, release, &make, draft.path(), on_event)
}

/// Builds a module in a folder of its own, which is gone again afterwards. `make` runs Kbuild on the
/// files that were written.
fn build(
    source: &Source,
    release: &str,
    make: &dyn Fn(&Path) -> Result<(), KmodError>,
    draft: &Path,
    on_event: &dyn Fn(Event),
) -> Result<Vec<u8>, KmodError> {
    on_event(Event::Building { what: format!("{} for {release}", source.name) });
    let root = draft.join("source");
    for (path, text) in source.files {
        let path = root.join(path);
        let write = || -> io::Result<()> {
            fs::create_dir_all(path.parent().unwrap_or(&root))?;
            fs::write(&path, text)
        };
        write().map_err(StoreError::at(&path))?;
    }
    make(&root)?;
    let path = root.join(source.folder).join(format!("{}.ko", source.name));
    let module = fs::read(&path).map_err(StoreError::at(&path))?;
    fs::remove_dir_all(&root).map_err(StoreError::at(&root))?;
    Ok(module)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PackageError;

    /// Creates a build tree whose Makefile has this recipe for the target `modules`.
    fn tree(folder: &Path, recipe: &str) -> std::path::PathBuf {
        let tree = folder.join("build");
        fs::create_dir_all(&tree).unwrap();
        fs::write(tree.join("Makefile"), format!("modules:\n\t{recipe}\n")).unwrap();
        tree
    }

    fn from(recipe: Option<&str>) -> Result<Vec<u8>, KmodError> {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store")).unwrap();
        let lock = store.lock(&|_| ()).unwrap();
        let tree = match recipe {
            Some(recipe) => tree(folder.path(), recipe),
            None => folder.path().join("build"),
        };
        let source = find("preemptlab_hold").unwrap();
        let built = from_tree(source, "6.12.1-mine", &tree, (&store, &lock), &|_| ());
        // Neither success nor failure leaves files behind.
        let left = fs::read_dir(store.root().join("kmod")).unwrap().count();
        assert_eq!(left, 0);
        built
    }

    #[test]
    fn a_tree_of_ones_own_gets_the_source() {
        let built = from(Some("cat $(M)/Kbuild $(M)/../preemptlab.h > $(M)/preemptlab_hold.ko"));
        let built = String::from_utf8(built.unwrap()).unwrap();
        assert!(built.contains("obj-m") && built.contains("PREEMPTLAB_H"), "{built}");
    }

    #[test]
    fn what_keeps_a_module_from_being_built_is_told() {
        assert!(matches!(from(None), Err(KmodError::NoHeaders { .. })));
        assert!(matches!(find("preemptlab_hole"), Err(KmodError::Unknown { .. })));
        let error = from(Some("@echo hold.c:3: error: no such type >&2; exit 1")).unwrap_err();
        assert!(error.to_string().contains("hold.c:3: error: no such type"), "{error}");
        // A make that says that all is well and leaves nothing.
        assert!(matches!(from(Some("true")), Err(KmodError::Packages(PackageError::Store(_)))));
    }

    #[test]
    fn the_build_tree_of_a_stranger_is_refused() {
        let source = find("preemptlab_micro").unwrap();
        let check = |owners: [u32; 2], user| check_owners(source, Path::new("/t"), owners, user);
        for (owners, user) in [([0, 0], 0), ([0, 0], 1000), ([1000, 0], 1000)] {
            check(owners, user).unwrap();
        }
        for (owners, user) in [([1000, 1000], 0), ([0, 1000], 0), ([1000, 0], 1001)] {
            let refused = check(owners, user).unwrap_err();
            assert!(matches!(refused, KmodError::Foreign { owner: 1000, .. }), "{refused}");
            assert!(refused.to_string().contains("--allow-build-scripts"), "{refused}");
        }
    }

    #[test]
    fn a_path_that_make_cannot_take_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("my store")).unwrap();
        let lock = store.lock(&|_| ()).unwrap();
        let tree = tree(folder.path(), "true");
        let source = find("preemptlab_hold").unwrap();
        let refused = from_tree(source, "6.12.1", &tree, (&store, &lock), &|_| ());
        assert!(matches!(refused, Err(KmodError::Path(_))));
    }
}
