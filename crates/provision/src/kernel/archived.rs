//! `ubuntu:VERSION`, `fedora:VERSION`: kernels of other distributions than Debian, from their archives.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use preemptlab_model::{Kernel, KernelConfig, Package};

use super::{
    kmod::Headers,
    offers::Offer,
    package::{Named, Unpacked},
    packaged::Packaged,
    provisioned::{
        FILE_BYTES_MAX, KernelError, KernelSource, ProvisionedKernel, read_config, write,
    },
};
use crate::{
    Other, PackageError, Store, StoreLock,
    distribution::{
        self, Kernels,
        archive::{Archive, listed::Listed},
    },
    package::{self, Kind, OWN_BOUNDS},
    supplies::Supplies,
};

/// A series or a version of another distribution's.
pub(super) struct Archived<'a> {
    pub(super) packaged: Packaged<'a>,
    pub(super) of: Other,
}

impl KernelSource for Archived<'_> {
    fn resolve(&self, supplies: &Supplies<'_>) -> Result<ProvisionedKernel, KernelError> {
        let lock = supplies.lock()?;
        let archive = supplies.archive(self.of, &lock)?;
        let builds = archive.builds()?;
        let build = self.packaged.find(archive, &builds)?;
        let found = archive.found().iter().find(|found| found.build == *build);
        let wanted: Vec<&Listed> = found.iter().flat_map(|found| &found.packages).collect();
        let files: Vec<PathBuf> = wanted.iter().map(|listed| listed.file().into()).collect();
        let paths = archive.bring(&wanted, &supplies.store, supplies.on_event)?;
        self.kernel(supplies, &lock, &files, &paths)
    }

    /// Returns the kernel in exactly the recorded packages: unpacked before, in the store, or on the mirror.
    fn pin(
        &self,
        supplies: &Supplies<'_>,
        recorded: &Kernel,
    ) -> Result<ProvisionedKernel, KernelError> {
        let lock = supplies.lock()?;
        let hashes: Vec<_> = recorded.packages.iter().map(|package| package.sha256).collect();
        if Unpacked::is_kept(&supplies.store, &hashes) {
            return self.unpacked(supplies, Unpacked::of(supplies, &lock, &hashes, &[])?);
        }
        let paths = self.again(supplies, &lock, recorded)?;
        let files = recorded.packages.iter();
        let files: Vec<PathBuf> = files.map(|package| package.name.to_string().into()).collect();
        self.kernel(supplies, &lock, &files, &paths)
    }

    fn check(&self, supplies: &Supplies<'_>) -> Result<(), KernelError> {
        Ok(Archive::check(self.of, supplies.guest(), &supplies.options)?)
    }

    fn archived(
        &self,
        supplies: &Supplies<'_>,
        recorded: &Kernel,
    ) -> Result<Vec<(Package, PathBuf)>, KernelError> {
        let lock = supplies.lock()?;
        let paths = self.again(supplies, &lock, recorded)?;
        Ok(recorded.packages.iter().cloned().zip(paths).collect())
    }
}

impl Archived<'_> {
    /// Brings recorded packages into the store. The mirror is asked for those alone that the store lacks.
    fn again(
        &self,
        supplies: &Supplies<'_>,
        lock: &StoreLock,
        recorded: &Kernel,
    ) -> Result<Vec<PathBuf>, PackageError> {
        let store = &supplies.store;
        let mut paths = Vec::new();
        for package in &recorded.packages {
            if !store.has_package(package.sha256)? {
                let archive = supplies.archive(self.of, lock)?;
                archive.bring(&[archive.exact(package)?], store, supplies.on_event)?;
            }
            paths.push(store.package(package.sha256));
        }
        Ok(paths)
    }

    /// Returns the kernel in packages that are in the store, and that messages call `files`.
    fn kernel(
        &self,
        supplies: &Supplies<'_>,
        lock: &StoreLock,
        files: &[PathBuf],
        paths: &[PathBuf],
    ) -> Result<ProvisionedKernel, KernelError> {
        let packages = paths.iter().zip(files).map(|(path, file)| Named::at(path, file));
        let packages = packages.collect::<Result<Vec<_>, _>>()?;
        let hashes: Vec<_> = packages.iter().map(|package| package.sha256).collect();
        self.unpacked(supplies, Unpacked::of(supplies, lock, &hashes, &packages)?)
    }

    fn unpacked(
        &self,
        supplies: &Supplies<'_>,
        unpacked: Unpacked,
    ) -> Result<ProvisionedKernel, KernelError> {
        let title = self.of.distribution().title();
        let place = format!("the kernel {} of {title}", unpacked.about.release);
        let modules = unpacked.modules(place, String::new());
        let reason = format!(
            "no headers of {title}'s kernels are brought here; `debian:` and `source:` kernels have some"
        );
        let headers = Headers::None(reason);
        unpacked.kernel(&supplies.store, self.packaged.name(), modules, headers)
    }
}

/// Returns the newest build of each series and flavour with its configuration.
pub(crate) fn offered(supplies: &Supplies<'_>, of: Other) -> Result<Vec<Offer>, KernelError> {
    let lock = supplies.lock()?;
    let archive = supplies.archive(of, &lock)?;
    let builds = distribution::newest(&archive.builds()?);
    let offers = builds.into_iter().map(|build| {
        let found = archive.found().iter().find(|found| found.build == build);
        let config = match found.and_then(|found| found.config.as_ref()) {
            Some(listed) => config_in(supplies, archive, listed).map_err(|error| error.to_string()),
            None => Err("the mirror has no small package with its configuration".to_owned()),
        };
        Offer { build, config }
    });
    Ok(offers.collect())
}

/// Returns the configuration in a package, which the store keeps.
fn config_in(
    supplies: &Supplies<'_>,
    archive: &Archive,
    listed: &Listed,
) -> Result<KernelConfig, KernelError> {
    let store: &Store = &supplies.store;
    let path = store.config_of_package(listed.package.sha256);
    if let Some(config) = read_config(&path)? {
        return Ok(config);
    }
    let file = archive.bring(&[listed], store, supplies.on_event)?.remove(0);
    let shown = Path::new(listed.file());
    let fault = |fault| KernelError::Package { path: shown.to_owned(), fault };
    let opened = package::open(
        preemptlab_files::open(&file)
            .map_err(|error| KernelError::Own { path: shown.to_owned(), error })?,
    );
    let mut text = Vec::new();
    let taken = opened.map_err(fault)?.each(OWN_BOUNDS, |item, content| {
        let path = item.path.strip_prefix("usr/").unwrap_or(item.path);
        let is_config = path.starts_with("src/linux-headers-") && path.ends_with("/.config")
            || path.starts_with("lib/modules/") && path.ends_with("/config");
        if is_config && item.kind == Kind::File && item.bytes <= FILE_BYTES_MAX {
            text.clear();
            content.take(FILE_BYTES_MAX).read_to_end(&mut text).map_err(package::damaged)?;
        }
        Ok(())
    });
    taken.map_err(fault)?;
    if text.is_empty() {
        let (package, what) = (listed.package.name.to_string(), "configuration".to_owned());
        return Err(PackageError::Lacks { package, what }.into());
    }
    write(&path, &text)?;
    Ok(KernelConfig::parse(&String::from_utf8_lossy(&text)))
}

#[cfg(test)]
mod tests;
