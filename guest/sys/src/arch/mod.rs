//! The parts that depend on the processor: a program's start, system calls, and port I/O where there is such.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub use aarch64::syscall;

#[cfg(target_arch = "x86_64")]
pub use x86_64::{
    allow_ports, forbid_ports, read_port_bytes, syscall, write_port, write_port_bytes,
    write_port_word,
};
