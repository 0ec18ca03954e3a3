use crate::{Comparator, Group, Interval, Limit, MetricKind, REPLICATES_MIN, Summary};

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
    /// Returns whether a summary is of its metric. A limit in a unit is about what has that unit:
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
    /// Answer of the judgement.
    pub answer: Answer,
}

/// Statistic that a constraint is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// The largest value of all replicates: a limit on the worst case is broken by one of them.
    Largest,
    /// Median of the replicates.
    Median,
}

/// Whether a constraint is satisfied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The constraint is satisfied.
    Holds,
    /// The median is within the limit, but its interval is not, or there are too few replicates
    /// for one.
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
    /// Judges the summary of a configuration in a group, with whether it is the group's baseline;
    /// `None` where the limit is a share of a baseline that was not measured.
    pub fn new(
        constraint: (usize, &Constraint),
        group: (usize, &Group),
        (summary, is_baseline): (&Summary, bool),
    ) -> Option<Self> {
        let (index, Constraint { metric, comparator, limit }) = constraint;
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
        let (statistic, value, interval) =
            match comparator.is_upper() && metric.name.is_worst_of_cell() {
                true => (Statistic::Largest, summary.max, None),
                false => (Statistic::Median, summary.median, interval),
            };
        let holds = |value| comparator.holds(value, limit);
        let is_sure = match statistic {
            Statistic::Largest => true,
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
        let unit = summary.unit.clone();
        Some(Self { constraint, group, value, statistic, unit, limit, interval, n, answer })
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
            answer,
        }
    }

    /// Returns the share of further cells that may exceed the largest value of `n`: as no replicate
    /// did, with 95 % confidence it is less than `1 - 0.05^(1/n)` (Clopper and Pearson, Biometrika
    /// 26, 1934, for 0 of `n`).
    pub fn further_cells(&self) -> Option<f64> {
        let is_bound = self.statistic == Statistic::Largest && self.answer == Answer::Holds;
        (is_bound && self.n > 0).then(|| 1.0 - libm::pow(0.05, 1.0 / self.n as f64))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Requirement;
    use preemptlab_model::Direction;

    fn judge(requirement: &str, name: &str, values: &[f64]) -> Judgement {
        try_judge(requirement, name, values).unwrap()
    }

    /// Judges values in a group without a baseline.
    fn try_judge(requirement: &str, name: &str, values: &[f64]) -> Option<Judgement> {
        let requirement: Requirement = requirement.parse().unwrap();
        let (unit, direction) = ("us", Direction::Lower);
        let constraint = Constraint {
            metric: MetricKind { name: name.into(), unit: unit.into(), direction },
            comparator: requirement.comparator,
            limit: requirement.limit(&[unit]).unwrap().1,
        };
        let values: Vec<(u32, f64)> = (1..).zip(values.iter().copied()).collect();
        let summary = Summary::new(name.into(), unit.into(), direction, &values).unwrap();
        let group = Group {
            metrics: Vec::new(),
            workload: "w".into(),
            cpus: 1,
            backend: Default::default(),
            profile: None,
            baseline: None,
            configurations: Vec::new(),
        };
        Judgement::new((0, &constraint), (0, &group), (&summary, false))
    }

    const VALUES: [f64; 6] = [10.0, 11.0, 12.0, 13.0, 14.0, 50.0];

    #[test]
    fn one_replicate_beyond_it_breaks_a_limit_on_the_worst_case() {
        let judged = judge("m<=40us", "wakeup.fifo.max", &VALUES);
        assert_eq!((judged.value, judged.answer), (50.0, Answer::Fails));
        assert_eq!(judged.further_cells(), None);
        let judged = judge("m<=50us", "wakeup.fifo.max", &VALUES);
        assert_eq!(judged.answer, Answer::Holds);
        assert!((judged.further_cells().unwrap() - 0.393).abs() < 1e-3);
        assert_eq!(judge("m<50us", "wakeup.fifo.max", &VALUES).answer, Answer::Fails);
        let single = judge("m<=50us", "wakeup.fifo.max", &[5.0]).further_cells().unwrap();
        assert!((single - 0.95).abs() < 1e-12);
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
