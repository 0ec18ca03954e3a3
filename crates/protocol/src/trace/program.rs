use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// What to record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceProgram {
    /// See [`FORMAT`](crate::FORMAT).
    pub format: u32,
    /// Where `preempt_count` is: on x86-64 its per-CPU address, which instructions add to the base of `gs`, on arm64 its
    /// offset in the current task's `thread_info`.
    pub preempt_count: u64,
    /// Instructions before which an event is recorded.
    pub probes: Vec<Probe>,
    /// How to describe a task.
    pub task: TaskLayout,
    /// When a section with preemption or interrupts off has lasted at least this long, its end is
    /// followed by the words on top of the stack, in nanoseconds.
    pub stack_ns_min: u64,
    /// Every call and return in a window of time, instead of the sections' stacks.
    pub zoom: Option<Zoom>,
    /// Functions whose returns are recorded, too, from the first instruction to the one behind the last;
    /// in a zoom those of every function are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub returns: Vec<(u64, u64)>,
    /// The only thing that makes a traced execution another one: an interrupt at an instant. These
    /// are in the order of their times, and the first that is possible is raised.
    pub inject: Vec<Inject>,
}

/// An interrupt that the machine would not have had, and what the guest is to find when it comes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inject {
    /// The CPU that it interrupts.
    pub cpu: u32,
    /// It is raised at that CPU's first event at or after this virtual time.
    pub at_ns: u64,
    /// The virtual address of the word that points to the leftmost node of a red-black tree, and the node
    /// of which `writes` are. It must be in the tree, and nodes before it are written like it.
    pub expected: (u64, u64),
    /// Words of the guest's memory that are written then: virtual address and value.
    pub writes: Vec<(u64, u64)>,
    /// The physical address to which a message-signalled interrupt for the first CPU is written.
    pub message_address: u64,
    /// What is written there: the vector.
    pub message: u32,
}

/// An event before the execution of the instruction at an address. Where several probes have the same address, the
/// event is that of the first whose condition holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// The instruction's address.
    pub address: u64,
    /// What the event carries.
    pub operands: Vec<Operand>,
    /// Registers that hold tasks, which are described in the stream before the event, once each.
    pub tasks: Vec<Register>,
    /// A register with a task that is about to change: it is described anew next time.
    pub changes: Option<Register>,
    /// Whether the words on top of the stack follow.
    pub stack: bool,
    /// When the event happens; always where there is no condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<Only>,
}

/// A register with one of some values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Only {
    /// The register.
    pub register: Register,
    /// By how many bits its value is shifted to the right.
    pub shift: u8,
    /// The values that the rest may have.
    pub values: Vec<u64>,
}

impl Only {
    /// Returns whether a value of the register is one of them.
    pub fn holds(&self, value: u64) -> bool {
        let rest = value.checked_shr(self.shift.into());
        rest.is_some_and(|rest| self.values.contains(&rest))
    }
}

/// A value that an event carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operand {
    /// A register.
    Register(Register),
    /// Up to 8 bytes of memory, little endian: at an address where no register is named, else at an
    /// offset from it. Memory that is not mapped reads as 0.
    Memory {
        /// The register with the base address.
        base: Option<Register>,
        /// Added to the base.
        offset: u64,
        /// How many bytes.
        bytes: u8,
    },
}

/// A register of the guest's processor: of x86-64 those that hold arguments (System V ABI), results and the stack, of
/// arm64 those of AAPCS64 and the system registers that describe an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "these are the registers' own names")]
pub enum Register {
    Rax,
    Rcx,
    Rdx,
    Rbx,
    Rsp,
    Rbp,
    Rsi,
    Rdi,
    R8,
    R9,
    R10,
    R11,
    R12,
    R13,
    R14,
    R15,
    X0,
    X1,
    X2,
    X3,
    X4,
    X5,
    X6,
    X7,
    X8,
    X9,
    X10,
    X11,
    X12,
    X13,
    X14,
    X15,
    X16,
    X17,
    X18,
    X19,
    X20,
    X21,
    X22,
    X23,
    X24,
    X25,
    X26,
    X27,
    X28,
    X29,
    X30,
    Sp,
    SpEl0,
    ElrEl1,
    SpsrEl1,
    EsrEl1,
    VbarEl1,
}

