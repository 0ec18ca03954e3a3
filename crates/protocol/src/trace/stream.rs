//! The plugin's stream.
//!
//! ```text
//! MAGIC  u32 LE format, with CLOCK_PER_CPU where each CPU has a clock
//! records: varint tag, then what the tag says; every number is an unsigned LEB128 varint
//!   END    0, number of events
//!   SITE   kind, address, and the kind's own field; the first site has number 0
//!   TASK   address, pid, tgid, prio, 16 bytes of comm
//!   CPU    number of the CPU that the following events happen on
//!   STACK  number of words, the words: the top of the stack of the event before it
//!   FIRST_EVENT + site   time since the last event (ns), the values of the site
//! ```
//!
//! The last event is the last one of any CPU where the CPUs share a clock. Where each CPU has a clock it is
//! the last one of the event's own CPU, whose clock begins at 0. Records are in the order of execution in
//! both, so that a cause comes before its effect even if its CPU's clock is ahead.
//!
//! A **site** is an instruction of the kernel at which events happen. It is announced before its
//! first event.

/// How a stream begins.
pub const MAGIC: [u8; 8] = *b"PLABTRCE";

/// Added to the format of a stream in which each CPU has a clock: a machine of several CPUs in virtual
/// time.
pub const CLOCK_PER_CPU: u32 = 1 << 16;

/// The tag of the end; a stream without it is cut off.
pub const END: u64 = 0;
/// The tag of a site.
pub const SITE: u64 = 1;
/// The tag of a task.
pub const TASK: u64 = 2;
/// The tag of a change of CPU.
pub const CPU: u64 = 3;
/// The tag of the words on a stack.
pub const STACK: u64 = 4;
/// Tags from here on are events.
pub const FIRST_EVENT: u64 = 5;

/// The length of `comm` (`TASK_COMM_LEN`).
pub const COMM_BYTES: usize = 16;

/// What happens at a site. Events happen before the instruction is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SiteKind {
    /// The probe with this number in the program; its values are the probe's operands.
    Probe(u32),
    /// This number is added to `preempt_count`.
    PreemptAdd(i32),
    /// The value is added to `preempt_count`: a signed number of 32 bits.
    PreemptAddValue,
    /// The number is subtracted.
    PreemptSubValue,
    /// `preempt_count` is set to this number.
    PreemptSet(i32),
    /// `preempt_count` is set to the value.
    PreemptSetValue,
    /// `PREEMPT_NEED_RESCHED` becomes 0 in or beside `preempt_count`, which means: reschedule.
    NeedReschedSet,
    /// `PREEMPT_NEED_RESCHED` becomes 1.
    NeedReschedClear,
    /// Interrupts become off: `cli`, `msr daifset`.
    IrqsOff,
    /// Interrupts become on: `sti`, `msr daifclr`.
    IrqsOn,
    /// Flags are restored (`popf`, `msr daif`); the value says whether interrupts are on afterwards.
    FlagsRestore,
    /// The way out of an interrupt or exception (`iret`, `eret`); the value is 1 when it returns to user space.
    ExceptionReturn,
    /// `sysret`, always to user space.
    Sysret,
    /// `hlt`, `wfi`: the CPU idles until an interrupt.
    Halt,
    /// A function's first instruction, in a zoom; the value is the stack pointer.
    Enter,
    /// A return from a function (`ret`), in a zoom and in functions that are named; likewise.
    Return,
    /// No instruction, with address 0: time was stolen from the CPU until now; the value is its length in
    /// nanoseconds.
    Stolen,
}

impl SiteKind {
    /// The kind's number and field in the stream.
    pub fn encode(self) -> (u64, u64) {
        let signed = |number: i32| u64::from(number.cast_unsigned());
        match self {
            Self::Probe(number) => (0, number.into()),
            Self::PreemptAdd(number) => (1, signed(number)),
            Self::PreemptAddValue => (2, 0),
            Self::PreemptSubValue => (3, 0),
            Self::PreemptSet(number) => (4, signed(number)),
            Self::NeedReschedSet => (5, 0),
            Self::NeedReschedClear => (6, 0),
            Self::IrqsOff => (7, 0),
            Self::IrqsOn => (8, 0),
            Self::FlagsRestore => (9, 0),
            Self::ExceptionReturn => (10, 0),
            Self::Sysret => (11, 0),
            Self::Halt => (12, 0),
            Self::Enter => (13, 0),
            Self::Return => (14, 0),
            Self::Stolen => (15, 0),
            Self::PreemptSetValue => (16, 0),
        }
    }

    /// The kind with a number and a field; `None` where there is none.
    pub fn decode(kind: u64, field: u64) -> Option<Self> {
        let number = u32::try_from(field).ok()?;
        Some(match kind {
            0 => Self::Probe(number),
            1 => Self::PreemptAdd(number.cast_signed()),
            2 => Self::PreemptAddValue,
            3 => Self::PreemptSubValue,
            4 => Self::PreemptSet(number.cast_signed()),
            5 => Self::NeedReschedSet,
            6 => Self::NeedReschedClear,
            7 => Self::IrqsOff,
            8 => Self::IrqsOn,
            9 => Self::FlagsRestore,
            10 => Self::ExceptionReturn,
            11 => Self::Sysret,
            12 => Self::Halt,
            13 => Self::Enter,
            14 => Self::Return,
            15 => Self::Stolen,
            16 => Self::PreemptSetValue,
            _ => return None,
        })
    }

    /// How many values its events carry; a probe's are in the program.
    pub fn values(self, probe: impl FnOnce(u32) -> usize) -> usize {
        match self {
            Self::Probe(number) => probe(number),
            Self::PreemptAddValue
            | Self::PreemptSubValue
            | Self::PreemptSetValue
            | Self::FlagsRestore
            | Self::ExceptionReturn
            | Self::Enter
            | Self::Return
            | Self::Stolen => 1,
            _ => 0,
        }
    }
}
