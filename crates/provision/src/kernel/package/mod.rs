//! `package:FILE[,FILE...]`: kernels in packages that somebody downloaded; and how the packages of a kernel are
//! unpacked, whoever brought them.

mod named;
mod unpack;

use std::{io, path::PathBuf};

use preemptlab_model::{Digest, Kernel, KernelRef};

pub(super) use self::named::Named;
use self::{
    named::fault,
    unpack::{About, Unpacking},
};
use super::{
    kmod::Headers,
    modules::ModuleSource,
    provisioned::{
        KernelError, KernelSource, ProvisionedKernel, keep_image, read_bounded, read_config,
    },
};
use crate::{Event, PackageFault, Store, StoreLock, store::whole::is_whole, supplies::Supplies};

/// Counts up when the same packages are to unpack to something else.
const LAYOUT: u32 = 1;

/// A kernel's packages, one of which holds its image.
pub(super) struct OfPackages<'a> {
    pub(super) name: &'a KernelRef,
    pub(super) files: &'a [PathBuf],
}

impl KernelSource for OfPackages<'_> {
    /// Returns the kernel in the packages, which are unpacked into the store by their hashes.
    fn resolve(&self, supplies: &Supplies<'_>) -> Result<ProvisionedKernel, KernelError> {
        let lock = supplies.lock()?;
        let packages = self.files.iter().map(|path| Named::open(path));
        let packages = packages.collect::<Result<Vec<_>, _>>()?;
        let hashes: Vec<_> = packages.iter().map(|package| package.sha256).collect();
        self.kernel(supplies, &lock, &hashes, &packages)
    }

    /// Returns the kernel in exactly the recorded packages. One that is no longer under its name may
    /// still be unpacked in the store.
    fn pin(
        &self,
        supplies: &Supplies<'_>,
        recorded: &Kernel,
    ) -> Result<ProvisionedKernel, KernelError> {
        let lock = supplies.lock()?;
        let packages = self.recorded(recorded)?;
        let hashes: Vec<_> = recorded.packages.iter().map(|package| package.sha256).collect();
        let is_kept = Unpacked::is_kept(&supplies.store, &hashes);
        let there = packages.into_iter().filter(|package| match package {
            Err(KernelError::Own { error, .. }) => {
                !is_kept || error.kind() != io::ErrorKind::NotFound
            }
            _ => true,
        });
        let packages = there.collect::<Result<Vec<_>, _>>()?;
        self.kernel(supplies, &lock, &hashes, &packages)
    }

    fn check_recorded(&self, recorded: &Kernel) -> Result<(), KernelError> {
        for package in self.recorded(recorded)? {
            match package {
                Err(KernelError::Own { error, .. }) if error.kind() == io::ErrorKind::NotFound => {}
                package => drop(package?),
            }
        }
        Ok(())
    }

    fn check(&self, supplies: &Supplies<'_>) -> Result<(), KernelError> {
        self.resolve(supplies).map(drop)
    }

    fn is_own(&self) -> bool {
        true
    }

    fn packages(&self) -> &[PathBuf] {
        self.files
    }
}

impl<'a> OfPackages<'a> {
    /// Opens the packages of a recording, each of which may be missing. Another one under the name is an
    /// error.
    fn recorded(
        &self,
        recorded: &Kernel,
    ) -> Result<Vec<Result<Named<'a>, KernelError>>, KernelError> {
        if recorded.packages.len() != self.files.len() {
            return Err(KernelError::NotAgain(
                "the recording names other packages than its kernel",
            ));
        }
        let named = self.files.iter().zip(&recorded.packages).map(|(path, was)| {
            let package = Named::open(path)?;
            match package.sha256 == was.sha256 {
                true => Ok(package),
                false => {
                    let (was, is) = (was.sha256.short(), package.sha256.short());
                    Err(fault(path)(PackageFault::Other { was, is }))
                }
            }
        });
        Ok(named.collect())
    }

    /// Returns the kernel in packages of these hashes, which are unpacked if that was not done before.
    fn kernel(
        &self,
        supplies: &Supplies<'_>,
        lock: &StoreLock,
        hashes: &[Digest],
        packages: &[Named<'_>],
    ) -> Result<ProvisionedKernel, KernelError> {
        let unpacked = Unpacked::of(supplies, lock, hashes, packages)?;
        let further = unpacked.about.further();
        let modules = unpacked.modules(in_words(self.files), further);
        let headers = Headers::None("its packages hold no headers".to_owned());
        unpacked.kernel(&supplies.store, self.name.clone(), modules, headers)
    }
}

/// The kernel in packages, unpacked into the store.
pub(super) struct Unpacked {
    folder: PathBuf,
    hashes: Vec<Digest>,
    pub(super) about: About,
}

impl Unpacked {
    /// Returns whether packages of these hashes were unpacked before.
    pub(super) fn is_kept(store: &Store, hashes: &[Digest]) -> bool {
        is_whole(&folder(store, hashes))
    }

    /// Unpacks packages of these hashes, if that was not done before.
    pub(super) fn of(
        supplies: &Supplies<'_>,
        lock: &StoreLock,
        hashes: &[Digest],
        packages: &[Named<'_>],
    ) -> Result<Self, KernelError> {
        let folder = folder(&supplies.store, hashes);
        lock.fill(&folder, |draft| {
            let mut unpacking = Unpacking::new(draft, supplies.arch);
            for package in packages {
                let what = package.path.display().to_string();
                (supplies.on_event)(Event::Unpacking { what });
                unpacking.add(package)?;
            }
            unpacking.finish()
        })?;
        let about = About::read(&folder)?;
        Ok(Self { folder, hashes: hashes.to_vec(), about })
    }

    /// Returns its modules, with the place and the advice that messages name.
    pub(super) fn modules(&self, place: String, further: String) -> ModuleSource {
        match self.about.has_modules {
            true => ModuleSource::Unpacked {
                folder: self.folder.join("modules"),
                builtin: self.folder.join("modules.builtin"),
                place,
                further,
            },
            false => ModuleSource::None(format!("{place} came without modules{further}")),
        }
    }

    /// Returns the kernel under a name.
    pub(super) fn kernel(
        self,
        store: &Store,
        name: KernelRef,
        modules: ModuleSource,
        headers: Headers,
    ) -> Result<ProvisionedKernel, KernelError> {
        let Self { folder, hashes, about } = self;
        let image_sha256 = keep_image(store, &read_bounded(&folder.join("vmlinuz"))?)?;
        let config = read_config(&folder.join("config"))?;
        let used = hashes.iter().filter_map(|hash| about.package(*hash).cloned()).collect();
        let kernel = Kernel::new(name, about.release, image_sha256, used, config.as_ref());
        let image = store.kernel_image(image_sha256);
        Ok(ProvisionedKernel { kernel, image, config, modules, headers })
    }
}

/// Returns the folder of unpacked packages, whose order does not matter.
fn folder(store: &Store, hashes: &[Digest]) -> PathBuf {
    let mut hashes = hashes.to_vec();
    hashes.sort_unstable();
    store.unpacked(Digest::of_json(&(LAYOUT, hashes)))
}

/// Returns the kernel of packages, in words.
fn in_words(files: &[PathBuf]) -> String {
    let names: Vec<_> = files.iter().map(|file| format!("`{}`", file.display())).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => {
            format!("the kernel of {} and {last}", others.join(", "))
        }
        _ => format!("the kernel of {}", names.concat()),
    }
}

#[cfg(test)]
pub(super) mod tests;
