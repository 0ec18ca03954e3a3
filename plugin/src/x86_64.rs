//! Which instructions of a kernel change whether it can be preempted or interrupted.
//!
//! `preempt_count` is a per-CPU variable that inlined instructions change in place, addressed from
//! the base of `gs` (arch/x86/include/asm/preempt.h); its highest bit is `PREEMPT_NEED_RESCHED`,
//! inverted.

use preemptlab_protocol::trace::{Register, stream::SiteKind};

/// The kernel's half of the address space.
pub const KERNEL_START: u64 = 0xffff_8000_0000_0000;

/// Whether a stretch of `preempt_count` is the flag and nothing else.
const NEED_RESCHED: i32 = i32::MIN;

/// What an instruction does, and the register whose value tells how much, if one does.
pub type Effect = (SiteKind, Option<Register>);

/// What an instruction does to preemption and interrupts; most do nothing.
pub fn effect(address: u64, bytes: &[u8], preempt_count: u64) -> Option<Effect> {
    match *bytes {
        [0xfa] => Some((SiteKind::IrqsOff, None)),
        [0xfb] => Some((SiteKind::IrqsOn, None)),
        [0x9d] => Some((SiteKind::Popf, None)),
        [0xf4] => Some((SiteKind::Halt, None)),
        [0xcf] | [0x48, 0xcf] => Some((SiteKind::Iret, None)),
        [0x0f, 0x07] | [0x48, 0x0f, 0x07] => Some((SiteKind::Sysret, None)),
        [0x65, ref rest @ ..] => {
            on_gs(address.wrapping_add(bytes.len() as u64), rest, preempt_count)
        }
        _ => None,
    }
}

/// Whether an instruction returns from a function.
pub fn is_return(bytes: &[u8]) -> bool {
    matches!(*bytes, [0xc3] | [0xc2, _, _] | [0xf3, 0xc3])
}

/// An instruction with a `gs` prefix, which ends at `end`.
fn on_gs(end: u64, bytes: &[u8], preempt_count: u64) -> Option<Effect> {
    let (rex, bytes) = match *bytes {
        [rex @ 0x40..=0x4f, ref rest @ ..] => (rex, rest),
        _ => (0, bytes),
    };
    let (&[opcode, modrm], rest) = bytes.split_first_chunk()?;
    let (displaced, rest) = match (modrm & 0xc7, rest) {
        // Relative to the next instruction.
        (0x05, rest) => (end, rest),
        // Absolute: a SIB byte without base and index.
        (0x04, [0x25, rest @ ..]) => (0, rest),
        _ => return None,
    };
    let (displacement, immediate) = rest.split_first_chunk()?;
    let displacement = i64::from(i32::from_le_bytes(*displacement)).cast_unsigned();
    if displaced.wrapping_add(displacement) != preempt_count {
        return None;
    }
    let operation = (modrm >> 3) & 7;
    let register = Register::ALL[usize::from(operation | (rex & 4) << 1)];
    let immediate = match *immediate {
        [] => None,
        [byte] => Some(i32::from(byte.cast_signed())),
        [a, b, c, d] => Some(i32::from_le_bytes([a, b, c, d])),
        _ => return None,
    };
    match (opcode, operation, immediate) {
        (0xff, 0, None) => Some((SiteKind::PreemptAdd(1), None)),
        (0xff, 1, None) => Some((SiteKind::PreemptAdd(-1), None)),
        (0x81 | 0x83, 0, Some(number)) => Some((SiteKind::PreemptAdd(number), None)),
        (0x81 | 0x83, 5, Some(number)) => Some((SiteKind::PreemptAdd(number.wrapping_neg()), None)),
        (0x81, 4, Some(mask)) if mask == !NEED_RESCHED => Some((SiteKind::NeedReschedSet, None)),
        (0x81, 1, Some(mask)) if mask == NEED_RESCHED => Some((SiteKind::NeedReschedClear, None)),
        (0xc7, 0, Some(number)) => Some((SiteKind::PreemptSet(number), None)),
        (0x01, _, None) => Some((SiteKind::PreemptAddValue, Some(register))),
        (0x29, _, None) => Some((SiteKind::PreemptSubValue, Some(register))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: u64 = 0x2_0c88;

    /// `incl %gs:X(%rip)` and its kin, where X makes the address that of the count.
    fn relative(address: u64, opcode: &[u8], immediate: &[u8]) -> Vec<u8> {
        let len = 1 + opcode.len() + 4 + immediate.len();
        let displacement = COUNT.wrapping_sub(address + len as u64) as u32;
        [&[0x65], opcode, &displacement.to_le_bytes(), immediate].concat()
    }

    #[test]
    fn finds_changes_of_the_count() {
        const ADDRESS: u64 = 0xffff_ffff_8100_1000;
        let found = |opcode: &[u8], immediate: &[u8]| {
            effect(ADDRESS, &relative(ADDRESS, opcode, immediate), COUNT)
        };
        assert_eq!(found(&[0xff, 0x05], &[]), Some((SiteKind::PreemptAdd(1), None)));
        assert_eq!(found(&[0xff, 0x0d], &[]), Some((SiteKind::PreemptAdd(-1), None)));
        assert_eq!(found(&[0x83, 0x05], &[2]), Some((SiteKind::PreemptAdd(2), None)));
        assert_eq!(
            found(&[0x81, 0x05], &[0, 0, 1, 0]),
            Some((SiteKind::PreemptAdd(0x10000), None))
        );
        assert_eq!(found(&[0x81, 0x2d], &[0, 1, 0, 0]), Some((SiteKind::PreemptAdd(-0x100), None)));
        assert_eq!(
            found(&[0x81, 0x25], &[0xff, 0xff, 0xff, 0x7f]),
            Some((SiteKind::NeedReschedSet, None))
        );
        assert_eq!(
            found(&[0x81, 0x0d], &[0, 0, 0, 0x80]),
            Some((SiteKind::NeedReschedClear, None))
        );
        assert_eq!(
            found(&[0x01, 0x35], &[]),
            Some((SiteKind::PreemptAddValue, Some(Register::Rsi)))
        );
        assert_eq!(
            found(&[0x44, 0x29, 0x25], &[]),
            Some((SiteKind::PreemptSubValue, Some(Register::R12)))
        );
        // A read of it, and a change of another variable.
        assert_eq!(found(&[0x8b, 0x05], &[]), None);
        let other = relative(ADDRESS + 4, &[0xff, 0x05], &[]);
        assert_eq!(effect(ADDRESS, &other, COUNT), None);
    }

    #[test]
    fn finds_absolute_addresses() {
        let bytes = [0x65, 0xff, 0x04, 0x25, 0x88, 0x0c, 0x02, 0];
        assert_eq!(effect(0, &bytes, COUNT), Some((SiteKind::PreemptAdd(1), None)));
    }

    #[test]
    fn finds_interrupts_and_returns() {
        assert_eq!(effect(0, &[0xfa], COUNT), Some((SiteKind::IrqsOff, None)));
        assert_eq!(effect(0, &[0x48, 0xcf], COUNT), Some((SiteKind::Iret, None)));
        assert_eq!(effect(0, &[0x90], COUNT), None);
        assert!(is_return(&[0xc3]) && !is_return(&[0xc9]));
    }
}
