//! What puts a configuration into force on a machine: the package of its kernel, its kernel
//! parameters and what is set at run time; whether a kernel would take them; and how boot loaders,
//! tuned and systemd are told of them.
//!
//! Nothing here does I/O: files are values with their content, commands are values too.

mod check;
mod command;
mod cpus;
pub mod entry;
mod facts;
mod feature;
pub mod grub;
mod parameter;
mod script;
mod settings;
mod sysctl;
mod systemd_boot;
mod target;
mod tuned;
pub mod unit;

pub use check::{Findings, Refusal, check};
pub use command::Command;
pub use cpus::{CpuList, CpuListError, Cpus, IsolatedCpus};
pub use facts::{Elsewhere, KernelFacts};
pub use settings::{KernelPackage, Proposal, Settings, Wanted};
pub use target::{Measures, Step, Target, emit};
