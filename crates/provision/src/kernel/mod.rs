//! Kernels by name, and the modules of each. Each source of kernels is a file of its own.

mod archived;
mod file;
mod host;
pub(crate) mod kbuild;
pub(crate) mod kmod;
pub(crate) mod ktree;
pub(crate) mod modules;
mod offers;
mod package;
mod packaged;
mod provisioned;
mod source;
pub(crate) mod toolchain;
mod tree;

use preemptlab_model::KernelRef;

use crate::Other;

#[cfg(test)]
pub(crate) use self::provisioned::keep_image;
use self::{
    archived::Archived, file::OwnFile, host::OfHost, package::OfPackages, packaged::Packaged,
    provisioned::KernelSource, source::FromSource, tree::OwnTree,
};
pub(crate) use self::{
    archived::offered as offered_by,
    offers::offered,
    packaged::{between, is_offered},
};
pub use self::{
    kbuild::KbuildError,
    kmod::KmodError,
    ktree::{Git, Repository, StopReason, Stranger, TreeError, Who, alternates},
    modules::{Module, ModuleError},
    offers::Offer,
    provisioned::{KernelError, ProvisionedKernel},
};

/// Returns the source of the kernel that a name means.
pub(crate) fn source(name: &KernelRef) -> Box<dyn KernelSource + '_> {
    match name {
        KernelRef::Packaged { distribution, version, flavour } => {
            let packaged = Packaged { distribution: *distribution, version, flavour: *flavour };
            match Other::of(*distribution) {
                Some(of) => Box::new(Archived { packaged, of }),
                None => Box::new(packaged),
            }
        }
        KernelRef::Source { version, configured } => {
            Box::new(FromSource { name, version, configured })
        }
        KernelRef::File { image, modules } => {
            Box::new(OwnFile { image, modules: modules.as_deref() })
        }
        KernelRef::Package { files } => Box::new(OfPackages { name, files }),
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