impl Register {
    /// Those of x86-64, in the order of their numbers in instructions.
    pub const X86_64: [Self; 16] = [
        Self::Rax,
        Self::Rcx,
        Self::Rdx,
        Self::Rbx,
        Self::Rsp,
        Self::Rbp,
        Self::Rsi,
        Self::Rdi,
        Self::R8,
        Self::R9,
        Self::R10,
        Self::R11,
        Self::R12,
        Self::R13,
        Self::R14,
        Self::R15,
    ];

    /// Those of arm64, in the order of their numbers in instructions; the system registers are last.
    pub const ARM64: [Self; 37] = [
        Self::X0,
        Self::X1,
        Self::X2,
        Self::X3,
        Self::X4,
        Self::X5,
        Self::X6,
        Self::X7,
        Self::X8,
        Self::X9,
        Self::X10,
        Self::X11,
        Self::X12,
        Self::X13,
        Self::X14,
        Self::X15,
        Self::X16,
        Self::X17,
        Self::X18,
        Self::X19,
        Self::X20,
        Self::X21,
        Self::X22,
        Self::X23,
        Self::X24,
        Self::X25,
        Self::X26,
        Self::X27,
        Self::X28,
        Self::X29,
        Self::X30,
        Self::Sp,
        Self::SpEl0,
        Self::ElrEl1,
        Self::SpsrEl1,
        Self::EsrEl1,
        Self::VbarEl1,
    ];

    /// Number of the registers of all processors.
    pub const COUNT: usize = Self::X86_64.len() + Self::ARM64.len();

    /// Its name, as QEMU and GDB spell it.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; Register::COUNT] = [
            "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11",
            "r12", "r13", "r14", "r15", "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9",
            "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
            "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp", "SP_EL0",
            "ELR_EL1", "SPSR_EL1", "ESR_EL1", "VBAR",
        ];
        NAMES[self as usize]
    }
}

/// Offsets in `struct task_struct`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskLayout {
    /// `pid`, 4 bytes: the thread.
    pub pid: u64,
    /// `tgid`, 4 bytes: the process.
    pub tgid: u64,
    /// `prio`, 4 bytes: below 100 a real-time task, 0 the most urgent.
    pub prio: u64,
    /// `comm`, 16 bytes.
    pub comm: u64,
}

/// A window in which everything is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zoom {
    /// From this virtual time on.
    pub start_ns: u64,
    /// To this virtual time; nothing is recorded after it.
    pub end_ns: u64,
    /// The first instructions of the kernel's functions, ascending.
    pub functions: Vec<u64>,
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn registers_have_numbers_and_names_of_their_own() {
        let all: Vec<Register> = Register::X86_64.into_iter().chain(Register::ARM64).collect();
        let numbers: Vec<usize> = all.iter().map(|register| *register as usize).collect();
        assert_eq!(numbers, (0..Register::COUNT).collect::<Vec<_>>());
        let mut names: Vec<&str> = all.iter().map(|register| register.name()).collect();
        assert_eq!((names[4], names[16], names[48]), ("rsp", "x0", "SP_EL0"));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Register::COUNT);
    }

    #[test]
    fn a_condition_holds_for_what_is_left_of_a_value() {
        let only = |shift, value| Only { register: Register::EsrEl1, shift, values: vec![value] };
        assert!(only(0, 7).holds(7) && !only(0, 7).holds(8));
        assert!(only(26, 0x15).holds(0x15 << 26 | 0x3ff_ffff) && !only(26, 0x15).holds(0x16 << 26));
        assert!(only(63, 1).holds(u64::MAX));
        assert!(!only(64, 0).holds(0));
    }
}
