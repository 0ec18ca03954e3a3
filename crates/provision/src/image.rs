//! The guest's image: an initramfs of Debian packages, the guest's own init, and kernel modules.

use std::path::{Path, PathBuf};

use preemptlab_files::Files;
use preemptlab_model::{Arch, Digest, Package, Platform};
use preemptlab_protocol::{BOOT_FILE, BootConfig, Command, FORMAT};
use serde::{Deserialize, Serialize};

use crate::{
    PackageError, arch,
    distribution::deb::{self, Content},
    error::from_package_errors,
    platform::named,
    store::{StoreError, hash},
    tree::{Node, PlaceError, Tree, canonical},
};

/// Counts up when the same packages, modules and init are to make another image.
const LAYOUT: u32 = 2;

/// The largest image that is made, in bytes: it has to fit into a guest's memory.
const IMAGE_BYTES_MAX: usize = 512 << 20;

/// Folders that no command of a guest reads.
const LEFT_OUT: [&str; 16] = [
    "usr/lib/postgresql/17/lib/bitcode",
    "usr/lib/python3",
    "usr/lib/systemd",
    "usr/lib/{triplet}/gconv",
    "usr/share/bash-completion",
    "usr/share/bug",
    "usr/share/doc",
    "usr/share/doc-base",
    "usr/share/info",
    "usr/share/lintian",
    "usr/share/locale",
    "usr/share/man",
    "usr/share/menu",
    "usr/share/python3",
    "usr/share/zoneinfo",
    "var",
];

/// Folder of the files of a user's own workload.
const WORKLOAD: &str = "workload";

/// Folders that init mounts over, and those that programs expect.
const FOLDERS: [&str; 6] = ["dev", "proc", "root", "run", "sys", "tmp"];

/// Root, and the ordinary user that unprivileged commands run as.
const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\nbench:x:1000:1000:bench:/tmp:/bin/sh\n";

/// A guest image in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestImage {
    /// Path of the image: an uncompressed cpio archive (`newc`).
    pub path: PathBuf,
    /// SHA-256 of the image's content.
    pub sha256: Digest,
}

/// Reason why there is no image.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// A package is not the one that it should be.
    #[error("`{}` is not the package {name} that was downloaded; remove the file and run the command again", path.display())]
    Changed {
        /// Name of the package.
        name: String,
        /// Path of the file.
        path: PathBuf,
    },
    /// A package or a module brings something that cannot be in an image, or that another one
    /// brings, too, but differently.
    #[error("{from} cannot be in the guest's image: {reason}")]
    Unfit {
        /// The package or the module.
        from: String,
        /// Error, in words.
        reason: String,
    },
    /// The packages hold more than a guest has room for.
    #[error("the guest's image would have more than {} MiB", IMAGE_BYTES_MAX >> 20)]
    TooLarge,
    /// A package cannot be used.
    #[error(transparent)]
    Packages(PackageError),
}

from_package_errors!(ImageError);

/// The guest of an image, and the parts that a workload brings besides packages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own<'a> {
    /// Architecture of the guest.
    pub guest: Arch,
    /// Commands that the guest runs before the snapshot.
    pub prepare: &'a [Command],
    /// Files that the workload finds in `/workload`.
    pub files: Option<&'a Files>,
    /// Uncompressed kernel modules that are the workload's files, in `/workload/modules`, each with its path elsewhere.
    pub module_files: &'a [(String, Vec<u8>)],
    /// Whether the workload plays a scenario, with `/player`.
    pub player: bool,
}

/// Everything that an image is made of.
#[derive(Serialize)]
struct Inputs {
    layout: u32,
    init: Digest,
    packages: Vec<Digest>,
    modules: Vec<(String, Digest)>,
    prepare: Vec<Command>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Digest>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    module_files: Vec<(String, Digest)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    player: Option<Digest>,
}

/// Remembers which image was made of some inputs.
#[derive(Serialize, Deserialize)]
struct Made {
    sha256: Digest,
}

