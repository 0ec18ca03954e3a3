use std::{fmt, ops::Add};

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
    /// From nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self { ns }
    }

    /// From microseconds, saturating.
    pub const fn from_us(us: u64) -> Self {
        Self { ns: us.saturating_mul(1_000) }
    }

    /// From milliseconds, saturating.
    pub const fn from_ms(ms: u64) -> Self {
        Self { ns: ms.saturating_mul(1_000_000) }
    }

    /// In nanoseconds.
    pub const fn as_ns(self) -> u64 {
        self.ns
    }

    /// In seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.ns as f64 / 1e9
    }
}

impl Add for VirtualDuration {
    type Output = Self;

    /// The sum, saturating.
    fn add(self, other: Self) -> Self {
        Self { ns: self.ns.saturating_add(other.ns) }
    }
}

impl fmt::Display for VirtualDuration {
    /// With the largest unit that keeps at least one digit before the point: `1.5 ms`, `250 us`.
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

#[cfg(test)]
mod tests {
    use super::VirtualDuration;

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
}
