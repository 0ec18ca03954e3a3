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
    /// Smallest difference between two samples that the instrument tells, in microseconds. At least 1,
    /// because the histogram holds whole ones.
    pub resolution_us: f64,
    /// The mean of the samples, in microseconds; 0 where there is none.
    pub avg_us: f64,
    /// Smallest difference between two means that the instrument tells, in microseconds.
    pub avg_resolution_us: f64,
    /// Number of periods without a sample, because the probe was still late with the one before;
    /// `None` for a distribution that has no period.
    pub omitted: Option<u64>,
}

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
    let statistics =
        statistics.chain(Statistic::QUANTILES.map(Statistic::Quantile)).chain([Statistic::Max]);
    let statistics = statistics.chain(is_periodic.then_some(Statistic::Omitted));
    statistics.map(|statistic| MetricName::Of(of.clone(), statistic)).collect()
}

impl Latency {
    /// Returns the mean of the samples; `None` where there is no sample, because nothing happened.
    fn mean_us(&self) -> Option<f64> {
        (self.histogram.count() > 0).then_some(self.avg_us)
    }

    fn metrics(&self) -> Vec<Metric> {
        let histogram = &self.histogram;
        let names = latency_names(&self.of, self.omitted.is_some()).into_iter();
        let metrics = names.filter_map(|name| {
            let MetricName::Of(_, statistic) = &name else { return None };
            let us = |value: Option<u64>| Some((value? as f64, "us", self.resolution_us));
            let (value, unit, resolution) = match statistic {
                Statistic::Min => us(histogram.min())?,
                // Where nothing happened there is no mean.
                Statistic::Avg => (self.mean_us()?, "us", self.avg_resolution_us),
                Statistic::Quantile(parts) => us(histogram.quantile(*parts))?,
                Statistic::Max => us(histogram.max())?,
                Statistic::Omitted => (self.omitted? as f64, "periods", 0.0),
            };
            Some(lower(name, value, unit, resolution))
        });
        metrics.collect()
    }
}

/// Returns the throughput of a load, in `unit` per virtual second.
pub(crate) fn throughput(per_second: f64, unit: &str, resolution: f64) -> Metric {
    higher(MetricName::Throughput, per_second, &format!("{unit}/s"), resolution)
}

/// Returns a metric that is better the higher its value is.
pub(crate) fn higher(
    name: impl Into<MetricName>,
    value: f64,
    unit: &str,
    resolution: f64,
) -> Metric {
    let (name, unit, direction) = (name.into(), unit.to_owned(), Direction::Higher);
    Metric { name, value, unit, direction, resolution }
}

/// Returns a metric that is better the lower its value is.
pub(crate) fn lower(
    name: impl Into<MetricName>,
    value: f64,
    unit: &str,
    resolution: f64,
) -> Metric {
    let (name, unit, direction) = (name.into(), unit.to_owned(), Direction::Lower);
    Metric { name, value, unit, direction, resolution }
}
