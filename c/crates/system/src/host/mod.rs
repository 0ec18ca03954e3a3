//! Observes the machine that preemptlab runs on, and its own kernel.
//!
//! Every fact comes from the kernel's files and not from `uname`, which gives lazy and full the
//! same name. A fact that cannot be read here is `None`, never a guess. Each function takes the
//! root folder (`/` for the machine itself), so tests observe machines that they made up.
//!
//! This module changes nothing.

mod conditions;
mod files;
mod installed;
mod kernel;
mod kvm;
mod load;
mod mode;
mod naming;
mod processor;
mod stdout;

pub use conditions::{Watch, boot_id};
pub use installed::{NotInstalled, installed, release};
pub use kernel::{HostKernel, kernel_config};
pub use kvm::{Kvm, kvm};
pub use load::{Load, load};
pub use mode::{Evidence, HostMode};
pub use naming::naming;
pub use processor::processor;
pub use stdout::stdout_was_closed;
