//! `debian:VERSION`: kernels of Debian's packages.

use std::fs;

use preemptlab_model::{Digest, Flavour, Kernel, KernelRef};

use super::kernel::{KernelError, KernelSource, ProvisionedKernel, keep_image, read_config, write};
use crate::{
    AptError, Event, PackageError, Store,
    apt::{Apt, Candidate},
    deb::{self, Content},
    hash::sha256,
    kmod::Headers,
    modules::ModuleSource,
    names::{self, Build, Layout},
    supplies::Supplies,
};

/// Files of a kernel's packages that the store keeps.
const KERNEL_FILES: [&str; 3] = ["vmlinuz", "config", "modules.builtin"];

/// A series or a version of Debian's.
pub(super) struct Debian<'a> {
    pub(super) version: &'a str,
    pub(super) flavour: Flavour,
}

impl KernelSource for Debian<'_> {
    fn resolve(&self, supplies: &Supplies<'_>) -> Result<ProvisionedKernel, KernelError> {
        supplies.ask(|apt, _| {
            debian(apt, &supplies.store, self.version, self.flavour, supplies.on_event)
        })
    }

    fn pin(
        &self,
        supplies: &Supplies<'_>,
        recorded: &Kernel,
    ) -> Result<ProvisionedKernel, KernelError> {
        match format!("debian:{}", recorded.release).parse() {
            Ok(KernelRef::Packaged { version, flavour, .. }) => {
                Debian { version: &version, flavour }.resolve(supplies)
            }
            _ => Err(KernelError::NotAgain("its release is no version")),
        }
    }
}

/// Returns every build on offer, the oldest first.
pub(crate) fn builds(apt: &Apt<'_>) -> Result<Vec<Build>, AptError> {
    let names = apt.names("linux-")?;
    Ok(names::builds(names.iter().map(|name| name.as_str())))
}

/// Returns every build of a flavour from one version or series to another.
pub(crate) fn between(
    apt: &Apt<'_>,
    [first, last]: [(&str, Flavour); 2],
) -> Result<Vec<Build>, KernelError> {
    let builds = builds(apt)?;
    let find = |(version, flavour)| find(apt, &builds, version, flavour);
    Ok(names::between(&builds, find(first)?, find(last)?))
}

/// Finds the build that a version or a series means.
fn find<'a>(
    apt: &Apt<'_>,
    builds: &'a [Build],
    version: &str,
    flavour: Flavour,
) -> Result<&'a Build, KernelError> {
    names::resolve(builds, version, flavour).ok_or_else(|| {
        let name = names::named(version, flavour);
        let near = || names::nearest(builds, version, flavour);
        let nearest = names::misspelt(builds, &name).map_or_else(near, |name| vec![name]);
        KernelError::Unknown { name, nearest, left_out: apt.left_out().to_vec() }
    })
}

/// Returns a kernel of Debian.
fn debian(
    apt: &Apt<'_>,
    store: &Store,
    version: &str,
    flavour: Flavour,
    on_event: &dyn Fn(Event),
) -> Result<ProvisionedKernel, KernelError> {
    let name = names::named(version, flavour);
    let builds = builds(apt)?;
    let build = find(apt, &builds, version, flavour)?;
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
    /// Package with the configuration, where the image's package lacks it.
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

/// Returns the hash of the image in a build's packages, which are unpacked if that was not done
/// before.
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

/// Returns whether a path in a package is that of a kernel's file, which has moved over the
/// releases: `boot/vmlinuz-RELEASE`, `lib/modules/RELEASE/vmlinuz`,
/// `usr/lib/modules/RELEASE/vmlinuz`.
fn is_file(path: &str, name: &str, release: &str) -> bool {
    let path = path.strip_prefix("usr/").unwrap_or(path);
    [format!("boot/{name}-{release}"), format!("lib/modules/{release}/{name}")]
        .iter()
        .any(|place| place == path)
}

/// Returns the hash of the image in a package that was unpacked before, if the image is still
/// sound.
pub(super) fn image_in(store: &Store, package: &Candidate) -> Option<Digest> {
    let link = store.kernel_of_package(package.package.sha256);
    let digest = fs::read_to_string(link).ok()?.parse().ok()?;
    sha256(&store.kernel(digest).join("vmlinuz"))
        .is_ok_and(|found| found == digest)
        .then_some(digest)
}
