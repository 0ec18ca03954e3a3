//! Kernels by name: resolved, downloaded, unpacked.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use preemptlab_model::{Digest, Flavour, Kernel, KernelConfig, KernelRef};
use preemptlab_symbols::{BzImageError, release_of};

use crate::{
    AptError, Event, KbuildError, LeftOut, PackageError, Store, StoreError, StoreLock,
    apt::{Apt, Candidate, LeftOutNote},
    deb::{self, Content},
    error::from_package_errors,
    hash::sha256,
    kbuild::{Built, Recipe},
    kmod::Headers,
    modules::ModuleSource,
    names::{self, Build, Layout},
};

/// The largest bzImage and the largest configuration that are read, in bytes.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// What the store keeps of a kernel's packages.
const KERNEL_FILES: [&str; 3] = ["vmlinuz", "config", "modules.builtin"];

/// A kernel that can be booted.
#[derive(Clone, Debug)]
pub struct ProvisionedKernel {
    /// Exactly what it is.
    pub kernel: Kernel,
    /// The bzImage, in the store.
    pub image: PathBuf,
    /// Its configuration, where one is at hand.
    pub config: Option<KernelConfig>,
    pub(crate) modules: ModuleSource,
    pub(crate) headers: Headers,
}

/// A row of what can be had.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The newest build of its series and flavour.
    pub build: Build,
    /// Its configuration, or why it cannot be read.
    pub config: Result<KernelConfig, String>,
}

