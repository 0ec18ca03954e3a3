use preemptlab_model::{Distribution, Histogram};
use preemptlab_protocol::Report;
use serde::{Deserialize, Serialize};

use super::{
    metric::{last_digit, number},
    pattern::Pattern,
    source::{self, Part, Source},
};
use crate::{Latency, MeasureError};

/// Name of the distribution.
pub const NAME: &str = "response";

/// Largest response time, in microseconds: some 11 days.
const US_MAX: f64 = 1e12;

/// A distribution of response times: a number on each line of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Response {
    /// Source of the response times.
    pub from: Source,
    /// Pattern that finds the number in a line, and passes over lines without one; without a
    /// pattern each line that is not empty is a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
    /// The unit of the numbers.
    pub unit: TimeUnit,
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeUnit {
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl TimeUnit {
    const fn us(self) -> f64 {
        match self {
            Self::Ns => 1e-3,
            Self::Us => 1.0,
            Self::Ms => 1e3,
            Self::S => 1e6,
        }
    }
}

impl Response {
    /// Returns the response times of one cell.
    ///
    /// # Errors
    ///
    /// [`MeasureError::NoValue`] when the report holds no readable response times.
    pub fn measure(&self, report: &Report) -> Result<Latency, MeasureError> {
        self.latency(report).map_err(|cause| MeasureError::NoValue {
            metric: NAME.to_owned(),
            cause: format!("in {}, {cause}", self.from),
        })
    }

    fn latency(&self, report: &Report) -> Result<Latency, String> {
        let report = source::find(report, &self.from.name)?;
        let Part::Text(text) = &self.from.part else { return Err("there is no text".to_owned()) };
        let text = text.of(report)?;
        let (mut samples, mut sum_us) = (Vec::new(), 0.0);
        let mut printed_us = 0.0_f64;
        for line in text.lines() {
            let Some((us, resolution_us)) = self.sample_us(line)? else { continue };
            printed_us = printed_us.max(resolution_us);
            sum_us += us;
            // Whole microseconds, rounded down.
            samples.push((us as u64, 1));
        }
        // Nothing to time may have happened, which is a result.
        let avg_us = sum_us / samples.len().max(1) as f64;
        Ok(Latency {
            of: Distribution::Response,
            histogram: Histogram::new(samples),
            resolution_us: printed_us.max(1.0),
            avg_us,
            avg_resolution_us: printed_us,
            omitted: None,
        })
    }

    /// Returns the response time of a line and the worth of its last digit, in microseconds.
    fn sample_us(&self, line: &str) -> Result<Option<(f64, f64)>, String> {
        let found = match &self.pattern {
            Some(pattern) => pattern.first(line),
            None => Some(line.trim()).filter(|line| !line.is_empty()),
        };
        let Some(found) = found else { return Ok(None) };
        let us = number(found)? * self.unit.us();
        if (0.0..=US_MAX).contains(&us) {
            Ok(Some((us, last_digit(found) * self.unit.us())))
        } else {
            Err(format!("`{}` cannot be a response time", found.escape_debug()))
        }
    }
}
