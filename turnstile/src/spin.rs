//! Learns of the instruction with which a loop says that it spins.
//!
//! QEMU leaves a CPU's turn there, as it does for other reasons. So its helpers are replaced where QEMU
//! looks them up to translate the instructions.

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
    arch::Guest,
    qemu::{Lacks, symbol},
};

static SPUN: AtomicBool = AtomicBool::new(false);

/// QEMU's helpers, in the order of [`Guest::spin_helpers`].
static HELPERS: [AtomicPtr<c_void>; 2] = [const { AtomicPtr::new(ptr::null_mut()) }; 2];

/// The function that stands before each helper.
const BEFORE: [extern "C" fn(); 2] = [spins::<0>, spins::<8>];

/// Stands before the helper at an offset of [`HELPERS`], in bytes. It jumps there, because the helper looks from where
/// it was called.
#[unsafe(naked)]
extern "C" fn spins<const AT: usize>() {
    naked_asm!(
        "mov byte ptr [rip + {spun}], 1",
        "jmp qword ptr [rip + {helpers} + {at}]",
        spun = sym SPUN,
        helpers = sym HELPERS,
        at = const AT,
    )
}

/// Replaces the helpers, before anything is translated.
///
/// # Errors
///
/// The name of what this QEMU lacks.
pub fn watch(guest: &Guest) -> Result<(), Lacks> {
    for ((helper, info), (kept, before)) in
        guest.spin_helpers.iter().zip(HELPERS.iter().zip(BEFORE))
    {
        let helper = symbol(helper)?;
        // The function is its first field (`struct TCGHelperInfo`, include/tcg/helper-info.h).
        let function = symbol(info)?.cast::<*mut c_void>();
        // SAFETY: QEMU's variable, of which only its translator reads this field.
        unsafe {
            if function.read() != helper.as_ptr() {
                return Err(Lacks(c"TCGHelperInfo::func"));
            }
            kept.store(helper.as_ptr(), SeqCst);
            function.write(before as *mut c_void);
        }
    }
    Ok(())
}

/// Whether the CPU has spun since this was last asked.
pub fn has_spun() -> bool {
    SPUN.swap(false, Relaxed)
}