/// Makes the image of packages, each with the file that holds it; of uncompressed kernel modules,
/// each with its path in the image and after those it depends on; and of a workload's own parts. An
/// image that exists is not made again. The same inputs make the same bytes.
///
/// # Errors
///
/// [`ImageError`]
pub fn build_image(
    images: &Path,
    packages: &[(Package, PathBuf)],
    modules: &[(String, Vec<u8>)],
    own: Own<'_>,
) -> Result<GuestImage, ImageError> {
    let arch = arch::of(own.guest);
    let mut inputs = Inputs {
        layout: LAYOUT,
        init: Digest::of(arch.init),
        packages: packages.iter().map(|(package, _)| package.sha256).collect(),
        modules: digests(modules),
        prepare: own.prepare.to_vec(),
        files: own.files.map(Files::digest),
        module_files: digests(own.module_files),
        player: own.player.then(|| Digest::of(arch.player)),
    };
    inputs.packages.sort_unstable();
    let note = images.join(format!("{}.json", Digest::of_json(&inputs)));
    if let Some(image) = made_before(images, &note) {
        return Ok(image);
    }
    let archive = tree(packages, modules, own)?.archive().map_err(StoreError::at(images))?;
    let sha256 = Digest::of(&archive);
    let path = images.join(sha256.to_string());
    preemptlab_files::write_new(&path, &archive).map_err(StoreError::at(&path))?;
    let made = serde_json::to_vec(&Made { sha256 }).unwrap_or_default();
    preemptlab_files::write_new(&note, &made).map_err(StoreError::at(&note))?;
    Ok(GuestImage { path, sha256 })
}

fn digests(modules: &[(String, Vec<u8>)]) -> Vec<(String, Digest)> {
    modules.iter().map(|(path, bytes)| (path.clone(), Digest::of(bytes))).collect()
}

fn made_before(images: &Path, note: &Path) -> Option<GuestImage> {
    let made: Made = serde_json::from_slice(&std::fs::read(note).ok()?).ok()?;
    let path = images.join(made.sha256.to_string());
    path.is_file().then_some(GuestImage { path, sha256: made.sha256 })
}

fn tree(
    packages: &[(Package, PathBuf)],
    modules: &[(String, Vec<u8>)],
    own: Own<'_>,
) -> Result<Tree, ImageError> {
    let (platform, arch) = (own.guest.platform(), arch::of(own.guest));
    let mut tree = Tree::new();
    place(&mut tree, "preemptlab", "init", executable(arch.init))?;
    place(&mut tree, "preemptlab", "etc/passwd", file(PASSWD.as_bytes()))?;
    if own.player {
        place(&mut tree, "preemptlab", "player", executable(arch.player))?;
    }
    for folder in FOLDERS {
        place(&mut tree, "preemptlab", folder, Node::Folder)?;
    }
    for (package, path) in packages {
        if hash::sha256(path).map_err(StoreError::at(path))? != package.sha256 {
            return Err(ImageError::Changed { name: package.name.to_string(), path: path.clone() });
        }
        add_package(&mut tree, &format!("the package {}", package.name), path, platform)?;
    }
    let mut paths = Vec::new();
    for (path, bytes) in modules {
        let from = format!("the module {path}");
        place(&mut tree, &from, path, file(bytes))?;
        paths.push(format!("/{}", canonical(path).map_err(|error| unfit(&from, &error))?));
    }
    let config = BootConfig { format: FORMAT, modules: paths, prepare: own.prepare.to_vec() };
    let config = serde_json::to_vec(&config).map_err(|error| ImageError::Unfit {
        from: "the list of modules".to_owned(),
        reason: error.to_string(),
    })?;
    place(&mut tree, "preemptlab", BOOT_FILE, file(&config))?;
    add_files(&mut tree, own.files)?;
    for (path, bytes) in own.module_files {
        let name = path.rsplit('/').next().unwrap_or(path);
        let own = format!("{WORKLOAD}/modules/{name}");
        place(&mut tree, &format!("the module {path}"), &own, file(bytes))?;
    }
    check_size(&tree)?;
    Ok(tree)
}

fn add_files(tree: &mut Tree, files: Option<&Files>) -> Result<(), ImageError> {
    let from = "the workload's folder";
    let Some(files) = files else { return Ok(()) };
    place(tree, from, WORKLOAD, Node::Folder)?;
    for (path, node) in files.iter() {
        let node = match node.clone() {
            preemptlab_files::Node::Folder => Node::Folder,
            preemptlab_files::Node::File { executable, bytes } => Node::File { executable, bytes },
            preemptlab_files::Node::Symlink(target) => Node::Symlink(target),
        };
        place(tree, from, &format!("{WORKLOAD}/{path}"), node)?;
    }
    Ok(())
}

