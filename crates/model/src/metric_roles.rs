//! Roles of metrics: everything that shows, decides or explains without being told a metric asks here which
//! one matters.

use crate::{Distribution, MetricName, Probe, Statistic};

/// A number that every workload has, of the system's activity beside it.
const CONTEXT_SWITCHES: &str = "context_switches";

/// Role of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// How late something is.
    Latency,
    /// How much a load gets done, or whatever a workload of a user's own is about.
    Work,
    /// Activity of the system, which shows where the time went.
    Activity,
}

impl Statistic {
    /// The quantiles of every latency that a workload measures, in hundred-thousandths.
    pub const QUANTILES: [u32; 3] = [50_000, 99_000, 99_900];
}

impl MetricName {
    /// The metric that a recommendation maximizes where the user names none.
    pub const OBJECTIVE: Self = Self::Throughput;

    /// Lists the latencies by which a comparison in words tells configurations apart, the most telling first.
    pub fn telling() -> impl Iterator<Item = Self> {
        let realtime =
            Probe::of_policy(true).flat_map(|probe| [Self::max_of(probe), Self::p99_of(probe)]);
        let fair = Probe::of_policy(false).map(|probe| match probe.is_woken() {
            true => Self::p99_of(probe),
            // Of a loop's rounds, nearly all are undisturbed.
            false => Self::max_of(probe),
        });
        [Self::BOUND, Self::RESPONSE_P99].into_iter().chain(realtime).chain(fair)
    }

    /// Lists the metrics that a history shows of a workload that has them, in this order.
    pub fn history() -> impl Iterator<Item = Self> {
        let [_, _, p99_9, p99_999, worst] = Self::BOUNDS;
        let realtime =
            Probe::of_policy(true).flat_map(|probe| [Self::p99_of(probe), Self::max_of(probe)]);
        let first = [Self::Throughput, p99_9, p99_999, worst].into_iter();
        first.chain(realtime).chain([Self::RESPONSE_P99])
    }

    const RESPONSE_P99: Self = Self::Of(Distribution::Response, Statistic::Quantile(99_000));

    fn p99_of(probe: Probe) -> Self {
        Self::Of(Distribution::Probe(probe), Statistic::Quantile(99_000))
    }

    fn max_of(probe: Probe) -> Self {
        Self::Of(Distribution::Probe(probe), Statistic::Max)
    }

    /// Returns the metric that says how late a probe was at worst.
    pub const fn latest(is_fair: bool) -> Self {
        if is_fair { Self::OTHER_MAX } else { Self::FIFO_MAX }
    }

    /// Returns the role of the metric.
    pub fn role(&self) -> Role {
        match self {
            Self::Of(..) => Role::Latency,
            Self::Number(name) if name == CONTEXT_SWITCHES => Role::Activity,
            Self::Throughput | Self::Number(_) => Role::Work,
            Self::Part { .. } => Role::Activity,
        }
    }

