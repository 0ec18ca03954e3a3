//! Writes a register of the guest, which the plugin interface cannot before version 5.

use std::ffi::{c_int, c_void};

use preemptlab_protocol::trace::Register;

use crate::clock::symbol;

type WriteRegister = unsafe extern "C" fn(*mut c_void, *mut u8, c_int) -> c_int;
type GetCpu = unsafe extern "C" fn(c_int) -> *mut c_void;

/// Writes registers by QEMU's own stub for GDB.
pub struct Writer {
    write: WriteRegister,
    cpu: GetCpu,
}

impl Writer {
    /// Finds the stub.
    ///
    /// # Errors
    ///
    /// When this QEMU does not export it.
    pub fn find() -> Result<Self, String> {
        // SAFETY: the symbols have these types.
        unsafe {
            Ok(Self {
                write: std::mem::transmute::<*mut c_void, WriteRegister>(symbol(
                    c"x86_cpu_gdb_write_register",
                )?),
                cpu: std::mem::transmute::<*mut c_void, GetCpu>(symbol(c"qemu_get_cpu")?),
            })
        }
    }

    /// Writes a register.
    ///
    /// # Safety
    ///
    /// To be called from a callback that was registered to write registers.
    pub unsafe fn write(&self, cpu: u32, register: Register, value: u64) {
        let mut bytes = value.to_le_bytes();
        // SAFETY: as the caller promises; the stub reads 8 bytes.
        unsafe { (self.write)((self.cpu)(cpu as c_int), bytes.as_mut_ptr(), gdb(register)) };
    }
}

/// The number that GDB gives a register of x86-64 (gdb/features/i386/64bit-core.xml).
fn gdb(register: Register) -> c_int {
    match register {
        Register::Rax => 0,
        Register::Rbx => 1,
        Register::Rcx => 2,
        Register::Rdx => 3,
        Register::Rsi => 4,
        Register::Rdi => 5,
        Register::Rbp => 6,
        Register::Rsp => 7,
        other => other as c_int,
    }
}
