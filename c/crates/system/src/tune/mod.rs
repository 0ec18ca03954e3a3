//! The measures that configure a machine like a cell: the package of the kernel, the kernel
//! parameters and the settings at run time; the check whether a kernel would take them; and the
//! files of boot loaders, tuned and systemd.
//!
//! Nothing here does I/O: files are values with their content, commands are values too.

mod acts_on;
mod check;
pub mod cmdline;
mod command;
pub mod entry;
mod facts;
mod feature;
mod foreseen;
mod gone;
pub mod grub;
mod known;
mod measures;
mod misplaced;
mod mode_note;
mod parameter;
mod refusal;
mod script;
mod settings;
mod sysctl;
mod systemd_boot;
mod target;
mod tuned;
pub mod unit;

pub use acts_on::{ActsOn, Board};
pub use check::{Findings, check};
pub use command::Command;
pub use facts::{Elsewhere, KernelFacts};
pub use foreseen::{Guest, foreseen};
pub use known::acts_on;
pub use measures::{Measures, Step};
pub use refusal::Refusal;
pub use settings::{KernelPackage, Proposal, Settings, Wanted};
pub use target::{Target, emit};
