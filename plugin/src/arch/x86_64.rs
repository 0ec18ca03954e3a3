//! Which instructions of a kernel change whether it can be preempted or interrupted.
//!
//! `preempt_count` is a per-CPU variable that inlined instructions change in place, addressed from
//! the base of `gs` (arch/x86/include/asm/preempt.h); its highest bit is `PREEMPT_NEED_RESCHED`,
//! inverted. It has 32 bits, and since Linux 7.3 64 bits, of which the count has the lower half.

mod class;
mod entry;
mod memory;

use std::{collections::HashMap, ffi::CStr};

use preemptlab_protocol::{
    prices::Class,
    trace::{Register, stream::SiteKind},
};

use self::class::KERNEL_START;
use super::processor::{Effect, Processor, Spaces, Use};
use crate::qemu::Guest;

/// Whether a stretch of `preempt_count` is the flag and nothing else.
const NEED_RESCHED: i32 = i32::MIN;

/// Words of a stack that are recorded; callers of a lock's function are among the first few.
const STACK_WORDS: usize = 24;

/// Where the kernel's and its modules' code may begin (`__START_KERNEL_map`,
/// Documentation/arch/x86/x86_64/mm.rst).
const CODE_START: u64 = 0xffff_ffff_8000_0000;

/// The flag of the processor that has interrupts on.
const INTERRUPT_FLAG: u64 = 1 << 9;

/// x86-64.
pub struct X86_64;

impl Processor for X86_64 {
    fn registers(&self) -> &'static [Register] {
        &Register::X86_64
    }

    fn class(&self, address: u64, bytes: &[u8], is_first: bool) -> Class {
        class::class(address, bytes, is_first)
    }

    fn entries(&self, guest: &Guest) -> Option<HashMap<u64, Class>> {
        guest.bytes(entry::TABLE, entry::TABLE_BYTES).map(entry::entries)
    }

    fn leaves_block(&self, block_address: u64, bytes: &[u8]) -> bool {
        class::leaves_block(block_address, bytes)
    }

    fn kernel_start(&self) -> u64 {
        KERNEL_START
    }

    fn effect(&self, address: u64, bytes: &[u8], preempt_count: u64) -> Option<Effect> {
        effect(address, bytes, preempt_count)
    }

    fn is_return(&self, bytes: &[u8]) -> bool {
        matches!(*bytes, [0xc3] | [0xc2, _, _] | [0xf3, 0xc3])
    }

    fn uses(&self, block: &[&[u8]]) -> Vec<Use> {
        memory::uses(block)
    }

    fn spaces(&self) -> Spaces {
        memory::SPACES
    }

    fn stack_pointer(&self) -> Register {
        Register::Rsp
    }

    fn count_address(&self, _: &Guest, preempt_count: u64) -> u64 {
        preempt_count
    }

    fn restores_irqs(&self, guest: &Guest, _: Effect) -> bool {
        stack_word(guest, 0) & INTERRUPT_FLAG != 0
    }

    fn returns_to_user(&self, guest: &Guest) -> bool {
        // The frame: ip, cs, flags, sp, ss.
        stack_word(guest, 1) & 3 == 3
    }

    /// The top of the stack, in which only what may be a return address is kept.
    fn stack(&self, guest: &Guest) -> Option<Vec<u64>> {
        let bytes = guest.bytes(guest.register(Register::Rsp), STACK_WORDS * 8)?;
        let words = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
        Some(words.map(|word| if word >= CODE_START { word } else { 0 }).collect())
    }

    fn processor_id(&self) -> &'static CStr {
        c"apic-id"
    }

    /// Messages have the number of the local APIC in their address (Intel SDM volume 3, 12.11).
    fn message_address(&self, first: u64, processor_id: u64) -> u64 {
        first | (processor_id & 0xff) << 12
    }
}

fn stack_word(guest: &Guest, index: u64) -> u64 {
    let stack = guest.register(Register::Rsp);
    guest.memory(stack.wrapping_add(index * 8), 8).unwrap_or(0)
}

