//! What the machine we run on and its own kernel really are: read from the kernel's files, not
//! from `uname`, which calls lazy and full alike.

mod conditions;
mod files;
mod installed;
mod kernel;
mod kvm;
mod mode;
mod naming;
mod stdout;

pub use conditions::{Watch, boot_id};
pub use installed::{NotInstalled, installed, release};
pub use kernel::{HostKernel, kernel_config};
pub use kvm::{Kvm, kvm};
pub use mode::{Evidence, HostMode};
pub use naming::naming;
pub use stdout::stdout_was_closed;