fn check_size(tree: &Tree) -> Result<(), ImageError> {
    if tree.bytes() > IMAGE_BYTES_MAX { Err(ImageError::TooLarge) } else { Ok(()) }
}

fn add_package(
    tree: &mut Tree,
    from: &str,
    deb: &Path,
    platform: &Platform,
) -> Result<(), ImageError> {
    for entry in deb::read(deb, |path| is_wanted(path, platform))? {
        let node = match entry.content {
            Content::Folder => Node::Folder,
            Content::File(bytes) => Node::File { executable: entry.mode & 0o111 != 0, bytes },
            Content::Symlink(target) => Node::Symlink(target),
            Content::Hardlink(target) => tree.get(&target).cloned().ok_or_else(|| {
                let reason = format!("`{}` is a link to nothing", entry.path);
                ImageError::Unfit { from: from.to_owned(), reason }
            })?,
        };
        place(tree, from, &entry.path, node)?;
    }
    check_size(tree)
}

fn is_wanted(path: &str, platform: &Platform) -> bool {
    let path = canonical(path).unwrap_or_else(|_| path.to_owned());
    // The folder itself, which dpkg calls `./`, has no name.
    !path.is_empty()
        && !LEFT_OUT.iter().any(|folder| Path::new(&path).starts_with(named(folder, platform)))
}

fn place(tree: &mut Tree, from: &str, path: &str, node: Node) -> Result<(), ImageError> {
    tree.place(path, node).map_err(|error| unfit(from, &error))
}

fn unfit(from: &str, error: &PlaceError) -> ImageError {
    ImageError::Unfit { from: from.to_owned(), reason: error.to_string() }
}

fn file(bytes: &[u8]) -> Node {
    Node::File { executable: false, bytes: bytes.to_owned() }
}

