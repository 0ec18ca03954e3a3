//! One way in which a kernel became worse, followed through other kernels.

use std::{fmt, str::FromStr};

use preemptlab_model::MetricName;

use super::{Gate, GateVerdict};
use crate::Verdict;

/// Mechanism that made a kernel worse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// A function keeps preemption or interrupts off for longer, or runs longer in softirqs.
    Section(String),
    /// A metric is worse.
    Metric(MetricName),
}

/// Verdict of a decision on a mechanism.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Followed {
    /// It is at work, in words.
    Worse(String),
    /// It is not.
    NoWorse,
    /// It cannot be told, for this reason.
    Unknown(String),
}

impl Mechanism {
    /// Finds the mechanism that made a kernel worse. A function is preferred: it is a cause, and a metric
    /// an effect that others can have, too.
    pub fn of(gate: &Gate) -> Option<Self> {
        let section = gate.sections.iter().find(|section| section.is_worse);
        let row = || gate.rows.iter().find(|row| row.verdict == Verdict::Worse);
        section
            .map(|section| Self::Section(section.function.clone()))
            .or_else(|| row().map(|row| Self::Metric(row.metric.clone())))
    }

    /// Lists the functions whose sections may make a kernel worse, too.
    pub fn suspects(&self, gate: &Gate) -> Vec<String> {
        let others = gate.sections.iter().filter(|section| section.is_worse || section.is_suspect);
        let others = others.map(|section| section.function.clone());
        others.filter(|function| *self != Self::Section(function.clone())).collect()
    }

    /// Says whether this mechanism makes another kernel worse.
    pub fn follow(&self, gate: &Gate) -> Followed {
        if gate.is_untestable() {
            let reason = gate.failures.first().map(|failure| failure.reason.clone());
            return Followed::Unknown(reason.unwrap_or_default());
        }
        match self {
            Self::Section(function) => {
                let rows = || gate.sections.iter().filter(|row| row.function == *function);
                if let Some(row) = rows().find(|row| row.is_worse) {
                    let words = format!(
                        "{:.1} us in {} ({:.1} us before)",
                        row.new_us, row.function, row.base_us
                    );
                    return Followed::Worse(words);
                }
                match rows().find(|row| row.is_suspect) {
                    Some(row) => Followed::Unknown(format!(
                        "{} is suspect, and the budget is spent",
                        row.function
                    )),
                    None => Followed::NoWorse,
                }
            }
            Self::Metric(metric) => {
                let rows = || gate.rows.iter().filter(|row| row.metric == *metric);
                if let Some(row) = rows().find(|row| row.verdict == Verdict::Worse) {
                    return Followed::Worse(format!("{} {}", row.title, row.changed()));
                }
                let open = rows().find(|row| matches!(row.verdict, Verdict::Undecided { .. }));
                match (open, rows().next()) {
                    (Some(row), _) => Followed::Unknown(format!(
                        "{} {}, and the budget is spent",
                        row.title,
                        row.changed()
                    )),
                    (None, Some(_)) => Followed::NoWorse,
                    // Two kernels of one image are not measured.
                    (None, None) if gate.verdict == GateVerdict::NoWorse => Followed::NoWorse,
                    (None, None) => Followed::Unknown(format!("{metric} was not measured")),
                }
            }
        }
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Section(function) => write!(f, "section {function}"),
            Self::Metric(metric) => write!(f, "metric {metric}"),
        }
    }
}

/// The text names no mechanism.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a mechanism is `section FUNCTION` or `metric METRIC`")]
pub struct ParseMechanismError;

impl FromStr for Mechanism {
    type Err = ParseMechanismError;

    fn from_str(text: &str) -> Result<Self, ParseMechanismError> {
        match text.split_once(' ') {
            Some(("section", function)) => Ok(Self::Section(function.to_owned())),
            Some(("metric", metric)) => Ok(Self::Metric(MetricName::from(metric))),
            _ => Err(ParseMechanismError),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mechanisms_are_printed_and_read() {
        for text in ["section tcp_v4_rcv", "metric wakeup.fifo.max"] {
            assert_eq!(text.parse::<Mechanism>().unwrap().to_string(), text);
        }
        for text in ["", "section", "cause x"] {
            assert_eq!(text.parse::<Mechanism>(), Err(ParseMechanismError));
        }
    }
}
