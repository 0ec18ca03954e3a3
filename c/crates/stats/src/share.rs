use std::{fmt, str::FromStr};

use serde::Serialize;

/// Part of a baseline's value, between 0 and 1, both excluded: printed and read as per cent, serialized as
/// a share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Share(f64);

/// The text is not a share.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a margin; expected a percentage between 0% and 100%, such as `5%`")]
pub struct ParseShareError(String);

impl Share {
    /// The margin of comparisons: 5 %.
    pub const COMPARISON: Self = Self(0.05);

    /// The margin of gates, of metrics that are not latencies: 3 %.
    pub const GATE: Self = Self(0.03);

    /// Creates a share; `None` unless it is between 0 and 1, both excluded.
    pub fn new(share: f64) -> Option<Self> {
        (share > 0.0 && share < 1.0).then_some(Self(share))
    }

    /// Returns the number: 0.05 for 5 %.
    pub const fn number(self) -> f64 {
        self.0
    }

    /// Returns whether a ratio differs from 1 by no more than the share. The answer is the same for a ratio
    /// and for its inverse, so that it does not matter which of two configurations is the baseline.
    pub(crate) fn contains(self, ratio: f64) -> bool {
        (1.0 / (1.0 + self.0)..=1.0 + self.0).contains(&ratio)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded to digits that a user may have typed.
        write!(f, "{}%", (self.0 * 1e8).round() / 1e6)
    }
}

impl FromStr for Share {
    type Err = ParseShareError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.strip_suffix('%')
            .and_then(|number| number.trim().parse::<f64>().ok())
            .and_then(|percent| Self::new(percent / 100.0))
            .ok_or_else(|| ParseShareError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_read_and_printed() {
        for text in ["5%", "1%", "0.5%", "12.5%"] {
            assert_eq!(text.parse::<Share>().unwrap().to_string(), text);
        }
        for text in ["", "5", "%", "0%", "100%", "-1%", "nan%", "inf%", "five%"] {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_ratio_and_its_inverse_are_alike() {
        let share = Share::COMPARISON;
        assert!(share.contains(1.05) && share.contains(1.0 / 1.05) && !share.contains(0.95));
    }
}