/// Why a kernel cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// No such kernel is on offer.
    #[error("no kernel `{name}` is on offer{}{}", match nearest.as_slice() {
        [] => String::new(),
        [one] => format!("; did you mean `{one}`?"),
        nearest => format!("; the nearest are {}", nearest.join(", ")),
    }, LeftOutNote(left_out))]
    Unknown {
        /// The name.
        name: KernelRef,
        /// Names near it that are on offer.
        nearest: Vec<String>,
        /// The suites that could not be asked.
        left_out: Vec<LeftOut>,
    },
    /// It cannot be built.
    #[error(transparent)]
    Build(#[from] KbuildError),
    /// It is what runs on a machine, and in no package.
    #[error("{0} is a kernel of this machine: run it with --backend host")]
    OfHost(KernelRef),
    /// The file cannot be read.
    #[error("the kernel `{}` cannot be read: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The file of the user's own kernel cannot be read.
    #[error("the kernel `{}` cannot be read: {error}", path.display())]
    Own {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The file is no kernel.
    #[error("`{}` cannot be booted: {error}", path.display())]
    BzImage {
        /// The file.
        path: PathBuf,
        /// Why.
        error: BzImageError,
    },
    /// Its packages cannot be used.
    #[error(transparent)]
    Packages(PackageError),
}

from_package_errors!(KernelError);

/// Every build on offer, oldest first.
pub(crate) fn builds(apt: &Apt<'_>) -> Result<Vec<Build>, AptError> {
    let names = apt.names("linux-")?;
    Ok(names::builds(names.iter().map(|name| name.as_str())))
}

/// A kernel of Debian.
pub(crate) fn debian(
    apt: &Apt<'_>,
    store: &Store,
    version: &str,
    flavour: Flavour,
    on_event: &dyn Fn(Event),
) -> Result<ProvisionedKernel, KernelError> {
    let name = KernelRef::Debian { version: version.to_owned(), flavour };
    let builds = builds(apt)?;
    let Some(build) = names::resolve(&builds, version, flavour) else {
        let near = || names::nearest(&builds, version, flavour);
        let nearest = names::misspelt(&builds, &name).map_or_else(near, |name| vec![name]);
        return Err(KernelError::Unknown { name, nearest, left_out: apt.left_out().to_vec() });
    };
    let packages = Packages::find(apt, build)?;
    let image_sha256 = image_of(apt, store, build, &packages, on_event)?;
    let folder = store.kernel(image_sha256);
    let config = read_config(&folder.join("config"))?;
    let kernel = Kernel::new(
        name,
        build.release(),
        image_sha256,
        packages.of_image().map(|candidate| candidate.package.clone()).collect(),
        config.as_ref(),
    );
    let modules = match packages.modules {
        Some(candidate) => {
            ModuleSource::Package { candidate, builtin: folder.join("modules.builtin") }
        }
        None => ModuleSource::None(format!("the mirror has no `{}`", build.modules_package())),
    };
    let headers =
        Headers::Package { name: build.headers_package(), assumed: build.headers_assumed() };
    Ok(ProvisionedKernel { kernel, image: folder.join("vmlinuz"), config, modules, headers })
}

/// The packages of a build. Mirrors drop those of older builds, but rarely the image.
struct Packages {
    image: Candidate,
    /// What holds the configuration, where it is not the image.
    base: Option<Candidate>,
    modules: Option<Candidate>,
}

impl Packages {
    fn find(apt: &Apt<'_>, build: &Build) -> Result<Self, AptError> {
        let image_name = build.image_package();
        let base_name = build.config_package();
        let mut found = apt.find(&[&image_name, &base_name, &build.modules_package()])?.into_iter();
        let mut next = || found.next().flatten();
        let (image, base, modules) = (next(), next(), next());
        let image = image.ok_or_else(|| apt.unknown(&image_name))?;
        let base = base.filter(|_| build.layout == Layout::Split);
        Ok(Self { image, base, modules })
    }

    fn of_image(&self) -> impl Iterator<Item = &Candidate> {
        [&self.image].into_iter().chain(&self.base)
    }
}

/// The hash of the image in a build's packages, which are unpacked if that was not done before.
fn image_of(
    apt: &Apt<'_>,
    store: &Store,
    build: &Build,
    packages: &Packages,
    on_event: &dyn Fn(Event),
) -> Result<Digest, KernelError> {
    if let Some(digest) = image_in(store, &packages.image) {
        // Without its base package it was unpacked without a configuration.
        if packages.base.is_none() || store.kernel(digest).join("config").is_file() {
            return Ok(digest);
        }
    }
    let release = build.release();
    let mut entries = Vec::new();
    let wanted: Vec<_> = packages.of_image().cloned().collect();
    for deb in apt.fetch(&wanted)? {
        on_event(Event::Unpacking { what: release.clone() });
        entries.extend(deb::read(&deb, |path| {
            KERNEL_FILES.iter().any(|f| is_file(path, f, &release))
        })?);
    }
    let file = |name| {
        entries.iter().find_map(|entry| match &entry.content {
            Content::File(bytes) if is_file(&entry.path, name, &release) => Some(bytes),
            _ => None,
        })
    };
    let image = file("vmlinuz").ok_or_else(|| PackageError::Lacks {
        package: packages.image.package.name.to_string(),
        what: "vmlinuz".to_owned(),
    })?;
    let digest = keep_image(store, image)?;
    let folder = store.kernel(digest);
    for name in ["config", "modules.builtin"] {
        if let Some(bytes) = file(name) {
            write(&folder.join(name), bytes)?;
        }
    }
    // The link is written last, so where it leads everything is there.
    let link = store.kernel_of_package(packages.image.package.sha256);
    write(&link, digest.to_string().as_bytes())?;
    Ok(digest)
}

/// Whether a path in a package is that of a kernel's file, which has moved over the releases:
/// `boot/vmlinuz-RELEASE`, `lib/modules/RELEASE/vmlinuz`, `usr/lib/modules/RELEASE/vmlinuz`.
fn is_file(path: &str, name: &str, release: &str) -> bool {
    let path = path.strip_prefix("usr/").unwrap_or(path);
    [format!("boot/{name}-{release}"), format!("lib/modules/{release}/{name}")]
        .iter()
        .any(|place| place == path)
}

/// The hash of the image in a package that was unpacked before, if the image is still sound.
fn image_in(store: &Store, package: &Candidate) -> Option<Digest> {
    let link = store.kernel_of_package(package.package.sha256);
    let digest = fs::read_to_string(link).ok()?.parse().ok()?;
    sha256(&store.kernel(digest).join("vmlinuz"))
        .is_ok_and(|found| found == digest)
        .then_some(digest)
}

/// A kernel that was built from source.
pub(crate) fn built(
    store: &Store,
    name: &KernelRef,
    recipe: &Recipe,
    built: Built,
) -> Result<ProvisionedKernel, KernelError> {
    let image = store.kernel_image(built.image_sha256);
    let bytes = read_bounded(&image)?;
    let release =
        release_of(&bytes).map_err(|error| KernelError::BzImage { path: image.clone(), error })?;
    let config = read_config(&built.config)?;
    let kernel =
        Kernel::new(name.clone(), release, built.image_sha256, recipe.packages(), config.as_ref());
    // The folder holds no module, and says which symbols are built in.
    let modules = ModuleSource::Folder(built.folder);
    let reason = "of a kernel that is built from source no build tree is kept";
    Ok(ProvisionedKernel { kernel, image, config, modules, headers: Headers::None(reason.into()) })
}

/// A kernel of one's own. The store keeps a copy, so that what is booted is what was hashed.
pub(crate) fn file(
    store: &Store,
    _lock: &StoreLock,
    path: &Path,
    modules: Option<&Path>,
) -> Result<ProvisionedKernel, KernelError> {
    let image = preemptlab_durable::read(path, FILE_BYTES_MAX)
        .map_err(|error| KernelError::Own { path: path.to_owned(), error })?;
    let release = release_of(&image)
        .map_err(|error| KernelError::BzImage { path: path.to_owned(), error })?;
    let image_sha256 = keep_image(store, &image)?;

    let folder = path.parent().unwrap_or(Path::new("."));
    let mut config = None;
    for name in [format!("config-{release}"), "config".to_owned(), ".config".to_owned()] {
        let path = folder.join(name);
        if path.is_file() {
            config = read_config(&path)?;
            break;
        }
    }
    let kernel = Kernel::new(
        KernelRef::File { image: path.to_owned(), modules: modules.map(Path::to_owned) },
        release,
        image_sha256,
        Vec::new(),
        config.as_ref(),
    );
    let (modules, headers) = match modules {
        Some(folder) => {
            (ModuleSource::Folder(folder.to_owned()), Headers::Tree(folder.join("build")))
        }
        None => {
            let reason = "this kernel came without modules; name their folder, as in \
                          `file:BZIMAGE,modules=/lib/modules/RELEASE`";
            (ModuleSource::None(reason.to_owned()), Headers::None(reason.to_owned()))
        }
    };
    let image = store.kernel(image_sha256).join("vmlinuz");
    Ok(ProvisionedKernel { kernel, image, config, modules, headers })
}

/// The newest build of each series and flavour with its configuration.
pub(crate) fn offered(
    apt: &Apt<'_>,
    store: &Store,
    on_event: &dyn Fn(Event),
) -> Result<Vec<Offer>, KernelError> {
    let builds = names::newest(&builds(apt)?);
    let mut names: Vec<_> = builds.iter().map(Build::config_package).collect();
    names.extend(builds.iter().map(Build::image_package));
    let mut found = apt.find(&names)?;
    let images = found.split_off(builds.len());

    let path = |candidate: &Candidate| store.config_of_package(candidate.package.sha256);
    let new: Vec<_> = found.iter().flatten().filter(|c| !path(c).is_file()).cloned().collect();
    let mut failures = BTreeMap::new();
    for (candidate, fetched) in new.iter().zip(apt.fetch_each(&new)?) {
        on_event(Event::Unpacking { what: candidate.package.name.to_string() });
        let kept = fetched
            .map_err(KernelError::from)
            .and_then(|deb| keep_config(&deb, candidate, &path(candidate)));
        if let Err(error) = kept {
            failures.insert(candidate.package.sha256, error.to_string());
        }
    }

    let offers = builds.into_iter().zip(found).zip(images).map(|((build, found), image)| {
        let path = match &found {
            Some(candidate) => path(candidate),
            // A build that was unpacked before has its configuration in the store.
            None => match image.and_then(|image| image_in(store, &image)) {
                Some(digest) => store.kernel(digest).join("config"),
                None => PathBuf::new(),
            },
        };
        let config = match read_config(&path) {
            Ok(Some(config)) => Ok(config),
            Ok(None) => Err(found
                .and_then(|candidate| failures.remove(&candidate.package.sha256))
                .unwrap_or_else(|| format!("the mirror has no `{}`", build.config_package()))),
            Err(error) => Err(error.to_string()),
        };
        Offer { build, config }
    });
    Ok(offers.collect())
}

/// Writes the configuration in a package to a file of the store.
fn keep_config(deb: &Path, candidate: &Candidate, path: &Path) -> Result<(), KernelError> {
    let is_config = |path: &str| {
        path.starts_with("usr/src/linux-headers-") && path.ends_with("/.config")
            || path.contains("lib/modules/") && path.ends_with("/config")
            || path.starts_with("boot/config-")
    };
    let entries = deb::read(deb, is_config)?;
    match entries.first().map(|entry| &entry.content) {
        Some(Content::File(bytes)) => Ok(write(path, bytes)?),
        _ => Err(PackageError::Lacks {
            package: candidate.package.name.to_string(),
            what: "configuration".to_owned(),
        }
        .into()),
    }
}

/// Takes a bzImage into the store.
pub(crate) fn keep_image(store: &Store, image: &[u8]) -> Result<Digest, StoreError> {
    let digest = Digest::of(image);
    let folder = store.kernel(digest);
    fs::create_dir_all(&folder).map_err(StoreError::at(&folder))?;
    let path = folder.join("vmlinuz");
    // A copy that the disk has spoilt makes room for a new one.
    if sha256(&path).is_ok_and(|found| found != digest) {
        fs::remove_file(&path).map_err(StoreError::at(&path))?;
    }
    write(&path, image)?;
    Ok(digest)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    preemptlab_durable::write_new(path, bytes).map(drop).map_err(StoreError::at(path))
}

/// A configuration, or nothing where there is no such file.
fn read_config(path: &Path) -> Result<Option<KernelConfig>, KernelError> {
    match read_bounded(path) {
        Ok(bytes) => Ok(Some(KernelConfig::parse(&String::from_utf8_lossy(&bytes)))),
        Err(KernelError::File { error, .. }) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn read_bounded(path: &Path) -> Result<Vec<u8>, KernelError> {
    preemptlab_durable::read(path, FILE_BYTES_MAX)
        .map_err(|error| KernelError::File { path: path.to_owned(), error })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The start of a bzImage with this release (Documentation/arch/x86/boot.rst).
    fn image(release: &str) -> Vec<u8> {
        let mut image = vec![0; 0x400];
        image[0x202..0x208].copy_from_slice(b"HdrS\x0f\x02");
        image[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
        image[0x300..0x300 + release.len()].copy_from_slice(release.as_bytes());
        image
    }

    #[test]
    fn a_file_is_kept_with_the_configuration_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store")).unwrap();
        let lock = store.lock(&|_| ()).unwrap();
        let path = folder.path().join("bzImage");
        fs::write(&path, image("6.12.1-mine")).unwrap();

        let bare = file(&store, &lock, &path, None).unwrap();
        assert_eq!(bare.kernel.release, "6.12.1-mine");
        assert_eq!((bare.kernel.rt, bare.kernel.modes), (None, None));

        fs::write(folder.path().join("config-6.12.1-mine"), "CONFIG_PREEMPT_RT=y\nCONFIG_HZ=1000")
            .unwrap();
        let known = file(&store, &lock, &path, None).unwrap();
        assert_eq!((known.kernel.rt, known.kernel.hz), (Some(true), Some(1000)));

        // What was hashed is what is booted, whatever becomes of the copy or of the file.
        fs::write(&known.image, b"spoilt").unwrap();
        file(&store, &lock, &path, None).unwrap();
        fs::write(&path, image("6.12.2-mine")).unwrap();
        assert_eq!(Digest::of(&fs::read(&known.image).unwrap()), known.kernel.image_sha256);
        let other = file(&store, &lock, &path, None).unwrap();
        assert_ne!(other.kernel.image_sha256, known.kernel.image_sha256);
    }

    #[test]
    fn what_is_no_kernel_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store")).unwrap();
        let lock = store.lock(&|_| ()).unwrap();
        let path = folder.path().join("vmlinux");
        assert!(matches!(file(&store, &lock, &path, None), Err(KernelError::Own { .. })));
        // Neither a pipe that nobody writes to nor a device without end is waited for.
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for endless in [pipe.as_path(), Path::new("/dev/zero"), folder.path()] {
            assert!(matches!(file(&store, &lock, endless, None), Err(KernelError::Own { .. })));
        }
        fs::write(&path, b"\x7fELF").unwrap();
        assert!(matches!(file(&store, &lock, &path, None), Err(KernelError::BzImage { .. })));
    }
}
