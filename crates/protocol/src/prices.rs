//! What instructions cost, by class.
//!
//! A profile gives each [`Class`] a [`Price`]; the plugin in QEMU charges them. Prices are integers, so
//! that no rounding of any machine reaches a cell.

use alloc::{collections::BTreeMap, format, string::String};
use core::fmt;

use serde::{Deserialize, Serialize};

/// Defines the classes, their names and what belongs to each.
macro_rules! classes {
    ($($(#[$doc:meta])* $class:ident = $name:literal,)*) => {
        /// What an instruction is, as far as its price depends on it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(Serialize, Deserialize)]
        pub enum Class {
            $($(#[$doc])* #[serde(rename = $name)] $class,)*
        }

        impl Class {
            /// Every class, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$class,)*];

            /// Returns the name that profiles use.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$class => $name,)*
                }
            }
        }
    };
}

classes! {
    /// Arithmetic on registers, and all that no other class names; in user space.
    UserPlain = "user_plain",
    /// The same in the kernel.
    KernelPlain = "kernel_plain",
    /// Reads or writes memory once or twice, in user space.
    UserMemory = "user_memory",
    /// The same in the kernel.
    KernelMemory = "kernel_memory",
    /// A direct jump, call or return, in user space.
    UserBranch = "user_branch",
    /// The same in the kernel.
    KernelBranch = "kernel_branch",
    /// A jump or call through a register or memory.
    Indirect = "indirect",
    /// Changes memory as one step: LOCK, and XCHG with memory; atomics (LSE) and exclusive accesses.
    Locked = "locked",
    /// Multiplies integers.
    Multiply = "multiply",
    /// Divides integers.
    Divide = "divide",
    /// MMX, SSE, AVX and their kin; floating point, Advanced SIMD, SVE.
    Vector = "vector",
    /// The x87.
    X87 = "x87",
    /// One further byte of a repeated MOVS or STOS.
    StringByte = "string_byte",
    /// One further word of 2 to 8 bytes of a repeated MOVS or STOS.
    StringWord = "string_word",
    /// One further element of a repeated CMPS, SCAS or LODS.
    StringCompare = "string_compare",
    /// The start of a repeated string instruction.
    StringStart = "string_start",
    /// SYSCALL.
    Syscall = "syscall",
    /// SYSRET.
    Sysret = "sysret",
    /// IRET.
    Iret = "iret",
    /// The first instruction of the kernel in an interrupt of a CPU's own timer, with its delivery.
    EntryTimer = "entry_timer",
    /// The same in an interrupt from a CPU, most often another one.
    EntryIpi = "entry_ipi",
    /// The same in an interrupt of a device.
    EntryDevice = "entry_device",
    /// The same in a page fault.
    EntryFault = "entry_fault",
    /// The same in any other exception.
    EntryException = "entry_exception",
    /// WRMSR.
    Wrmsr = "wrmsr",
    /// RDMSR.
    Rdmsr = "rdmsr",
    /// MOV to CR3: another address space.
    Cr3 = "cr3",
    /// INVLPG and INVPCID.
    Invlpg = "invlpg",
    /// IN and OUT and their kin, in the kernel.
    Port = "port",
    /// CPUID.
    Cpuid = "cpuid",
    /// RDTSC and RDTSCP.
    Rdtsc = "rdtsc",
    /// SWAPGS.
    Swapgs = "swapgs",
    /// LFENCE, MFENCE, SFENCE; DMB, DSB.
    Fence = "fence",
    /// CLI, STI, PUSHF, POPF, CLAC, STAC; reads and writes of DAIF and PAN.
    Flags = "flags",
    /// XSAVE, XRSTOR, FXSAVE, FXRSTOR and their kin.
    Xsave = "xsave",
    /// PAUSE; YIELD, WFE.
    Pause = "pause",
    /// HLT and MWAIT; WFI.
    Halt = "halt",
    /// MOV to and from other control and debug registers, and loads of descriptor tables; operations on caches and
    /// address translation (DC, IC, AT).
    System = "system",
    /// The first instruction of the kernel in an interrupt of any kind, with its delivery.
    EntryIrq = "entry_irq",
    /// The same in a system call, a fault, or another exception that an instruction causes.
    EntrySync = "entry_sync",
    /// ERET.
    Eret = "eret",
    /// MRS of a register of the virtual or the physical counter.
    Counter = "counter",
    /// MRS and MSR of a register of the counter's timers.
    Timer = "timer",
    /// MRS and MSR of the CPU's interface of the interrupt controller (ICC).
    Gic = "gic",
    /// MSR of TTBR0 and TTBR1: another address space.
    Ttbr = "ttbr",
    /// MRS of any other register, but of those that hold a thread's or a CPU's pointer, which are plain.
    Mrs = "mrs",
    /// MSR of any other register.
    Msr = "msr",
    /// TLBI.
    Tlbi = "tlbi",
    /// DC ZVA: zeroes a block of 64 bytes.
    DcZva = "dc_zva",
    /// ISB and SB.
    Isb = "isb",
}

impl Class {
    /// The number of classes.
    pub const COUNT: usize = Self::ALL.len();

    /// Those of x86-64, in the order of their numbers.
    pub const X86_64: &[Self] = Self::ALL.split_at(Self::EntryIrq as usize).0;

    /// Those of arm64, in the order of their numbers.
    pub const AARCH64: &[Self] = &[
        Self::UserPlain,
        Self::KernelPlain,
        Self::UserMemory,
        Self::KernelMemory,
        Self::UserBranch,
        Self::KernelBranch,
        Self::Indirect,
        Self::Locked,
        Self::Multiply,
        Self::Divide,
        Self::Vector,
        Self::Fence,
        Self::Flags,
        Self::Pause,
        Self::Halt,
        Self::System,
        Self::EntryIrq,
        Self::EntrySync,
        Self::Eret,
        Self::Counter,
        Self::Timer,
        Self::Gic,
        Self::Ttbr,
        Self::Mrs,
        Self::Msr,
        Self::Tlbi,
        Self::DcZva,
        Self::Isb,
    ];

    /// Returns its place in [`Class::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What one instruction of a class costs, in 1/256 counts. A *count* is what `-icount` counts: the
/// time of an instruction where none has a price.
///
/// No price is 0: a loop of instructions without a price would stop time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Price(u32);

/// There is no such price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a price must be 1 to {} (1/{} counts)", Price::MAX.0, Price::ONE.0)]
pub struct PriceError;

impl Price {
    /// One count.
    pub const ONE: Self = Self(256);

    /// 65,535 counts: a block's prices fit 64 bits however many instructions it has.
    pub const MAX: Self = Self((1 << 24) - 1);

    /// Returns the price in 1/256 counts.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl TryFrom<u32> for Price {
    type Error = PriceError;

    fn try_from(price: u32) -> Result<Self, PriceError> {
        if (1..=Self::MAX.0).contains(&price) { Ok(Self(price)) } else { Err(PriceError) }
    }
}

impl From<Price> for u32 {
    fn from(price: Price) -> Self {
        price.0
    }
}

/// A price for each class of one processor: [`Class::X86_64`] or [`Class::AARCH64`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<Class, Price>", into = "BTreeMap<Class, Price>")]
pub struct Prices {
    classes: &'static [Class],
    /// By the numbers of classes; those that the processor lacks have one count.
    prices: [Price; Class::COUNT],
}

impl Prices {
    /// Gives each class of a processor a price.
    pub fn new(classes: &'static [Class], of: impl FnMut(Class) -> Price) -> Self {
        let mut of = of;
        let mut prices = [Price::ONE; Class::COUNT];
        for class in classes {
            prices[class.index()] = of(*class);
        }
        Self { classes, prices }
    }

    /// Returns the classes that have a price: those of the processor.
    pub const fn classes(&self) -> &'static [Class] {
        self.classes
    }

    /// Returns the price of a class, one count for a class that the processor lacks.
    pub const fn of(&self, class: Class) -> Price {
        self.prices[class.index()]
    }
}

impl TryFrom<BTreeMap<Class, Price>> for Prices {
    type Error = String;

    /// The processor is the one that has the most of the classes.
    fn try_from(prices: BTreeMap<Class, Price>) -> Result<Self, String> {
        let named = |classes: &[Class]| classes.iter().filter(|of| prices.contains_key(of)).count();
        let classes = if named(Class::AARCH64) > named(Class::X86_64) {
            Class::AARCH64
        } else {
            Class::X86_64
        };
        if let Some(class) = classes.iter().find(|class| !prices.contains_key(class)) {
            return Err(format!("there is no price for `{class}`"));
        }
        if let Some(class) = prices.keys().find(|class| !classes.contains(class)) {
            return Err(format!(
                "there is a price for `{class}`, and the processor that has the other classes has none such"
            ));
        }
        Ok(Self::new(classes, |class| prices[&class]))
    }
}

impl From<Prices> for BTreeMap<Class, Price> {
    fn from(prices: Prices) -> Self {
        prices.classes.iter().map(|class| (*class, prices.of(*class))).collect()
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn only_what_passes_time_is_a_price() {
        for text in ["1", "256", "16777215"] {
            let price: Price = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&price).unwrap(), text);
        }
        for text in ["0", "-1", "16777216", "4294967297", "1.5", "\"256\"", "null"] {
            assert!(serde_json::from_str::<Price>(text).is_err(), "{text}");
        }
        assert_eq!(PriceError.to_string(), "a price must be 1 to 16777215 (1/256 counts)");
    }

    #[test]
    fn every_class_has_one_price() {
        let mut next = 0;
        let prices = Prices::new(Class::X86_64, |_| {
            next += 1;
            Price::try_from(next).unwrap()
        });
        assert_eq!(prices.of(Class::UserPlain).get(), 1);
        assert_eq!(prices.of(Class::System).get() as usize, Class::X86_64.len());
        let text = serde_json::to_string(&prices).unwrap();
        assert_eq!(serde_json::from_str::<Prices>(&text).unwrap(), prices);
        let without = text.replace(&format!("\"halt\":{},", prices.of(Class::Halt).get()), "");
        let said = serde_json::from_str::<Prices>(&without).unwrap_err().to_string();
        assert!(said.starts_with("there is no price for `halt`"), "{said}");
        let unknown = text.replace("\"halt\"", "\"sleep\"");
        let said = serde_json::from_str::<Prices>(&unknown).unwrap_err().to_string();
        assert!(said.starts_with("unknown variant `sleep`"), "{said}");
    }

    #[test]
    fn prices_are_those_of_one_processor() {
        for classes in [Class::X86_64, Class::AARCH64] {
            let prices = Prices::new(classes, |_| Price::ONE);
            let text = serde_json::to_string(&prices).unwrap();
            assert_eq!(serde_json::from_str::<Prices>(&text).unwrap().classes(), classes);
            let other = if classes == Class::X86_64 { "eret" } else { "iret" };
            let said = text.replace('}', &format!(",\"{other}\":256}}"));
            let said = serde_json::from_str::<Prices>(&said).unwrap_err().to_string();
            assert!(said.starts_with(&format!("there is a price for `{other}`, and")), "{said}");
        }
    }
}
