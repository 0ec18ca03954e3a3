use preemptlab_model::MetricName;

use crate::{
    Comparator, Configuration, Group, Interval, Limit, MetricKind, REPLICATES_MIN, Samples, Summary,
};

/// A requirement of which everything is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// Metric that must be within the limit.
    pub metric: MetricKind,
    /// Allowed side of the limit.
    pub comparator: Comparator,
    /// Limit of the metric.
    pub limit: Limit,
}

impl Constraint {
    /// Returns whether a summary is of its metric. A limit in a unit is about metrics in that unit:
    /// workloads may measure the same metric in other ones.
    pub(crate) fn is_about(&self, summary: Option<&Summary>) -> bool {
        summary.is_some_and(|summary| match self.limit {
            Limit::Value(_) => summary.unit == self.metric.unit,
            Limit::OfBaseline(_) => true,
        })
    }
}

/// Judgement of a constraint on a configuration in a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The index of the constraint.
    pub constraint: usize,
    /// The index of the group.
    pub group: usize,
    /// Value that is compared with the limit.
    pub value: f64,
    /// Statistic of the replicates that `value` is.
    pub statistic: Statistic,
    /// The unit of `value`, `limit` and `interval`.
    pub unit: String,
    /// Limit of the metric.
    pub limit: f64,
    /// The 95 % interval of a median; `None` for a single replicate, and for the largest value.
    pub interval: Option<Interval>,
    /// Number of replicates.
    pub n: usize,
    /// Number of samples in them; `None` for a metric that is not a statistic of samples.
    pub samples: Option<u64>,
    /// Answer of the judgement.
    pub answer: Answer,
}

/// Statistic that a constraint is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// The largest value of all replicates: a limit on the worst case is broken by one of them.
    Largest,
    /// The largest of all replicates of the worst instant, which bounds the maximum: no wakeup, at
    /// whatever instant it is due, is later.
    WorstInstant,
    /// There is none: in no replicate anything happened that would have a value.
    NoEvent,
    /// Median of the replicates.
    Median,
}

impl Statistic {
    /// Returns `largest`, `worst_instant`, `no_event` or `median`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Largest => "largest",
            Self::WorstInstant => "worst_instant",
            Self::NoEvent => "no_event",
            Self::Median => "median",
        }
    }
}

/// Whether a constraint is satisfied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The constraint is satisfied.
    Holds,
    /// The median is within the limit, but its interval is not, or there are too few replicates
    /// for one. Or every sample is within the limit, but a further one may exceed it.
    Unclear,
    /// The constraint is not satisfied.
    Fails,
}

impl Answer {
    /// Returns `holds`, `unclear` or `fails`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Unclear => "unclear",
            Self::Fails => "fails",
        }
    }
}

