use preemptlab_stats::{Direction, Histogram, Metric};

/// What a cell measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurements {
    /// Distributions of latencies: response times, R.
    pub latencies: Vec<Latency>,
    /// Single numbers: [`THROUGHPUT`], X, first, where there is one.
    pub numbers: Vec<Metric>,
}

/// A distribution of latencies.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    /// What the names of its metrics begin with: `wakeup.PROBE` for a cyclictest, whose samples are
    /// of all CPUs; `response` for what a client waited for.
    pub name: String,
    /// The samples, in whole microseconds, rounded down.
    pub histogram: Histogram,
    /// The mean of the samples, in microseconds.
    pub avg_us: f64,
    /// Periods without a sample, because the probe was still late with the one before; `None` of
    /// what has no period.
    pub omitted: Option<u64>,
}

/// The metric that every workload with a load has: what got done per virtual second.
pub const THROUGHPUT: &str = "throughput";

/// What the names begin with of what a client waited for.
pub(crate) const RESPONSE: &str = "response";

/// Names and ranks, in per mille, of the quantiles that are reported.
const QUANTILES: [(&str, u32); 3] = [("p50", 500), ("p99", 990), ("p99.9", 999)];

impl Measurements {
    /// The flat list: `NAME.STATISTIC` for each latency, then the numbers.
    pub fn metrics(&self) -> Vec<Metric> {
        let latencies = self.latencies.iter().flat_map(Latency::metrics);
        latencies.chain(self.numbers.iter().cloned()).collect()
    }
}

/// What is reported of each latency besides quantiles, in microseconds.
const MIN: &str = "min";
const AVG: &str = "avg";
const MAX: &str = "max";

/// What is reported of each latency that has a period.
const OMITTED: &str = "omitted";

/// The names of the metrics of a latency.
pub(crate) fn latency_names(name: &str, is_periodic: bool) -> Vec<String> {
    let quantiles = QUANTILES.map(|(quantile, _)| quantile);
    let statistics = [MIN, AVG].into_iter().chain(quantiles).chain([MAX]);
    let statistics = statistics.chain(is_periodic.then_some(OMITTED));
    statistics.map(|statistic| format!("{name}.{statistic}")).collect()
}

impl Latency {
    fn metrics(&self) -> Vec<Metric> {
        let metric =
            |statistic: &str, value, unit| lower(format!("{}.{statistic}", self.name), value, unit);
        let us = |statistic, value: Option<u64>| Some(metric(statistic, value? as f64, "us"));
        let histogram = &self.histogram;
        let quantiles = QUANTILES.map(|(name, permille)| us(name, histogram.quantile(permille)));
        let omitted = self.omitted.map(|periods| metric(OMITTED, periods as f64, "periods"));
        [us(MIN, histogram.min()), Some(metric(AVG, self.avg_us, "us"))]
            .into_iter()
            .chain(quantiles)
            .chain([us(MAX, histogram.max()), omitted])
            .flatten()
            .collect()
    }
}

/// The throughput of a load, in `unit` per virtual second.
pub(crate) fn throughput(per_second: f64, unit: &str) -> Metric {
    higher(THROUGHPUT, per_second, &format!("{unit}/s"))
}

/// A number that is better the higher it is.
pub(crate) fn higher(name: impl Into<String>, value: f64, unit: &str) -> Metric {
    Metric { name: name.into(), value, unit: unit.to_owned(), direction: Direction::Higher }
}

/// A number that is better the lower it is.
pub(crate) fn lower(name: impl Into<String>, value: f64, unit: &str) -> Metric {
    Metric { name: name.into(), value, unit: unit.to_owned(), direction: Direction::Lower }
}