    /// Returns whether a gate decides by the metric, among others of the same cell: throughput and the latency
    /// of the real-time probe, or the numbers of a workload that has neither.
    pub fn decides<'a>(&self, among: impl Iterator<Item = &'a Self> + Clone) -> bool {
        let mut latencies =
            [Self::BOUND_P99_9].into_iter().chain(Probe::of_policy(true).map(Self::p99_of));
        let latency = latencies.find(|latency| among.clone().any(|other| other == latency));
        let is_usual = |name: &Self| *name == Self::Throughput || Some(name) == latency.as_ref();
        match among.clone().any(is_usual) {
            true => is_usual(self),
            false => matches!(self, Self::Number(_)),
        }
    }

    /// Returns whether the metric is one of those that tell configurations apart, among others of the same
    /// cells. Where every instant is measured, the instants tell: of the real-time probe only the maximum
    /// stays, as the check by samples. A fair probe has some hundred samples, too few for their tail to tell
    /// anything beside a real-time latency.
    pub fn is_headline<'a>(&self, mut among: impl Iterator<Item = &'a Self>) -> bool {
        match self {
            // The parts explain the latency, which other metrics have as a whole.
            Self::Of(Distribution::Own(_) | Distribution::Part(_), _) | Self::Part { .. } => false,
            // Half of all instants tell the cost of a wakeup with nothing in the way.
            Self::Of(Distribution::Bound, statistic) => {
                !matches!(statistic, Statistic::Quantile(..=99_000))
            }
            // Beside a real-time latency it is the load's own affair. The median of all wakeups hardly knows the
            // model, and the longest is a single one.
            Self::Of(Distribution::Delay, statistic) => {
                *statistic == Statistic::Quantile(99_000)
                    && !among.any(|other| *other == Self::BOUND)
            }
            // Of a loop's rounds, nearly all are undisturbed.
            Self::Of(Distribution::Probe(probe), statistic) if !probe.is_woken() => {
                *statistic == Statistic::Max
            }
            Self::Of(
                Distribution::Probe(probe),
                statistic @ (Statistic::Quantile(50_000 | 99_000) | Statistic::Max),
            ) => {
                let is_realtime = probe.declared().is_realtime;
                let is_bound = |other: &Self| probe.is_woken() && *other == Self::BOUND;
                match statistic {
                    Statistic::Max if is_realtime => true,
                    // The phase between the probes decides a fair one's, since a timer with slack expires with
                    // another's.
                    Statistic::Quantile(50_000) => !among.any(is_bound),
                    _ if is_realtime => !among.any(is_bound),
                    _ => !among.any(|other| is_bound(other) || other.bound().is_some()),
                }
            }
            // Work tells more of the same.
            Self::Number(name) if name == CONTEXT_SWITCHES => {
                !among.any(|other| [Self::BOUND, Self::Throughput].contains(other))
            }
            Self::Of(_, Statistic::Quantile(50_000 | 99_000) | Statistic::Max) => true,
            Self::Of(..) => false,
            Self::Throughput | Self::Number(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sampled_gives_way_to_every_instant() {
        let headline = |names: &[&str]| -> Vec<String> {
            let names: Vec<MetricName> = names.iter().map(|name| (*name).into()).collect();
            let shown = names.iter().filter(|name| name.is_headline(names.iter()));
            shown.map(ToString::to_string).collect()
        };
        let fifo = ["wakeup.fifo.p50", "wakeup.fifo.p99", "wakeup.fifo.max"];
        let other = ["wakeup.other.p50", "wakeup.other.p99", "wakeup.other.max"];
        let latency = ["latency.p99.9", "latency.p99.999", "latency.worst"];
        assert_eq!(headline(&other), other);
        let interruption = ["interruption.p50", "interruption.p99", "interruption.max"];
        assert_eq!(headline(&interruption), &interruption[2..]);
        let sampled = [fifo, other].concat();
        assert_eq!(headline(&sampled), [&fifo[..], &other[..1]].concat());
        let all = [fifo, other, latency].concat();
        assert_eq!(headline(&all), [&fifo[2..], &latency[..]].concat());
    }

    #[test]
    fn a_gate_has_a_latency_and_work_or_what_the_workload_is_about() {
        let decided = |names: &[&str]| -> Vec<String> {
            let names: Vec<MetricName> = names.iter().map(|name| (*name).into()).collect();
            let decided = names.iter().filter(|name| name.decides(names.iter()));
            decided.map(ToString::to_string).collect()
        };
        let sampled = ["throughput", "wakeup.fifo.p99", "wakeup.fifo.max", "real"];
        assert_eq!(decided(&sampled), sampled[..2]);
        let instants = ["throughput", "wakeup.fifo.p99", "latency.p99.9", "latency.worst"];
        assert_eq!(decided(&instants), ["throughput", "latency.p99.9"]);
        assert_eq!(decided(&["real", "interrupts.LOC"]), ["real"]);
    }

    #[test]
    fn what_a_workload_is_about_is_no_activity_of_the_system() {
        let role = |name: &str| MetricName::from(name).role();
        assert_eq!(role("wakeup.fifo.max"), Role::Latency);
        assert_eq!((role("throughput"), role("real")), (Role::Work, Role::Work));
        for name in ["context_switches", "interrupts.LOC", "kthread.total"] {
            assert_eq!(role(name), Role::Activity, "{name}");
        }
    }
}
