//! The markers between which a plugin counts instructions.

use core::arch::asm;

use preemptlab_protocol::counts::{BEGIN, END};

/// Executes the instruction of a marker, which does nothing.
macro_rules! mark {
    ($marker:expr) => {{
        // SAFETY: the instruction does nothing.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            asm!(".byte 0x0f, 0x1f, 0x80", ".long {marker}", marker = const $marker, options(nostack));
        }
        // SAFETY: the instruction does nothing.
        #[cfg(target_arch = "aarch64")]
        unsafe {
            asm!(
                ".inst {marker}",
                marker = const preemptlab_protocol::counts::movz($marker),
                options(nostack)
            );
        }
    }};
}

/// Marks the begin of what is counted.
#[inline(never)]
pub fn begin() {
    mark!(BEGIN);
}

/// Marks its end.
#[inline(never)]
pub fn end() {
    mark!(END);
}
