use super::Guest;

/// QEMU's masks of interrupts (include/exec/cpu-all.h, target/i386/cpu.h) and its instruction of
/// loops that spin, PAUSE.
pub const GUEST: Guest =
    Guest { spin_helpers: &[(c"helper_pause", c"helper_info_pause")], can_wait, when_due };

/// `CPU_INTERRUPT_HARD`: the local APIC has a vector for the CPU.
const HARD: i32 = 0x2;
/// `CPU_INTERRUPT_POLL`: the CPU asks its local APIC for a vector.
const POLL: i32 = 0x10;
/// `CPU_INTERRUPT_NMI`
const NMI: i32 = 0x200;

fn can_wait(mask: i32) -> bool {
    mask & !(HARD | POLL | NMI) == 0
}

/// The CPU may have taken the vector meanwhile, when its APIC looked at another one: it asks again, because without a
/// vector [`HARD`] is one that does not exist.
fn when_due(mask: i32) -> i32 {
    if mask & HARD == 0 { mask } else { mask & !HARD | POLL }
}
