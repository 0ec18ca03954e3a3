use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use ts_rs::TS;

use super::{Estimate, ExtremeFit, NoFit, fit};

/// Number of cells of the printed level: one cell in this number exceeds it.
pub const LEVEL_CELLS: u32 = 100;

/// Distribution of a configuration's maxima, or the reason why it has no fit.
#[derive(Clone, Debug, PartialEq, Serialize, TS, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Extreme {
    /// The maxima have a fit.
    Fit {
        /// Fitted distribution.
        #[serde(flatten)]
        fit: Box<ExtremeFit>,
        /// Value that one cell in [`LEVEL_CELLS`] exceeds, where it is within reach.
        level_100: Option<Estimate>,
    },
    /// The maxima do not carry it; why.
    Refused(
        #[ts(as = "String")]
        #[schemars(with = "String")]
        NoFit,
    ),
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
