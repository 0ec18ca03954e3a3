use super::Guest;

/// QEMU's masks of interrupts (include/exec/cpu-all.h, target/arm/cpu.h) and its instructions of
/// loops that spin, YIELD and WFE.
pub const GUEST: Guest = Guest {
    spin_helpers: &[(c"helper_yield", c"helper_info_yield"), (c"helper_wfe", c"helper_info_wfe")],
    can_wait,
    when_due,
};

/// `CPU_INTERRUPT_HARD`: the interrupt controller has an interrupt for the CPU.
const HARD: i32 = 0x2;
/// `CPU_INTERRUPT_FIQ`
const FIQ: i32 = 0x10;

fn can_wait(mask: i32) -> bool {
    mask & !(HARD | FIQ) == 0
}

/// The CPU may have taken the interrupt meanwhile, together with another one. Then the interrupt controller has none
/// (1023), which the kernel takes for nothing (`__gic_handle_irq`, drivers/irqchip/irq-gic-v3.c).
fn when_due(mask: i32) -> i32 {
    mask
}
