use std::{collections::BTreeSet, fmt};

use serde::{Serialize, Serializer};

use crate::{InstructionCost, Machine, MachineText, Name};

/// What virtual time counts in a cell.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CellCost {
    /// Instructions, of which each takes the same time.
    Instructions(InstructionCost),
    /// What each instruction costs on a machine.
    Prices {
        /// Where the prices are from.
        of: PricesOf,
        /// The machine that the profile describes.
        machine: MachineText,
    },
}

/// Where prices are from: times of one profile with its caches and without are two kinds of time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PricesOf {
    /// The profile.
    pub profile: Name,
    /// Whether its caches are modelled.
    pub has_caches: bool,
}

impl fmt::Display for PricesOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { profile, has_caches } = self;
        write!(f, "{profile}{}", if *has_caches { " with caches" } else { "" })
    }
}

impl Serialize for PricesOf {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl CellCost {
    /// Returns what the virtual time of a machine counts.
    pub fn of(machine: &Machine) -> Self {
        machine.prices.as_ref().map_or(Self::Instructions(machine.cost), |pricing| Self::Prices {
            of: PricesOf {
                profile: pricing.of.name.clone(),
                has_caches: pricing.of.caches.is_some(),
            },
            machine: pricing.of.machine.clone(),
        })
    }

    /// Returns where prices are from.
    pub fn prices_of(&self) -> Option<&PricesOf> {
        match self {
            Self::Instructions(_) => None,
            Self::Prices { of, .. } => Some(of),
        }
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
            let Self::Prices { of: PricesOf { profile, has_caches }, machine } = cost else {
                continue;
            };
            let of = if flat.is_empty() { "Times" } else { "Times of other cells" };
            sentences.push(format!(
                "{of} are virtual: those of {machine} (profile {profile}), by the prices of its \
                 instructions; {}.",
                if *has_caches { "its caches are modelled" } else { "caches have none" }
            ));
        }
        sentences.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caption(shifts: &[u8]) -> String {
        let cost = |shift: &u8| InstructionCost::try_from(*shift).unwrap();
        CellCost::caption(&shifts.iter().map(cost).map(CellCost::Instructions).collect())
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
            of: PricesOf { profile: "mine".parse().unwrap(), has_caches: false },
            machine: "a machine".parse().unwrap(),
        };
        let said = CellCost::caption(&[prices.clone()].into());
        assert!(said.starts_with("Times are virtual: those of a machine (profile mine)"));
        assert!(said.ends_with("caches have none."), "{said}");
        assert!(!said.contains("clock rates"), "{said}");
        let flat = CellCost::Instructions(InstructionCost::default());
        let both = CellCost::caption(&[prices.clone(), flat].into());
        assert!(both.contains("clock rates. Times of other cells are virtual: those"), "{both}");
        let CellCost::Prices { of, machine } = prices else { panic!() };
        assert_eq!(of.to_string(), "mine");
        let of = PricesOf { has_caches: true, ..of };
        assert_eq!(serde_json::to_string(&of).unwrap(), "\"mine with caches\"");
        let cached = CellCost::Prices { of, machine };
        let said = CellCost::caption(&[cached].into());
        assert!(said.ends_with("of its instructions; its caches are modelled."), "{said}");
    }
}
