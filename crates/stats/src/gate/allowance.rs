//! How much worse a metric may be.

use std::{fmt, str::FromStr};

use preemptlab_model::{Direction, MetricName, VIRTUAL_UNITS, parse_ns};
use serde::{Serialize, Serializer};

use crate::{Margin, ParseMarginError};

/// How much worse a metric may be: a share of the base's value, or a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Allowance {
    /// A share, such as `3%`.
    Share(Margin),
    /// A time in nanoseconds, such as `20us`.
    Time(u64),
}

/// The text is no allowance.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` says no margin; expected a percentage such as `3%`, or a time such as `20us`")]
pub struct ParseAllowanceError(String);

impl FromStr for Allowance {
    type Err = ParseAllowanceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseAllowanceError(text.chars().take(80).collect());
        if text.ends_with('%') {
            return text.parse().map(Self::Share).map_err(|_: ParseMarginError| error());
        }
        match parse_ns(text, VIRTUAL_UNITS) {
            Ok(ns) if ns > 0 => Ok(Self::Time(ns)),
            _ => Err(error()),
        }
    }
}

impl fmt::Display for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(margin) => margin.fmt(f),
            Self::Time(ns) => write!(f, "{} us", *ns as f64 / 1e3),
        }
    }
}

impl Serialize for Allowance {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// The margins of a gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Margins {
    /// That of shares, for metrics that are no latency.
    pub share: Margin,
    /// That of times, in nanoseconds, for latencies and sections.
    pub time_ns: u64,
    /// Those of single metrics.
    pub own: Vec<(MetricName, Allowance)>,
}

impl Default for Margins {
    /// Returns what the blind test of docs/gate.md is about: 3 % and 20 us.
    fn default() -> Self {
        let share = Margin::new(0.03).unwrap_or_default();
        Self { share, time_ns: 20_000, own: Vec::new() }
    }
}

/// A margin as a person writes it: for everything of its kind, or `METRIC=MARGIN` for one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenMargin {
    /// The metric; `None` for all of the kind.
    pub metric: Option<MetricName>,
    /// The margin.
    pub allowance: Allowance,
}

impl FromStr for GivenMargin {
    type Err = ParseAllowanceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (metric, allowance) = match text.split_once('=') {
            Some((metric, allowance)) => (Some(MetricName::from(metric)), allowance),
            None => (None, text),
        };
        Ok(Self { metric, allowance: allowance.parse()? })
    }
}

impl Margins {
    /// Returns the default margins with these in their place.
    pub fn given(given: &[GivenMargin]) -> Self {
        let mut margins = Self::default();
        for GivenMargin { metric, allowance } in given {
            match (metric, allowance) {
                (Some(metric), allowance) => margins.own.push((metric.clone(), *allowance)),
                (None, Allowance::Share(margin)) => margins.share = *margin,
                (None, Allowance::Time(ns)) => margins.time_ns = *ns,
            }
        }
        margins
    }

    /// Returns the margin of a metric: its own, that of times for a statistic of a latency, and else
    /// that of shares. A metric that is no time has no margin of time.
    pub fn of(&self, metric: &MetricName, unit: &str) -> Option<Allowance> {
        let own = self.own.iter().rev().find(|(name, _)| name == metric).map(|(_, own)| *own);
        let is_time = ns_of(unit).is_some();
        match own {
            Some(Allowance::Time(_)) if !is_time => None,
            Some(own) => Some(own),
            None if is_time && metric.statistic().is_some() => Some(Allowance::Time(self.time_ns)),
            None => Some(Allowance::Share(self.share)),
        }
    }
}

/// Returns the nanoseconds of a unit of time; `None` for another unit.
fn ns_of(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    })
}

/// The scale on which a metric's pairs are compared: a logarithm of ratios, or differences.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    allowance: Allowance,
    direction: Direction,
    /// Nanoseconds of the unit.
    unit_ns: f64,
}

impl Scale {
    pub fn new(allowance: Allowance, unit: &str, direction: Direction) -> Self {
        Self { allowance, direction, unit_ns: ns_of(unit).unwrap_or(1.0) }
    }

    /// Returns how much worse the new value is; `None` where a value has no logarithm.
    pub fn worse(self, base: f64, new: f64) -> Option<f64> {
        let change = match self.allowance {
            Allowance::Share(_) if base == new => 0.0,
            Allowance::Share(_) if base <= 0.0 || new <= 0.0 => return None,
            Allowance::Share(_) => libm::log(new / base),
            Allowance::Time(_) => new - base,
        };
        Some(self.signed(change)).filter(|change| change.is_finite())
    }

    /// Returns a step of the instrument on this scale, where a kernel's values are as low as this.
    pub fn step(self, value: f64, resolution: f64) -> f64 {
        match self.allowance {
            Allowance::Time(_) => resolution,
            Allowance::Share(_) if resolution > 0.0 && value > 0.0 => {
                libm::log1p(resolution / value)
            }
            Allowance::Share(_) => 0.0,
        }
    }

    /// Returns the margin on this scale.
    pub fn margin(self) -> f64 {
        match self.allowance {
            Allowance::Share(margin) => libm::log1p(margin.share()),
            Allowance::Time(ns) => ns as f64 / self.unit_ns,
        }
    }

    /// Returns a value of the scale as people read it: a share of the base's value, or a difference in
    /// the metric's unit. Positive is more, which may be better.
    pub fn change(self, worse: f64) -> f64 {
        let change = self.signed(worse);
        match self.allowance {
            Allowance::Share(_) => libm::expm1(change),
            Allowance::Time(_) => change,
        }
    }

    fn signed(self, change: f64) -> f64 {
        match self.direction {
            Direction::Lower => change,
            // Minus zero is no change.
            Direction::Higher => 0.0 - change,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_are_read_and_chosen() {
        for text in ["3%", "20 us", "1.5 us", "0.5%"] {
            assert_eq!(text.parse::<Allowance>().unwrap().to_string(), text);
        }
        for text in ["", "3", "0%", "100%", "0us", "-1us", "3 messages/s", "nan%"] {
            assert!(text.parse::<Allowance>().is_err(), "{text}");
        }
        let given = ["1%", "5us", "wakeup.fifo.max=50us", "throughput=2%"];
        let given: Vec<GivenMargin> = given.iter().map(|text| text.parse().unwrap()).collect();
        let margins = Margins::given(&given);
        let of = |metric: &str, unit: &str| {
            margins.of(&metric.into(), unit).map(|allowance| allowance.to_string())
        };
        assert_eq!(of("wakeup.fifo.p99", "us").as_deref(), Some("5 us"));
        assert_eq!(of("wakeup.fifo.max", "us").as_deref(), Some("50 us"));
        assert_eq!(of("throughput", "messages/s").as_deref(), Some("2%"));
        assert_eq!(of("real", "s").as_deref(), Some("1%"), "a time that is no latency");
        let wrong = Margins::given(&["throughput=5us".parse().unwrap()]);
        assert_eq!(wrong.of(&MetricName::Throughput, "messages/s"), None);
    }
}
