//! Learns of the instruction with which a loop says that it spins.
//!
//! QEMU leaves a CPU's turn there, as it does for other reasons. So its helper is replaced where QEMU
//! looks it up to translate the instruction.

use std::{
    arch::naked_asm,
    ffi::c_void,
    ptr,
    sync::atomic::{
        AtomicBool, AtomicPtr,
        Ordering::{Relaxed, SeqCst},
    },
};

use crate::{
    arch::{SPIN_HELPER, SPIN_HELPER_INFO},
    qemu::{Lacks, symbol},
};

static SPUN: AtomicBool = AtomicBool::new(false);

/// QEMU's helper.
static HELPER: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Stands before the helper. It jumps there, because the helper looks from where it was called.
#[unsafe(naked)]
extern "C" fn spins() {
    naked_asm!(
        "mov byte ptr [rip + {spun}], 1",
        "jmp qword ptr [rip + {helper}]",
        spun = sym SPUN,
        helper = sym HELPER,
    )
}

/// Replaces the helper, before anything is translated.
///
/// # Errors
///
/// The name of what this QEMU lacks.
pub fn watch() -> Result<(), Lacks> {
    let helper = symbol(SPIN_HELPER)?;
    // The function is its first field (`struct TCGHelperInfo`, include/tcg/helper-info.h).
    let function = symbol(SPIN_HELPER_INFO)?.cast::<*mut c_void>();
    // SAFETY: QEMU's variable, of which only its translator reads this field.
    unsafe {
        if function.read() != helper.as_ptr() {
            return Err(Lacks(c"TCGHelperInfo::func"));
        }
        HELPER.store(helper.as_ptr(), SeqCst);
        function.write(spins as *mut c_void);
    }
    Ok(())
}

/// Whether the CPU has spun since this was last asked.
pub fn has_spun() -> bool {
    SPUN.swap(false, Relaxed)
}
