use preemptlab_model::{Factors, MetricName};

use crate::{Comparison, Configuration, Group};

/// Largest probability of calling something a difference where there is none: 5 %.
const ALPHA: f64 = 0.05;

/// Number of looks at the results before each decision whether to continue. Looking again and again
/// until a difference appears finds differences by chance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Looks {
    /// Once: the number of replicates was fixed in advance.
    #[default]
    One,
    /// Any number of looks. The level is spent on all looks to come: a half of it on the first, a
    /// sixth on the second, a twelfth on the third and so on, which together is the whole (the
    /// union bound; Lan and DeMets, Biometrika 70, 1983, for spending in general). Nothing is
    /// assumed about how the looks depend on each other, nor how many there will be.
    Any,
}

impl Looks {
    /// Returns the number of replicates at the next look of a configuration that is undecided with
    /// `replicates`: half as many more. Few looks spend little of the level, and none comes much
    /// too late.
    pub fn next(replicates: u32) -> u32 {
        replicates.saturating_add((replicates / 2).max(2))
    }

    /// Returns the level of a look, which counts from 0.
    pub(crate) fn alpha(self, look: u32) -> f64 {
        ALPHA * self.share(look)
    }

    /// Returns the share of a level that a look may spend.
    pub(crate) fn share(self, look: u32) -> f64 {
        match self {
            Self::One => 1.0,
            Self::Any => 1.0 / ((f64::from(look) + 1.0) * (f64::from(look) + 2.0)),
        }
    }
}

/// Largest number of replicates of a configuration.
const REPLICATES_MAX: u32 = 10_000;

/// A configuration that needs more replicates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needed {
    /// Those of one of its cells.
    pub factors: Factors,
    /// Number of replicates that it needs in all.
    pub replicates: u32,
    /// Number of them that it does not have yet.
    pub more: u32,
}

/// Returns the configurations that need more replicates, because a comparison of a metric that is
/// to be decided is undecided. The baseline of a group needs as many as the most of them. A
/// configuration that mostly fails, or has mostly not been executed yet, gets none.
pub fn needed(
    comparison: &Comparison,
    decides: impl Fn(&Group, &MetricName) -> bool,
) -> Vec<Needed> {
    let mut needed = Vec::new();
    for group in &comparison.groups {
        let is_open = |configuration: &&Configuration| {
            // More replicates give no value to those in which nothing happened.
            let lacks = |of: &Configuration, metric: &MetricName| {
                of.samples(metric).is_some_and(|samples| samples.empty > 0)
            };
            let has_all = |metric: &MetricName| {
                let both = [Some(*configuration), group.baseline()];
                !both.into_iter().flatten().any(|of| lacks(of, metric))
            };
            let summaries = configuration.summaries.iter();
            let mut effects = summaries.filter(|it| decides(group, &it.name) && has_all(&it.name));
            effects.any(|summary| summary.effect.is_some_and(|e| !e.verdict.is_decided()))
        };
        let grows = |configuration: &Configuration| {
            configuration.measured() > configuration.failures.len() + configuration.missing
                && configuration.replicates < REPLICATES_MAX as usize
        };
        let open: Vec<&Configuration> =
            group.configurations.iter().filter(is_open).filter(|each| grows(each)).collect();
        let next = |each: &Configuration| Looks::next(planned(each)).min(REPLICATES_MAX);
        let Some(most) = open.iter().map(|each| next(each)).max() else { continue };
        let baseline = group.baseline().filter(|baseline| grows(baseline));
        needed.extend(baseline.map(|baseline| need(group, baseline, most)));
        needed.extend(open.into_iter().map(|each| need(group, each, next(each))));
    }
    needed.retain(|needed| needed.more > 0);
    needed
}

fn planned(configuration: &Configuration) -> u32 {
    u32::try_from(configuration.replicates).unwrap_or(REPLICATES_MAX)
}

fn need(group: &Group, configuration: &Configuration, replicates: u32) -> Needed {
    let factors = Factors {
        workload: group.workload.clone(),
        kernel: configuration.kernel.clone(),
        preempt: configuration.preempt,
        machine: group.machine.clone(),
        cpus: group.cpus,
        settings: configuration.settings.clone(),
        replicate: 1,
    };
    Needed { factors, replicates, more: replicates.saturating_sub(planned(configuration)) }
}

#[cfg(test)]
mod tests {
    use preemptlab_model::{
        BackendKind, CellCost, Direction, MeasuredCell, Metric, PreemptMode, PricesOf, Settings,
    };

    use super::*;
    use crate::{Rule, compare};

    /// On one of the machines `full` differs from `none`, on the other the data cannot tell.
    fn cell(machine: &str, preempt: PreemptMode, replicate: u32) -> MeasuredCell {
        let is_apart = machine == "apart" && preempt == PreemptMode::Full;
        let value = if is_apart { 50.0 } else { 100.0 } + f64::from(replicate * replicate % 5);
        let mix = f64::from(if preempt == PreemptMode::Full { replicate % 3 } else { 0 });
        MeasuredCell {
            cost: Some(CellCost::Prices {
                of: PricesOf {
                    profile: machine.parse().unwrap(),
                    has_caches: false,
                    has_stolen: false,
                },
                machine: machine.parse().unwrap(),
                checked: None,
            }),
            ..MeasuredCell::new(
                BackendKind::Vm,
                Factors {
                    workload: "load".into(),
                    kernel: "debian:6.12".parse().unwrap(),
                    preempt,
                    machine: Some(machine.parse().unwrap()),
                    cpus: 1,
                    settings: Settings::default(),
                    replicate,
                },
                Ok(vec![Metric {
                    name: "throughput".into(),
                    value: value + if is_apart { 0.0 } else { mix * 3.0 },
                    unit: "loops/s".into(),
                    direction: Direction::Higher,
                    resolution: 0.0,
                }]),
            )
        }
    }

    #[test]
    fn replicates_are_added_on_the_machine_that_needs_them() {
        let modes = [PreemptMode::None, PreemptMode::Full];
        let of = |machine: &'static str| {
            modes.into_iter().flat_map(move |mode| (1..=6).map(move |at| cell(machine, mode, at)))
        };
        let cells: Vec<MeasuredCell> = of("apart").chain(of("alike")).collect();
        let compared = compare(&cells, Rule { looks: Looks::Any, ..Rule::default() }).unwrap();
        let needed = needed(&compared, |_, _| true);
        let machines: Vec<_> = needed.iter().map(|each| each.factors.machine.as_deref()).collect();
        assert_eq!(machines, [Some("alike"), Some("alike")], "{needed:?}");
    }

    #[test]
    fn all_looks_together_spend_no_more_than_the_level() {
        let spent: f64 = (0..100_000).map(|look| Looks::Any.alpha(look)).sum();
        assert!(spent < ALPHA && spent > 0.999 * ALPHA);
    }
}
