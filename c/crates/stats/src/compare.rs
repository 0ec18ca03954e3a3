use std::collections::BTreeSet;

use preemptlab_model::{CellCost, Factors, MeasuredCell, Metric, NoResult};

use crate::{
    Baseline, Comparison, Configuration, Extreme, FORMAT, Failure, Group, Looks, Margins,
    MetricInfo, Samples, Summary, UnknownBaseline, Worst, agree::agreements, contrast::Contrast,
    multiplicity::adjust,
};

/// Rule of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rule<'a> {
    /// Baseline of the ratios, in every group that has it: this one, or the first configuration
    /// that has measurements.
    pub baseline: Option<&'a Baseline>,
    /// Largest differences that are still called the same.
    pub margins: Margins,
    /// Number of looks at the results.
    pub looks: Looks,
}

/// Groups cells into configurations, relates each to the baseline of its group, and judges each
/// comparison.
///
/// The order of the cells, which is that of the plan, is the order of everything in the result.
///
/// # Errors
///
/// [`UnknownBaseline`] when the wanted one has measurements in no group.
pub fn compare(cells: &[MeasuredCell], rule: Rule<'_>) -> Result<Comparison, UnknownBaseline> {
    let all: Vec<&MeasuredCell> = cells.iter().collect();
    let mut comparison = group(&all, &rule)?;
    let last = all.iter().map(|cell| cell.look).max().unwrap_or(0);
    comparison.looks = last + 1;
    judge(&mut comparison, rule.looks.alpha(last));
    for look in (0..last).rev() {
        // A decision of an earlier look stays, which the levels of the looks allow.
        let so_far: Vec<&MeasuredCell> =
            all.iter().copied().filter(|cell| cell.look <= look).collect();
        let Ok(mut earlier) = group(&so_far, &rule) else { continue };
        judge(&mut earlier, rule.looks.alpha(look));
        adopt(&mut comparison, &earlier);
    }
    comparison.agreements = agreements(&comparison.groups);
    let configurations = comparison.groups.iter_mut().flat_map(|group| &mut group.configurations);
    for summary in configurations.flat_map(|each| &mut each.summaries) {
        summary.extreme = summary.name.is_maximum().then(|| Extreme::of(&summary.values));
    }
    Ok(comparison)
}

/// Configurations with their summaries; nothing is related yet.
fn group(cells: &[&MeasuredCell], rule: &Rule<'_>) -> Result<Comparison, UnknownBaseline> {
    let Rule { baseline, margins, .. } = rule;
    let groups: Vec<Group> = by_key(cells.iter().copied(), |cell| {
        let profile = cell.cost.as_ref().and_then(CellCost::prices_of);
        (&cell.factors.workload, cell.factors.cpus, cell.backend, profile)
    })
    .into_iter()
    .map(|((workload, cpus, backend, profile), cells)| {
        let configurations = configurations(&cells);
        let is_baseline = |each: &Configuration| {
            !each.summaries.is_empty() && baseline.is_none_or(|wanted| *wanted == each.name())
        };
        let baseline = configurations.iter().position(is_baseline);
        let metrics = MetricInfo::all(&configurations, margins);
        let machine = cells.iter().find_map(|cell| cell.factors.machine.clone());
        let (workload, profile) = (workload.clone(), profile.cloned());
        Group { workload, cpus, backend, profile, machine, baseline, metrics, configurations }
    })
    .collect();
    match baseline {
        Some(baseline) if groups.iter().all(|group| group.baseline.is_none()) => {
            Err(UnknownBaseline {
                baseline: Box::new((*baseline).clone()),
                offered: offered(&groups),
            })
        }
        _ => Ok(Comparison {
            format: FORMAT,
            margins: margins.clone(),
            comparisons: 0,
            looks: 1,
            costs: cells.iter().filter_map(|cell| cell.cost.clone()).collect(),
            clocks: cells.iter().filter_map(|cell| cell.clocks).collect(),
            groups,
            agreements: Vec::new(),
            disturbances: Vec::new(),
            histograms: Vec::new(),
        }),
    }
}

