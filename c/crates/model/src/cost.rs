use std::fmt;

use serde::{Deserialize, Serialize};

/// The virtual time that an instruction takes: a power of two of nanoseconds, the same for every
/// instruction. Machines and experiments hold it as `shift`, its exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct InstructionCost {
    shift: u8,
}

/// There is no such cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the shift must be 0 to {}; 1 is a machine of 500 MIPS", InstructionCost::SHIFT_MAX)]
pub struct InstructionCostError;

impl InstructionCost {
    const SHIFT_MAX: u8 = 10;

    /// Stands in machines whose time is their own, where nothing counts instructions.
    pub const UNCOUNTED: Self = Self { shift: 0 };

    /// The virtual time of a count where instructions have prices: prices are in 1/256 ns.
    pub const PRICED: Self = Self { shift: 0 };

    /// Returns the exponent, which QEMU calls `shift`.
    pub const fn shift(self) -> u8 {
        self.shift
    }

    /// Returns the instructions of a second of virtual time, of all CPUs together.
    pub fn per_second(self) -> f64 {
        1e9 / f64::from(1u32 << self.shift)
    }
}

/// 2 ns: a machine of 500 million instructions per second.
impl Default for InstructionCost {
    fn default() -> Self {
        Self { shift: 1 }
    }
}

impl fmt::Display for InstructionCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", 1u32 << self.shift)
    }
}

impl TryFrom<u8> for InstructionCost {
    type Error = InstructionCostError;

    fn try_from(shift: u8) -> Result<Self, InstructionCostError> {
        if shift > Self::SHIFT_MAX { Err(InstructionCostError) } else { Ok(Self { shift }) }
    }
}

impl From<InstructionCost> for u8 {
    fn from(cost: InstructionCost) -> Self {
        cost.shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arch, Machine};

    /// Identities of cells are digests of these bytes.
    #[test]
    fn a_machine_holds_it_as_the_number_that_it_always_was() {
        let machine = Machine {
            arch: Arch::Amd64,
            cpus: 1,
            memory_mib: 512,
            cost: InstructionCost::default(),
            lookahead: None,
            topology: None,
            prices: None,
            without: Default::default(),
        };
        let text = r#"{"arch":"amd64","cpus":1,"memory_mib":512,"shift":1}"#;
        assert_eq!(serde_json::to_string(&machine).unwrap(), text);
        assert_eq!(serde_json::from_str::<Machine>(text).unwrap(), machine);
        for no_cost in ["11", "255", "256", "-1", "1.5", "\"1\"", "null"] {
            let text = text.replace(":1}", &format!(":{no_cost}}}"));
            assert!(serde_json::from_str::<Machine>(&text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_second_has_so_many() {
        assert_eq!(InstructionCost::default().per_second(), 5e8);
        assert_eq!(InstructionCost::UNCOUNTED.per_second(), 1e9);
    }
}
