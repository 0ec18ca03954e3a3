use preemptlab_model::{Direction, Metric, MetricName};
use schemars::JsonSchema;
use serde::Serialize;
use ts_rs::TS;

use crate::{Effect, Extreme, Interval, Resolution, bootstrap::MedianBootstrap};

/// Summary of one metric of one configuration over its replicates.
///
/// Samples within a replicate are not independent of each other, replicates are. So there is one
/// value per replicate, and every statement is about these values. The location is their median.
#[derive(Clone, Debug, PartialEq, Serialize, TS, JsonSchema)]
pub struct Summary {
    /// Name of the metric.
    #[ts(as = "String")]
    pub name: MetricName,
    /// Unit of the metric.
    pub unit: String,
    /// Direction in which the metric is better.
    #[serde(rename = "better")]
    pub direction: Direction,
    /// Smallest difference that its instrument tells, in the unit; 0 for a metric that is exact.
    pub resolution: f64,
    /// Number of replicates with a value.
    pub n: usize,
    /// The median of `values`; the mean of the middle two when their number is even.
    pub median: f64,
    /// Least value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// The 95 % interval of the median, which is never narrower than the resolution; absent for a single
    /// replicate, which has no spread.
    #[ts(as = "Option<[f64; 2]>")]
    pub interval: Option<Interval>,
    /// Relation to the baseline's; absent without a baseline, and for the baseline itself.
    pub effect: Option<Effect>,
    /// Distribution of the cells' maxima; absent for a metric that is no maximum.
    pub extreme: Option<Extreme>,
    /// The value of each replicate that has one, in the order of the replicates; never empty.
    pub values: Vec<f64>,
    /// The replicates that `values` are of.
    pub replicates: Vec<u32>,
}

impl Summary {
    /// Returns the median divided by the baseline's; `None` for the baseline, without one, and
    /// where the baseline's is zero.
    pub fn ratio(&self) -> Option<f64> {
        self.effect?.ratio
    }

    /// Returns the resolution of its instrument.
    pub fn told(&self) -> Resolution {
        Resolution::new(self.resolution)
    }

    /// Summarizes the values of a metric in replicates; `None` when there is none.
    pub(crate) fn new(metric: &Metric, of_replicates: &[(u32, f64)]) -> Option<Self> {
        let Metric { name, unit, direction, resolution, .. } = metric.clone();
        let told = Resolution::new(resolution);
        let (replicates, values): (Vec<u32>, Vec<f64>) = of_replicates.iter().copied().unzip();
        let mut sorted = values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let median = median(&sorted)?;
        let interval = match values.len() {
            1 => None,
            _ => MedianBootstrap::new(&values).map(|of| told.widen(of.interval())),
        };
        Some(Self {
            name,
            unit,
            direction,
            resolution: told.step(),
            n: values.len(),
            median,
            min,
            max,
            interval,
            effect: None,
            extreme: None,
            values,
            replicates,
        })
    }
}

/// Returns the median; the mean of the middle two when there is an even number of values.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 0 => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
        _ => Some(sorted[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(values: &[f64]) -> Option<Summary> {
        let values: Vec<(u32, f64)> = (1..).zip(values.iter().copied()).collect();
        let metric = Metric {
            name: MetricName::Throughput,
            value: 0.0,
            unit: "messages/s".into(),
            direction: Direction::Higher,
            resolution: 0.0,
        };
        Summary::new(&metric, &values)
    }

    #[test]
    fn the_median_and_the_range_of_few_values() {
        let of = |values: &[f64]| summary(values).map(|s| (s.median, s.min, s.max));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[4.0]), Some((4.0, 4.0, 4.0)));
        assert_eq!(of(&[4.0, 1.0]), Some((2.5, 1.0, 4.0)));
        assert_eq!(of(&[4.0, 1.0, 2.0]), Some((2.0, 1.0, 4.0)));
    }

    #[test]
    fn values_keep_the_order_of_the_replicates() {
        assert_eq!(summary(&[4.0, 1.0, 2.0]).unwrap().values, [4.0, 1.0, 2.0]);
    }
}
