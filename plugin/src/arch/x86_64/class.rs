//! Which class of prices an instruction is of.

use std::ops::Range;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};
use preemptlab_protocol::prices::Class;

/// The kernel's half of the address space.
pub const KERNEL_START: u64 = 0xffff_8000_0000_0000;

/// The class of an instruction. `is_first` is whether it begins its block: QEMU begins one for each
/// further element of a repeated string instruction.
pub fn class(address: u64, bytes: &[u8], is_first: bool) -> Class {
    let instruction = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode();
    let in_kernel = address >= KERNEL_START;
    let either = |user, kernel| if in_kernel { kernel } else { user };
    if let Some(class) = by_name(&instruction, in_kernel) {
        return class;
    }
    if instruction.is_string_instruction()
        && (instruction.has_rep_prefix() || instruction.has_repne_prefix())
    {
        return if is_first { element(&instruction) } else { Class::StringStart };
    }
    let touches_memory = reads_or_writes_memory(&instruction);
    if instruction.has_lock_prefix() || (instruction.mnemonic() == Mnemonic::Xchg && touches_memory)
    {
        return Class::Locked;
    }
    match instruction.flow_control() {
        FlowControl::UnconditionalBranch
        | FlowControl::ConditionalBranch
        | FlowControl::Call
        | FlowControl::Return => return either(Class::UserBranch, Class::KernelBranch),
        FlowControl::IndirectBranch | FlowControl::IndirectCall => return Class::Indirect,
        _ => {}
    }
    let mut operands = (0..instruction.op_count()).map(|operand| instruction.op_register(operand));
    if operands.any(|register| register.is_vector_register() || register.is_mm() || register.is_k())
    {
        return Class::Vector;
    }
    if touches_memory {
        either(Class::UserMemory, Class::KernelMemory)
    } else {
        either(Class::UserPlain, Class::KernelPlain)
    }
}

/// Where Linux maps the registers of the local APIC (`FIX_APIC_BASE`, arch/x86/include/asm/fixmap.h), a page
/// lower where the kernel has `CONFIG_PROVIDE_OHCI1394_DMA_INIT`, and below it those of the I/O APICs.
const INTERRUPT_CONTROLLERS: Range<u64> = 0xffff_ffff_ff5f_b000..0xffff_ffff_ff5f_e000;

/// Whether an instruction of a block at this address reads or writes a device's register by an address of
/// its own, so that QEMU leaves the block there.
pub fn leaves_block(block_address: u64, bytes: &[u8]) -> bool {
    if block_address < KERNEL_START || !bytes.windows(2).any(|pair| pair == [0x5f, 0xff]) {
        return false;
    }
    let instruction = Decoder::new(64, bytes, DecoderOptions::NONE).decode();
    let mut kinds = (0..instruction.op_count()).map(|operand| instruction.op_kind(operand));
    instruction.mnemonic() != Mnemonic::Lea
        && kinds.any(|kind| kind == OpKind::Memory)
        && INTERRUPT_CONTROLLERS.contains(&instruction.memory_displacement64())
}

/// The class of what its name alone tells.
fn by_name(instruction: &Instruction, in_kernel: bool) -> Option<Class> {
    use Mnemonic as M;
    Some(match instruction.mnemonic() {
        M::Mul | M::Imul | M::Mulx => Class::Multiply,
        M::Div | M::Idiv => Class::Divide,
        M::Syscall => Class::Syscall,
        M::Sysret | M::Sysretq => Class::Sysret,
        M::Iret | M::Iretd | M::Iretq => Class::Iret,
        M::Wrmsr | M::Wrmsrns => Class::Wrmsr,
        M::Rdmsr | M::Rdpmc => Class::Rdmsr,
        M::Mov if instruction.op0_register() == Register::CR3 => Class::Cr3,
        M::Mov if is_system(instruction.op0_register()) => Class::System,
        M::Mov if is_system(instruction.op1_register()) => Class::System,
        M::Lgdt | M::Lidt | M::Lldt | M::Ltr | M::Lmsw | M::Clts | M::Wbinvd => Class::System,
        M::Invlpg | M::Invpcid | M::Invlpgb => Class::Invlpg,
        // The guest's first process sends its results byte by byte: the machine that is described does
        // not.
        M::In | M::Out | M::Insb | M::Insw | M::Insd | M::Outsb | M::Outsw | M::Outsd => {
            if in_kernel {
                Class::Port
            } else {
                Class::UserPlain
            }
        }
        M::Cpuid => Class::Cpuid,
        M::Rdtsc | M::Rdtscp => Class::Rdtsc,
        M::Swapgs => Class::Swapgs,
        M::Lfence | M::Mfence | M::Sfence => Class::Fence,
        M::Cli | M::Sti | M::Clac | M::Stac => Class::Flags,
        M::Pushf | M::Pushfd | M::Pushfq | M::Popf | M::Popfd | M::Popfq => Class::Flags,
        M::Fxsave | M::Fxsave64 | M::Fxrstor | M::Fxrstor64 => Class::Xsave,
        M::Xsave | M::Xsave64 | M::Xsavec | M::Xsavec64 | M::Xsaveopt | M::Xsaveopt64 => {
            Class::Xsave
        }
        M::Xsaves | M::Xsaves64 | M::Xrstor | M::Xrstor64 | M::Xrstors | M::Xrstors64 => {
            Class::Xsave
        }
        M::Pause => Class::Pause,
        M::Hlt | M::Mwait | M::Mwaitx => Class::Halt,
        _ if is_x87(instruction) => Class::X87,
        _ => return None,
    })
}

