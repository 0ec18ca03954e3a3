use std::{collections::BTreeSet, fmt};

use serde::{Serialize, Serializer};

use crate::{Check, InstructionCost, Machine, MachineText, Name, PairError};

/// Cost that virtual time counts in a cell.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CellCost {
    /// Instructions, of which each takes the same time.
    Instructions(InstructionCost),
    /// The cost of each instruction on a machine.
    Prices {
        /// Where the prices are from.
        of: PricesOf,
        /// The machine that the profile describes.
        machine: MachineText,
        /// How well workloads were predicted; `None` where they are not checked.
        checked: Option<Checked>,
    },
}

/// How well prices predict the ratios of workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Checked {
    /// Number of workloads.
    pub workloads: u32,
    /// The error of their pairs.
    pub pairs: PairError,
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times = |percent: u32| f64::from(percent) / 100.0 + 1.0;
        let Self { workloads, pairs: PairError { error_percent_mean, error_percent_max } } = *self;
        let (mean, max) = (times(error_percent_mean), times(error_percent_max));
        write!(
            f,
            "when last checked, ratios between {workloads} workloads were ×{mean:.2} off on average, ×{max:.1} \
             at most"
        )
    }
}

/// Where prices are from: times of one profile with its caches and without are two kinds of time, and so are those
/// with its stolen time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PricesOf {
    /// The profile.
    pub profile: Name,
    /// Whether its caches are modelled.
    pub has_caches: bool,
    /// Whether its stolen time is modelled.
    pub has_stolen: bool,
}

impl fmt::Display for PricesOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { profile, has_caches, has_stolen } = self;
        let parts = match (has_caches, has_stolen) {
            (false, false) => "",
            (true, false) => " with caches",
            (false, true) => " with stolen time",
            (true, true) => " with caches and stolen time",
        };
        write!(f, "{profile}{parts}")
    }
}

impl Serialize for PricesOf {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl CellCost {
    /// Returns the cost that the virtual time of a machine counts. A cell does not know how well
    /// its profile predicts: see [`Self::checked_by`].
    pub fn of(machine: &Machine) -> Self {
        machine.prices.as_ref().map_or(Self::Instructions(machine.cost), |pricing| Self::Prices {
            of: PricesOf {
                profile: pricing.of.name.clone(),
                has_caches: pricing.of.caches.is_some(),
                has_stolen: pricing.of.stolen.is_some(),
            },
            machine: pricing.of.machine.clone(),
            checked: None,
        })
    }

    /// Adds how well the profile's prices predict workloads.
    #[must_use]
    pub fn checked_by(self, check: &Check) -> Self {
        let Self::Prices { of, machine, .. } = self else { return self };
        let pairs = if of.has_caches { check.caches } else { Some(check.prices) };
        let checked = pairs.map(|pairs| Checked { workloads: check.workloads, pairs });
        Self::Prices { of, machine, checked }
    }

    /// Returns where prices are from.
    pub fn prices_of(&self) -> Option<&PricesOf> {
        match self {
            Self::Instructions(_) => None,
            Self::Prices { of, .. } => Some(of),
        }
    }

    /// Describes virtual time where cells have these costs: the caption of everything that shows
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
            let Self::Prices { of, machine, checked } = cost else { continue };
            let PricesOf { profile, has_caches, has_stolen } = of;
            let checked = checked.map_or_else(
                || "how well they predict workloads was not checked".to_owned(),
                |checked| checked.to_string(),
            );
            let of = if flat.is_empty() { "Times" } else { "Times of other cells" };
            sentences.push(format!(
                "{of} are virtual: those of {machine} (profile {profile}), by the prices of its \
                 instructions; {}{}; {checked}.",
                if *has_caches { "its caches are modelled" } else { "caches have none" },
                if *has_stolen { "; its hypervisor steals time from it" } else { "" }
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
            of: PricesOf { profile: "mine".parse().unwrap(), has_caches: false, has_stolen: false },
            machine: "a machine".parse().unwrap(),
            checked: None,
        };
        let said = CellCost::caption(&[prices.clone()].into());
        assert!(said.starts_with("Times are virtual: those of a machine (profile mine)"));
        assert!(
            said.contains("caches have none; how well they predict workloads was not"),
            "{said}"
        );
        assert!(!said.contains("clock rates"), "{said}");
        let flat = CellCost::Instructions(InstructionCost::default());
        let both = CellCost::caption(&[prices.clone(), flat].into());
        assert!(both.contains("clock rates. Times of other cells are virtual: those"), "{both}");
        let CellCost::Prices { of, machine, checked } = prices else { panic!() };
        assert_eq!(of.to_string(), "mine");
        let of = PricesOf { has_caches: true, ..of };
        assert_eq!(serde_json::to_string(&of).unwrap(), "\"mine with caches\"");
        let both = PricesOf { has_stolen: true, ..of.clone() };
        assert_eq!(both.to_string(), "mine with caches and stolen time");
        assert_eq!(PricesOf { has_caches: false, ..both }.to_string(), "mine with stolen time");
        let cached = CellCost::Prices { of, machine, checked };
        let said = CellCost::caption(&[cached].into());
        assert!(said.contains("of its instructions; its caches are modelled; how well"), "{said}");
    }

    #[test]
    fn the_caption_says_how_well_workloads_are_predicted() {
        let cost = |has_caches| CellCost::Prices {
            of: PricesOf { profile: "mine".parse().unwrap(), has_caches, has_stolen: false },
            machine: "a machine".parse().unwrap(),
            checked: None,
        };
        let pairs = |mean| PairError { error_percent_mean: mean, error_percent_max: 131 };
        let check = Check { workloads: 16, prices: pairs(28), caches: None };
        let said = |cost: CellCost, check| CellCost::caption(&[cost.checked_by(check)].into());
        let prices = said(cost(false), &check);
        assert!(
            prices.ends_with(
                "when last checked, ratios between 16 workloads were ×1.28 off on average, ×2.3 at most."
            ),
            "{prices}"
        );
        assert!(said(cost(true), &check).ends_with("was not checked."));
        let both = Check { caches: Some(pairs(9)), ..check };
        assert!(said(cost(true), &both).contains("×1.09 off"));
    }
}
