//! The decision over all looks.

use preemptlab_model::{MeasuredCell, Metric, MetricName, NoResult};

use super::{
    Gate, GateFailure, GatePlace, GateRow, GateVerdict, Mechanism, SectionRow,
    document::GATE_FORMAT,
    row::{Pairs, row},
    section::{self, sections},
};
use crate::{Looks, Margins, Verdict};

/// Functions listed.
const SECTIONS_SHOWN: usize = 12;

/// Rule of a gate.
#[derive(Clone, Debug, PartialEq)]
pub struct GateRule {
    /// Metrics that decide; without any, throughput and the real-time probe's p99, or, of a workload
    /// without them, its own numbers.
    pub metrics: Vec<MetricName>,
    /// Margins of the metrics.
    pub margins: Margins,
    /// Number of looks at the results.
    pub looks: Looks,
    /// The metric or section that alone decides.
    pub followed: Option<Mechanism>,
}

impl Default for GateRule {
    fn default() -> Self {
        Self {
            metrics: Vec::new(),
            margins: Margins::gate(),
            looks: Looks::default(),
            followed: None,
        }
    }
}

impl GateRule {
    /// Returns whether a function's sections decide.
    fn decides_section(&self, function: &str) -> bool {
        match &self.followed {
            None => true,
            Some(Mechanism::Metric(_)) => false,
            Some(Mechanism::Section(followed)) => followed == function,
        }
    }

    /// Returns whether a metric has a row, of a place with these metrics.
    fn shows(&self, metric: &MetricName, all: &[Metric]) -> bool {
        if let Some(Mechanism::Metric(followed)) = &self.followed {
            return metric == followed;
        }
        if !self.metrics.is_empty() {
            return self.metrics.contains(metric);
        }
        metric.decides(all.iter().map(|metric| &metric.name))
    }
}

/// A place with its cells of both kernels at the same seeds.
struct Paired<'a> {
    place: GatePlace,
    pairs: Vec<(&'a MeasuredCell, &'a MeasuredCell)>,
}

