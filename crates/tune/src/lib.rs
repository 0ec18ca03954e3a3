//! What puts a configuration into force on a machine: the package of its kernel, its kernel
//! parameters, and how GRUB, systemd-boot and tuned are told of both.
//!
//! Nothing here does I/O: files are values with their content, commands are values too.

mod command;
mod grub;
mod settings;
mod systemd_boot;
mod target;
mod tuned;

pub use command::Command;
pub use settings::{KernelPackage, Settings, UnsafeText};
pub use target::{Measures, Step, Target, emit};
