//! What depends on the processor: the program's start, how system calls are made, and port I/O.

#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "x86_64")]
pub use x86_64::{
    allow_ports, forbid_ports, read_port_bytes, syscall, write_port, write_port_bytes,
    write_port_word,
};
