//! How a guest's instructions use memory, as far as caches take note of it.

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register as Iced};
use preemptlab_protocol::trace::Register;

use crate::arch::processor::{Reach, Remaps, Spaces, Use};

/// A space is known by its CR3. The CPU that is described has PCIDs, and Linux keeps the translations of so many
/// spaces on each CPU (`TLB_NR_DYN_ASIDS`, arch/x86/include/asm/tlbflush.h); QEMU's CPU has none, so that the
/// kernel writes CR3 to empty a space: the same value again.
pub const SPACES: Spaces =
    Spaces { kept: 6, name_bits: 0xf_ffff_ffff_f000, is_emptied_by_itself: true };

/// How a block's instructions use memory.
pub fn uses(block: &[&[u8]]) -> Vec<Use> {
    let decode = |bytes: &&[u8]| Decoder::new(64, bytes, DecoderOptions::NONE).decode();
    let block: Vec<Instruction> = block.iter().map(decode).collect();
    let loaded: Vec<Iced> = block.iter().filter_map(loads).collect();
    // A block may be a loop: what reads an address may come after its use.
    let is_loaded =
        |register: Iced| register != Iced::None && loaded.contains(&register.full_register());
    let uses = block.iter().map(|instruction| Use {
        remaps: remaps(instruction),
        is_chained: is_loaded(instruction.memory_base()) || is_loaded(instruction.memory_index()),
    });
    uses.collect()
}

/// The register that an instruction reads from memory, alone or with something added to it.
fn loads(instruction: &Instruction) -> Option<Iced> {
    let is_pop = instruction.mnemonic() == Mnemonic::Pop;
    let reads = (1..instruction.op_count()).any(|at| instruction.op_kind(at) == OpKind::Memory);
    let is_load = (is_pop || reads) && instruction.op_kind(0) == OpKind::Register;
    // These only compare.
    let writes = !matches!(instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Lea);
    let register = instruction.op0_register().full_register();
    (is_load && writes && register.is_gpr64()).then_some(register)
}

fn remaps(instruction: &Instruction) -> Option<Remaps> {
    match (instruction.mnemonic(), instruction.op0_register()) {
        (Mnemonic::Mov, Iced::CR3) => Some(Remaps::Space(register(instruction.op1_register())?)),
        (Mnemonic::Mov, Iced::CR4) => Some(Remaps::All(Reach::Own)),
        (Mnemonic::Invlpg | Mnemonic::Invpcid, _) => Some(Remaps::Pages(Reach::Own)),
        _ => None,
    }
}

fn register(register: Iced) -> Option<Register> {
    register.is_gpr64().then(|| Register::X86_64[register.number()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chained(block: &[&[u8]]) -> Vec<bool> {
        uses(block).iter().map(|each| each.is_chained).collect()
    }

    #[test]
    fn an_address_that_was_read_is_waited_for() {
        let load_rax: &[u8] = &[0x48, 0x8b, 0x03]; // mov (%rbx),%rax
        let through_rax: &[u8] = &[0x8b, 0x50, 0x08]; // mov 8(%rax),%edx
        let index_rax: &[u8] = &[0x8b, 0x14, 0x03]; // mov (%rbx,%rax),%edx
        let compare: &[u8] = &[0x48, 0x3b, 0x0b]; // cmp (%rbx),%rcx
        let store: &[u8] = &[0x89, 0x50, 0x08]; // mov %edx,8(%rax)
        assert_eq!(chained(&[load_rax, through_rax]), [false, true]);
        assert_eq!(chained(&[load_rax, index_rax, store]), [false, true, true]);
        assert_eq!(chained(&[through_rax, compare]), [false, false]);
        assert_eq!(chained(&[&[0x58], through_rax]), [false, true]); // pop %rax
    }

    #[test]
    fn a_list_is_a_chain() {
        assert_eq!(chained(&[&[0x48, 0x8b, 0x00], &[0x75, 0xfb]]), [true, false]); // mov (%rax),%rax; jne
        assert_eq!(chained(&[&[0x48, 0x8d, 0x00]]), [false]); // lea (%rax),%rax
    }

    #[test]
    fn what_changes_addresses_is_found() {
        let of = |bytes: &[u8]| uses(&[bytes])[0].remaps;
        assert_eq!(of(&[0x0f, 0x22, 0xd8]), Some(Remaps::Space(Register::Rax)));
        assert_eq!(of(&[0x41, 0x0f, 0x22, 0xdf]), Some(Remaps::Space(Register::R15)));
        assert_eq!(of(&[0x0f, 0x22, 0xe0]), Some(Remaps::All(Reach::Own)));
        assert_eq!(of(&[0x0f, 0x01, 0x38]), Some(Remaps::Pages(Reach::Own)));
        assert_eq!(of(&[0x66, 0x0f, 0x38, 0x82, 0x03]), Some(Remaps::Pages(Reach::Own)));
        assert_eq!(of(&[0x0f, 0x20, 0xd8]), None); // mov %cr3,%rax
    }
}
