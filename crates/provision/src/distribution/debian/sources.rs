//! Debian's sources of kernels, its configurations, and the packages of the compiler that they name.

use std::io::Read;

use liblzma::read::XzDecoder;
use preemptlab_model::{Flavour, Package, kernel_order, series};

use crate::{
    AptError, PackageError,
    distribution::{
        Candidate, Distribution, Packages,
        deb::{self, Content},
    },
    platform::HOST,
};

/// The package with the source, before the series.
const SOURCE: &str = "linux-source-";

/// The package with a source's configurations, before the series.
const CONFIG: &str = "linux-config-";

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

/// Returns the names of the packages with the source of a version and with its configurations.
pub(crate) fn names(version: &str) -> [String; 2] {
    [SOURCE, CONFIG].map(|prefix| format!("{prefix}{}", series(version)))
}

/// Finds the package with the source of a version, or of the newest of a series; else returns the
/// versions on offer that are next to it.
pub(crate) fn source(
    debian: &dyn Distribution,
    version: &str,
) -> Result<Result<Candidate, Vec<String>>, AptError> {
    let [package, _] = names(version);
    if let Some(newest) = debian.find(&[&package])?.remove(0).filter(|_| version == series(version))
    {
        return Ok(Ok(newest));
    }
    let versions = debian.versions(&package)?;
    if let Some(found) = versions.iter().find(|found| upstream(&found.package.version) == version) {
        return Ok(Ok(found.clone()));
    }
    let mut nearest: Vec<_> =
        versions.iter().map(|found| upstream(&found.package.version).to_owned()).collect();
    if nearest.is_empty() {
        let packages = debian.names(SOURCE)?;
        nearest =
            packages.iter().filter_map(|name| Some(name.strip_prefix(SOURCE)?.into())).collect();
    }
    nearest.sort_by(|a, b| kernel_order(a, b));
    nearest.dedup();
    Ok(Err(nearest))
}

/// Finds the package with the configurations of a source.
pub(crate) fn configurations(
    debian: &dyn Distribution,
    version: &str,
    source: &Candidate,
) -> Result<Candidate, AptError> {
    let [_, name] = names(version);
    Ok(debian.show(&[&format!("{name}={}", source.package.version)])?.remove(0))
}

/// Finds the package with configurations for the series of a version, or else for the newest series
/// before it, or else for the oldest.
pub(crate) fn configurations_near(
    debian: &dyn Distribution,
    version: &str,
) -> Result<Candidate, AptError> {
    let names = debian.names(CONFIG)?;
    let mut offered: Vec<&str> =
        names.iter().filter_map(|name| name.strip_prefix(CONFIG)).collect();
    offered.retain(|series| series.starts_with(|char: char| char.is_ascii_digit()));
    offered.sort_by(|a, b| kernel_order(a, b));
    let wanted = series(version);
    let place = offered.partition_point(|series| kernel_order(series, wanted).is_le());
    let series = offered.get(place.saturating_sub(1)).ok_or_else(|| debian.unknown(CONFIG))?;
    Ok(debian.show(&[&format!("{CONFIG}{series}")])?.remove(0))
}

/// Finds the packages that a recording names: that with configurations, which is the guests', and the others, which are
/// this machine's.
pub(crate) fn exactly(
    Packages { here, guest }: Packages<'_>,
    recorded: &[Package],
) -> Result<(Candidate, Vec<Candidate>), AptError> {
    let (config, others): (Vec<_>, Vec<_>) = recorded.iter().cloned().partition(is_configurations);
    let [config] = &config[..] else { return Err(guest.unknown(CONFIG)) };
    let others = if others.is_empty() { Vec::new() } else { here.exact(&others)? };
    Ok((guest.exact(std::slice::from_ref(config))?.remove(0), others))
}

/// Returns whether a package holds configurations.
pub(crate) fn is_configurations(package: &Package) -> bool {
    package.name.starts_with(CONFIG)
}

/// Returns the version of the kernel in that of a package: `6.12.117` of `6.12.117-1~deb12u1`.
pub(crate) fn upstream(version: &str) -> &str {
    version.rsplit_once('-').map_or(version, |(upstream, _)| upstream)
}

/// Resolves the packages of a compiler, with everything else that a kernel is built with.
pub(crate) fn compiler(
    debian: &dyn Distribution,
    compiler: &str,
) -> Result<Vec<Candidate>, AptError> {
    let suffix = debian.guest().package_suffix();
    let (binutils, cross) = (format!("binutils-{suffix}"), format!("{compiler}-{suffix}"));
    let other = [binutils.as_str(), compiler];
    // The compiler of this machine makes the programs that run during the build.
    let cross = (debian.guest() != HOST).then_some(cross.as_str());
    let names: Vec<_> = BUILT_WITH.into_iter().chain(other).chain(cross).collect();
    debian.closure(&names, &[])
}

/// Reads the configuration of a flavour.
pub(crate) fn configuration(
    debian: &dyn Distribution,
    package: &Candidate,
    flavour: Flavour,
) -> Result<String, PackageError> {
    // With 7.0 the flavour moved behind the former set of features.
    let arch = debian.guest().debian;
    let files = match flavour {
        Flavour::Generic => vec![format!("config.{arch}_none_{arch}.xz")],
        Flavour::Rt => {
            vec![format!("config.{arch}_rt_{arch}.xz"), format!("config.{arch}_none_rt-{arch}.xz")]
        }
        Flavour::Cloud | Flavour::Lowlatency => {
            let flavour = flavour.suffix().trim_start_matches('-');
            vec![format!("config.{arch}_none_{flavour}-{arch}.xz")]
        }
    };
    let deb = debian.fetch(std::slice::from_ref(package))?.remove(0);
    let is_it = |path: &str| {
        path.rsplit('/').next().is_some_and(|name| files.iter().any(|file| file == name))
    };
    let missing = || PackageError::Lacks {
        package: package.package.name.to_string(),
        what: format!("readable {}", files[0]),
    };
    let mut entries = deb::read(&deb, is_it)?;
    let Some(Content::File(packed)) = entries.pop().map(|entry| entry.content) else {
        return Err(missing());
    };
    let mut text = String::new();
    XzDecoder::new(packed.as_slice())
        .take(CONFIG_BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(|_| missing())?;
    Ok(text)
}