/// What an instruction does to preemption and interrupts; most do nothing.
fn effect(address: u64, bytes: &[u8], preempt_count: u64) -> Option<Effect> {
    let kind = match *bytes {
        [0xfa] => SiteKind::IrqsOff,
        [0xfb] => SiteKind::IrqsOn,
        [0x9d] => SiteKind::FlagsRestore,
        [0xf4] => SiteKind::Halt,
        [0xcf] | [0x48, 0xcf] => SiteKind::ExceptionReturn,
        [0x0f, 0x07] | [0x48, 0x0f, 0x07] => SiteKind::Sysret,
        [0x65, ref rest @ ..] => {
            return on_gs(address.wrapping_add(bytes.len() as u64), rest, preempt_count);
        }
        _ => return None,
    };
    Some(kind.into())
}

/// An instruction with a `gs` prefix, which ends at `end`.
fn on_gs(end: u64, bytes: &[u8], preempt_count: u64) -> Option<Effect> {
    let (rex, bytes) = match *bytes {
        [rex @ 0x40..=0x4f, ref rest @ ..] => (rex, rest),
        _ => (0, bytes),
    };
    let is_wide = rex & 8 != 0;
    let (is_exchange, bytes) = match *bytes {
        [0x0f, ref rest @ ..] => (true, rest),
        _ => (false, bytes),
    };
    let (&[opcode, modrm], rest) = bytes.split_first_chunk()?;
    let (address, immediate) = operand(end, rex, modrm, rest)?;
    let address = match address {
        Address::Fixed(address) if address == preempt_count => None,
        Address::Fixed(_) => return None,
        Address::Relative(base, displacement) => Some((base, displacement)),
    };
    let operation = (modrm >> 3) & 7;
    let register = Register::X86_64[usize::from(operation | (rex & 4) << 1)];
    let immediate = match *immediate {
        [] => None,
        [byte] => Some(i32::from(byte.cast_signed())),
        [a, b, c, d] => Some(i32::from_le_bytes([a, b, c, d])),
        _ => return None,
    };
    if is_exchange {
        // XADD, with which the kernel counts what keeps interrupts off (since 7.3).
        let is_add = is_wide && opcode == 0xc1 && immediate.is_none();
        let effect = Effect { kind: SiteKind::PreemptAddValue, amount: Some(register), address };
        return is_add.then_some(effect);
    }
    let (kind, amount) = match (opcode, operation, immediate) {
        // Of 64 bits the flag's mask is in a register: nothing else is masked.
        (0x21, _, None) if is_wide && address.is_none() => (SiteKind::NeedReschedSet, None),
        (0x09, _, None) if is_wide && address.is_none() => (SiteKind::NeedReschedClear, None),
        (0xff, 0, None) => (SiteKind::PreemptAdd(1), None),
        (0xff, 1, None) => (SiteKind::PreemptAdd(-1), None),
        (0x81 | 0x83, 0, Some(number)) => (SiteKind::PreemptAdd(number), None),
        (0x81 | 0x83, 5, Some(number)) => (SiteKind::PreemptAdd(number.wrapping_neg()), None),
        (0x81, 4, Some(mask)) if mask == !NEED_RESCHED => (SiteKind::NeedReschedSet, None),
        (0x81, 1, Some(mask)) if mask == NEED_RESCHED => (SiteKind::NeedReschedClear, None),
        (0xc7, 0, Some(number)) => (SiteKind::PreemptSet(number), None),
        (0x01, _, None) => (SiteKind::PreemptAddValue, Some(register)),
        (0x29, _, None) => (SiteKind::PreemptSubValue, Some(register)),
        _ => return None,
    };
    Some(Effect { kind, amount, address })
}

/// Where an operand is, from the base of `gs`.
enum Address {
    Fixed(u64),
    Relative(Register, u64),
}

