//! Kernels, and the interface of their sources.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use preemptlab_model::{Arch, Digest, Kernel, KernelConfig, KernelRef, Package};
use preemptlab_symbols::ImageError;

use crate::{
    KbuildError, LeftOut, PackageError, PackageFault, Store, StoreError, Stranger, TreeError,
    distribution::LeftOutNote,
    error::from_package_errors,
    kernel::{
        kbuild::{BuiltWith, Kit},
        kmod::Headers,
        modules::ModuleSource,
    },
    store::hash::sha256,
    supplies::Supplies,
};

/// The largest bzImage and the largest configuration that are read, in bytes.
pub(super) const FILE_BYTES_MAX: u64 = 256 << 20;

/// The largest configuration of the user's own that a kernel starts from, in bytes.
const BASE_BYTES_MAX: u64 = 16 << 20;

/// A kernel source: the way to get the kernels of one prefix of names, such as `debian:`.
pub(crate) trait KernelSource {
    /// Brings the kernel here that the name means now, and says where its modules and headers are.
    fn resolve(&self, supplies: &Supplies<'_>) -> Result<ProvisionedKernel, KernelError>;

    /// Brings the kernel here that a recording was made with. The caller compares the images.
    fn pin(
        &self,
        supplies: &Supplies<'_>,
        recorded: &Kernel,
    ) -> Result<ProvisionedKernel, KernelError>;

    /// Builds a kernel again whose kit the store lacks, from which modules are built.
    fn keep_kit(&self, _: &Supplies<'_>, _: &Kernel) -> Result<(), KernelError> {
        Ok(())
    }

    /// Refuses mistakes that the user can correct at once, before any download.
    fn check(&self, _: &Supplies<'_>) -> Result<(), KernelError> {
        Ok(())
    }

    /// Returns whether the name means files of the user's own, which may change behind a recording.
    fn is_own(&self) -> bool {
        false
    }

    /// Returns whether the kernel is built from source, with packages of this machine.
    fn is_built(&self) -> bool {
        false
    }

    /// Returns the files of the packages that the name gives, which no mirror has.
    fn packages(&self) -> &[PathBuf] {
        &[]
    }

    /// Brings the recorded packages of a kernel from another distribution's archive than Debian's, each with
    /// its file in the store; none for other kernels.
    fn archived(
        &self,
        _: &Supplies<'_>,
        _: &Kernel,
    ) -> Result<Vec<(Package, PathBuf)>, KernelError> {
        Ok(Vec::new())
    }

    /// Refuses another file under the name than the recorded one. A file that is no longer there is none.
    fn check_recorded(&self, _: &Kernel) -> Result<(), KernelError> {
        Ok(())
    }

    /// Returns the user's own folder of modules, if the name gives one.
    fn modules(&self) -> Option<&Path> {
        None
    }

    /// Returns the first file of the user's own source, if the name gives one, that another user can
    /// write to: its Makefile builds the kernel.
    fn stranger(&self) -> Option<Stranger> {
        None
    }

    /// Returns the user's own build tree, if the name gives one: its scripts build modules.
    fn headers(&self) -> Option<PathBuf> {
        None
    }
}

/// A kernel that can be booted.
#[derive(Clone, Debug)]
pub struct ProvisionedKernel {
    /// Its exact identity.
    pub kernel: Kernel,
    /// The bzImage, in the store.
    pub image: PathBuf,
    /// Configuration of the kernel, where there is one.
    pub config: Option<KernelConfig>,
    pub(crate) modules: ModuleSource,
    pub(crate) headers: Headers,
}

/// Reason why a kernel is unavailable.
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
    /// The kernel cannot be built.
    #[error(transparent)]
    Build(#[from] KbuildError),
    /// An input of a recording is no longer available.
    #[error("{0}")]
    NotAgain(&'static str),
    /// The kernel is installed on a machine, and in no package.
    #[error("{0} is a kernel of this machine: run it with --backend host")]
    OfHost(KernelRef),
    /// The file cannot be read.
    #[error("the kernel `{}` cannot be read: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// The file of the user's own kernel cannot be read.
    #[error("the kernel `{}` cannot be read: {error}", path.display())]
    Own {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// The file is not a kernel.
    #[error("`{}` cannot be booted: {error}", path.display())]
    Image {
        /// The file.
        path: PathBuf,
        /// Reason why it is not a kernel.
        error: ImageError,
    },
    /// A package in a file of the user's own holds no kernel that can be used.
    #[error("the package `{}` {fault}", path.display())]
    Package {
        /// The file.
        path: PathBuf,
        /// Reason, a sentence about the package.
        fault: PackageFault,
    },
    /// The packages of the kernel cannot be used.
    #[error(transparent)]
    Packages(PackageError),
}

from_package_errors!(KernelError);

/// Reads a configuration of the user's own that a kernel for guests of an architecture is to start from.
pub(super) fn read_base(path: &Path, guest: Arch) -> Result<String, KbuildError> {
    let bytes = preemptlab_files::read(path, BASE_BYTES_MAX)
        .map_err(|error| TreeError::Read { path: path.to_owned(), error })?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match KernelConfig::parse(&text).arch() {
        Some(of) if of != guest => {
            let [of, guest] = [of, guest].map(|arch| arch.platform().debian);
            Err(TreeError::OtherConfig { path: path.to_owned(), of, guest }.into())
        }
        _ => Ok(text),
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

/// Returns the files from which modules for a built kernel are built.
pub(super) fn kit_of(config: Option<&KernelConfig>, kit: Kit, with: BuiltWith) -> Headers {
    match config.is_some_and(|config| config.is_builtin("MODULES")) {
        true => Headers::Kit(kit, Box::new(with)),
        false => Headers::None("its configuration loads none: add `+MODULES=y` to the name".into()),
    }
}

pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    preemptlab_files::write_new(path, bytes).map(drop).map_err(StoreError::at(path))
}

/// Reads a configuration; `None` where there is no such file.
pub(super) fn read_config(path: &Path) -> Result<Option<KernelConfig>, KernelError> {
    match read_bounded(path) {
        Ok(bytes) => Ok(Some(KernelConfig::parse(&String::from_utf8_lossy(&bytes)))),
        Err(KernelError::File { error, .. }) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) fn read_bounded(path: &Path) -> Result<Vec<u8>, KernelError> {
    preemptlab_files::read(path, FILE_BYTES_MAX)
        .map_err(|error| KernelError::File { path: path.to_owned(), error })
}