/// Sets the effects of every group, at this level for all of them together.
fn judge(comparison: &mut Comparison, alpha: f64) {
    let mut contrasts = Vec::new();
    for (at, group) in comparison.groups.iter().enumerate() {
        let Some(baseline) = group.baseline() else { continue };
        for (of, configuration) in group.configurations.iter().enumerate() {
            if group.baseline == Some(of) {
                continue;
            }
            for (metric, summary) in configuration.summaries.iter().enumerate() {
                let lacks = |of: &Configuration| of.samples(&summary.name).map_or(0, |of| of.empty);
                let lacking = lacks(configuration) + lacks(baseline);
                let contrast = baseline
                    .summary(&summary.name)
                    .and_then(|base| Contrast::new(summary, base, lacking));
                let margin = comparison.margins.of(&summary.name, &summary.unit);
                contrasts.extend(contrast.map(|contrast| ((at, of, metric), contrast, margin)));
            }
        }
    }
    let p_values: Vec<f64> =
        contrasts.iter().map(|(_, contrast, margin)| contrast.p_to_adjust(*margin)).collect();
    for (((at, of, metric), contrast, margin), p_adjusted) in
        contrasts.iter().zip(adjust(&p_values))
    {
        let summary = &mut comparison.groups[*at].configurations[*of].summaries[*metric];
        summary.effect = Some(contrast.judge(p_adjusted, alpha, *margin));
    }
    comparison.comparisons = contrasts.len();
}

/// Takes over the words that an earlier look had decided on.
fn adopt(comparison: &mut Comparison, earlier: &Comparison) {
    for group in &mut comparison.groups {
        let Some(before) = earlier.groups.iter().find(|of| of.is_alike(group)) else { continue };
        for configuration in &mut group.configurations {
            let is_it = |of: &&Configuration| {
                (&of.run, of.name()) == (&configuration.run, configuration.name())
            };
            let Some(of) = before.configurations.iter().find(is_it) else { continue };
            for summary in &mut configuration.summaries {
                let before = of.summary(&summary.name).and_then(|summary| summary.effect);
                if let (Some(effect), Some(before)) = (&mut summary.effect, before)
                    && before.verdict.is_decided()
                {
                    effect.verdict = before.verdict;
                    effect.p_adjusted = before.p_adjusted;
                }
            }
        }
    }
}

fn offered(groups: &[Group]) -> Vec<String> {
    let measured = groups
        .iter()
        .flat_map(|group| &group.configurations)
        .filter(|configuration| !configuration.summaries.is_empty())
        .map(|configuration| configuration.name().to_string());
    measured.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Returns the worst instant of cells, the first of equal ones.
fn worst(cells: &[&MeasuredCell]) -> Option<Worst> {
    let instants = cells.iter().filter_map(|cell| cell.instants.as_ref());
    let known = instants.filter_map(|instants| Some((instants.worst_ns, instants.of.as_ref()?)));
    let (ns, of) = known.reduce(|worst, next| if next.0 > worst.0 { next } else { worst })?;
    Some(Worst { us: ns as f64 / 1e3, of: of.clone() })
}

fn configurations<'a>(cells: &[&'a MeasuredCell]) -> Vec<Configuration> {
    let key = |cell: &'a MeasuredCell| {
        let Factors { kernel, preempt, settings, .. } = &cell.factors;
        (&cell.run, kernel, *preempt, settings)
    };
    by_key(cells.iter().copied(), key)
        .into_iter()
        .map(|((run, kernel, preempt, settings), cells)| Configuration {
            run: run.clone(),
            kernel: kernel.clone(),
            label: None,
            preempt,
            settings: settings.clone(),
            rt: cells.iter().find_map(|cell| cell.rt),
            observed: cells.iter().filter_map(|cell| cell.observed).collect(),
            replicates: cells.len(),
            summaries: summaries(&cells),
            failures: failures(&cells),
            samples: Samples::of(&cells),
            worst: worst(&cells),
            missing: cells.iter().filter(|cell| cell.result == Err(NoResult::Missing)).count(),
            unavailable: cells.iter().find_map(|cell| match &cell.result {
                Err(NoResult::Unavailable(reason)) => Some(reason.clone()),
                _ => None,
            }),
        })
        .collect()
}

