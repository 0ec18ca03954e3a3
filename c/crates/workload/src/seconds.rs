use std::{fmt, str::FromStr};

use preemptlab_model::VirtualDuration;
use serde::{Deserialize, Serialize};

/// Nanoseconds in a second.
const NS: u64 = 1_000_000_000;

/// A whole number of virtual seconds, written `2s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Seconds(u32);

impl Seconds {
    const MAX: u32 = 3600;

    /// The most seconds.
    pub const MOST: Self = Self(Self::MAX);

    /// One second.
    pub const ONE: Self = Self(1);

    /// Creates a duration from its number of seconds; `None` unless the number is 1 to 3600.
    pub const fn new(seconds: u32) -> Option<Self> {
        match seconds {
            1..=Self::MAX => Some(Self(seconds)),
            _ => None,
        }
    }

    /// Returns the number of seconds.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl From<Seconds> for VirtualDuration {
    fn from(seconds: Seconds) -> Self {
        Self::from_ms(u64::from(seconds.0) * 1_000)
    }
}

/// The text is not a whole number of seconds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a whole number of seconds from 1s to 3600s, such as 2s")]
pub struct ParseSecondsError(String);

impl FromStr for Seconds {
    type Err = ParseSecondsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let duration: Option<VirtualDuration> = text.parse().ok();
        duration
            .map(VirtualDuration::as_ns)
            .filter(|ns| ns.is_multiple_of(NS))
            .and_then(|ns| Self::new(u32::try_from(ns / NS).ok()?))
            .ok_or_else(|| ParseSecondsError(text.to_owned()))
    }
}

impl TryFrom<String> for Seconds {
    type Error = ParseSecondsError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}s", self.0)
    }
}

impl From<Seconds> for String {
    fn from(seconds: Seconds) -> Self {
        seconds.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_seconds_are_read() {
        assert_eq!("2s".parse(), Ok(Seconds(2)));
        assert_eq!("2000ms".parse(), Ok(Seconds(2)));
        assert_eq!(Seconds(3600).to_string().parse(), Ok(Seconds(3600)));
        for text in ["", "s", "2", "0s", "3601s", "+2s", "2.5s", "500ms", "99999999999s"] {
            assert!(text.parse::<Seconds>().is_err(), "{text}");
        }
    }
}
