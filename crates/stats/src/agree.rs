use crate::{Accord, Agreement, Configuration, Effect, Group, Shared, Verdict};

/// Returns whether two effects agree.
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

/// Returns the side on which an effect surely lies, with all of its interval, which includes the
/// error of the instrument.
fn side(effect: Effect) -> Option<Side> {
    if effect.verdict == Verdict::WithinMargin {
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
        profiles: [one.profile.clone(), other.profile.clone()],
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
    use preemptlab_model::{
        BackendKind, CellCost, Direction, Factors, MeasuredCell, Metric, PreemptMode, PricesOf,
        Settings,
    };

    use super::*;
    use crate::{Rule, compare};

    fn cells(backend: BackendKind, kernel: &str, full_us: f64) -> Vec<MeasuredCell> {
        let modes = [(PreemptMode::None, 100.0), (PreemptMode::Full, full_us)];
        let cells = (1..=6).flat_map(|replicate| {
            modes.map(|(preempt, us)| MeasuredCell {
                run: Some(backend.to_string()),
                ..MeasuredCell::new(
                    backend,
                    Factors {
                        workload: "hackbench".into(),
                        kernel: kernel.parse().unwrap(),
                        preempt,
                        machine: None,
                        cpus: 1,
                        settings: Settings::default(),
                        replicate,
                    },
                    Ok(vec![Metric {
                        name: "p99".into(),
                        value: us + f64::from(replicate),
                        unit: "us".into(),
                        direction: Direction::Lower,
                        resolution: 0.0,
                    }]),
                )
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

    /// Two costs of instructions are two kinds of time: a verdict that only one of them gives depends on
    /// the cost model.
    #[test]
    fn two_costs_are_compared_by_direction() {
        let mut all = cells(BackendKind::Vm, "debian:6.12", 20.0);
        let of =
            PricesOf { profile: "mine".parse().unwrap(), has_caches: false, has_stolen: false };
        let prices = CellCost::Prices {
            of: of.clone(),
            machine: "a machine".parse().unwrap(),
            checked: None,
        };
        let priced = cells(BackendKind::Vm, "debian:6.12", 170.0).into_iter();
        all.extend(priced.map(|cell| MeasuredCell {
            cost: Some(prices.clone()),
            run: Some("priced".to_owned()),
            ..cell
        }));
        let comparison = compare(&all, Rule::default()).unwrap();
        let [agreement] = &comparison.agreements[..] else { panic!() };
        assert_eq!(agreement.profiles, [None, Some(of)]);
        assert_eq!(agreement.shared[0].accord, Accord::Disagree);
    }

    #[test]
    fn one_kind_of_time_has_nothing_to_agree_with() {
        let comparison =
            compare(&cells(BackendKind::Vm, "debian:6.12", 20.0), Rule::default()).unwrap();
        assert_eq!(comparison.agreements, []);
    }
}
