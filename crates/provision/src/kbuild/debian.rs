//! Debian's configurations, and the packages of the compiler that they name.

use std::io::Read;

use liblzma::read::XzDecoder;
use preemptlab_model::Flavour;

use crate::{
    AptError, KernelError, PackageError,
    apt::{Apt, Candidate},
    deb::{self, Content},
    platform::GUEST,
};

/// The package with a source's configurations, before the series.
pub(crate) const CONFIG: &str = "linux-config-";

/// Packages that the build uses, besides the compiler.
const BUILT_WITH: [&str; 10] = [
    "bc",
    "bison",
    "flex",
    "libc6-dev",
    "libelf-dev",
    "libssl-dev",
    "make",
    "pahole",
    "xz-utils",
    "zstd",
];

/// The largest configuration that is read, in bytes.
const CONFIG_BYTES_MAX: u64 = 16 << 20;

/// Resolves the packages of a compiler, with everything else that a kernel is built with.
pub(crate) fn toolchain(apt: &Apt<'_>, compiler: &str) -> Result<Vec<Candidate>, AptError> {
    let binutils = format!("binutils-{}", GUEST.package_suffix());
    let other = [binutils.as_str(), compiler];
    let names: Vec<_> = BUILT_WITH.into_iter().chain(other).collect();
    apt.closure(&names, &[])
}

/// Returns Debian's configuration of a flavour.
pub(crate) fn debian_config(
    apt: &Apt<'_>,
    package: &Candidate,
    flavour: Flavour,
) -> Result<String, KernelError> {
    // With 7.0 the flavour moved behind the former set of features.
    let arch = GUEST.debian;
    let files = match flavour {
        Flavour::Generic => vec![format!("config.{arch}_none_{arch}.xz")],
        Flavour::Rt => {
            vec![format!("config.{arch}_rt_{arch}.xz"), format!("config.{arch}_none_rt-{arch}.xz")]
        }
        Flavour::Cloud => vec![format!("config.{arch}_none_cloud-{arch}.xz")],
    };
    let deb = apt.fetch(std::slice::from_ref(package))?.remove(0);
    let is_it = |path: &str| {
        path.rsplit('/').next().is_some_and(|name| files.iter().any(|file| file == name))
    };
    let missing = || PackageError::Lacks {
        package: package.package.name.to_string(),
        what: format!("readable {}", files[0]),
    };
    let mut entries = deb::read(&deb, is_it)?;
    let Some(Content::File(packed)) = entries.pop().map(|entry| entry.content) else {
        return Err(missing().into());
    };
    let mut text = String::new();
    XzDecoder::new(packed.as_slice())
        .take(CONFIG_BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(|_| missing())?;
    Ok(text)
}