/// The x87 has opcodes D8 to DF, and WAIT.
fn is_x87(instruction: &Instruction) -> bool {
    use iced_x86::{CpuidFeature, EncodingKind};
    let features = instruction.cpuid_features();
    instruction.encoding() == EncodingKind::Legacy
        && features.iter().any(|feature| {
            matches!(feature, CpuidFeature::FPU | CpuidFeature::FPU287 | CpuidFeature::FPU387)
        })
}

fn is_system(register: Register) -> bool {
    register.is_cr() || register.is_dr()
}

/// The class of a further element of a repeated string instruction.
fn element(instruction: &Instruction) -> Class {
    match instruction.mnemonic() {
        Mnemonic::Movsb | Mnemonic::Stosb => Class::StringByte,
        Mnemonic::Movsw | Mnemonic::Movsd | Mnemonic::Movsq => Class::StringWord,
        Mnemonic::Stosw | Mnemonic::Stosd | Mnemonic::Stosq => Class::StringWord,
        _ => Class::StringCompare,
    }
}

/// Whether an instruction has an operand in memory, the stack included, that it touches.
fn reads_or_writes_memory(instruction: &Instruction) -> bool {
    use Mnemonic as M;
    match instruction.mnemonic() {
        M::Lea | M::Nop | M::Prefetchnta | M::Prefetcht0 | M::Prefetcht1 | M::Prefetcht2 => false,
        M::Prefetchw | M::Prefetch | M::Endbr64 => false,
        _ => {
            let mut kinds = (0..instruction.op_count()).map(|operand| instruction.op_kind(operand));
            instruction.is_stack_instruction()
                || kinds.any(|kind| {
                    !matches!(
                        kind,
                        OpKind::Register
                            | OpKind::NearBranch16
                            | OpKind::NearBranch32
                            | OpKind::NearBranch64
                            | OpKind::FarBranch16
                            | OpKind::FarBranch32
                            | OpKind::Immediate8
                            | OpKind::Immediate8_2nd
                            | OpKind::Immediate16
                            | OpKind::Immediate32
                            | OpKind::Immediate64
                            | OpKind::Immediate8to16
                            | OpKind::Immediate8to32
                            | OpKind::Immediate8to64
                            | OpKind::Immediate32to64
                    )
                })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: u64 = 0x40_1000;
    const KERNEL: u64 = 0xffff_ffff_8100_1000;

    #[track_caller]
    fn check(bytes: &[u8], user: Class, kernel: Class) {
        assert_eq!(class(USER, bytes, false), user, "{bytes:x?} in user space");
        assert_eq!(class(KERNEL, bytes, false), kernel, "{bytes:x?} in the kernel");
    }

    fn same(bytes: &[u8], expected: Class) {
        check(bytes, expected, expected);
    }

    #[test]
    fn registers_of_the_local_apic_leave_their_block() {
        // movl $0,0xffffffffff5fd0b0, the end of an interrupt; mov %esi,-0xa03000(%rdi)
        let end = [0xc7, 0x04, 0x25, 0xb0, 0xd0, 0x5f, 0xff, 0, 0, 0, 0];
        let write = [0x89, 0xb7, 0x00, 0xd0, 0x5f, 0xff];
        let read = [0x8b, 0x87, 0x00, 0xd0, 0x5f, 0xff];
        for bytes in [&end[..], &write, &read] {
            assert!(leaves_block(KERNEL, bytes) && !leaves_block(USER, bytes), "{bytes:x?}");
        }
        // lea -0xa03000(%rdi),%rax; mov -0x18(%rdi),%eax; mov $0xff5fd000,%edi
        let address = [0x48, 0x8d, 0x87, 0x00, 0xd0, 0x5f, 0xff];
        for bytes in [&address[..], &[0x8b, 0x47, 0xe8], &[0xbf, 0x00, 0xd0, 0x5f, 0xff]] {
            assert!(!leaves_block(KERNEL, bytes), "{bytes:x?}");
        }
    }

    #[test]
    fn plain_memory_and_branches_differ_in_the_kernel() {
        let plain = |bytes: &[u8]| check(bytes, Class::UserPlain, Class::KernelPlain);
        plain(&[0x48, 0x01, 0xd8]); // add %rbx,%rax
        plain(&[0x48, 0x8d, 0x04, 0x08]); // lea (%rax,%rcx),%rax
        plain(&[0x0f, 0x1f, 0x40, 0x00]); // nopl 0(%rax)
        plain(&[0xf3, 0x0f, 0x1e, 0xfa]); // endbr64
        plain(&[0x0f, 0x18, 0x08]); // prefetcht0 (%rax)
        plain(&[0x87, 0xd8]); // xchg %ebx,%eax
        plain(&[0xc4, 0xe2, 0xf0, 0xf2, 0xc3]); // andn %rbx,%rcx,%rax
        let memory = |bytes: &[u8]| check(bytes, Class::UserMemory, Class::KernelMemory);
        memory(&[0x48, 0x8b, 0x03]); // mov (%rbx),%rax
        memory(&[0x50]); // push %rax
        memory(&[0xa4]); // movsb
        let branch = |bytes: &[u8]| check(bytes, Class::UserBranch, Class::KernelBranch);
        branch(&[0x74, 0x00]); // je
        branch(&[0xe8, 0, 0, 0, 0]); // call
        branch(&[0xc3]); // ret
        plain(&[0xfc]); // cld
        check(&[0xee], Class::UserPlain, Class::Port); // out %al,(%dx)
    }

    #[test]
    fn what_is_named_is_found() {
        same(&[0xff, 0xe0], Class::Indirect); // jmp *%rax
        same(&[0xff, 0x10], Class::Indirect); // call *(%rax)
        same(&[0xf0, 0xff, 0x00], Class::Locked); // lock incl (%rax)
        same(&[0x87, 0x18], Class::Locked); // xchg %ebx,(%rax)
        same(&[0x48, 0xf7, 0xe3], Class::Multiply); // mul %rbx
        same(&[0x48, 0x0f, 0xaf, 0xc3], Class::Multiply); // imul %rbx,%rax
        same(&[0x48, 0xf7, 0xf3], Class::Divide); // div %rbx
        same(&[0x66, 0x0f, 0xef, 0xc0], Class::Vector); // pxor
        same(&[0xc5, 0xfd, 0x6f, 0x00], Class::Vector); // vmovdqa (%rax),%ymm0
        same(&[0xd9, 0xe8], Class::X87); // fld1
        same(&[0xdd, 0x00], Class::X87); // fldl (%rax)
        same(&[0x0f, 0x05], Class::Syscall);
        same(&[0x48, 0x0f, 0x07], Class::Sysret);
        same(&[0x48, 0xcf], Class::Iret);
        same(&[0x0f, 0x30], Class::Wrmsr);
        same(&[0x0f, 0x32], Class::Rdmsr);
        same(&[0x0f, 0x22, 0xd8], Class::Cr3); // mov %rax,%cr3
        same(&[0x0f, 0x20, 0xd8], Class::System); // mov %cr3,%rax
        same(&[0x0f, 0x22, 0xe0], Class::System); // mov %rax,%cr4
        same(&[0x0f, 0x01, 0x38], Class::Invlpg);
        same(&[0x66, 0x0f, 0x38, 0x82, 0x03], Class::Invlpg); // invpcid
        same(&[0x0f, 0xa2], Class::Cpuid);
        same(&[0x0f, 0x31], Class::Rdtsc);
        same(&[0x0f, 0x01, 0xf8], Class::Swapgs);
        same(&[0x0f, 0xae, 0xe8], Class::Fence); // lfence
        same(&[0xfa], Class::Flags);
        same(&[0x0f, 0x01, 0xca], Class::Flags); // clac
        same(&[0x48, 0x0f, 0xc7, 0x20], Class::Xsave); // xsavec64
        same(&[0xf3, 0x90], Class::Pause);
        same(&[0xf4], Class::Halt);
    }

    #[test]
    fn a_repeated_instruction_starts_once() {
        let repeated = |bytes: &[u8], element: Class| {
            assert_eq!(class(KERNEL, bytes, false), Class::StringStart, "{bytes:x?}");
            assert_eq!(class(KERNEL, bytes, true), element, "{bytes:x?}");
        };
        repeated(&[0xf3, 0xa4], Class::StringByte); // rep movsb
        repeated(&[0xf3, 0xaa], Class::StringByte); // rep stosb
        repeated(&[0xf3, 0x48, 0xa5], Class::StringWord); // rep movsq
        repeated(&[0xf3, 0x48, 0xab], Class::StringWord); // rep stosq
        repeated(&[0xf2, 0xae], Class::StringCompare); // repne scasb
        repeated(&[0xf3, 0xa6], Class::StringCompare); // repe cmpsb
    }

    /// What cannot be decoded is refused by the processor, too: it has some class.
    #[test]
    fn garbage_has_a_class() {
        check(&[0x06], Class::UserPlain, Class::KernelPlain);
        check(&[], Class::UserPlain, Class::KernelPlain);
    }
}
