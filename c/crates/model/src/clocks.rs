use std::fmt;

use serde::{Deserialize, Serialize};

/// Time of several virtual CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Clocks {
    /// Each has a clock of its own.
    Own(Lookahead),
    /// They took turns on one clock, and none was ahead of another by more than the skew. Earlier
    /// recordings say so; no cell is executed like that any more.
    Turns {
        /// The skew, in microseconds.
        skew_us: u32,
    },
}

impl Default for Clocks {
    fn default() -> Self {
        Self::Own(Lookahead::default())
    }
}

/// How far the clock of a virtual CPU may be ahead of the slowest other busy one, in nanoseconds of
/// virtual time. A CPU sees another's writes to memory up to this time early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Lookahead {
    ns: u32,
}

/// There is no such lookahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the lookahead must be {} to {} ns; {} is a good compromise",
    Lookahead::NS_MIN,
    Lookahead::NS_MAX,
    Lookahead::default()
)]
pub struct LookaheadError;

impl Lookahead {
    /// Ten instructions at the default cost: less only costs host time.
    const NS_MIN: u32 = 20;

    /// With more, a CPU can see the reply of another before its cause.
    const NS_MAX: u32 = 2000;

    /// Returns the nanoseconds.
    pub const fn ns(self) -> u32 {
        self.ns
    }
}

impl Default for Lookahead {
    fn default() -> Self {
        Self { ns: 500 }
    }
}

impl fmt::Display for Lookahead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ns.fmt(f)
    }
}

impl TryFrom<u32> for Lookahead {
    type Error = LookaheadError;

    fn try_from(ns: u32) -> Result<Self, LookaheadError> {
        if (Self::NS_MIN..=Self::NS_MAX).contains(&ns) {
            Ok(Self { ns })
        } else {
            Err(LookaheadError)
        }
    }
}

impl From<Lookahead> for u32 {
    fn from(lookahead: Lookahead) -> Self {
        lookahead.ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_sound_is_a_lookahead() {
        for text in ["20", "500", "2000"] {
            let lookahead: Lookahead = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&lookahead).unwrap(), text);
        }
        for text in ["0", "19", "2001", "4294967296", "-1", "500.5", "\"500\"", "null", "[500]"] {
            assert!(serde_json::from_str::<Lookahead>(text).is_err(), "{text}");
        }
        let said = LookaheadError.to_string();
        assert_eq!(said, "the lookahead must be 20 to 2000 ns; 500 is a good compromise");
    }
}
