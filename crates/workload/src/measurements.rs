use preemptlab_model::{Direction, Distribution, Histogram, Metric, MetricName, Statistic};

/// Measurements of one cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurements {
    /// Distributions of latencies: response times, R.
    pub latencies: Vec<Latency>,
    /// Single numbers: the throughput, X, first, where there is one.
    pub numbers: Vec<Metric>,
}

/// A distribution of latencies.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    /// Distribution that the metrics are statistics of. The samples of a cyclictest are those of
    /// all CPUs.
    pub of: Distribution,
    /// The samples, in whole microseconds, rounded down.
    pub histogram: Histogram,
    /// The mean of the samples, in microseconds.
    pub avg_us: f64,
    /// Number of periods without a sample, because the probe was still late with the one before;
    /// `None` for a distribution that has no period.
    pub omitted: Option<u64>,
}

/// The ranks of the quantiles that are reported, in per mille.
const QUANTILES: [u16; 3] = [500, 990, 999];

impl Measurements {
    /// Returns all metrics as one list: `NAME.STATISTIC` for each latency, then the numbers.
    pub fn metrics(&self) -> Vec<Metric> {
        let latencies = self.latencies.iter().flat_map(Latency::metrics);
        latencies.chain(self.numbers.iter().cloned()).collect()
    }
}

/// Returns the names of the metrics of a latency. Only a latency with a period has omitted samples.
pub(crate) fn latency_names(of: &Distribution, is_periodic: bool) -> Vec<MetricName> {
    let statistics = [Statistic::Min, Statistic::Avg].into_iter();
    let statistics = statistics.chain(QUANTILES.map(Statistic::Quantile)).chain([Statistic::Max]);
    let statistics = statistics.chain(is_periodic.then_some(Statistic::Omitted));
    statistics.map(|statistic| MetricName::Of(of.clone(), statistic)).collect()
}

impl Latency {
    fn metrics(&self) -> Vec<Metric> {
        let histogram = &self.histogram;
        let names = latency_names(&self.of, self.omitted.is_some()).into_iter();
        let metrics = names.filter_map(|name| {
            let MetricName::Of(_, statistic) = &name else { return None };
            let us = |value: Option<u64>| Some((value? as f64, "us"));
            let (value, unit) = match statistic {
                Statistic::Min => us(histogram.min())?,
                Statistic::Avg => (self.avg_us, "us"),
                Statistic::Quantile(permille) => us(histogram.quantile(u32::from(*permille)))?,
                Statistic::Max => us(histogram.max())?,
                Statistic::Omitted => (self.omitted? as f64, "periods"),
            };
            Some(lower(name, value, unit))
        });
        metrics.collect()
    }
}

/// Returns the throughput of a load, in `unit` per virtual second.
pub(crate) fn throughput(per_second: f64, unit: &str) -> Metric {
    higher(MetricName::Throughput, per_second, &format!("{unit}/s"))
}

/// Returns a metric that is better the higher its value is.
pub(crate) fn higher(name: impl Into<MetricName>, value: f64, unit: &str) -> Metric {
    Metric { name: name.into(), value, unit: unit.to_owned(), direction: Direction::Higher }
}

/// Returns a metric that is better the lower its value is.
pub(crate) fn lower(name: impl Into<MetricName>, value: f64, unit: &str) -> Metric {
    Metric { name: name.into(), value, unit: unit.to_owned(), direction: Direction::Lower }
}
