use std::{convert::Infallible, fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use ts_rs::TS;

use crate::Probe;

/// Metric of a cell, with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Name of the metric.
    pub name: MetricName,
    /// Value, which is finite.
    pub value: f64,
    /// Unit of the value: `us`, `messages/s`, `periods`.
    pub unit: String,
    /// Direction in which the value is better.
    pub direction: Direction,
    /// Smallest difference that the instrument of the value tells, in `unit`: a value `v` stands for any
    /// from `v` up to `v + resolution`. 0 for a value that is exact, such as a count.
    pub resolution: f64,
}

/// Direction in which a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// The lower, the better.
    Lower,
    /// The higher, the better.
    Higher,
}

impl Direction {
    /// Returns `lower` or `higher`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lower => "lower",
            Self::Higher => "higher",
        }
    }
}

/// Name of a metric, by its meaning. Every text is a name, and is printed as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetricName {
    /// A statistic of a distribution: `wakeup.fifo.p99`, `response.max`, `latency.worst`.
    Of(Distribution, Statistic),
    /// Work of a load per second: `throughput`.
    Throughput,
    /// A number of a workload: `real`, `context_switches`.
    Number(String),
    /// Part of the system's activity, which shows where the time went: `interrupts.LOC`,
    /// `kthread.total`.
    Part {
        /// Kind of activity: `interrupts`, `kthread`.
        of: String,
        /// Name of the part.
        part: String,
    },
}

/// Kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, TS, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MetricClass {
    /// A statistic of a distribution.
    Statistic,
    /// Work of a load per second.
    Throughput,
    /// A number of a workload.
    Number,
    /// A part of what the system did.
    Part,
}

/// Distribution that a statistic is taken of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distribution {
    /// Samples of a probe: `wakeup.fifo`, `wakeup.other`.
    Probe(Probe),
    /// Latency that the most urgent task would have had, had it been due at any other instant: `latency`.
    Bound,
    /// Time from the wakeup of a fair task to the CPU, of all that are not probes: `delay`.
    Delay,
    /// A part of the latency of the real-time probe's wakeups: `wakeup.irq`, `wakeup.thread`, `wakeup.user`.
    Part(WakeupPart),
    /// Response time of a client: `response`.
    Response,
    /// Something of a workload's own, by its name.
    Own(String),
}

/// Part of the latency of a wakeup by a timer. The parts of a wakeup add up to its latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WakeupPart {
    /// From the due time to the timer's function, in the timer's interrupt.
    Irq,
    /// From the timer's function to the switch to the thread.
    Thread,
    /// From the switch to the thread's first instruction in user space.
    User,
}

impl WakeupPart {
    /// The parts, in their order.
    pub const ALL: [Self; 3] = [Self::Irq, Self::Thread, Self::User];

    /// Returns the name of the part's distribution: `wakeup.irq`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Irq => "wakeup.irq",
            Self::Thread => "wakeup.thread",
            Self::User => "wakeup.user",
        }
    }
}

/// A number that stands for a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// The least sample.
    Min,
    /// The mean of the samples.
    Avg,
    /// A quantile by nearest rank, in hundred-thousandths: `p50`, `p99.9`, `p99.999`.
    Quantile(u32),
    /// The largest sample. That of all instants is the worst one: `latency.worst`.
    Max,
    /// Periods without a sample.
    Omitted,
}