fn executable(bytes: &[u8]) -> Node {
    Node::File { executable: true, bytes: bytes.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(folder: &Path, name: &str) -> (Package, PathBuf) {
        let path = deb::tests::build(folder, name, "1.0", "");
        let sha256 = hash::sha256(&path).unwrap();
        (Package { name: name.parse().unwrap(), version: "1.0".parse().unwrap(), sha256 }, path)
    }

    /// Returns the modules of a test, the second of which depends on the first.
    fn modules() -> Vec<(String, Vec<u8>)> {
        ["first", "second"].map(|name| (format!("/lib/modules/{name}.ko"), name.into())).into()
    }

    fn holds(image: &GuestImage, text: &str) -> bool {
        let bytes = std::fs::read(&image.path).unwrap();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    }

    #[test]
    fn an_image_holds_packages_and_modules() {
        let folder = tempfile::tempdir().unwrap();
        let packages = [package(folder.path(), "tool")];
        let image = build_image(folder.path(), &packages, &modules(), Own::default()).unwrap();
        assert_eq!(image.sha256, hash::sha256(&image.path).unwrap());
        assert!(holds(&image, "usr/share/tool"));
        assert!(holds(
            &image,
            r#""modules":["/usr/lib/modules/first.ko","/usr/lib/modules/second.ko"],"prepare":[]}"#
        ));
    }

    #[test]
    fn modules_of_a_workload_are_its_files_and_are_not_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let own = Own { module_files: &modules(), ..Own::default() };
        let image = build_image(folder.path(), &[], &[], own).unwrap();
        assert!(holds(&image, "workload/modules/second.ko"));
        assert!(holds(&image, r#""modules":[],"prepare":[]}"#));
        assert_ne!(image, build_image(folder.path(), &[], &[], Own::default()).unwrap());
        // The workload's own file of that name is another one.
        let mut files = Files::default();
        let node = preemptlab_files::Node::File { executable: false, bytes: "other".into() };
        files.insert("modules/first.ko", node).unwrap();
        let own = Own { files: Some(&files), ..own };
        let error = build_image(folder.path(), &[], &[], own).unwrap_err();
        assert!(error.to_string().contains("/first.ko cannot be in the guest's image"), "{error}");
    }

    #[test]
    fn the_same_inputs_make_the_same_image() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let deb = package(folders[0].path(), "tool");
        let moved = folders[1].path().join("elsewhere.deb");
        std::fs::copy(&deb.1, &moved).unwrap();
        let one =
            build_image(folders[0].path(), std::slice::from_ref(&deb), &modules(), Own::default())
                .unwrap();
        let two =
            build_image(folders[1].path(), &[(deb.0, moved)], &modules(), Own::default()).unwrap();
        assert_eq!(one.sha256, two.sha256);
        assert_eq!(std::fs::read(one.path).unwrap(), std::fs::read(two.path).unwrap());
    }

    #[test]
    fn a_workloads_files_are_in_its_image() {
        let folder = tempfile::tempdir().unwrap();
        let image = |text: &str| {
            let mut files = Files::default();
            let script = preemptlab_files::Node::File { executable: true, bytes: text.into() };
            files.insert("bin/run", script).unwrap();
            let own = Own { files: Some(&files), ..Own::default() };
            build_image(folder.path(), &[], &[], own).unwrap()
        };
        let (one, other) = (image("#!/bin/sh"), image("#!/bin/bash"));
        assert!(holds(&one, "workload/bin/run") && holds(&one, "#!/bin/sh"));
        assert_ne!(one, other);
        assert_eq!(image("#!/bin/sh"), one);
    }

    #[test]
    fn the_player_is_in_the_image_that_wants_it() {
        let folder = tempfile::tempdir().unwrap();
        let image = |player| {
            build_image(folder.path(), &[], &[], Own { player, ..Own::default() }).unwrap()
        };
        let (without, with) = (image(false), image(true));
        assert!(!holds(&without, "player"));
        let archive = std::fs::read(with.path).unwrap();
        let player = arch::of(Arch::default()).player;
        assert!(archive.windows(player.len()).any(|bytes| bytes == player));
        // A static program, so that it runs in an image without any package.
        assert!(player.starts_with(b"\x7fELF"));
        assert!(!player.windows(8).any(|bytes| bytes == b"ld-linux"));
    }

    /// Images that were made before there was a player are found again.
    #[test]
    fn what_is_not_wanted_is_no_input() {
        let inputs = Inputs {
            layout: LAYOUT,
            init: Digest::of(b"init"),
            packages: vec![],
            modules: vec![],
            prepare: vec![],
            files: None,
            module_files: Vec::new(),
            player: None,
        };
        let text = serde_json::to_string(&inputs).unwrap();
        assert!(text.ends_with(r#""packages":[],"modules":[],"prepare":[]}"#), "{text}");
    }

    #[test]
    fn an_image_is_made_once() {
        let folder = tempfile::tempdir().unwrap();
        let packages = [package(folder.path(), "tool")];
        let made = build_image(folder.path(), &packages, &[], Own::default()).unwrap();
        std::fs::remove_file(&packages[0].1).unwrap();
        assert_eq!(build_image(folder.path(), &packages, &[], Own::default()).unwrap(), made);
        std::fs::remove_file(&made.path).unwrap();
        assert!(matches!(
            build_image(folder.path(), &packages, &[], Own::default()),
            Err(ImageError::Packages(PackageError::Store(StoreError::Io { .. })))
        ));
    }

    #[test]
    fn the_order_of_modules_matters() {
        let folder = tempfile::tempdir().unwrap();
        let mut modules = modules();
        let one = build_image(folder.path(), &[], &modules, Own::default()).unwrap();
        modules.reverse();
        let two = build_image(folder.path(), &[], &modules, Own::default()).unwrap();
        assert_ne!(one.sha256, two.sha256);
    }

    #[test]
    fn packages_that_differ_about_a_file_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        // Both bring `usr/share/link`, each with a target of its own.
        let packages = ["tool", "rival"].map(|name| package(folder.path(), name));
        let error = build_image(folder.path(), &packages, &[], Own::default()).unwrap_err();
        assert!(matches!(error, ImageError::Unfit { .. }), "{error}");
        assert!(error.to_string().contains("usr/share/link"), "{error}");
    }

    #[test]
    fn a_package_that_was_changed_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (package, path) = package(folder.path(), "tool");
        std::fs::write(&path, b"something else").unwrap();
        let refused = build_image(folder.path(), &[(package, path)], &[], Own::default());
        assert!(matches!(refused, Err(ImageError::Changed { .. })));
    }

    #[test]
    fn documentation_is_left_out() {
        for path in ["usr/share/doc/libc6/copyright", "usr/share/man", "lib/systemd/system/a", ""] {
            assert!(!is_wanted(path, Arch::Amd64.platform()), "{path}");
        }
        for path in ["usr/bin/cyclictest", "usr/share/docs", "lib64/ld-linux-x86-64.so.2", "etc"] {
            assert!(is_wanted(path, Arch::Amd64.platform()), "{path}");
        }
    }
}
