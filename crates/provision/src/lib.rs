//! Packages, kernels, QEMU and the guest image, brought into a content-addressed [`Store`] by an
//! ordinary user; nothing is installed on the system.
//!
//! Everything comes through apt, which a private configuration keeps away from the machine's own
//! packages, and whose signature checks are the only ones.

mod apt;
mod deb;
mod error;
mod event;
mod guest;
mod hash;
#[doc(hidden)]
pub mod hostile;
mod image;
mod kbuild;
mod kept;
mod kernels;
mod kmod;
mod ktree;
mod mirror;
mod modules;
mod names;
mod node_store;
mod options;
mod platform;
mod process;
mod programs;
mod provision;
mod qemu;
pub mod seed;
mod seen;
mod store;
mod supplies;
mod toolchain;
mod tree;
mod whole;

pub use apt::{AptError, LeftOut, Trouble};
pub use deb::DebError;
pub use error::PackageError;
pub use event::Event;
pub use guest::{CELL, MICRO, REPEAT, guest_sha256};
pub use image::{GuestImage, ImageError, Own, build_image};
pub use kbuild::KbuildError;
pub use kernels::{KernelError, Offer, ProvisionedKernel};
pub use kmod::KmodError;
pub use ktree::{Git, Repository, StopReason, Stranger, TreeError, Who, alternates};
pub use mirror::{Mirror, MirrorError};
pub use modules::{Module, ModuleError};
pub use names::{Build, Layout};
pub use node_store::NodeStore;
pub use options::Options;
pub use programs::ProgramError;
pub use provision::{Provision, check_owner};
pub use qemu::{Qemu, QemuError};
pub use store::{Store, StoreError, StoreLock};
