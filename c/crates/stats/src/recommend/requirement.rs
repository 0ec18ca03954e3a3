use std::{fmt, str::FromStr};

use preemptlab_model::{VIRTUAL_UNITS, unit_ns};

/// Requirement on a configuration: `wakeup.max <= 100us`, `throughput >= 95%`.
///
/// The grammar is `METRIC (<= | < | >= | >) NUMBER [UNIT]`, with optional blanks. The units that a
/// metric takes are known only with its recording: see [`Requirement::limit`].
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    /// The metric, as it was written.
    pub metric: String,
    /// Allowed side of the limit.
    pub comparator: Comparator,
    /// Finite and not negative.
    pub number: f64,
    /// Unit as it was written; empty for none.
    pub unit: String,
}

/// Side of a limit that a metric must be on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparator {
    /// `<=`
    AtMost,
    /// `<`
    Below,
    /// `>=`
    AtLeast,
    /// `>`
    Above,
}

/// Limit of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// A value in the metric's own unit.
    Value(f64),
    /// A share of the baseline's median: 0.95 is 95 %.
    OfBaseline(f64),
}

/// The text is not a requirement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no requirement: {reason}")]
pub struct ParseRequirementError {
    /// Text that is not a requirement.
    pub text: String,
    /// Error in the text.
    pub reason: String,
}

/// The unit is not one of the metric's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} in `{requirement}`: {metric} takes {accepted}", match unit.as_str() {
    unit if *is_ambiguous => format!("`{unit}` may be any of several units"),
    "" => "there is no unit".to_owned(),
    unit => format!("`{unit}` is no unit of {metric}"),
})]
pub struct UnitError {
    /// Text of the requirement.
    pub requirement: String,
    /// The metric's full name.
    pub metric: String,
    /// Text that is not a requirement.
    pub unit: String,
    /// Whether it could be that of several workloads.
    pub is_ambiguous: bool,
    /// Units that the metric takes.
    pub accepted: String,
}

impl Comparator {
    /// Every one, those first that begin like another.
    const ALL: [Self; 4] = [Self::AtMost, Self::AtLeast, Self::Below, Self::Above];

    /// Returns the sign as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AtMost => "<=",
            Self::Below => "<",
            Self::AtLeast => ">=",
            Self::Above => ">",
        }
    }

    /// Returns whether the limit is the largest value allowed, and not the least.
    pub const fn is_upper(self) -> bool {
        matches!(self, Self::AtMost | Self::Below)
    }

    /// Returns whether a value is on the right side of a limit.
    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::AtMost => value <= limit,
            Self::Below => value < limit,
            Self::AtLeast => value >= limit,
            Self::Above => value > limit,
        }
    }
}

impl FromStr for Requirement {
    type Err = ParseRequirementError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |reason: &str| ParseRequirementError {
            text: text.to_owned(),
            reason: reason.to_owned(),
        };
        let place = text
            .find(['<', '>'])
            .ok_or_else(|| error("expected METRIC<=LIMIT, as in `wakeup.max<=100us`"))?;
        let (metric, rest) = text.split_at(place);
        let comparator = Comparator::ALL
            .into_iter()
            .find(|comparator| rest.starts_with(comparator.as_str()))
            .ok_or_else(|| error("expected one of <=, <, >= and >"))?;
        let metric = metric.trim();
        if metric.is_empty() {
            return Err(error("there is no metric before the comparison"));
        }
        if metric.contains(|c: char| c.is_whitespace() || c == '=') {
            return Err(error("a metric's name has no blanks and no `=`"));
        }
        let limit = rest[comparator.as_str().len()..].trim();
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        let end = limit.find(|c| !is_number(c)).unwrap_or(limit.len());
        let (number, unit) = limit.split_at(end);
        let number: f64 =
            number.parse().ok().filter(|number: &f64| number.is_finite()).ok_or_else(|| {
                error("the limit must be a number that is finite and not negative")
            })?;
        Ok(Self { metric: metric.to_owned(), comparator, number, unit: unit.trim().to_owned() })
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { metric, comparator, number, unit } = self;
        let gap = if unit.is_empty() || unit == "%" { "" } else { " " };
        write!(f, "{metric} {} {number}{gap}{unit}", comparator.as_str())
    }
}

