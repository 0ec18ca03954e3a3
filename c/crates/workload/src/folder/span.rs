use std::{fmt, str::FromStr};

use preemptlab_model::VirtualDuration;
use serde::{Deserialize, Serialize};

/// A span of virtual time, written `50ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Span(VirtualDuration);

/// Units and their lengths in nanoseconds, the longest first.
const UNITS: [(&str, u64); 3] = [("ms", 1_000_000), ("us", 1_000), ("s", 1_000_000_000)];

const NS_MAX: u64 = 3_600_000_000_000;

impl Span {
    pub const fn from_ms(ms: u64) -> Self {
        Self(VirtualDuration::from_ms(ms))
    }

    pub const fn get(self) -> VirtualDuration {
        self.0
    }
}

/// The text is not a span of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time of at most an hour, such as 50ms, 200us or 2s")]
pub struct ParseSpanError(String);

impl FromStr for Span {
    type Err = ParseSpanError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (number, unit_ns) =
                UNITS.iter().find_map(|(unit, ns)| Some((text.strip_suffix(unit)?, ns)))?;
            let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
            let ns = number.parse::<u64>().ok().filter(|_| is_number)?.checked_mul(*unit_ns)?;
            (ns <= NS_MAX).then(|| Self(VirtualDuration::from_ns(ns)))
        };
        parse().ok_or_else(|| ParseSpanError(text.to_owned()))
    }
}

impl TryFrom<String> for Span {
    type Error = ParseSpanError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_ns() {
            ns if ns % 1_000_000_000 == 0 => write!(f, "{}s", ns / 1_000_000_000),
            ns if ns % 1_000_000 == 0 => write!(f, "{}ms", ns / 1_000_000),
            ns => write!(f, "{}us", ns / 1_000),
        }
    }
}

impl From<Span> for String {
    fn from(span: Span) -> Self {
        span.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_a_unit_are_read() {
        for (text, ns) in [("50ms", 50_000_000), ("200us", 200_000), ("2s", 2_000_000_000)] {
            let span: Span = text.parse().unwrap();
            assert_eq!((span.get().as_ns(), span.to_string()), (ns, text.to_owned()));
        }
        assert_eq!("0s".parse::<Span>().unwrap().to_string(), "0s");
        assert_eq!("3600s".parse::<Span>().unwrap(), Span::from_ms(3_600_000));
        for text in ["", "s", "2", "+2s", "1.5s", "2 s", "3601s", "5ns", "99999999999999999999s"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }
}
