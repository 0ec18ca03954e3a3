//! Kernels that are installed on the machine.

use std::{fs, path::Path};

use preemptlab_model::{Digest, Kernel, KernelRef, ModeFile};

use crate::host::{files::mode_file, kernel};

/// The machine has no kernel of this release.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the kernel {release} does not run here and /boot has none of that release; `uname -r` tells \
     which runs, `ls /boot` which are installed"
)]
pub struct NotInstalled {
    /// Release of the kernel.
    pub release: String,
}

/// Returns the release of the running kernel, `uname -r`.
pub fn release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// Finds the kernel of a release, under `root` (`/` for the machine itself). Its image in /boot
/// identifies it; where the image cannot be read, the build id identifies the running kernel.
///
/// # Errors
///
/// [`NotInstalled`] when there is neither an image nor a running kernel of this release.
pub fn installed(root: &Path, release: &str) -> Result<Kernel, NotInstalled> {
    let image = fs::read(root.join("boot").join(format!("vmlinuz-{release}"))).ok();
    let is_running = crate::host::release() == release;
    let image_sha256 = match image {
        Some(image) => Digest::of(&image),
        None if is_running => build(root),
        None => return Err(NotInstalled { release: release.to_owned() }),
    };
    let config = kernel::kernel_config(root, release).map(|(_, config)| config);
    let file = mode_file(root);
    let offered = || {
        let modes = ModeFile::parse(&file.filter(|_| is_running)?).offered;
        (!modes.is_empty()).then_some(modes)
    };
    let name = KernelRef::Host { release: Some(release.to_owned()) };
    let kernel = Kernel::new(name, release.to_owned(), image_sha256, Vec::new(), config.as_ref());
    Ok(Kernel { modes: kernel.modes.or_else(offered), ..kernel })
}

/// Computes a digest that distinguishes the running kernel from others of its release: of the
/// linker's notes, which hold the build id, and of the version, which holds the build date.
fn build(root: &Path) -> Digest {
    let mut bytes = fs::read(root.join("sys/kernel/notes")).unwrap_or_default();
    bytes.extend_from_slice(rustix::system::uname().version().to_bytes());
    Digest::of(&bytes)
}

#[cfg(test)]
mod tests {
    use preemptlab_model::PreemptMode;

    use super::*;

    #[test]
    fn a_kernel_in_boot_need_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let boot = folder.path().join("boot");
        fs::create_dir(&boot).unwrap();
        fs::write(boot.join("vmlinuz-9.1.0-test"), "image").unwrap();
        fs::write(boot.join("config-9.1.0-test"), "CONFIG_PREEMPT_NONE=y\nCONFIG_HZ=250\n")
            .unwrap();
        let kernel = installed(folder.path(), "9.1.0-test").unwrap();
        assert_eq!(kernel.image_sha256, Digest::of(b"image"));
        assert_eq!((kernel.modes, kernel.hz), (Some(vec![PreemptMode::None]), Some(250)));
        assert!(installed(folder.path(), "9.2.0-test").is_err());
    }

    #[test]
    fn the_running_kernel_needs_no_image() {
        let folder = tempfile::tempdir().unwrap();
        let kernel = installed(folder.path(), &release()).unwrap();
        assert_eq!((kernel.modes, kernel.rt), (None, None));
        assert_eq!(kernel.name.to_string(), format!("host:{}", release()));
    }
}
