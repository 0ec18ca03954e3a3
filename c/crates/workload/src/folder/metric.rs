use std::num::NonZero;

use preemptlab_model::{Direction, Metric};
use preemptlab_protocol::Report;
use serde::{Deserialize, Serialize};

use super::{
    pattern::Pattern,
    source::{self, Part, Source, Text, Used},
    text,
};
use crate::{MeasureError, error::tail};

/// A number of a cell, as `workload.toml` describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FolderMetric {
    /// Name of the metric; the name `throughput` makes it the workload's throughput.
    #[serde(deserialize_with = "text::metric_name")]
    pub name: String,
    /// Unit of the value.
    #[serde(deserialize_with = "text::unit")]
    pub unit: String,
    /// Direction in which the value is better.
    pub better: Direction,
    /// Source of the value.
    pub from: Source,
    /// Pattern that finds the value in a text; without one the text is the number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
    /// Amount that was done in the time that `from` names, which makes the metric an amount per
    /// second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<NonZero<u64>>,
}

impl FolderMetric {
    /// Returns the metric of one cell.
    ///
    /// # Errors
    ///
    /// [`MeasureError::NoValue`] when the report holds no such number.
    pub fn measure(&self, report: &Report) -> Result<Metric, MeasureError> {
        let (value, resolution) = self.value(report).map_err(|cause| MeasureError::NoValue {
            metric: self.name.clone(),
            cause: format!("in {}, {cause}", self.from),
        })?;
        let (name, unit) = (self.name.as_str().into(), self.unit.clone());
        Ok(Metric { name, value, unit, direction: self.better, resolution })
    }

    /// Returns the value and its resolution.
    fn value(&self, report: &Report) -> Result<(f64, f64), String> {
        let report = source::find(report, &self.from.name)?;
        match &self.from.part {
            Part::Text(text) => self.read(text.of(report)?),
            // Times of the guest's clock, and counts.
            Part::Used(used) => Ok((self.used(used.of(report))?, 0.0)),
        }
    }

    fn read(&self, text: &str) -> Result<(f64, f64), String> {
        let found = match &self.pattern {
            Some(pattern) => pattern.only(text),
            None => Ok(text.trim()),
        };
        let read = found.and_then(|found| Ok((number(found)?, last_digit(found))));
        read.map_err(|cause| said(&cause, text))
    }

    fn used(&self, used: f64) -> Result<f64, String> {
        match self.amount {
            None => Ok(used),
            Some(_) if used <= 0.0 => Err("no time has passed".to_owned()),
            Some(amount) => Ok(amount.get() as f64 / used),
        }
    }

    /// Returns the contradiction in the metric and its remedy, if there is one.
    pub fn flaw(&self) -> Option<(String, String)> {
        let (name, from) = (&self.name, &self.from);
        let flaw = |message: String, help: &str| Some((message, help.to_owned()));
        match &from.part {
            Part::Text(_) if self.amount.is_some() => flaw(
                format!("the metric {name} has an amount, but {from} is no time"),
                "an amount is divided by NAME.real, NAME.user or NAME.system",
            ),
            Part::Text(_) => None,
            Part::Used(_) if self.pattern.is_some() => flaw(
                format!("the metric {name} has a pattern, but {from} is no text"),
                "leave the pattern away, or read NAME.stdout",
            ),
            Part::Used(Used::Switches) if self.amount.is_some() => flaw(
                format!("the metric {name} has an amount, but {from} is no time"),
                "an amount is divided by NAME.real, NAME.user or NAME.system",
            ),
            Part::Used(used) if self.amount.is_none() && self.unit != used.unit() => flaw(
                format!("the metric {name} is not in {}", self.unit),
                &format!("{from} has the unit `{}`", used.unit()),
            ),
            Part::Used(_) => None,
        }
    }

    /// Returns the command and the path of the file that the metric is read from.
    pub fn file(&self) -> Option<(&str, &str)> {
        file(&self.from)
    }
}

/// Returns the name of the command and the path of the file that a source names; `None` for a
/// source that is not a file.
pub fn file(source: &Source) -> Option<(&str, &str)> {
    match &source.part {
        Part::Text(Text::File(file)) => Some((&source.name, file)),
        _ => None,
    }
}

/// Reads a finite number.
///
/// # Errors
///
/// The cause, when the text is not a finite number.
pub fn number(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| {
        let excerpt: String = text.chars().take(40).collect();
        format!("`{}` is not a number", excerpt.escape_debug())
    })
}

/// Returns the worth of the last digit of a number: 0.01 of `1.50`, 1 of `150`, 100 of `1.5e3`.
pub fn last_digit(number: &str) -> f64 {
    let (digits, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let place = exponent.saturating_sub(i32::try_from(decimals).unwrap_or(i32::MAX));
    // The worth of a place is read as it is written, so that it is the nearest number to it.
    format!("1e{place}").parse::<f64>().ok().filter(|worth| worth.is_finite()).unwrap_or(0.0)
}

/// Returns a cause, followed by the end of the text that it is about.
pub fn said(cause: &str, text: &str) -> String {
    match tail(text.trim()) {
        "" => format!("{cause}; it is empty"),
        tail => format!("{cause}; it ends with `{}`", tail.escape_debug()),
    }
}