impl MetricName {
    /// The median latency of the real-time probe.
    pub const FIFO_P50: Self =
        Self::Of(Distribution::Probe(Probe::Fifo), Statistic::Quantile(50_000));
    /// The largest latency that the real-time probe saw.
    pub const FIFO_MAX: Self = Self::Of(Distribution::Probe(Probe::Fifo), Statistic::Max);
    /// The latency that one in a hundred of the real-time probe's exceeds.
    pub const FIFO_P99: Self =
        Self::Of(Distribution::Probe(Probe::Fifo), Statistic::Quantile(99_000));
    /// The largest latency that the fair probe saw.
    pub const OTHER_MAX: Self = Self::Of(Distribution::Probe(Probe::Other), Statistic::Max);
    /// The largest response time.
    pub const RESPONSE_MAX: Self = Self::Of(Distribution::Response, Statistic::Max);
    /// Latency that the real-time probe would have had, had it been due at the worst instant.
    pub const BOUND: Self = Self::Of(Distribution::Bound, Statistic::Max);
    /// Latency that the real-time probe would have exceeded at one in a thousand of all instants.
    pub const BOUND_P99_9: Self = Self::Of(Distribution::Bound, Statistic::Quantile(99_900));
    /// The metrics of all instants, which virtual time adds to those of a real-time probe.
    pub const BOUNDS: [Self; 5] = [
        Self::Of(Distribution::Bound, Statistic::Quantile(50_000)),
        Self::Of(Distribution::Bound, Statistic::Quantile(99_000)),
        Self::BOUND_P99_9,
        Self::Of(Distribution::Bound, Statistic::Quantile(99_999)),
        Self::BOUND,
    ];
    /// The statistics of scheduling delays, which virtual time adds to every workload, and of the parts of wakeups,
    /// which it adds to those with a real-time probe.
    pub const DELAYS: [Statistic; 4] = [
        Statistic::Quantile(50_000),
        Statistic::Quantile(99_000),
        Statistic::Quantile(99_900),
        Statistic::Max,
    ];

    /// Returns its kind of number.
    pub const fn class(&self) -> MetricClass {
        match self {
            Self::Of(..) => MetricClass::Statistic,
            Self::Throughput => MetricClass::Throughput,
            Self::Number(_) => MetricClass::Number,
            Self::Part { .. } => MetricClass::Part,
        }
    }

    /// Returns its distribution and its statistic; `None` for a metric that is not a statistic.
    pub const fn statistic(&self) -> Option<(&Distribution, Statistic)> {
        match self {
            Self::Of(of, statistic) => Some((of, *statistic)),
            Self::Throughput | Self::Number(_) | Self::Part { .. } => None,
        }
    }

    /// Returns whether the metric is the largest of a cell's samples.
    pub fn is_maximum(&self) -> bool {
        matches!(self, Self::Of(_, Statistic::Max))
    }

    /// Returns the metric of the worst instant that bounds this maximum, where the cell has a trace;
    /// `None` for a metric that no trace bounds.
    pub fn bound(&self) -> Option<Self> {
        match self {
            Self::Of(Distribution::Probe(probe), Statistic::Max)
                if probe.declared().is_realtime && probe.is_woken() =>
            {
                Some(Self::BOUND)
            }
            _ => None,
        }
    }

    /// Returns whether the metric has the same meaning for a cell as another one has for others: it is the
    /// same, or both are the longest wakeups of probes of one policy.
    pub fn stands_for(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Of(Distribution::Probe(own), Statistic::Max),
                Self::Of(Distribution::Probe(other), Statistic::Max),
            ) => {
                let policy = |probe: &Probe| (probe.is_woken(), probe.declared().is_realtime);
                own == other || own.is_woken() && policy(own) == policy(other)
            }
            _ => self == other,
        }
    }

    /// Returns whether the metric is a maximum of samples, which a further sample may exceed.
    pub fn is_sampled_maximum(&self) -> bool {
        self.is_maximum() && *self != Self::BOUND
    }

    /// Returns whether the metric is the worst case of a cell: then one replicate beyond a limit is
    /// enough to break it.
    pub fn is_worst_of_cell(&self) -> bool {
        matches!(self, Self::Of(_, Statistic::Max | Statistic::Omitted))
    }
}

