//! What the guest's programs have instead of a C library: their start, their heap, and the system
//! calls that rustix does not offer. What depends on the processor is in `arch`.
#![no_std]
#![allow(clippy::missing_errors_doc, reason = "each returns the kernel's number, of its man page")]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod arch;
pub mod clock;
pub mod file;
pub mod kernel;
#[cfg(feature = "start")]
mod start;
