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
    /// Changes memory as one step: LOCK, and XCHG with memory.
    Locked = "locked",
    /// Multiplies integers.
    Multiply = "multiply",
    /// Divides integers.
    Divide = "divide",
    /// MMX, SSE, AVX and their kin.
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
    /// LFENCE, MFENCE, SFENCE.
    Fence = "fence",
    /// CLI, STI, PUSHF, POPF, CLAC, STAC.
    Flags = "flags",
    /// XSAVE, XRSTOR, FXSAVE, FXRSTOR and their kin.
    Xsave = "xsave",
    /// PAUSE.
    Pause = "pause",
    /// HLT and MWAIT.
    Halt = "halt",
    /// MOV to and from other control and debug registers, and loads of descriptor tables.
    System = "system",
}

impl Class {
    /// The number of classes.
    pub const COUNT: usize = Self::ALL.len();

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

/// A price for each class.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<Class, Price>", into = "BTreeMap<Class, Price>")]
pub struct Prices([Price; Class::COUNT]);

impl Prices {
    /// Gives each class a price.
    pub fn new(of: impl FnMut(Class) -> Price) -> Self {
        let mut of = of;
        Self(core::array::from_fn(|index| of(Class::ALL[index])))
    }

    /// Returns the price of a class.
    pub const fn of(&self, class: Class) -> Price {
        self.0[class.index()]
    }
}

impl TryFrom<BTreeMap<Class, Price>> for Prices {
    type Error = String;

    fn try_from(prices: BTreeMap<Class, Price>) -> Result<Self, String> {
        if let Some(class) = Class::ALL.iter().find(|class| !prices.contains_key(class)) {
            return Err(format!("there is no price for `{class}`"));
        }
        Ok(Self::new(|class| prices[&class]))
    }
}

impl From<Prices> for BTreeMap<Class, Price> {
    fn from(prices: Prices) -> Self {
        Class::ALL.iter().map(|class| (*class, prices.of(*class))).collect()
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
        let prices = Prices::new(|_| {
            next += 1;
            Price::try_from(next).unwrap()
        });
        assert_eq!(prices.of(Class::UserPlain).get(), 1);
        assert_eq!(prices.of(Class::System).get() as usize, Class::COUNT);
        let text = serde_json::to_string(&prices).unwrap();
        assert_eq!(serde_json::from_str::<Prices>(&text).unwrap(), prices);
        let without = text.replace(&format!("\"halt\":{},", prices.of(Class::Halt).get()), "");
        let said = serde_json::from_str::<Prices>(&without).unwrap_err().to_string();
        assert!(said.starts_with("there is no price for `halt`"), "{said}");
        let unknown = text.replace("\"halt\"", "\"sleep\"");
        let said = serde_json::from_str::<Prices>(&unknown).unwrap_err().to_string();
        assert!(said.starts_with("unknown variant `sleep`"), "{said}");
    }
}
