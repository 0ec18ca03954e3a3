use preemptlab_stats::{Direction, Histogram, Metric};

/// What a cell measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurements {
    /// One per probe.
    pub latencies: Vec<Latency>,
    /// One per load.
    pub throughputs: Vec<Throughput>,
}

/// The wakeup latency that one probe saw, on all CPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    /// The probe's name: `fifo` or `other`.
    pub probe: String,
    /// The samples, in whole microseconds as cyclictest rounds them (down).
    pub histogram: Histogram,
    /// The mean of the samples, in microseconds.
    pub avg_us: f64,
    /// Periods without a sample, because the probe was still late with the one before.
    pub omitted: u64,
}

/// What a load got done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throughput {
    /// Messages written per virtual second of the window.
    pub messages_per_second: f64,
}

/// Names and ranks, in per mille, of the quantiles that are reported.
const QUANTILES: [(&str, u32); 3] = [("p50", 500), ("p99", 990), ("p99.9", 999)];

impl Measurements {
    /// The flat list: `wakeup.PROBE.STATISTIC` for each probe, then `throughput`.
    pub fn metrics(&self) -> Vec<Metric> {
        let latencies = self.latencies.iter().flat_map(Latency::metrics);
        let throughputs = self.throughputs.iter().map(|throughput| Metric {
            name: "throughput".to_owned(),
            value: throughput.messages_per_second,
            unit: "messages/s",
            direction: Direction::Higher,
        });
        latencies.chain(throughputs).collect()
    }
}

impl Latency {
    fn metrics(&self) -> Vec<Metric> {
        let metric = |statistic: &str, value, unit| Metric {
            name: format!("wakeup.{}.{statistic}", self.probe),
            value,
            unit,
            direction: Direction::Lower,
        };
        let us = |statistic, value: Option<u64>| Some(metric(statistic, value? as f64, "us"));
        let histogram = &self.histogram;
        let quantiles = QUANTILES.map(|(name, permille)| us(name, histogram.quantile(permille)));
        [us("min", histogram.min()), Some(metric("avg", self.avg_us, "us"))]
            .into_iter()
            .chain(quantiles)
            .chain([us("max", histogram.max())])
            .chain([Some(metric("omitted", self.omitted as f64, "periods"))])
            .flatten()
            .collect()
    }
}