impl Judgement {
    /// Judges a configuration in a group, with whether it is the group's baseline; `None` where it lacks
    /// the metric, or the limit is a share of a baseline that was not measured.
    pub fn new(
        constraint: (usize, &Constraint),
        group: (usize, &Group),
        (configuration, is_baseline): (&Configuration, bool),
    ) -> Option<Self> {
        let (index, Constraint { metric, comparator, limit }) = constraint;
        let samples = configuration.samples(&metric.name);
        let Some(summary) = configuration.summary(&metric.name) else {
            return no_event((index, constraint.1), group, samples?);
        };
        if let (true, Limit::OfBaseline(share)) = (is_baseline, limit) {
            return Some(Self::of_itself((index, group.0), *comparator, *share, summary));
        }
        let (limit, interval) = match limit {
            Limit::Value(limit) => (*limit, summary.interval),
            Limit::OfBaseline(share) => {
                let baseline = group.1.baseline()?.summary(&metric.name)?;
                (share * baseline.median, of_baseline(summary, baseline))
            }
        };
        let holds = |value| comparator.holds(value, limit);
        let is_worst = comparator.is_upper() && metric.name.is_worst_of_cell();
        let bound = metric.name.bound().filter(|_| is_worst);
        let bound = bound.and_then(|bound| configuration.summary(&bound));
        let (statistic, value, interval) = match bound {
            // A trace of some replicates shows that a limit is broken, but not that it holds.
            Some(bound) if bound.n == summary.n || !holds(bound.max) => {
                (Statistic::WorstInstant, bound.max.max(summary.max), None)
            }
            _ if is_worst && metric.name == MetricName::BOUND => {
                (Statistic::WorstInstant, summary.max, None)
            }
            _ if is_worst => (Statistic::Largest, summary.max, None),
            _ => (Statistic::Median, summary.median, interval),
        };
        let is_sure = match statistic {
            // One replicate tells nothing of others.
            _ if summary.n < 2 => false,
            Statistic::WorstInstant | Statistic::NoEvent => true,
            // No number of samples shows that the next one is within the limit.
            Statistic::Largest => !metric.name.is_sampled_maximum(),
            Statistic::Median => {
                summary.n >= REPLICATES_MIN
                    && interval.is_some_and(|interval| holds(interval.low) && holds(interval.high))
            }
        };
        let answer = match (holds(value), is_sure) {
            (false, _) => Answer::Fails,
            (true, true) => Answer::Holds,
            (true, false) => Answer::Unclear,
        };
        let (constraint, group, n) = (index, group.0, summary.n);
        let samples = match statistic {
            Statistic::WorstInstant => configuration.samples(&MetricName::BOUND),
            _ => samples,
        };
        let (unit, samples) = (summary.unit.clone(), samples.map(|samples| samples.count));
        Some(Self {
            constraint,
            group,
            value,
            statistic,
            unit,
            limit,
            interval,
            n,
            samples,
            answer,
        })
    }

    /// Judges the baseline against a share of itself: its median is 100 % of its median, whatever
    /// the replicates are.
    fn of_itself(
        (constraint, group): (usize, usize),
        comparator: Comparator,
        share: f64,
        summary: &Summary,
    ) -> Self {
        let answer = if comparator.holds(1.0, share) { Answer::Holds } else { Answer::Fails };
        Self {
            constraint,
            group,
            value: summary.median,
            statistic: Statistic::Median,
            unit: summary.unit.clone(),
            limit: share * summary.median,
            interval: None,
            n: summary.n,
            samples: None,
            answer,
        }
    }

    /// Returns the share of further cells whose own value may exceed the limit: as no replicate's did, with 95 % confidence it is less than `1 - 0.05^(1/n)` (Clopper and Pearson, Biometrika
    /// 26, 1934, for 0 of `n`).
    pub fn further_cells(&self) -> Option<f64> {
        let is_bound = self.statistic != Statistic::Median && self.answer != Answer::Fails;
        (is_bound && self.n > 1).then(|| 1.0 - libm::pow(0.05, 1.0 / self.n as f64))
    }

    /// Returns the distance from the limit on the wrong side, as the logarithm of a ratio; 0 unless
    /// it fails, infinite where there is no ratio.
    pub(crate) fn excess(&self) -> f64 {
        match self.answer {
            Answer::Holds | Answer::Unclear => 0.0,
            Answer::Fails if self.value > 0.0 && self.limit > 0.0 => {
                libm::log(self.value / self.limit).abs()
            }
            Answer::Fails => f64::INFINITY,
        }
    }
}

/// Returns the interval of a median that is compared with a share of the baseline's, which allows
/// for the uncertainty of both.
fn of_baseline(summary: &Summary, baseline: &Summary) -> Option<Interval> {
    let Some(effect) = summary.effect else { return summary.interval };
    let Interval { low, high } = effect.interval?;
    Some(Interval { low: low * baseline.median, high: high * baseline.median })
}

