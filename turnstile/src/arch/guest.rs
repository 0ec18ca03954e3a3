use std::ffi::CStr;

/// The parts of a QEMU that depend on the processor of its guests.
#[derive(Debug)]
pub struct Guest {
    /// The helpers that execute instructions of loops that spin, each with what QEMU knows of it when it translates
    /// the instruction (`TCGHelperInfo`). A QEMU for other guests lacks them.
    pub spin_helpers: &'static [(&'static CStr, &'static CStr)],
    /// Returns whether a CPU can be told of interrupts with this mask later than they were raised.
    pub can_wait: fn(i32) -> bool,
    /// Returns the mask of interrupts that waited.
    pub when_due: fn(i32) -> i32,
}
