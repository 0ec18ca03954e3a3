use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

/// Setting that would have no effect, or another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Refusal {
    /// The setting, as it was given.
    pub setting: String,
    /// Reason of the refusal.
    pub reason: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.setting, self.reason)
    }
}
