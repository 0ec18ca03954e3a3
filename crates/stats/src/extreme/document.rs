use serde::{Serialize, Serializer};
use ts_rs::TS;

use super::{Estimate, ExtremeFit, NoFit, fit};

/// The level that is named: what one cell in so many exceeds.
pub const LEVEL_CELLS: u32 = 100;

/// What the distribution of a configuration's maxima says, or why it says nothing.
#[derive(Clone, Debug, PartialEq, Serialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Extreme {
    /// It was fitted.
    Fit {
        /// The distribution.
        #[serde(flatten)]
        fit: Box<ExtremeFit>,
        /// What one cell in [`LEVEL_CELLS`] exceeds, where that is within reach.
        level_100: Option<Estimate>,
    },
    /// The maxima do not carry it; why.
    Refused(#[ts(as = "String")] NoFit),
}

impl Extreme {
    /// Fits the maxima of a configuration's cells.
    pub(crate) fn of(maxima: &[f64]) -> Self {
        match fit(maxima) {
            Ok(fit) => Self::Fit { level_100: fit.level(LEVEL_CELLS).ok(), fit: Box::new(fit) },
            Err(reason) => Self::Refused(reason),
        }
    }
}

impl Serialize for NoFit {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}
