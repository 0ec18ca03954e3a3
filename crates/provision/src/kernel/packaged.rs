//! `debian:VERSION`: kernels of Debian's packages, and the builds that the names of all distributions mean.

use std::fs;

use preemptlab_model::{Digest, Distro, Flavour, Kernel, KernelRef};

use super::provisioned::{
    KernelError, KernelSource, ProvisionedKernel, keep_image, read_config, write,
};
use crate::{
    AptError, Event, PackageError, Store,
    distribution::{
        self, Build, BuildPackages, Candidate, Distribution, Kernels,
        deb::{self, Content},
    },
    kernel::{kmod::Headers, modules::ModuleSource},
    store::hash::sha256,
    supplies::Supplies,
};

/// Files of a kernel's packages that the store keeps.
const KERNEL_FILES: [&str; 3] = ["vmlinuz", "config", "modules.builtin"];

/// A series or a version of a distribution's.
#[derive(Clone, Copy)]
pub(super) struct Packaged<'a> {
    pub(super) distribution: Distro,
    pub(super) version: &'a str,
    pub(super) flavour: Flavour,
}

impl KernelSource for Packaged<'_> {
    fn resolve(&self, supplies: &Supplies<'_>) -> Result<ProvisionedKernel, KernelError> {
        supplies.ask(supplies.arch, |packages, _| {
            self.brought(packages, &supplies.store, supplies.on_event)
        })
    }

    fn pin(
        &self,
        supplies: &Supplies<'_>,
        recorded: &Kernel,
    ) -> Result<ProvisionedKernel, KernelError> {
        let name = format!("{}:{}", self.distribution.word(), recorded.release).parse();
        match name.as_ref().ok().and_then(Packaged::of) {
            Some(exact) => exact.resolve(supplies),
            None => Err(KernelError::NotAgain("its release is no version")),
        }
    }
}

/// Returns whether a kernel of a distribution's packages is on offer. Others are always taken for that.
pub(crate) fn is_offered(supplies: &Supplies<'_>, name: &KernelRef) -> Result<bool, KernelError> {
    let Some(Packaged { distribution, version, flavour }) = Packaged::of(name) else {
        return Ok(true);
    };
    supplies.kernels(distribution, |kernels| {
        Ok(distribution::resolve(&kernels.builds()?, version, flavour).is_some())
    })
}

/// Returns the names of every build of a flavour from one kernel to another; none where these are in no
/// packages.
pub(crate) fn between(
    supplies: &Supplies<'_>,
    ends: [&KernelRef; 2],
) -> Result<Vec<KernelRef>, KernelError> {
    let [Some(first), Some(last)] = ends.map(Packaged::of) else { return Ok(Vec::new()) };
    supplies.kernels(first.distribution, |kernels| {
        let builds = kernels.builds()?;
        let [first, last] = [first.find(kernels, &builds)?, last.find(kernels, &builds)?];
        Ok(distribution::between(&builds, first, last).iter().map(Build::exact_name).collect())
    })
}

impl<'a> Packaged<'a> {
    /// Returns the parts of a name; `None` where it is not a packaged kernel's.
    fn of(name: &'a KernelRef) -> Option<Self> {
        match name {
            KernelRef::Packaged { distribution, version, flavour } => {
                Some(Self { distribution: *distribution, version, flavour: *flavour })
            }
            _ => None,
        }
    }

    pub(super) fn name(self) -> KernelRef {
        let (distribution, version, flavour) =
            (self.distribution, self.version.to_owned(), self.flavour);
        KernelRef::Packaged { distribution, version, flavour }
    }

    /// Finds the build that a version or a series means.
    pub(super) fn find<'b>(
        self,
        kernels: &dyn Kernels,
        builds: &'b [Build],
    ) -> Result<&'b Build, KernelError> {
        let Self { version, flavour, .. } = self;
        distribution::resolve(builds, version, flavour).ok_or_else(|| {
            let name = self.name();
            let near = || distribution::nearest(builds, version, flavour);
            let nearest =
                distribution::misspelt(builds, &name).map_or_else(near, |name| vec![name]);
            KernelError::Unknown { name, nearest, left_out: kernels.left_out().to_vec() }
        })
    }

    /// Brings the kernel into the store.
    fn brought(
        self,
        distribution: &dyn Distribution,
        store: &Store,
        on_event: &dyn Fn(Event),
    ) -> Result<ProvisionedKernel, KernelError> {
        let builds = distribution.builds()?;
        let build = self.find(distribution, &builds)?;
        let names = distribution.packages_of(&[build])?.remove(0);
        let packages = Packages::find(distribution, &names)?;
        let image_sha256 = image_of(distribution, store, build, &packages, on_event)?;
        let folder = store.kernel(image_sha256);
        let config = read_config(&folder.join("config"))?;
        let kernel = Kernel::new(
            self.name(),
            build.release.clone(),
            image_sha256,
            packages.of_image().map(|candidate| candidate.package.clone()).collect(),
            config.as_ref(),
        );
        let modules = match packages.modules {
            Some(candidate) => {
                ModuleSource::Package { candidate, builtin: folder.join("modules.builtin") }
            }
            None => ModuleSource::None(format!("the mirror has no `{}`", names.modules)),
        };
        let headers = Headers::Package { name: names.headers, assumed: names.assumed };
        Ok(ProvisionedKernel { kernel, image: folder.join("vmlinuz"), config, modules, headers })
    }
}

/// The packages of a build. Mirrors drop those of older builds, but rarely the image.
struct Packages {
    image: Candidate,
    /// Package with the configuration, where the image's package lacks it.
    base: Option<Candidate>,
    modules: Option<Candidate>,
}

impl Packages {
    fn find(distribution: &dyn Distribution, names: &BuildPackages) -> Result<Self, AptError> {
        let mut found =
            distribution.find(&[&names.image, &names.config, &names.modules])?.into_iter();
        let mut next = || found.next().flatten();
        let (image, base, modules) = (next(), next(), next());
        let image = image.ok_or_else(|| distribution.unknown(&names.image))?;
        let base = base.filter(|_| names.is_config_apart);
        Ok(Self { image, base, modules })
    }

    fn of_image(&self) -> impl Iterator<Item = &Candidate> {
        [&self.image].into_iter().chain(&self.base)
    }
}

/// Returns the hash of the image in a build's packages, which are unpacked if that was not done
/// before.
fn image_of(
    distribution: &dyn Distribution,
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
    let release = &build.release;
    let mut entries = Vec::new();
    let wanted: Vec<_> = packages.of_image().cloned().collect();
    for deb in distribution.fetch(&wanted)? {
        on_event(Event::Unpacking { what: release.clone() });
        entries.extend(deb::read(&deb, |path| {
            KERNEL_FILES.iter().any(|f| is_file(path, f, release))
        })?);
    }
    let file = |name| {
        entries.iter().find_map(|entry| match &entry.content {
            Content::File(bytes) if is_file(&entry.path, name, release) => Some(bytes),
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
