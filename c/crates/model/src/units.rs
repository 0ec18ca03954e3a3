use std::{fmt, ops::Add, str::FromStr};

use serde::{Deserialize, Serialize};

/// A span of guest virtual time.
///
/// Under `-icount` virtual time counts instructions, so it is a type of its own that does not mix
/// with [`std::time::Duration`], which is host time everywhere in this workspace.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct VirtualDuration {
    ns: u64,
}

impl VirtualDuration {
    /// Creates a duration from nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self { ns }
    }

    /// Creates a duration from milliseconds, saturating.
    pub const fn from_ms(ms: u64) -> Self {
        Self { ns: ms.saturating_mul(1_000_000) }
    }

    /// Returns the duration in nanoseconds.
    pub const fn as_ns(self) -> u64 {
        self.ns
    }

    /// Returns the duration in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.ns as f64 / 1e9
    }
}

impl Add for VirtualDuration {
    type Output = Self;

    /// Returns the sum, saturating.
    fn add(self, other: Self) -> Self {
        Self { ns: self.ns.saturating_add(other.ns) }
    }
}

impl fmt::Display for VirtualDuration {
    /// Writes the duration with the largest unit that keeps at least one digit before the point:
    /// `1.5 ms`, `250 us`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.ns {
            0..1_000 => return write!(f, "{} ns", self.ns),
            1_000..1_000_000 => (self.ns as f64 / 1e3, "us"),
            1_000_000..1_000_000_000 => (self.ns as f64 / 1e6, "ms"),
            _ => (self.ns as f64 / 1e9, "s"),
        };
        let text = format!("{value:.3}");
        write!(f, "{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// The units of virtual time, with their nanoseconds. Both signs for micro are in use, U+00B5 and
/// U+03BC.
pub const VIRTUAL_UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
];

/// The units of a person's time, with their nanoseconds.
pub const HOST_UNITS: &[(&str, u64)] =
    &[("s", 1_000_000_000), ("m", 60_000_000_000), ("h", 3_600_000_000_000)];

/// The text is not a span of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseTimeError {
    /// The unit is not a known one.
    #[error("`{}` is no unit of time; there are {known}", unit.escape_debug())]
    Unit {
        /// Unit in the text.
        unit: String,
        /// Those that are known.
        known: String,
    },
    /// The text is not a decimal number with a unit, or not a whole number of nanoseconds, or too
    /// long.
    #[error("`{}` is no time in whole nanoseconds, such as 20{unit}", text.escape_debug())]
    Number {
        /// Text that is not a time.
        text: String,
        /// A unit that is known.
        unit: &'static str,
    },
}

/// Returns the nanoseconds in a unit of virtual time.
pub fn unit_ns(unit: &str) -> Option<u64> {
    VIRTUAL_UNITS.iter().find(|(name, _)| *name == unit).map(|(_, ns)| *ns)
}

/// Reads a span of time such as `2s`, `1.5ms` or `250 us`, in nanoseconds. Its digits are decimal
/// and not those of a binary fraction, so that a moment of a trace is exact.
///
/// # Errors
///
/// When it has none of these units, or is not a whole number of nanoseconds.
pub fn parse_ns(text: &str, units: &[(&'static str, u64)]) -> Result<u64, ParseTimeError> {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let (number, unit) = text.split_at(text.find(|c| !is_number(c)).unwrap_or(text.len()));
    let unit = unit.strip_prefix(' ').unwrap_or(unit);
    let error = || ParseTimeError::Number {
        text: text.to_owned(),
        unit: units.get(1).map_or("", |(name, _)| name),
    };
    let ns_of_unit = units.iter().find(|(name, _)| *name == unit).map(|(_, ns)| *ns);
    match ns_of_unit {
        Some(ns) => decimal(number, ns).ok_or_else(error),
        None if number.is_empty() || unit.is_empty() => Err(error()),
        None => {
            let names: Vec<&str> =
                units.iter().map(|(name, _)| *name).filter(|name| name.is_ascii()).collect();
            let (last, others) = names.split_last().unwrap_or((&"", &[]));
            let known = format!("{} and {last}", others.join(", "));
            Err(ParseTimeError::Unit { unit: unit.to_owned(), known })
        }
    }
}

/// Returns a decimal number of units in nanoseconds, if it is a whole number of them.
fn decimal(number: &str, ns_of_unit: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let divisor = 10_u64.pow(u32::try_from(fraction.len()).ok()?);
    let parts = fraction.parse::<u64>().ok()?.checked_mul(ns_of_unit)?;
    if !parts.is_multiple_of(divisor) {
        return None;
    }
    whole.parse::<u64>().ok()?.checked_mul(ns_of_unit)?.checked_add(parts / divisor)
}

impl FromStr for VirtualDuration {
    type Err = ParseTimeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_ns(text, VIRTUAL_UNITS).map(Self::from_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_with_a_fitting_unit() {
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_500_000, "1.5 ms"),
            (250_000, "250 us"),
            (2_000_000_000, "2 s"),
        ] {
            assert_eq!(VirtualDuration::from_ns(ns).to_string(), text);
        }
    }

    #[test]
    fn times_are_read_exactly() {
        for (text, ns) in [
            ("3s", 3_000_000_000),
            ("1.5ms", 1_500_000),
            ("250us", 250_000),
            ("250 us", 250_000),
            ("1\u{b5}s", 1_000),
            ("1\u{3bc}s", 1_000),
            ("0ns", 0),
            ("0.000000001s", 1),
            ("18446744073709551615ns", u64::MAX),
        ] {
            assert_eq!(text.parse(), Ok(VirtualDuration::from_ns(ns)), "{text}");
        }
        assert_eq!(parse_ns("1.5h", HOST_UNITS), Ok(5_400_000_000_000));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "3",
            "s",
            "3  s",
            "-1s",
            "+1s",
            "1.s",
            ".5s",
            "1.5ns",
            "1e3s",
            "3m",
            "1.2.3s",
            "0.0000000001s",
            "99999999999999999999s",
            "18446744073709551615s",
            "1.5",
            "5 weeks",
        ] {
            assert!(text.parse::<VirtualDuration>().is_err(), "{text}");
        }
        let said = "5 weeks".parse::<VirtualDuration>().unwrap_err().to_string();
        assert_eq!(said, "`weeks` is no unit of time; there are ns, us, ms and s");
    }
}
