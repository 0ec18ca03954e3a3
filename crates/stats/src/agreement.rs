use preemptlab_model::{BackendKind, KernelRef, MetricName, PreemptMode, Settings};
use serde::Serialize;
use ts_rs::TS;

use crate::{Baseline, Configuration, Effect, Group, Verdict};

/// Two kinds of time, in which the same configurations were measured.
#[derive(Clone, Debug, PartialEq, Serialize, TS)]
pub struct Agreement {
    /// The workload's name in the experiment.
    pub workload: String,
    /// Number of CPUs.
    pub cpus: u32,
    /// The kinds of time.
    pub backends: [BackendKind; 2],
    /// Baseline of the ratios, under the name that the first group has for it.
    #[ts(as = "String")]
    pub baseline: Baseline,
    /// Ratios that both have, in the order of the first.
    pub shared: Vec<Shared>,
}

/// A metric of a configuration that two kinds of time have.
#[derive(Clone, Debug, PartialEq, Serialize, TS)]
pub struct Shared {
    /// The kernel in each.
    #[ts(as = "[String; 2]")]
    pub kernels: [KernelRef; 2],
    /// Preemption mode.
    pub preempt: PreemptMode,
    /// Settings besides the mode.
    #[ts(as = "String")]
    pub settings: Settings,
    /// Name of the metric.
    #[ts(as = "String")]
    pub metric: MetricName,
    /// Relation to the baseline in each kind of time.
    pub effects: [Effect; 2],
    /// Verdict whether both kinds of time agree.
    pub accord: Accord,
}

/// Whether two kinds of time agree on a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Accord {
    /// The ratio lies on the same side of 1 in both, or both call it the same.
    Agree,
    /// They disagree.
    Disagree,
    /// One of them is undecided.
    Open,
}

impl Accord {
    /// Returns `agree`, `disagree` or `open`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agree => "agree",
            Self::Disagree => "disagree",
            Self::Open => "open",
        }
    }
}

/// Whether both say the same.
fn accord(effects: [Effect; 2]) -> Accord {
    match effects.map(side) {
        [Some(one), Some(other)] if one == other => Accord::Agree,
        [Some(_), Some(_)] => Accord::Disagree,
        _ => Accord::Open,
    }
}

/// Side of 1 on which an effect lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Below,
    Same,
    Above,
}

/// Returns the side on which an effect surely lies, with all of its interval.
fn side(effect: Effect) -> Option<Side> {
    if effect.verdict == Verdict::Same {
        return Some(Side::Same);
    }
    let interval = effect.interval?;
    if interval.high < 1.0 {
        Some(Side::Below)
    } else if interval.low > 1.0 {
        Some(Side::Above)
    } else {
        None
    }
}

/// Returns the configurations that were measured in two kinds of time, against the same baseline.
pub fn agreements(groups: &[Group]) -> Vec<Agreement> {
    let pairs = groups.iter().enumerate().flat_map(|(at, one)| {
        groups[at + 1..].iter().filter_map(move |other| agreement(one, other))
    });
    pairs.collect()
}

fn agreement(one: &Group, other: &Group) -> Option<Agreement> {
    if (&one.workload, one.cpus) != (&other.workload, other.cpus) {
        return None;
    }
    // The virtual one comes first, whatever order the recordings were named in.
    let (one, other) = if other.backend < one.backend { (other, one) } else { (one, other) };
    let baseline = one.baseline()?;
    if !is_counterpart(baseline, other.baseline()?) {
        return None;
    }
    let shared = one.configurations.iter().flat_map(|configuration| {
        let of_other = other.configurations.iter().find(|each| is_counterpart(configuration, each));
        of_other.map(|of_other| shared(configuration, of_other)).unwrap_or_default()
    });
    let shared: Vec<Shared> = shared.collect();
    (!shared.is_empty()).then(|| Agreement {
        workload: one.workload.clone(),
        cpus: one.cpus,
        backends: [one.backend, other.backend],
        baseline: baseline.name(),
        shared,
    })
}

/// Returns whether two configurations are the same but for their time. A machine's own kernel,
/// which no virtual machine has under that name, stands for any.
fn is_counterpart(one: &Configuration, other: &Configuration) -> bool {
    (one.preempt, &one.settings) == (other.preempt, &other.settings)
        && (one.kernel == other.kernel || one.kernel.is_host() || other.kernel.is_host())
}

fn shared(one: &Configuration, other: &Configuration) -> Vec<Shared> {
    let shared = one.summaries.iter().filter_map(|summary| {
        let effects = [summary.effect?, other.summary(&summary.name)?.effect?];
        Some(Shared {
            kernels: [one.kernel.clone(), other.kernel.clone()],
            preempt: one.preempt,
            settings: one.settings.clone(),
            metric: summary.name.clone(),
            effects,
            accord: accord(effects),
        })
    });
    shared.collect()
}

#[cfg(test)]
mod tests {
    use preemptlab_model::{Direction, Factors, Metric};

    use super::*;
    use crate::{MeasuredCell, Rule, compare};

    fn cells(backend: BackendKind, kernel: &str, full_us: f64) -> Vec<MeasuredCell> {
        let modes = [(PreemptMode::None, 100.0), (PreemptMode::Full, full_us)];
        let cells = (1..=6).flat_map(|replicate| {
            modes.map(|(preempt, us)| MeasuredCell {
                run: Some(backend.to_string()),
                backend,
                cost: None,
                factors: Factors {
                    workload: "hackbench".into(),
                    kernel: kernel.parse().unwrap(),
                    preempt,
                    cpus: 1,
                    settings: Settings::default(),
                    replicate,
                },
                rt: None,
                observed: None,
                look: 0,
                result: Ok(vec![Metric {
                    name: "p99".into(),
                    value: us + f64::from(replicate),
                    unit: "us".into(),
                    direction: Direction::Lower,
                }]),
            })
        });
        cells.collect()
    }

    fn found(vm_us: f64, host_us: f64) -> Vec<Accord> {
        let mut cells = cells(BackendKind::Host, "host:6.12.1", host_us);
        cells.extend(self::cells(BackendKind::Vm, "debian:6.12", vm_us));
        let comparison = compare(&cells, Rule::default()).unwrap();
        let agreements = comparison.agreements;
        assert_eq!(agreements[0].backends, [BackendKind::Vm, BackendKind::Host]);
        agreements[0].shared.iter().map(|shared| shared.accord).collect()
    }

    #[test]
    fn directions_are_compared_and_not_sizes() {
        assert_eq!(found(20.0, 70.0), [Accord::Agree]);
        assert_eq!(found(20.0, 170.0), [Accord::Disagree]);
        assert_eq!(found(20.0, 102.0), [Accord::Disagree], "the one is less, the other the same");
        assert_eq!(found(101.0, 100.0), [Accord::Agree], "both are the same");
    }

    #[test]
    fn one_kind_of_time_has_nothing_to_agree_with() {
        let comparison =
            compare(&cells(BackendKind::Vm, "debian:6.12", 20.0), Rule::default()).unwrap();
        assert_eq!(comparison.agreements, []);
    }
}