/// Decides whether a kernel is worse than the base. The order of the places is that of the base's
/// cells.
pub fn gate<'a>(
    names: [&str; 2],
    base: impl IntoIterator<Item = &'a MeasuredCell>,
    new: impl IntoIterator<Item = &'a MeasuredCell>,
    rule: &GateRule,
) -> Gate {
    let base: &[&MeasuredCell] = &base.into_iter().collect::<Vec<_>>();
    let new: &[&MeasuredCell] = &new.into_iter().collect::<Vec<_>>();
    let last = base.iter().chain(new).map(|cell| cell.look).max().unwrap_or(0);
    let mut decided: Vec<GateRow> = Vec::new();
    let (mut rows, mut section_rows) = (Vec::new(), Vec::new());
    for look in 0..=last {
        let upto = |cells: &[&'a MeasuredCell]| -> Vec<&'a MeasuredCell> {
            cells.iter().copied().filter(|cell| cell.look <= look).collect()
        };
        let paired = paired(&upto(base), &upto(new));
        let spent = rule.looks.share(look);
        rows = metric_rows(&paired, rule, spent);
        for row in &mut rows {
            let is_it = |of: &&GateRow| (&of.place, &of.metric) == (&row.place, &row.metric);
            // A decision of an earlier look stays, which the levels of the looks allow.
            match decided.iter().find(is_it) {
                Some(before) => row.clone_from(before),
                None if row.verdict.is_decided() => decided.push(row.clone()),
                None => (),
            }
        }
        let before = std::mem::replace(&mut section_rows, section_rows_of(&paired, rule, spent));
        for row in before.into_iter().filter(|row: &SectionRow| row.is_worse) {
            let is_it = |of: &SectionRow| {
                (&of.place, &of.kind, &of.function) == (&row.place, &row.kind, &row.function)
            };
            section_rows.retain(|of| !is_it(of));
            section_rows.insert(0, row);
        }
    }
    let failures = failures(base, new);
    let lacking = rule.followed.is_none() && lacks_all(&paired(base, new), rule);
    let do_rows_decide = !matches!(rule.followed, Some(Mechanism::Section(_)));
    let any_row =
        |is: &dyn Fn(Verdict) -> bool| do_rows_decide && rows.iter().any(|row| is(row.verdict));
    let verdict = if !failures.is_empty()
        || any_row(&|verdict| verdict == Verdict::Worse)
        || section_rows.iter().any(|section| section.is_worse)
    {
        GateVerdict::Worse
    } else if rows.is_empty()
        || any_row(&|verdict| !verdict.tells())
        || lacking
        || section_rows.iter().any(|section| section.is_suspect)
    {
        GateVerdict::Undecided
    } else {
        GateVerdict::NoWorse
    };
    let shown = SECTIONS_SHOWN
        .max(section_rows.iter().filter(|row| row.is_worse || row.is_suspect).count());
    let further_sections = section_rows.len().saturating_sub(shown);
    section_rows.truncate(shown);
    let measured =
        |cells: &[&MeasuredCell]| cells.iter().filter(|cell| cell.result.is_ok()).count();
    Gate {
        format: GATE_FORMAT,
        verdict,
        base: names[0].to_owned(),
        new: names[1].to_owned(),
        base_image: None,
        new_image: None,
        looks: last + 1,
        cells: measured(base) + measured(new),
        failures,
        rows,
        sections: section_rows,
        further_sections,
        is_traced: base.iter().any(|cell| cell.sections.is_some()),
        notes: Vec::new(),
    }
}

/// Pairs the measured cells of both kernels by place and seed.
fn paired<'a>(base: &[&'a MeasuredCell], new: &[&'a MeasuredCell]) -> Vec<Paired<'a>> {
    let mut places: Vec<Paired<'a>> = Vec::new();
    for cell in base.iter().copied().filter(|cell| cell.result.is_ok()) {
        let is_its = |other: &&MeasuredCell| other.result.is_ok() && other.is_counterpart_of(cell);
        let Some(other) = new.iter().copied().find(is_its) else { continue };
        match places.iter_mut().find(|known| known.pairs[0].0.is_at_place_of(cell)) {
            Some(known) => known.pairs.push((cell, other)),
            None => places.push(Paired { place: GatePlace::of(cell), pairs: vec![(cell, other)] }),
        }
    }
    places
}

fn metric_rows(places: &[Paired<'_>], rule: &GateRule, spent: f64) -> Vec<GateRow> {
    let mut all = Vec::new();
    for Paired { place, pairs } in places {
        let mut metrics: Vec<Pairs> = Vec::new();
        for (base, new) in pairs {
            let (Ok(base), Ok(new)) = (&base.result, &new.result) else { continue };
            for metric in base.iter().filter(|metric| rule.shows(&metric.name, base)) {
                let Some(other) = new.iter().find(|other| other.name == metric.name) else {
                    continue;
                };
                let values = (metric.value, other.value);
                match metrics.iter_mut().find(|known| known.metric.name == metric.name) {
                    Some(known) => known.values.push(values),
                    None => metrics.push(Pairs {
                        metric: metric.clone(),
                        values: vec![values],
                        lacking: 0,
                    }),
                }
            }
        }
        for known in &mut metrics {
            known.lacking = one_sided(pairs, &known.metric.name);
        }
        all.extend(metrics.into_iter().map(|pairs| (place, pairs)));
    }
    let alpha = Gate::ALPHA / 2.0 / all.len().max(1) as f64;
    all.iter()
        .filter_map(|(place, pairs)| {
            let margin = rule.margins.of(&pairs.metric.name, &pairs.metric.unit);
            row(place, pairs, margin, alpha, spent)
        })
        .collect()
}

/// Counts the seeds at which only one of the kernels has a metric.
fn one_sided(pairs: &[(&MeasuredCell, &MeasuredCell)], metric: &MetricName) -> usize {
    let has = |cell: &MeasuredCell| cell.value(metric).is_some();
    pairs.iter().filter(|(base, new)| has(base) != has(new)).count()
}

/// Returns whether a metric that decides has values of one kernel only at a place, at every seed: then it
/// has no row, and nothing tells which kernel is worse.
fn lacks_all(places: &[Paired<'_>], rule: &GateRule) -> bool {
    places.iter().any(|Paired { pairs, .. }| {
        let cells = pairs.iter().flat_map(|(base, new)| [*base, *new]);
        let mut metrics = cells.flat_map(|cell| {
            let all = cell.result.as_deref().unwrap_or_default();
            all.iter().filter(|metric| rule.shows(&metric.name, all))
        });
        metrics.any(|metric| {
            // Parts of the system's activity may come and go; a statistic is lacking where nothing happened.
            metric.name.statistic().is_some() && one_sided(pairs, &metric.name) == pairs.len()
        })
    })
}

fn section_rows_of<'a>(places: &[Paired<'a>], rule: &GateRule, spent: f64) -> Vec<SectionRow> {
    let of_place = |paired: &Paired<'a>| -> Vec<section::Pair<'a>> {
        let both = |(base, new): &(&'a MeasuredCell, &'a MeasuredCell)| {
            Some((base.sections.as_deref()?, new.sections.as_deref()?))
        };
        paired.pairs.iter().filter_map(both).collect()
    };
    let all: Vec<_> = places.iter().map(|paired| (&paired.place, of_place(paired))).collect();
    let (margin_us, alpha) =
        (rule.margins.of_sections_ns() as f64 / 1e3, Gate::ALPHA / 2.0 * spent);
    sections(&all, margin_us, alpha, &|function| rule.decides_section(function))
}

/// Lists the new kernel's cells that failed where the base's was measured.
fn failures(base: &[&MeasuredCell], new: &[&MeasuredCell]) -> Vec<GateFailure> {
    let is_measured = |cell: &MeasuredCell| {
        base.iter().any(|other| other.result.is_ok() && other.is_counterpart_of(cell))
    };
    let failed = new.iter().filter_map(|cell| match &cell.result {
        Err(NoResult::Failed(reason)) if is_measured(cell) => Some(GateFailure {
            place: Some(GatePlace::of(cell)),
            seed: Some(cell.seed),
            reason: reason.clone(),
        }),
        _ => None,
    });
    failed.collect()
}

#[cfg(test)]
mod tests {
    use preemptlab_model::{BackendKind, Direction, Factors, PreemptMode, Section};
    use rand_distr::{Distribution, Normal};
    use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

    use super::*;
    use crate::Followed;

    fn factors(seed: u64) -> Factors {
        Factors {
            workload: "hackbench".into(),
            kernel: "debian:6.12".parse().unwrap(),
            preempt: PreemptMode::Full,
            machine: None,
            cpus: 1,
            settings: Default::default(),
            replicate: seed as u32,
        }
    }

    fn cell(seed: u64, throughput: f64, p99: f64) -> MeasuredCell {
        let metric = |name: &str, value, unit: &str, direction| Metric {
            name: name.into(),
            value,
            unit: unit.into(),
            direction,
            resolution: 0.0,
        };
        MeasuredCell {
            sections: None,
            ..MeasuredCell::new(
                BackendKind::Vm,
                factors(seed),
                Ok(vec![
                    metric("throughput", throughput, "messages/s", Direction::Higher),
                    metric("wakeup.fifo.p99", p99, "us", Direction::Lower),
                    metric("wakeup.other.max", 10.0 * seed as f64, "us", Direction::Lower),
                ]),
            )
        }
    }

    fn cells(n: u64, throughput: impl Fn(u64) -> f64, p99: f64) -> Vec<MeasuredCell> {
        (1..=n).map(|seed| cell(seed, throughput(seed), p99)).collect()
    }

    fn noisy(seed: u64) -> f64 {
        180_000.0 + 700.0 * (seed % 3) as f64
    }

    fn judged(base: &[MeasuredCell], new: &[MeasuredCell]) -> Gate {
        gate(["base", "new"], base, new, &GateRule::default())
    }

    #[test]
    fn equal_kernels_are_no_worse_and_slower_ones_are() {
        let base = cells(8, noisy, 57.0);
        assert_eq!(judged(&base, &base).verdict, GateVerdict::NoWorse);
        let slower = judged(&base, &cells(8, |seed| noisy(seed + 1) * 0.95, 57.0));
        assert_eq!(slower.verdict, GateVerdict::Worse);
        let verdicts: Vec<Verdict> = slower.rows.iter().map(|row| row.verdict).collect();
        assert_eq!(verdicts, [Verdict::Worse, Verdict::WithinMargin]);
        assert!((slower.rows[0].change + 0.05).abs() < 0.01, "{:?}", slower.rows[0]);
        assert!(slower.reasons()[0].contains("-5."), "{:?}", slower.reasons());
        let faster = judged(&base, &cells(8, |seed| noisy(seed + 1) * 1.05, 57.0));
        assert_eq!(faster.rows[0].verdict, Verdict::Better);
        assert_eq!(faster.verdict, GateVerdict::NoWorse);
        let later = judged(&base, &cells(8, noisy, 78.0));
        assert_eq!(later.rows[1].verdict, Verdict::Worse);
        assert_eq!(later.rows[1].changed(), "+21.0 us");
        // A microsecond more is certain, and is within the margin.
        assert_eq!(judged(&base, &cells(8, noisy, 58.0)).verdict, GateVerdict::NoWorse);
    }

    /// Returns cells whose p99 was read from buckets of 1 us.
    fn of_buckets(p99: f64) -> Vec<MeasuredCell> {
        let mut cells = cells(8, noisy, p99);
        for metric in cells.iter_mut().flat_map(|cell| cell.result.iter_mut().flatten()) {
            metric.resolution = if metric.unit == "us" { 1.0 } else { 0.0 };
        }
        cells
    }

    #[test]
    fn a_bucket_is_no_regression_and_hides_a_smaller_margin() {
        let margin = |text: &str| GateRule {
            margins: Margins::gate().with(&[text.parse().unwrap()]).unwrap(),
            ..GateRule::default()
        };
        let judged = |new: f64, rule: &GateRule| {
            let gate = gate(["base", "new"], &of_buckets(15.0), &of_buckets(new), rule);
            (gate.rows[1].verdict, gate.verdict)
        };
        for rule in [margin("wakeup.fifo.p99=1us"), margin("wakeup.fifo.p99=5%")] {
            for new in [15.0, 16.0] {
                let expected = (Verdict::WithinResolution, GateVerdict::Undecided);
                assert_eq!(judged(new, &rule), expected, "{new}");
            }
            // One bucket less may be none, but is not one of the margin more.
            assert_eq!(judged(14.0, &rule).0, Verdict::WithinMargin);
            assert_eq!(judged(17.0, &rule), (Verdict::Worse, GateVerdict::Worse));
        }
        let wide = (Verdict::WithinMargin, GateVerdict::NoWorse);
        assert_eq!(judged(16.0, &margin("wakeup.fifo.p99=3us")), wide);
    }

    #[test]
    fn every_instant_decides_where_it_was_measured() {
        let instants = MetricName::BOUND_P99_9;
        let with = |us: f64| {
            let mut cells = cells(8, noisy, 57.0);
            for cell in &mut cells {
                let metrics = cell.result.as_mut().unwrap();
                let sampled = metrics[1].clone();
                metrics.push(Metric { name: instants.clone(), value: us, ..sampled });
            }
            cells
        };
        let judged = judged(&with(57.0), &with(157.0));
        let names: Vec<_> = judged.rows.iter().map(|row| row.metric.to_string()).collect();
        assert_eq!(
            (names, judged.verdict),
            (vec!["throughput".to_owned(), instants.to_string()], GateVerdict::Worse)
        );
    }

    #[test]
    fn seeds_with_an_event_do_not_stand_for_those_without() {
        let rule = GateRule { metrics: vec![MetricName::FIFO_P99], ..GateRule::default() };
        let without = |seeds: &[u64]| {
            let mut cells = cells(8, noisy, 57.0);
            for cell in cells.iter_mut().filter(|cell| seeds.contains(&cell.seed)) {
                let metrics = cell.result.as_mut().unwrap();
                metrics.retain(|metric| metric.name != MetricName::FIFO_P99);
            }
            cells
        };
        let all: Vec<u64> = (1..=8).collect();
        let judged = |base: &[u64], new: &[u64]| {
            gate(["base", "new"], &without(base), &without(new), &rule).verdict
        };
        assert_eq!(judged(&[], &[]), GateVerdict::NoWorse);
        assert_eq!(judged(&[3], &[]), GateVerdict::Undecided);
        assert_eq!(judged(&all, &[]), GateVerdict::Undecided);
        assert_eq!(judged(&[], &all), GateVerdict::Undecided);
    }

    #[test]
    fn few_seeds_and_much_noise_decide_nothing() {
        let few = cells(4, noisy, 57.0);
        assert_eq!(judged(&few, &few).verdict, GateVerdict::Undecided);
        let wild = |seed: u64| 180_000.0 * (1.0 + 0.1 * (seed % 4) as f64);
        let gate = judged(&cells(6, wild, 57.0), &cells(6, |seed| wild(seed + 2), 57.0));
        assert_eq!(gate.verdict, GateVerdict::Undecided);
        assert!(matches!(gate.rows[0].verdict, Verdict::Undecided { more: Some(2..) }));
        assert_eq!(judged(&[], &[]).verdict, GateVerdict::Undecided);
    }

    #[test]
    fn a_failed_cell_is_worse_where_the_base_has_none() {
        let base = cells(6, noisy, 57.0);
        let mut new = base.clone();
        new[2].result = Err(NoResult::Failed("the kernel panicked".into()));
        let gate = judged(&base, &new);
        assert_eq!((gate.verdict, gate.failures.len()), (GateVerdict::Worse, 1));
        assert_eq!(gate.failures[0].seed, Some(3));
        let both = judged(&new, &new);
        assert_eq!(both.failures.len(), 0);
        assert_eq!(both.verdict, GateVerdict::NoWorse);
    }

    fn traced(cells: &mut [MeasuredCell], max_ns: impl Fn(u64) -> u64) {
        for cell in cells {
            let section = |function: &str, max_ns| Section {
                kind: "preemption",
                function: function.into(),
                callers: vec!["unix_stream_sendmsg".into()],
                count: 3,
                max_ns,
                total_ns: 3 * max_ns,
            };
            let noise = section("noise", 30_000 + 11_000 * (cell.seed % 3));
            let own = section("held", max_ns(cell.seed));
            cell.sections = Some(vec![noise, own].into_iter().filter(|s| s.max_ns > 0).collect());
        }
    }

    #[test]
    fn a_new_section_is_suspected_and_then_found() {
        let pair = |n: u64| {
            let (mut base, mut new) = (cells(n, noisy, 57.0), cells(n, noisy, 57.0));
            traced(&mut base, |_| 0);
            traced(&mut new, |seed| 20_000 + seed);
            judged(&base, &new)
        };
        let suspected = pair(5);
        assert_eq!(suspected.verdict, GateVerdict::Undecided);
        assert!(suspected.sections[0].is_suspect);
        let found = pair(9);
        assert_eq!(found.verdict, GateVerdict::Worse);
        assert_eq!(found.sections[0].function, "held");
        assert_eq!(found.sections[0].change, super::super::SectionChange::New);
        assert!(found.reasons()[0].contains("held keeps preemption off for 20.0 us"));
    }

    #[test]
    fn what_is_followed_alone_decides() {
        let rule = |followed| GateRule { followed: Some(followed), ..GateRule::default() };
        let held = || Mechanism::Section("held".into());
        let throughput = || Mechanism::Metric(MetricName::Throughput);
        let (mut base, mut slower) = (cells(6, noisy, 57.0), cells(6, |n| noisy(n) * 0.9, 57.0));
        traced(&mut base, |_| 0);
        traced(&mut slower, |seed| 100_000 + seed);
        let judged = |new: &[MeasuredCell], followed| gate(["a", "b"], &base, new, &rule(followed));
        // Six seeds are enough for one function, where they are not for all of them.
        let of_section = judged(&slower, held());
        assert!(matches!(held().follow(&of_section), Followed::Worse(_)), "{of_section:?}");
        let of_metric = judged(&slower, throughput());
        assert!(matches!(throughput().follow(&of_metric), Followed::Worse(_)));
        assert!(of_metric.sections.iter().all(|section| !section.is_worse && !section.is_suspect));
        // Slower for another reason.
        traced(&mut slower, |_| 0);
        let without = judged(&slower, held());
        assert_eq!(without.verdict, GateVerdict::NoWorse);
        assert_eq!(held().follow(&without), Followed::NoWorse);
        // Too few seeds to tell give no answer, whatever else is worse.
        let mut few = cells(4, |n| noisy(n) * 0.5, 57.0);
        traced(&mut few, |seed| 100_000 + seed);
        assert!(matches!(held().follow(&judged(&few, held())), Followed::Unknown(_)));
    }

    #[test]
    fn a_short_or_a_rare_section_is_nothing() {
        let (mut base, mut new) = (cells(9, noisy, 57.0), cells(9, noisy, 57.0));
        traced(&mut base, |_| 0);
        traced(&mut new, |_| 9_000);
        assert_eq!(judged(&base, &new).verdict, GateVerdict::NoWorse);
        traced(&mut new, |seed| if seed == 4 { 300_000 } else { 0 });
        assert_eq!(judged(&base, &new).verdict, GateVerdict::NoWorse);
    }

    /// Experiments with a known truth: how often each verdict comes, and after how many seeds.
    #[test]
    fn errors_are_as_rare_as_they_are_said_to_be() {
        let rule = GateRule { looks: Looks::Any, ..GateRule::default() };
        let outcome = |loss: f64, experiment: u64| {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(experiment);
            let normal = Normal::new(0.0, 0.015).unwrap();
            let mut draw =
                |loss: f64| 180_000.0 * (1.0 - loss) * (1.0 + normal.sample(&mut random));
            let (mut base, mut new) = (Vec::new(), Vec::new());
            let (mut n, mut look) = (6, 0);
            loop {
                for seed in base.len() as u64..n {
                    base.push(MeasuredCell { look, ..cell(seed, draw(0.0), 57.0) });
                    new.push(MeasuredCell { look, ..cell(seed, draw(loss), 57.0) });
                }
                let verdict = gate(["a", "b"], &base, &new, &rule).verdict;
                if verdict != GateVerdict::Undecided || n > 60 {
                    return verdict;
                }
                (n, look) = (u64::from(Looks::next(n as u32)), look + 1);
            }
        };
        let share = |loss: f64, verdict: GateVerdict| {
            let count = (0..400).filter(|experiment| outcome(loss, *experiment) == verdict).count();
            count as f64 / 400.0
        };
        assert!(share(0.0, GateVerdict::Worse) <= 0.01);
        assert!(share(0.03, GateVerdict::Worse) >= 0.95);
        assert!(share(0.10, GateVerdict::Worse) >= 0.99);
    }
}