impl fmt::Display for MetricName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Of(Distribution::Bound, Statistic::Max) => f.pad("latency.worst"),
            Self::Of(of, statistic) => f.pad(&format!("{of}.{statistic}")),
            Self::Throughput => f.pad("throughput"),
            Self::Number(name) => f.pad(name),
            Self::Part { of, part } => f.pad(&format!("{of}.{part}")),
        }
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Probe(probe) => f.write_str(probe.declared().distribution),
            Self::Bound => f.write_str("latency"),
            Self::Delay => f.write_str("delay"),
            Self::Part(part) => f.write_str(part.as_str()),
            Self::Response => f.write_str("response"),
            Self::Own(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Min => f.write_str("min"),
            Self::Avg => f.write_str("avg"),
            Self::Quantile(parts) => write!(f, "p{}", percent(*parts)),
            Self::Max => f.write_str("max"),
            Self::Omitted => f.write_str("omitted"),
        }
    }
}

/// Returns hundred-thousandths in percent, without zeros at the end.
pub(crate) fn percent(parts: u32) -> String {
    let text = format!("{}.{:03}", parts / 1_000, parts % 1_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Kinds of the system's activity, whose parts the guest names.
const SYSTEM: [&str; 3] = ["interrupts", "softirqs", "kthread"];

impl From<&str> for MetricName {
    fn from(name: &str) -> Self {
        let of =
            |(dot, _)| Some(Self::Of(distribution(&name[..dot]), statistic(&name[dot + 1..])?));
        match (name, name.split_once('.')) {
            ("throughput", _) => Self::Throughput,
            ("latency.worst", _) => Self::BOUND,
            (_, None) => Self::Number(name.to_owned()),
            (_, Some((first, part))) => (name.match_indices('.').find_map(of))
                .filter(|read| *read != Self::BOUND && !SYSTEM.contains(&first))
                .unwrap_or_else(|| Self::Part { of: first.to_owned(), part: part.to_owned() }),
        }
    }
}

impl From<String> for MetricName {
    fn from(name: String) -> Self {
        name.as_str().into()
    }
}

impl PartialEq<str> for MetricName {
    fn eq(&self, name: &str) -> bool {
        let named = Self::from(name);
        *self == named
    }
}

impl PartialEq<&str> for MetricName {
    fn eq(&self, name: &&str) -> bool {
        *self == **name
    }
}

impl FromStr for MetricName {
    type Err = Infallible;

    fn from_str(name: &str) -> Result<Self, Infallible> {
        Ok(name.into())
    }
}

fn distribution(name: &str) -> Distribution {
    let probe = Probe::ALL.into_iter().find(|probe| probe.declared().distribution == name);
    if let Some(probe) = probe {
        return Distribution::Probe(probe);
    }
    if let Some(part) = WakeupPart::ALL.into_iter().find(|part| part.as_str() == name) {
        return Distribution::Part(part);
    }
    match name {
        "latency" => Distribution::Bound,
        "delay" => Distribution::Delay,
        "response" => Distribution::Response,
        own => Distribution::Own(own.to_owned()),
    }
}

/// Returns the statistic of a name, if the statistic is printed so.
fn statistic(name: &str) -> Option<Statistic> {
    let read = match name {
        "min" => Statistic::Min,
        "avg" => Statistic::Avg,
        "max" => Statistic::Max,
        "omitted" => Statistic::Omitted,
        _ => {
            let number = name.strip_prefix('p')?;
            let (percent, rest) = number.split_once('.').unwrap_or((number, ""));
            let (percent, rest) = (percent.parse::<u8>().ok()?, format!("{rest:0<3}"));
            Statistic::Quantile(u32::from(percent) * 1_000 + u32::from(rest.parse::<u16>().ok()?))
        }
    };
    (read.to_string() == name).then_some(read)
}

impl Serialize for MetricName {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl Serialize for Statistic {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MetricName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(String::deserialize(from)?.into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_read_as_what_they_stand_for() {
        use Distribution::{Bound, Own, Probe as Of, Response};
        use Statistic::{Avg, Max, Min, Omitted, Quantile};
        for (name, read) in [
            ("wakeup.fifo.p99.9", MetricName::Of(Of(Probe::Fifo), Quantile(99_900))),
            ("wakeup.other.omitted", MetricName::Of(Of(Probe::Other), Omitted)),
            ("latency.worst", MetricName::Of(Bound, Max)),
            ("latency.p99.9", MetricName::Of(Bound, Quantile(99_900))),
            ("latency.p99.999", MetricName::Of(Bound, Quantile(99_999))),
            ("delay.p99.9", MetricName::Of(Distribution::Delay, Quantile(99_900))),
            (
                "wakeup.irq.p99",
                MetricName::Of(Distribution::Part(WakeupPart::Irq), Quantile(99_000)),
            ),
            ("wakeup.user.max", MetricName::Of(Distribution::Part(WakeupPart::User), Max)),
            ("delay.worker.max", MetricName::Of(Own("delay.worker".into()), Max)),
            ("response.min", MetricName::Of(Response, Min)),
            ("response.p50", MetricName::Of(Response, Quantile(50_000))),
            ("request.time.avg", MetricName::Of(Own("request.time".into()), Avg)),
            ("throughput", MetricName::Throughput),
            ("p99", MetricName::Number("p99".into())),
        ] {
            assert_eq!(MetricName::from(name), read);
        }
        for name in [
            "interrupts.LOC",
            "kthread.max",
            "wakeup.fifo.p099",
            "wakeup.fifo.p99.90",
            "wakeup.fifo.p99.9999",
            "wakeup.fifo.p\u{e9}",
            "latency.max",
        ] {
            let (of, part) = name.split_once('.').unwrap();
            let read = MetricName::Part { of: of.into(), part: part.into() };
            assert_eq!(MetricName::from(name), read);
        }
    }

    #[test]
    fn what_is_known_of_a_metric_follows_from_its_name() {
        let is = |name: &str| {
            let name = MetricName::from(name);
            let none = std::iter::empty();
            (name.is_headline(none), name.is_maximum(), name.is_worst_of_cell())
        };
        for name in ["wakeup.fifo.max", "response.max", "latency.worst"] {
            assert_eq!(is(name), (true, true, true), "{name}");
        }
        for name in [
            "wakeup.fifo.p50",
            "wakeup.other.p99",
            "latency.p99.9",
            "delay.p99",
            "throughput",
            "real",
        ] {
            assert_eq!(is(name), (true, false, false), "{name}");
        }
        for name in
            ["wakeup.fifo.p99.9", "response.avg", "delay.p50", "wakeup.thread.p99", "kthread.total"]
        {
            assert_eq!(is(name), (false, false, false), "{name}");
        }
        assert_eq!(is("wakeup.other.omitted"), (false, false, true));
        assert_eq!(is("wakeup.irq.max"), (false, true, true));
        assert_eq!(is("request.max"), (false, true, true));
    }

    #[test]
    fn probes_of_one_policy_stand_for_each_other() {
        let name = |name: &str| MetricName::from(name);
        assert_eq!(name("wakeup.fifo.max").bound(), Some(MetricName::BOUND));
        for none in [
            "wakeup.fifo.p99",
            "wakeup.other.max",
            "wakeup.thread.max",
            "response.max",
            "latency.worst",
        ] {
            assert_eq!(name(none).bound(), None, "{none}");
        }
        let stands = |one: &str, other: &str| name(one).stands_for(&name(other));
        assert!(stands("wakeup.fifo.max", "wakeup.fifo.max"));
        assert!(stands("response.max", "response.max"));
        assert!(!stands("wakeup.fifo.max", "wakeup.other.max"));
        assert!(!stands("wakeup.fifo.p99", "wakeup.fifo.max"));
    }

    proptest! {
        #[test]
        fn every_text_is_printed_as_it_was_read(
            text in "(wakeup\\.)?(fifo|other|latency|response|x)?\\.?(p[0-9]{0,3}(\\.[0-9]{1,4})?|max|worst|\\PC{0,8})"
        ) {
            prop_assert_eq!(MetricName::from(text.as_str()).to_string(), text);
        }
    }
}