/// Judges a limit on a statistic of a distribution in which nothing happened. No event is beyond an
/// upper limit, as far as the windows go; there is no value that a lower limit could be compared with.
fn no_event(
    (constraint, of): (usize, &Constraint),
    (group, in_group): (usize, &Group),
    samples: &Samples,
) -> Option<Judgement> {
    if !samples.are_none() || !of.comparator.is_upper() {
        return None;
    }
    let limit = match of.limit {
        Limit::Value(limit) => limit,
        Limit::OfBaseline(share) => share * in_group.baseline()?.summary(&of.metric.name)?.median,
    };
    Some(Judgement {
        constraint,
        group,
        value: 0.0,
        statistic: Statistic::NoEvent,
        unit: of.metric.unit.clone(),
        limit,
        interval: None,
        n: samples.cells,
        samples: Some(0),
        answer: if samples.cells > 1 { Answer::Holds } else { Answer::Unclear },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Requirement;
    use preemptlab_model::{Direction, Distribution, Metric, PreemptMode};

    fn judge(requirement: &str, name: &str, values: &[f64]) -> Judgement {
        try_judge(requirement, name, values).unwrap()
    }

    /// Judges values in a group without a baseline.
    fn try_judge(requirement: &str, name: &str, values: &[f64]) -> Option<Judgement> {
        judge_configuration(requirement, name, &configuration(&[(name, values)], &[]))
    }

    fn judge_configuration(
        requirement: &str,
        name: &str,
        configuration: &Configuration,
    ) -> Option<Judgement> {
        let requirement: Requirement = requirement.parse().unwrap();
        let (unit, direction) = ("us", Direction::Lower);
        let constraint = Constraint {
            metric: MetricKind { name: name.into(), unit: unit.into(), direction },
            comparator: requirement.comparator,
            limit: requirement.limit(&[unit]).unwrap().1,
        };
        let group = Group {
            metrics: Vec::new(),
            workload: "w".into(),
            cpus: 1,
            backend: Default::default(),
            profile: None,
            machine: None,
            baseline: None,
            configurations: Vec::new(),
        };
        Judgement::new((0, &constraint), (0, &group), (configuration, false))
    }

    /// Returns a configuration with the values of metrics, and cells without an event of distributions.
    fn configuration(metrics: &[(&str, &[f64])], empty: &[(&str, usize)]) -> Configuration {
        let summary = |(name, values): &(&str, &[f64])| {
            let values: Vec<(u32, f64)> = (1..).zip(values.iter().copied()).collect();
            let metric = Metric {
                name: (*name).into(),
                value: 0.0,
                unit: "us".into(),
                direction: Direction::Lower,
                resolution: 0.0,
            };
            Summary::new(&metric, &values).unwrap()
        };
        let samples = |(of, cells): &(&str, usize)| Samples {
            of: Distribution::Own((*of).to_owned()),
            count: 0,
            cells: *cells,
            empty: *cells,
        };
        Configuration {
            run: None,
            kernel: "debian:6.12".parse().unwrap(),
            label: None,
            rt: None,
            preempt: PreemptMode::Full,
            settings: Default::default(),
            observed: Default::default(),
            replicates: 6,
            unavailable: None,
            failures: Vec::new(),
            missing: 0,
            samples: empty.iter().map(samples).collect(),
            worst: None,
            summaries: metrics.iter().map(summary).collect(),
        }
    }

    const VALUES: [f64; 6] = [10.0, 11.0, 12.0, 13.0, 14.0, 50.0];

    #[test]
    fn one_replicate_beyond_it_breaks_a_limit_on_the_worst_case() {
        let judged = judge("m<=40us", "wakeup.fifo.max", &VALUES);
        assert_eq!((judged.value, judged.answer), (50.0, Answer::Fails));
        assert_eq!(judged.further_cells(), None);
        let judged = judge("m<=50us", "wakeup.fifo.max", &VALUES);
        assert_eq!(judged.answer, Answer::Unclear, "samples do not show a maximum");
        assert!((judged.further_cells().unwrap() - 0.393).abs() < 1e-3);
        assert_eq!(judge("m<50us", "wakeup.fifo.max", &VALUES).answer, Answer::Fails);
        assert_eq!(judge("m<=50us", "latency.worst", &VALUES).answer, Answer::Holds);
        // Omitted periods are counted in each cell, and not sampled.
        assert_eq!(judge("m<=50us", "wakeup.fifo.omitted", &VALUES).answer, Answer::Holds);
    }

    /// Judges values of the maximum beside those of the worst instant.
    fn bounded(requirement: &str, max: &[f64], bound: &[f64]) -> Judgement {
        let of = configuration(&[("wakeup.fifo.max", max), ("latency.worst", bound)], &[]);
        judge_configuration(requirement, "wakeup.fifo.max", &of).unwrap()
    }

    #[test]
    fn a_maximum_is_judged_by_the_worst_instant_where_it_is_known() {
        let judged = bounded("m<=100us", &[19.0; 6], &[80.0, 100.7, 60.0, 90.0, 70.0, 81.2]);
        assert_eq!(judged.statistic, Statistic::WorstInstant);
        assert_eq!((judged.value, judged.answer), (100.7, Answer::Fails));
        let judged = bounded("m<=101us", &[19.0; 6], &[80.0, 100.7, 60.0, 90.0, 70.0, 81.2]);
        assert_eq!((judged.value, judged.answer), (100.7, Answer::Holds));
        // One traced cell of six shows that the limit is broken, but not that it holds.
        let judged = bounded("m<=100us", &[19.0; 6], &[100.7]);
        assert_eq!((judged.value, judged.answer), (100.7, Answer::Fails));
        let judged = bounded("m<=100us", &[19.0; 6], &[20.0]);
        assert_eq!((judged.value, judged.answer), (19.0, Answer::Unclear));
        assert_eq!(judged.statistic, Statistic::Largest);
    }

    #[test]
    fn one_replicate_never_shows_that_a_limit_holds() {
        for name in ["wakeup.fifo.max", "latency.worst", "wakeup.fifo.omitted", "wakeup.fifo.p99"] {
            let judged = judge("m<=50us", name, &[5.0]);
            assert_eq!((judged.answer, judged.further_cells()), (Answer::Unclear, None), "{name}");
        }
        assert_eq!(bounded("m<=50us", &[5.0], &[6.0]).answer, Answer::Unclear);
    }

    #[test]
    fn no_event_is_within_an_upper_limit_and_has_no_lower_one() {
        let of = |cells| configuration(&[], &[("gap", cells)]);
        let judged = judge_configuration("m<=50us", "gap.max", &of(6)).unwrap();
        assert_eq!((judged.statistic, judged.answer), (Statistic::NoEvent, Answer::Holds));
        assert_eq!((judged.n, judged.samples), (6, Some(0)));
        let judged = judge_configuration("m<=50us", "gap.p99", &of(1)).unwrap();
        assert_eq!(judged.answer, Answer::Unclear);
        assert_eq!(judge_configuration("m>=50us", "gap.max", &of(6)), None);
        assert_eq!(judge_configuration("m<=50us", "other.max", &of(6)), None);
    }

    #[test]
    fn a_median_holds_where_its_interval_does() {
        let answer = |text: &str| judge(text, "wakeup.fifo.p99", &VALUES).answer;
        assert_eq!(answer("m<=60us"), Answer::Holds);
        assert_eq!(answer("m<=13us"), Answer::Unclear);
        assert_eq!(answer("m<=12us"), Answer::Fails);
        assert_eq!(answer("m>=5us"), Answer::Holds);
        assert_eq!(answer("m>12us"), Answer::Unclear);
    }

    #[test]
    fn few_replicates_make_nothing_clear_of_a_median() {
        for n in 1..REPLICATES_MIN {
            assert_eq!(judge("m<=1ms", "wakeup.fifo.p99", &VALUES[..n]).answer, Answer::Unclear);
        }
        assert_eq!(judge("m<=1us", "wakeup.fifo.p99", &[5.0]).answer, Answer::Fails);
    }

    #[test]
    fn a_share_of_a_baseline_that_is_not_there_is_no_limit() {
        assert_eq!(try_judge("m<=5%", "wakeup.fifo.p99", &VALUES), None);
    }

    #[test]
    fn the_excess_is_a_ratio() {
        let excess = |text: &str| judge(text, "wakeup.fifo.max", &VALUES).excess();
        assert_eq!(excess("m<=25us"), libm::log(2.0));
        assert_eq!((excess("m<=0us"), excess("m<=60us")), (f64::INFINITY, 0.0));
    }
}
