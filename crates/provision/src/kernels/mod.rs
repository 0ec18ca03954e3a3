//! Kernels by name. Each source of kernels is a file of its own.

mod debian;
mod file;
mod host;
mod kernel;
mod offers;
mod source;
mod tree;

use preemptlab_model::{Distro, KernelRef};

#[cfg(test)]
pub(crate) use self::kernel::keep_image;
use self::{debian::Debian, file::OwnFile, host::OfHost, source::FromSource, tree::OwnTree};
pub(crate) use self::{
    debian::{between, builds},
    kernel::KernelSource,
    offers::offered,
};
pub use self::{
    kernel::{KernelError, ProvisionedKernel},
    offers::Offer,
};

/// Returns the source of the kernel that a name means.
pub(crate) fn source(name: &KernelRef) -> Box<dyn KernelSource + '_> {
    match name {
        KernelRef::Packaged { distribution: Distro::Debian, version, flavour } => {
            Box::new(Debian { version, flavour: *flavour })
        }
        KernelRef::Source { version, configured } => {
            Box::new(FromSource { name, version, configured })
        }
        KernelRef::File { image, modules } => {
            Box::new(OwnFile { image, modules: modules.as_deref() })
        }
        KernelRef::Tree { path, configured, clean, nodiff } => {
            let (clean, nodiff) = (*clean, *nodiff);
            Box::new(OwnTree { name, path, revision: None, configured, clean, nodiff })
        }
        KernelRef::Git { path, revision, configured } => {
            let revision = Some(revision.as_str());
            Box::new(OwnTree { name, path, revision, configured, clean: false, nodiff: false })
        }
        KernelRef::Host { .. } => Box::new(OfHost(name)),
    }
}
