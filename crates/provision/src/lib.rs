//! Packages, kernels, QEMU and the guest image, brought into a content-addressed [`Store`] by an
//! ordinary user; nothing is installed on the system.
//!
//! Three floors lie on each other. [`store`] keeps the downloaded and built files, and knows nothing of
//! where they came from. [`distribution`] finds packages and brings them here: apt chooses them, which a
//! private configuration keeps away from the machine's own packages. It also fetches and checks them where the
//! machine has one; else this crate does, and runs the apt of Debian 13. [`kernel`] makes of a kernel's name one that can be booted, with its
//! modules. The guest image, its programs and QEMU use the first two.

pub mod arch;
pub mod capsule;
mod distribution;
mod error;
mod event;
mod guest;
#[doc(hidden)]
pub mod hostile;
mod image;
mod kernel;
mod options;
mod package;
mod platform;
mod process;
mod programs;
mod provision;
mod qemu;
mod store;
mod supplies;
mod tree;

pub use distribution::{
    AptError, ArchiveError, Build, DebError, Index, IndexError, Keys, LeftOut, Mirror, MirrorError,
    Named, Other, Proxies, Release, SignatureError, Signed, Trouble, has_apt, needs, signed_text,
};
pub use error::PackageError;
pub use event::Event;
pub use guest::{CELL, REPEAT, guest_sha256, micro};
pub use image::{GuestImage, ImageError, Own, build_image};
pub use kernel::{
    Git, KbuildError, KernelError, KmodError, Module, ModuleError, Offer, ProvisionedKernel,
    Repository, StopReason, Stranger, TreeError, Who, alternates,
};
pub use options::{FedoraRepositories, Options, UbuntuArchive};
pub use package::PackageFault;
pub use programs::ProgramError;
pub use provision::{Provision, check_owner};
pub use qemu::{Qemu, QemuError};
pub use store::{NodeStore, Store, StoreError, StoreLock, seed};