fn summaries(cells: &[&MeasuredCell]) -> Vec<Summary> {
    let mut metrics: Vec<(Metric, Vec<(u32, f64)>)> = Vec::new();
    for cell in cells {
        let measured = cell.result.iter().flatten().filter(|metric| metric.value.is_finite());
        for metric in measured {
            let value = (cell.factors.replicate, metric.value);
            match metrics.iter_mut().find(|(of, _)| of.name == metric.name) {
                Some((of, values)) => {
                    of.resolution = of.resolution.max(metric.resolution);
                    values.push(value);
                }
                None => metrics.push((metric.clone(), vec![value])),
            }
        }
    }
    let summary = |(metric, values): (Metric, Vec<_>)| Summary::new(&metric, &values);
    metrics.into_iter().filter_map(summary).collect()
}

fn failures(cells: &[&MeasuredCell]) -> Vec<Failure> {
    cells
        .iter()
        .filter_map(|cell| match &cell.result {
            Err(NoResult::Failed(reason)) => {
                Some(Failure { replicate: cell.factors.replicate, reason: reason.clone() })
            }
            _ => None,
        })
        .collect()
}

/// Items with equal keys together, in the order of the first of each key.
fn by_key<'a, T: 'a, K: PartialEq>(
    items: impl IntoIterator<Item = &'a T>,
    key: impl Fn(&'a T) -> K,
) -> Vec<(K, Vec<&'a T>)> {
    let mut groups: Vec<(K, Vec<&T>)> = Vec::new();
    for item in items {
        let key = key(item);
        match groups.iter_mut().find(|(of, _)| *of == key) {
            Some((_, group)) => group.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use preemptlab_model::{BackendKind, Direction, Factors, PreemptMode};

    use super::*;
    use crate::{Share, Verdict};

    fn cell(kernel: &str, preempt: PreemptMode, replicate: u32, p99: f64) -> MeasuredCell {
        let metric = |name: &str, value| Metric {
            name: name.into(),
            value,
            unit: "us".to_owned(),
            direction: Direction::Lower,
            resolution: 0.0,
        };
        MeasuredCell {
            rt: Some(false),
            observed: Some(preempt),
            ..MeasuredCell::new(
                BackendKind::Vm,
                Factors {
                    workload: "hackbench".into(),
                    kernel: kernel.parse().unwrap(),
                    preempt,
                    machine: None,
                    cpus: 1,
                    settings: Default::default(),
                    replicate,
                },
                Ok(vec![metric("p99", p99), metric("omitted", 0.0)]),
            )
        }
    }

    fn without(mut cell: MeasuredCell, result: NoResult) -> MeasuredCell {
        cell.result = Err(result);
        cell.observed = None;
        cell
    }

    use PreemptMode::{Full, Lazy, None as No};

    fn cells() -> Vec<MeasuredCell> {
        let unavailable = NoResult::Unavailable("7.2 offers full, lazy only".into());
        vec![
            without(cell("debian:7.2", No, 1, 0.0), unavailable),
            cell("debian:6.12", No, 1, 300.0),
            cell("debian:6.12", No, 2, 200.0),
            cell("debian:6.12", No, 3, 100.0),
            cell("debian:7.2", Lazy, 1, 50.0),
            without(cell("debian:7.2", Lazy, 2, 0.0), NoResult::Failed("it hung".into())),
            without(cell("debian:7.2", Lazy, 3, 0.0), NoResult::Missing),
        ]
    }

    #[test]
    fn the_first_measured_configuration_is_the_baseline() {
        let comparison = compare(&cells(), Rule::default()).unwrap();
        let [group] = comparison.groups.as_slice() else { panic!("{comparison:?}") };
        assert_eq!(group.baseline, Some(1));
        let [unavailable, none, lazy] = group.configurations.as_slice() else { panic!() };
        assert_eq!(unavailable.unavailable.as_deref(), Some("7.2 offers full, lazy only"));
        assert!(unavailable.summaries.is_empty());
        let p99 = none.summary(&"p99".into()).unwrap();
        assert_eq!((p99.n, p99.median, p99.min, p99.max), (3, 200.0, 100.0, 300.0));
        assert_eq!(p99.effect, None);
        assert_eq!(lazy.summary(&"p99".into()).unwrap().ratio(), Some(0.25));
        assert_eq!((lazy.replicates, lazy.measured(), lazy.missing), (3, 1, 1));
        assert_eq!(lazy.failures, [Failure { replicate: 2, reason: "it hung".into() }]);
    }

    #[test]
    fn a_baseline_of_zero_gives_no_ratio() {
        let comparison = compare(&cells(), Rule::default()).unwrap();
        for configuration in &comparison.groups[0].configurations {
            assert_eq!(configuration.summary(&"omitted".into()).and_then(Summary::ratio), None);
        }
    }

    #[test]
    fn the_baseline_can_be_chosen_and_must_be_measured() {
        let ratio = |baseline: &str| {
            let baseline = baseline.parse().unwrap();
            let rule = Rule { baseline: Some(&baseline), ..Rule::default() };
            let comparison = compare(&cells(), rule)?;
            Ok(comparison.groups[0].configurations[1].summary(&"p99".into()).unwrap().ratio())
        };
        assert_eq!(ratio("debian:7.2/lazy"), Ok(Some(4.0)));
        let error: UnknownBaseline = ratio("debian:7.2/none").unwrap_err();
        assert_eq!(error.offered, ["debian:6.12/none", "debian:7.2/lazy"]);
    }

    #[test]
    fn workloads_cpus_and_runs_stay_apart() {
        let mut cells = vec![cell("debian:6.12", Full, 1, 1.0); 4];
        cells[1].factors.cpus = 2;
        cells[2].factors.workload = "other".into();
        cells[3].run = Some("B".into());
        cells.push(MeasuredCell { backend: BackendKind::Host, ..cells[0].clone() });
        let comparison = compare(&cells, Rule::default()).unwrap();
        let sizes: Vec<_> = comparison.groups.iter().map(|g| g.configurations.len()).collect();
        assert_eq!(sizes, [2, 1, 1, 1]);
    }

    #[test]
    fn metrics_are_kept_by_their_name_or_by_their_class() {
        let mut cells = cells();
        for metric in cells.iter_mut().flat_map(|cell| cell.result.iter_mut().flatten()) {
            metric.name = format!("wakeup.fifo.{}", metric.name).into();
        }
        let comparison = compare(&cells, Rule::default()).unwrap();
        let only = |name: &str| comparison.clone().only(&[name.to_owned()]);
        let kept = |name: &str| {
            let names = only(name).unwrap();
            let names = names.groups[0].metrics().into_iter().map(ToString::to_string);
            names.collect::<Vec<_>>()
        };
        let all = ["wakeup.fifo.p99", "wakeup.fifo.omitted"];
        assert_eq!(kept("wakeup"), all);
        assert_eq!(kept("wakeup.fifo"), all);
        assert_eq!(kept("wakeup.fifo.p99"), all[..1]);
        assert_eq!(kept("wakeup.p99"), all[..1]);
        let kept = only("wakeup.fifo.p99").unwrap();
        assert_eq!(kept.groups[0].configurations[1].summaries.len(), 1);
        assert_eq!(kept.comparisons, comparison.comparisons);
        for (name, meant) in [
            ("wakeup.fifo.p9", "wakeup.fifo.p99"),
            ("wakup", "wakeup"),
            ("wakeup.fif", "wakeup.fifo"),
        ] {
            assert_eq!(only(name).unwrap_err().nearest.as_deref(), Some(meant), "{name}");
        }
        assert!(only("").unwrap_err().to_string().contains("wakeup.fifo.omitted"));
    }

    #[test]
    fn nothing_compares_to_nothing() {
        assert_eq!(compare(&[], Rule::default()).unwrap().groups, []);
    }

    #[test]
    fn numbers_that_are_not_finite_are_left_out() {
        let comparison =
            compare(&[cell("debian:6.12", Full, 1, f64::NAN)], Rule::default()).unwrap();
        assert_eq!(comparison.groups[0].metrics(), ["omitted"]);
    }

    /// Returns `replicates` of two modes, of which the second has this p99.
    fn pair(replicates: std::ops::RangeInclusive<u32>, look: u32, p99: f64) -> Vec<MeasuredCell> {
        let cells = replicates.flat_map(|replicate| {
            let noise = f64::from(replicate * 7 % 11) * 0.1;
            [(No, 100.0), (Full, p99)].map(|(mode, p99)| MeasuredCell {
                look,
                ..cell("debian:6.12", mode, replicate, p99 + noise)
            })
        });
        cells.collect()
    }

    fn verdict(cells: &[MeasuredCell], looks: Looks) -> Verdict {
        let comparison = compare(cells, Rule { looks, ..Rule::default() }).unwrap();
        comparison.groups[0].configurations[1]
            .summary(&"p99".into())
            .unwrap()
            .effect
            .unwrap()
            .verdict
    }

    #[test]
    fn what_was_decided_at_a_look_stays_decided() {
        let mut cells = pair(1..=8, 0, 50.0);
        assert_eq!(verdict(&cells, Looks::Any), Verdict::Better);
        cells.extend(pair(9..=40, 1, 200.0));
        assert_eq!(verdict(&cells, Looks::Any), Verdict::Better);
        assert_eq!(compare(&cells, Rule::default()).unwrap().looks, 2);
    }

    #[test]
    fn a_look_costs_a_part_of_the_level() {
        // Five and five values that stand apart have p = 2/252, which the first look accepts.
        let cells = pair(1..=5, 0, 50.0);
        assert_eq!(verdict(&cells, Looks::Any), Verdict::Better);
        // The fourth does not.
        let mut late = pair(1..=4, 0, 50.0);
        for look in 1..=3 {
            late.push(pair(4 + look..=4 + look, look, 50.0).remove(0));
        }
        late.extend(pair(5..=5, 3, 50.0).split_off(1));
        assert!(!verdict(&late, Looks::Any).is_decided());
        assert!(verdict(&late, Looks::One).is_decided());
    }

    #[test]
    fn what_is_called_the_same_makes_no_difference_easier_to_find() {
        // Nine metrics are surely 2 % apart, which is the same; p99 is apart by a little noise.
        let cells: Vec<MeasuredCell> = (1..=8)
            .flat_map(|replicate| {
                [(No, 0.0), (Full, 1.0)].map(|(mode, shift)| (mode, shift, replicate))
            })
            .map(|(mode, shift, replicate)| {
                let noisy = f64::from(replicate * 5 % 8);
                let mut cell = cell("debian:6.12", mode, replicate, 100.0 + noisy + 4.2 * shift);
                let metrics = cell.result.as_mut().unwrap();
                metrics.pop();
                let sure = |number: usize| Metric {
                    name: format!("sure{number}").into(),
                    value: 1000.0 + f64::from(replicate) * 0.1 + 20.0 * shift,
                    ..metrics[0].clone()
                };
                let further: Vec<Metric> = (0..9).map(sure).collect();
                metrics.extend(further);
                cell
            })
            .collect();
        let margins = Margins::from("3%".parse::<Share>().unwrap());
        let comparison = compare(&cells, Rule { margins, ..Rule::default() }).unwrap();
        let full = &comparison.groups[0].configurations[1];
        let effect = |name: &str| full.summary(&name.into()).unwrap().effect.unwrap();
        assert_eq!(effect("sure1").verdict, Verdict::WithinMargin);
        let noisy = effect("p99");
        assert!((0.005..0.05).contains(&(noisy.p_adjusted / 10.0)), "{noisy:?}");
        assert!(!noisy.verdict.is_decided(), "{noisy:?}");
    }
}
