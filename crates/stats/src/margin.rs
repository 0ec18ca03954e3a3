use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::Serialize;

/// Difference up to which two configurations are called the same: a share of the baseline, printed
/// and read as per cent, serialized as a share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Margin(f64);

/// The text is no margin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no margin; expected a percentage between 0% and 100%, such as `5%`")]
pub struct ParseMarginError(String);

impl Margin {
    /// Creates a margin from a share of the baseline; `None` unless it is between 0 and 1, both
    /// excluded.
    pub fn new(share: f64) -> Option<Self> {
        (share > 0.0 && share < 1.0).then_some(Self(share))
    }

    /// Returns the margin as a share: 0.05 for 5 %.
    pub fn share(self) -> f64 {
        self.0
    }

    /// Returns whether a ratio is within the margin. The answer is the same for a ratio and for its
    /// inverse, so that it does not matter which of two configurations is the baseline.
    pub(crate) fn contains(self, ratio: f64) -> bool {
        (1.0 / (1.0 + self.0)..=1.0 + self.0).contains(&ratio)
    }
}

impl Default for Margin {
    fn default() -> Self {
        Self(0.05)
    }
}

impl fmt::Display for Margin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded to what somebody may have typed.
        write!(f, "{}%", (self.0 * 1e8).round() / 1e6)
    }
}

impl FromStr for Margin {
    type Err = ParseMarginError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.strip_suffix('%')
            .and_then(|number| number.trim().parse::<f64>().ok())
            .and_then(|percent| Self::new(percent / 100.0))
            .ok_or_else(|| ParseMarginError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_read_and_printed() {
        for text in ["5%", "1%", "0.5%", "12.5%"] {
            assert_eq!(text.parse::<Margin>().unwrap().to_string(), text);
        }
        for text in ["", "5", "%", "0%", "100%", "-1%", "nan%", "inf%", "five%"] {
            assert!(text.parse::<Margin>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_ratio_and_its_inverse_are_alike() {
        let margin = Margin::default();
        assert!(margin.contains(1.05) && margin.contains(1.0 / 1.05) && !margin.contains(0.95));
    }
}
