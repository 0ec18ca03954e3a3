use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};

use crate::{Machine, MachineText, Name, Slowdown};

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

    /// Returns the exponent, which is what QEMU calls `shift`.
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

/// What virtual time counts in a cell.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CellCost {
    /// Instructions, of which each takes the same time.
    Instructions(InstructionCost),
    /// What each instruction costs on a machine.
    Prices {
        /// The profile.
        profile: Name,
        /// The machine that it describes.
        machine: MachineText,
        /// How many times slower virtual time is than that machine.
        slowdown: Slowdown,
    },
}

impl CellCost {
    /// Returns what the virtual time of a machine counts.
    pub fn of(machine: &Machine) -> Self {
        machine.prices.as_ref().map_or(Self::Instructions(machine.cost), |pricing| Self::Prices {
            profile: pricing.of.name.clone(),
            machine: pricing.of.machine.clone(),
            slowdown: pricing.of.slowdown,
        })
    }

    /// Says what virtual time counts where cells have these costs: the caption of everything that shows
    /// their times. The default cost of an instruction is not named.
    pub fn caption(costs: &BTreeSet<Self>) -> String {
        let mut sentences = Vec::new();
        let flat: Vec<InstructionCost> = costs
            .iter()
            .filter_map(|cost| match cost {
                Self::Instructions(cost) => Some(*cost),
                Self::Prices { .. } => None,
            })
            .collect();
        if !flat.is_empty() || costs.is_empty() {
            sentences.push(
                "Times are virtual: they count the guest's instructions and know neither caches nor \
                 clock rates."
                    .to_owned(),
            );
        }
        if flat.iter().any(|cost| *cost != InstructionCost::default()) {
            let flat: Vec<_> = flat.iter().map(ToString::to_string).collect();
            sentences
                .push(format!("An instruction takes {}.", flat.join(" in some cells, in others ")));
        }
        for cost in costs {
            let Self::Prices { profile, machine, slowdown } = cost else { continue };
            let of = if flat.is_empty() { "Times" } else { "Times of other cells" };
            sentences.push(format!(
                "{of} are virtual: each instruction has its price on {machine} (profile {profile}), \
                 caches have none, and a virtual second is 1/{} s of that machine.",
                slowdown.get()
            ));
        }
        sentences.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arch, Machine};

    fn costs(shifts: &[u8]) -> BTreeSet<InstructionCost> {
        shifts.iter().map(|shift| InstructionCost::try_from(*shift).unwrap()).collect()
    }

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
        };
        let text = r#"{"arch":"amd64","cpus":1,"memory_mib":512,"shift":1}"#;
        assert_eq!(serde_json::to_string(&machine).unwrap(), text);
        assert_eq!(serde_json::from_str::<Machine>(text).unwrap(), machine);
        for no_cost in ["11", "255", "256", "-1", "1.5", "\"1\"", "null"] {
            let text = text.replace(":1}", &format!(":{no_cost}}}"));
            assert!(serde_json::from_str::<Machine>(&text).is_err(), "{text}");
        }
    }

    fn caption(shifts: &[u8]) -> String {
        let costs = costs(shifts).into_iter().map(CellCost::Instructions);
        CellCost::caption(&costs.collect())
    }

    #[test]
    fn the_caption_names_costs_that_are_not_the_default() {
        assert!(caption(&[1]).ends_with("nor clock rates."));
        assert!(caption(&[]).ends_with("nor clock rates."));
        assert!(caption(&[10]).ends_with("An instruction takes 1024 ns."));
        let both = caption(&[3, 1]);
        assert!(
            both.ends_with("An instruction takes 2 ns in some cells, in others 8 ns."),
            "{both}"
        );
    }

    #[test]
    fn the_caption_of_prices_names_the_machine() {
        let prices = CellCost::Prices {
            profile: "mine".parse().unwrap(),
            machine: "a machine".parse().unwrap(),
            slowdown: Slowdown::try_from(4).unwrap(),
        };
        let said = CellCost::caption(&[prices.clone()].into());
        assert!(said.starts_with("Times are virtual: each instruction has its price on a machine"));
        assert!(said.ends_with("is 1/4 s of that machine."), "{said}");
        assert!(!said.contains("clock rates"), "{said}");
        let flat = CellCost::Instructions(InstructionCost::default());
        let both = CellCost::caption(&[prices, flat].into());
        assert!(both.contains("clock rates. Times of other cells are virtual: each"), "{both}");
    }

    #[test]
    fn a_second_has_so_many() {
        assert_eq!(InstructionCost::default().per_second(), 5e8);
        assert_eq!(InstructionCost::UNCOUNTED.per_second(), 1e9);
    }
}