impl Requirement {
    /// Returns its limit for a metric that workloads measure in these units, and the index of the
    /// unit that it means. A share of the baseline means the first, and every other one too.
    ///
    /// # Errors
    ///
    /// [`UnitError`] when the requirement's unit is not one of that metric, or could be several of
    /// them, with those that are.
    pub fn limit(&self, of_metric: &[&str]) -> Result<(usize, Limit), UnitError> {
        if self.unit == "%" {
            return Ok((0, Limit::OfBaseline(self.number / 100.0)));
        }
        let units = of_metric.iter().enumerate();
        let limits = units.filter_map(|(index, of_metric)| {
            let limit = self.number * factor(&self.unit, of_metric)?;
            limit.is_finite().then_some((index, Limit::Value(limit)))
        });
        match *limits.collect::<Vec<_>>() {
            [limit] => Ok(limit),
            ref limits => Err(UnitError {
                requirement: self.to_string(),
                metric: self.metric.clone(),
                unit: self.unit.clone(),
                is_ambiguous: !limits.is_empty(),
                accepted: accepted(of_metric),
            }),
        }
    }
}

/// The prefixes of amounts.
const PREFIXES: [(&str, f64); 4] = [("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9)];

/// Returns by how much a number in one unit is multiplied to be one in the unit of a metric; `None`
/// where they measure different things. The unit of a time must be written, that of an amount may
/// be left out.
fn factor(unit: &str, of_metric: &str) -> Option<f64> {
    if let Some(own_ns) = unit_ns(of_metric) {
        return unit_ns(unit).map(|ns| ns as f64 / own_ns as f64);
    }
    let amount = PREFIXES.into_iter().find_map(|(prefix, factor)| {
        let rest = unit.strip_prefix(prefix)?.trim_start();
        (rest.is_empty() || rest == of_metric).then_some(factor)
    });
    amount.or_else(|| Some(of_bytes(unit)? / of_bytes(of_metric)?))
}

/// Returns how many bytes a second one of a unit is, such as `MB/s`; `None` where it is no such unit.
fn of_bytes(unit: &str) -> Option<f64> {
    let binary = [("Ki", 1024.0), ("Mi", 1_048_576.0), ("Gi", 1_073_741_824.0)];
    let mut prefixes = PREFIXES.into_iter().chain(binary);
    prefixes.find_map(|(prefix, factor)| (unit.strip_prefix(prefix)? == "B/s").then_some(factor))
}

/// Returns the units that a metric takes.
fn accepted(of_metric: &[&str]) -> String {
    let times = VIRTUAL_UNITS.iter().map(|(name, _)| *name).filter(|name| name.is_ascii());
    let times = times.collect::<Vec<_>>();
    let each = of_metric.iter().map(|unit| match unit_ns(unit) {
        Some(_) => match times.split_last() {
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
            None => (*unit).to_owned(),
        },
        None if of_bytes(unit).is_some() => format!("{unit} (or kB/s, MB/s, GB/s and the like)"),
        None if of_metric.len() > 1 => format!("{unit} (k, M or G may stand before it)"),
        None => format!("{unit} (or nothing, k, M or G)"),
    });
    format!("{}, or % of the baseline", each.collect::<Vec<_>>().join(" or "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn limit(text: &str, unit: &str) -> Option<Limit> {
        text.parse::<Requirement>().unwrap().limit(&[unit]).ok().map(|(_, limit)| limit)
    }

    #[test]
    fn requirements_are_read_and_printed() {
        for (text, printed) in [
            ("wakeup.max<=100us", "wakeup.max <= 100 us"),
            (" wakeup.fifo.p99.9 < 0.5 ms ", "wakeup.fifo.p99.9 < 0.5 ms"),
            ("throughput>=95%", "throughput >= 95%"),
            ("throughput > 40k", "throughput > 40 k"),
            ("wakeup.omitted<=0", "wakeup.omitted <= 0"),
        ] {
            let requirement: Requirement = text.parse().unwrap();
            assert_eq!(requirement.to_string(), printed);
            assert_eq!(printed.parse(), Ok(requirement));
        }
    }

    #[test]
    fn what_is_no_requirement_is_refused() {
        for (text, reason) in [
            ("", "expected METRIC<=LIMIT"),
            ("wakeup.max=5us", "expected METRIC<=LIMIT"),
            ("<=5us", "no metric"),
            ("a b<=5us", "no blanks"),
            ("wakeup.max<=", "a number"),
            ("wakeup.max<=nan", "a number"),
            ("wakeup.max<=infus", "a number"),
            ("wakeup.max<=-5us", "not negative"),
            ("wakeup.max<=1.2.3us", "a number"),
            ("wakeup.max=<5us", "no `=`"),
        ] {
            let error = text.parse::<Requirement>().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
        assert!(format!("wakeup.max<={}us", "9".repeat(400)).parse::<Requirement>().is_err());
    }

    #[test]
    fn units_become_the_metrics_own() {
        for (text, us) in [
            ("m<=100us", 100.0),
            ("m<=100\u{b5}s", 100.0),
            ("m<=100\u{3bc}s", 100.0),
            ("m<=0.1ms", 100.0),
            ("m<=2 s", 2e6),
            ("m<=500ns", 0.5),
        ] {
            assert_eq!(limit(text, "us"), Some(Limit::Value(us)), "{text}");
        }
        for (text, value) in [
            ("m>=40k", 40_000.0),
            ("m>=1.5M", 1.5e6),
            ("m>=40 messages/s", 40.0),
            ("m>=40k messages/s", 40_000.0),
            ("m>=40", 40.0),
        ] {
            assert_eq!(limit(text, "messages/s"), Some(Limit::Value(value)), "{text}");
        }
        for (text, unit, value) in [
            ("m<=2ms", "ms", 2.0),
            ("m<=1s", "ms", 1000.0),
            ("m>=1.5 GB/s", "MB/s", 1500.0),
            ("m>=1 MiB/s", "kB/s", 1048.576),
            ("m>=3", "MB/s", 3.0),
            ("m>=2G", "ops/s", 2e9),
        ] {
            assert_eq!(limit(text, unit), Some(Limit::Value(value)), "{text}");
        }
        assert_eq!(limit("m<=0", "periods"), Some(Limit::Value(0.0)));
        assert_eq!(limit("m>=95%", "messages/s"), Some(Limit::OfBaseline(0.95)));
    }

    #[test]
    fn a_unit_of_something_else_is_refused_with_those_that_fit() {
        let error = |text: &str, unit: &str| {
            text.parse::<Requirement>().unwrap().limit(&[unit]).unwrap_err().to_string()
        };
        for (text, unit, said) in [
            ("m<=100", "us", "there is no unit in `m <= 100`: m takes ns, us, ms or s"),
            ("m<=100MB", "us", "`MB` is no unit of m"),
            ("m>=5us", "messages/s", "m takes messages/s (or nothing, k, M or G)"),
            ("m>=5kus", "periods", "`kus` is no unit of m"),
        ] {
            let message = error(text, unit);
            assert!(message.contains(said), "{message}");
        }
    }

    #[test]
    fn of_several_units_the_written_one_is_meant() {
        let limit = |text: &str| text.parse::<Requirement>().unwrap().limit(&["messages/s", "tps"]);
        assert_eq!(limit("m>=4k tps"), Ok((1, Limit::Value(4e3))));
        assert_eq!(limit("m>=4 messages/s"), Ok((0, Limit::Value(4.0))));
        assert_eq!(limit("m>=95%"), Ok((0, Limit::OfBaseline(0.95))));
        for (text, said) in [
            ("m>=4k", "`k` may be any of several units in `m >= 4 k`: m takes messages/s"),
            ("m>=4", "may be any of several units"),
            ("m>=4 MB/s", "`MB/s` is no unit of m"),
        ] {
            let message = limit(text).unwrap_err().to_string();
            assert!(message.contains(said) && message.contains("tps (k, M"), "{message}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic_or_infinite(text in "\\PC{0,40}") {
            if let Ok(requirement) = text.parse::<Requirement>() {
                prop_assert!(requirement.number.is_finite() && requirement.number >= 0.0);
                for unit in ["us", "messages/s", "periods", "MB/s"] {
                    if let Ok((_, Limit::Value(limit))) = requirement.limit(&[unit]) {
                        prop_assert!(limit.is_finite());
                    }
                }
            }
        }
    }
}
