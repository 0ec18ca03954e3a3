use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use ts_rs::TS;

use crate::Interval;

/// Relation of a configuration's metric to the baseline's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, TS, JsonSchema)]
pub struct Effect {
    /// The median divided by the baseline's; absent where the baseline's is zero.
    pub ratio: Option<f64>,
    /// The 95 % interval of the ratio, with all that the resolution may hide; absent for single
    /// replicates, and where some value is not positive.
    #[ts(as = "Option<[f64; 2]>")]
    pub interval: Option<Interval>,
    /// Probability that the bootstrap finds such a difference where there is none, adjusted for the
    /// number of comparisons.
    pub p_adjusted: f64,
    /// Verdict on the difference.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// Verdict on a metric, beside that of a baseline or of a base kernel. Worse means certainly worse, and
/// perhaps by more than the margin. Better is the like in the other direction; a gate, which asks whether a
/// kernel is worse, says so of half the margin already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, TS, JsonSchema)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// Better.
    Better,
    /// Worse.
    Worse,
    /// Within the margin; for a gate, not worse by the margin.
    WithinMargin,
    /// Within the resolution of the instrument, which may hide a difference larger than the margin.
    /// More replicates tell no more.
    WithinResolution,
    /// There are too few replicates to tell.
    Undecided {
        /// About how many more would; absent where that cannot be estimated.
        more: Option<u32>,
    },
}

impl Verdict {
    /// Returns the word for programs, which know the margin: `better`, `worse`, `within_margin` or
    /// `undecided`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::WithinMargin => "within_margin",
            Self::WithinResolution => "within_resolution",
            Self::Undecided { .. } => "undecided",
        }
    }

    /// Returns the word for people: `better`, `worse`, `within 5%`, `within the resolution` or
    /// `undecided`.
    pub fn word(self, margin: impl fmt::Display) -> String {
        match self {
            Self::WithinMargin => format!("within {margin}"),
            Self::WithinResolution => "within the resolution".to_owned(),
            verdict => verdict.as_str().to_owned(),
        }
    }

    /// Returns whether no difference was found that counts: within the margin, or within the resolution.
    pub fn is_alike(self) -> bool {
        matches!(self, Self::WithinMargin | Self::WithinResolution)
    }

    /// Returns whether the verdict is final.
    pub fn is_decided(self) -> bool {
        !matches!(self, Self::Undecided { .. })
    }

    /// Returns about how many more replicates would decide it; `None` where it is final, or that cannot be
    /// estimated.
    pub(crate) fn more(self) -> Option<u32> {
        match self {
            Self::Undecided { more } => more,
            _ => None,
        }
    }

    /// Returns whether it tells if there is a difference of the margin.
    pub(crate) fn tells(self) -> bool {
        self.is_decided() && self != Self::WithinResolution
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_difference_is_named_by_the_margin() {
        let margin: crate::Share = "2.5%".parse().unwrap();
        assert_eq!(Verdict::WithinMargin.word(margin), "within 2.5%");
        assert_eq!(Verdict::Undecided { more: None }.word(margin), "undecided");
    }
}