/// The address of an operand in memory, and what follows it: ModRM and SIB of the Intel SDM,
/// volume 2, chapter 2. Operands with an index are elements of arrays.
fn operand(end: u64, rex: u8, modrm: u8, rest: &[u8]) -> Option<(Address, &[u8])> {
    let (mode, low) = (modrm >> 6, modrm & 7);
    let (base, rest) = match (low, rest) {
        (4, [sib, rest @ ..]) if sib >> 3 & 7 == 4 && rex & 2 == 0 => (sib & 7, rest),
        (4, _) => return None,
        _ => (low, rest),
    };
    let (displacement, rest) = match (mode, base) {
        (0, 5) => {
            let (bytes, rest) = rest.split_first_chunk()?;
            let displacement = i64::from(i32::from_le_bytes(*bytes)).cast_unsigned();
            // Without a SIB byte it is relative to the next instruction, with one absolute.
            let from = if low == 5 { end } else { 0 };
            return Some((Address::Fixed(from.wrapping_add(displacement)), rest));
        }
        (0, _) => (0, rest),
        (1, _) => {
            let (&[byte], rest) = rest.split_first_chunk()?;
            (i64::from(byte.cast_signed()).cast_unsigned(), rest)
        }
        (2, _) => {
            let (bytes, rest) = rest.split_first_chunk()?;
            (i64::from(i32::from_le_bytes(*bytes)).cast_unsigned(), rest)
        }
        _ => return None,
    };
    let base = Register::X86_64[usize::from(base | (rex & 1) << 3)];
    Some((Address::Relative(base, displacement), rest))
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
            let effect = effect(ADDRESS, &relative(ADDRESS, opcode, immediate), COUNT);
            effect.map(|effect| (effect.kind, effect.amount))
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
        assert_eq!(effect(0, &bytes, COUNT), Some(SiteKind::PreemptAdd(1).into()));
    }

    /// `decl %gs:(%rsi)`, as the compiler has it in `__d_add` of a PREEMPT_RT kernel, and its kin.
    #[test]
    fn finds_addresses_in_registers() {
        let down = |bytes: &[u8]| effect(0, bytes, COUNT).map(|e| (e.kind, e.address));
        let decrement = SiteKind::PreemptAdd(-1);
        assert_eq!(down(&[0x65, 0xff, 0x0e]), Some((decrement, Some((Register::Rsi, 0)))));
        assert_eq!(
            down(&[0x65, 0x41, 0xff, 0x4c, 0x24, 0xf8]),
            Some((decrement, Some((Register::R12, 8u64.wrapping_neg()))))
        );
        assert_eq!(
            down(&[0x65, 0xff, 0x8b, 8, 0, 0, 0]),
            Some((decrement, Some((Register::Rbx, 8))))
        );
        // 64 bits wide, which is a statistic where the address is not that of the count.
        assert_eq!(down(&[0x65, 0x48, 0xff, 0x0e]), Some((decrement, Some((Register::Rsi, 0)))));
        // An element of an array.
        assert_eq!(down(&[0x65, 0xff, 0x0c, 0xc6]), None);
    }

    /// As they stand in Debian's 7.3.4.
    #[test]
    fn finds_changes_of_a_count_of_64_bits() {
        const ADDRESS: u64 = 0xffff_ffff_8129_8c10;
        let found = |opcode: &[u8], immediate: &[u8]| {
            let effect = effect(ADDRESS, &relative(ADDRESS, opcode, immediate), COUNT);
            effect.map(|effect| (effect.kind, effect.amount))
        };
        let add = |number| Some((SiteKind::PreemptAdd(number), None));
        assert_eq!(found(&[0x48, 0xff, 0x05], &[]), add(1));
        assert_eq!(found(&[0x48, 0xff, 0x0d], &[]), add(-1));
        assert_eq!(found(&[0x48, 0x81, 0x05], &[0, 2, 0, 0]), add(0x200));
        assert_eq!(found(&[0x48, 0x81, 0x05], &[0, 0, 0, 0xff]), add(-0x100_0000));
        let exchanged = Some((SiteKind::PreemptAddValue, Some(Register::Rax)));
        assert_eq!(found(&[0x48, 0x0f, 0xc1, 0x05], &[]), exchanged);
        assert_eq!(found(&[0x48, 0x21, 0x05], &[]), Some((SiteKind::NeedReschedSet, None)));
        assert_eq!(found(&[0x48, 0x09, 0x05], &[]), Some((SiteKind::NeedReschedClear, None)));
        // CMPXCHG, which sets a count that a new task begins with, and a comparison.
        assert_eq!(found(&[0x48, 0x0f, 0xb1, 0x15], &[]), None);
        assert_eq!(found(&[0x48, 0x83, 0x3d], &[1]), None);
    }

    #[test]
    fn finds_interrupts_and_returns() {
        assert_eq!(effect(0, &[0xfa], COUNT), Some(SiteKind::IrqsOff.into()));
        assert_eq!(effect(0, &[0x48, 0xcf], COUNT), Some(SiteKind::ExceptionReturn.into()));
        assert_eq!(effect(0, &[0x90], COUNT), None);
        assert!(X86_64.is_return(&[0xc3]) && !X86_64.is_return(&[0xc9]));
    }
}
