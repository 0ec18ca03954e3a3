//! `file:IMAGE[,modules=FOLDER]`: kernels of the user's own.

use std::path::{Path, PathBuf};

use preemptlab_model::{Kernel, KernelRef};

use super::provisioned::{
    FILE_BYTES_MAX, KernelError, KernelSource, ProvisionedKernel, keep_image, read_config,
};
use crate::{
    arch,
    kernel::{kmod::Headers, modules::ModuleSource},
    supplies::Supplies,
};

/// A kernel's image, and a folder with its modules.
pub(super) struct OwnFile<'a> {
    pub(super) image: &'a Path,
    pub(super) modules: Option<&'a Path>,
}

impl OwnFile<'_> {
    /// Returns the image and its release.
    fn read(&self, supplies: &Supplies<'_>) -> Result<(Vec<u8>, String), KernelError> {
        let image = preemptlab_files::read(self.image, FILE_BYTES_MAX)
            .map_err(|error| KernelError::Own { path: self.image.to_owned(), error })?;
        let release = (arch::of(supplies.arch).release_of)(&image)
            .map_err(|error| KernelError::Image { path: self.image.to_owned(), error })?;
        Ok((image, release))
    }
}

impl KernelSource for OwnFile<'_> {
    /// Returns the kernel in the file. The store keeps a copy, so that the booted kernel is the
    /// hashed one.
    fn resolve(&self, supplies: &Supplies<'_>) -> Result<ProvisionedKernel, KernelError> {
        let (store, _lock) = (&supplies.store, supplies.lock()?);
        let (image, release) = self.read(supplies)?;
        let image_sha256 = keep_image(store, &image)?;

        let folder = self.image.parent().unwrap_or(Path::new("."));
        let mut config = None;
        for name in [format!("config-{release}"), "config".to_owned(), ".config".to_owned()] {
            let path = folder.join(name);
            if path.is_file() {
                config = read_config(&path)?;
                break;
            }
        }
        let kernel = Kernel::new(
            KernelRef::File {
                image: self.image.to_owned(),
                modules: self.modules.map(Path::to_owned),
            },
            release,
            image_sha256,
            Vec::new(),
            config.as_ref(),
        );
        let (modules, headers) = match self.modules {
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

    fn pin(&self, supplies: &Supplies<'_>, _: &Kernel) -> Result<ProvisionedKernel, KernelError> {
        self.resolve(supplies)
    }

    fn check(&self, supplies: &Supplies<'_>) -> Result<(), KernelError> {
        self.read(supplies).map(drop)
    }

    fn is_own(&self) -> bool {
        true
    }

    fn modules(&self) -> Option<&Path> {
        self.modules
    }

    fn headers(&self) -> Option<PathBuf> {
        self.modules.map(|folder| folder.join("build"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use preemptlab_model::{Arch, Digest};

    use super::*;
    use crate::{Options, Store};

    /// Returns the start of a bzImage with this release (Documentation/arch/x86/boot.rst).
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
        let supplies = Supplies::new(store, Arch::default(), Options::default(), &|_| ());
        let file = |path: &Path| OwnFile { image: path, modules: None }.resolve(&supplies);
        let path = folder.path().join("bzImage");
        fs::write(&path, image("6.12.1-mine")).unwrap();

        let bare = file(&path).unwrap();
        assert_eq!(bare.kernel.release, "6.12.1-mine");
        assert_eq!((bare.kernel.rt, bare.kernel.modes), (None, None));

        fs::write(folder.path().join("config-6.12.1-mine"), "CONFIG_PREEMPT_RT=y\nCONFIG_HZ=1000")
            .unwrap();
        let known = file(&path).unwrap();
        assert_eq!((known.kernel.rt, known.kernel.hz), (Some(true), Some(1000)));

        // The hashed image is booted, even if the copy or the file changes.
        fs::write(&known.image, b"spoilt").unwrap();
        file(&path).unwrap();
        fs::write(&path, image("6.12.2-mine")).unwrap();
        assert_eq!(Digest::of(&fs::read(&known.image).unwrap()), known.kernel.image_sha256);
        let other = file(&path).unwrap();
        assert_ne!(other.kernel.image_sha256, known.kernel.image_sha256);
    }

    #[test]
    fn what_is_no_kernel_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store")).unwrap();
        let supplies = Supplies::new(store, Arch::default(), Options::default(), &|_| ());
        let file = |path: &Path| OwnFile { image: path, modules: None }.resolve(&supplies);
        let path = folder.path().join("vmlinux");
        assert!(matches!(file(&path), Err(KernelError::Own { .. })));
        // The reader waits neither for a pipe without a writer nor for a device without an end.
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for endless in [pipe.as_path(), Path::new("/dev/zero"), folder.path()] {
            assert!(matches!(file(endless), Err(KernelError::Own { .. })));
        }
        fs::write(&path, b"\x7fELF").unwrap();
        assert!(matches!(file(&path), Err(KernelError::Image { .. })));
    }
}
