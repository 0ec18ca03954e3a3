//! A comparison as a person would tell it: a few sentences about the decided differences.

use std::cmp::Ordering;

use preemptlab_model::{Direction, MetricName, counted, number};
use preemptlab_stats::{Comparison, Configuration, Group, REPLICATES_MIN, Summary, Verdict};

use crate::label;

/// Most sentences of an answer.
const SENTENCES_MAX: usize = 6;

/// Returns the answer of a comparison: of each workload how late a real-time task can be under the
/// baseline and where that is decided otherwise, with the function that makes it so, and the cost.
/// The workload that separates the configurations most comes first. Empty where nothing is compared.
pub fn answer(comparison: &Comparison) -> Vec<String> {
    let mut groups: Vec<&Group> = comparison.groups.iter().collect();
    groups.sort_by(|one, other| {
        separation(other).partial_cmp(&separation(one)).unwrap_or(Ordering::Equal)
    });
    let prefix = |group: &Group| match comparison.groups.len() {
        1 => String::new(),
        _ => format!("{}: ", label::group(group)),
    };
    let mut sentences: Vec<String> = Vec::new();
    for group in &groups {
        let prefix = prefix(group);
        let mut said = vec![worst(group), elsewhere(group), throughput(group)];
        // Several workloads leave no room for the tails.
        said.extend((groups.len() == 1).then(|| tail(group)));
        let said = said.into_iter().flatten().enumerate();
        sentences.extend(said.map(|(at, sentence)| match at {
            0 => capital(&prefix, &sentence),
            _ => capital("", &sentence),
        }));
    }
    if sentences.is_empty() && nothing_is_decided(comparison) {
        return vec![undecided(comparison)];
    }
    if sentences.len() > SENTENCES_MAX {
        sentences.truncate(SENTENCES_MAX - 1);
        sentences.push("The table has the rest.".to_owned());
    }
    sentences
}

/// Returns whether there are comparisons, and none of any metric is decided.
fn nothing_is_decided(comparison: &Comparison) -> bool {
    let each = comparison.groups.iter().flat_map(|group| &group.configurations);
    let verdicts = || each.clone().flat_map(|each| &each.summaries).filter_map(verdict);
    verdicts().next().is_some() && !verdicts().any(Verdict::is_decided)
}

/// Says why nothing is decided, and the next step.
fn undecided(comparison: &Comparison) -> String {
    let each = comparison.groups.iter().flat_map(|group| &group.configurations);
    let replicates = each.map(Configuration::measured).max().unwrap_or(0);
    let why = match replicates < REPLICATES_MIN {
        true => format!(
            "{} of each, and fewer than {REPLICATES_MIN} decide nothing",
            counted(replicates, "replicate")
        ),
        false => {
            "the replicates of each configuration differ by more than the configurations".to_owned()
        }
    };
    format!("Nothing is decided: {why}. `preemptlab run EXPERIMENT --until 5%` adds replicates.")
}

/// Returns the largest decided ratio between a configuration and the baseline in the group's latency, as
/// a logarithm.
fn separation(group: &Group) -> f64 {
    let Some(metric) = latency(group) else { return 0.0 };
    let others = group.configurations.iter().filter_map(|each| each.summary(&metric));
    let ratios = others.filter(|summary| is_decided(summary)).filter_map(|summary| summary.ratio());
    ratios.map(|ratio| libm::log(ratio.max(1e-9)).abs()).fold(0.0, f64::max)
}

/// Returns the latency of a group that tells most.
fn latency(group: &Group) -> Option<MetricName> {
    MetricName::telling().find(|name| group.metrics().contains(&name))
}

fn is_decided(summary: &Summary) -> bool {
    matches!(verdict(summary), Some(Verdict::Better | Verdict::Worse))
}

fn is_alike(summary: &Summary) -> bool {
    verdict(summary).is_some_and(Verdict::is_alike)
}

fn verdict(summary: &Summary) -> Option<Verdict> {
    Some(summary.effect?.verdict)
}

/// Says how late a task can be under the baseline: `under none a real-time task can be 11.0 ms late`.
fn worst(group: &Group) -> Option<String> {
    let metric = latency(group)?;
    let what = match metric {
        MetricName::BOUND => "a real-time task can be",
        ref metric if metric.bound().is_some() => "a real-time task was at most",
        _ => return quantile(group, &metric),
    };
    let baseline = group.baseline().or_else(|| only(group))?;
    let own = baseline.summary(&metric)?;
    let decided = decided(group, &metric, |summary| summary.max);
    let alike = names(group, &metric, is_alike);
    if decided.is_empty() && alike.is_empty() && only(group).is_none() {
        return None;
    }
    let mut sentence = format!(
        "under {} {what} {} late{}",
        name(group, baseline),
        time(own.max, &own.unit),
        cause(baseline, &metric)
    );
    if !alike.is_empty() {
        sentence += &format!(", and as late under {}", list(&alike));
    }
    Some(format!("{sentence}."))
}

/// Says how late it can be where that is decided: `it can be 200 us under lazy (...) and 4 us under rt`. What follows
/// each other and has one cause names it once, and one time once.
fn elsewhere(group: &Group) -> Option<String> {
    let metric = latency(group).filter(is_worst)?;
    let verb = if metric == MetricName::BOUND { "it can be" } else { "it was at most" };
    let decided = decided(group, &metric, |summary| summary.max);
    let of = |(configuration, _): &(&Configuration, _)| cause(configuration, &metric);
    let late = |(_, summary): &(_, &Summary)| time(summary.max, &summary.unit);
    let parts: Vec<String> = decided
        .chunk_by(|one, other| of(one) == of(other))
        .map(|alike| {
            let each = alike.chunk_by(|one, other| late(one) == late(other)).map(|same| {
                let names: Vec<String> = same.iter().map(|(each, _)| name(group, each)).collect();
                format!("{} under {}", late(&same[0]), list(&names))
            });
            let cause = of(&alike[0]);
            let cause = if alike.len() > 1 { cause.replacen('(', "(all: ", 1) } else { cause };
            format!("{}{cause}", list(&each.collect::<Vec<_>>()))
        })
        .collect();
    let said = match parts.len() == decided.len() {
        true => list(&parts),
        false => parts.join("; "),
    };
    (!parts.is_empty()).then(|| format!("{verb} {said}."))
}

/// Returns whether a latency is a worst one, for which there is one cause.
fn is_worst(metric: &MetricName) -> bool {
    *metric == MetricName::BOUND || metric.bound().is_some()
}

/// Returns the cause of the worst instant, in parentheses.
fn cause(configuration: &Configuration, metric: &MetricName) -> String {
    let worst = configuration.worst.as_ref().filter(|_| *metric == MetricName::BOUND);
    worst.map(|worst| format!(" ({})", worst.of)).unwrap_or_default()
}

/// Returns the only configuration that was measured; `None` where there are several.
fn only(group: &Group) -> Option<&Configuration> {
    let mut measured = group.configurations.iter().filter(|each| each.measured() > 0);
    measured.next().filter(|_| measured.next().is_none())
}

/// Says a quantile under each: `p99 of ...: none 30.8 us; full 9.20 us`.
fn quantile(group: &Group, metric: &MetricName) -> Option<String> {
    let (baseline, decided) = (group.baseline()?, decided(group, metric, |summary| summary.median));
    if decided.is_empty() {
        return None;
    }
    let own = baseline.summary(metric)?;
    let p99_9 = MetricName::BOUND_P99_9;
    let what = match *metric == p99_9 {
        true => "at 99.9 % of all instants a real-time task is late by at most".to_owned(),
        false => metric.title(),
    };
    let mut sentence = format!("{what}: {} {}", name(group, baseline), time(own.median, &own.unit));
    for (configuration, summary) in decided {
        let ratio = summary.ratio().map(|ratio| format!(" ({})", number::ratio(ratio)));
        sentence += &format!(
            "; {} {}{}",
            name(group, configuration),
            time(summary.median, &summary.unit),
            ratio.unwrap_or_default()
        );
    }
    Some(format!("{sentence}."))
}

/// Says how late a task is at nearly all instants.
fn tail(group: &Group) -> Option<String> {
    let p99_9 = MetricName::BOUND_P99_9;
    group.metrics().contains(&&p99_9).then(|| quantile(group, &p99_9)).flatten()
}

/// Says the cost of each: `full and lazy cost no throughput within 5%; 6.12-rt full 25 % of it`.
fn throughput(group: &Group) -> Option<String> {
    let metric = &MetricName::Throughput;
    let baseline = group.baseline()?;
    baseline.summary(metric)?;
    let changed = decided(group, metric, |summary| summary.median);
    let alike = names(group, metric, is_alike);
    let mut parts: Vec<String> = Vec::new();
    if !alike.is_empty() {
        let verb = if alike.len() == 1 { "has" } else { "have" };
        parts.push(format!("{} {verb} the throughput of {}", list(&alike), name(group, baseline)));
    }
    for (configuration, summary) in changed {
        let Some(ratio) = summary.ratio() else { continue };
        let change = (ratio - 1.0) * 100.0;
        let amount = format!("{:.1}", change.abs());
        let amount = amount.trim_end_matches(".0");
        let more = match (change > 0.0, summary.direction) {
            (true, Direction::Higher) => "more",
            (false, Direction::Higher) => "less",
            // The time for some work.
            (true, Direction::Lower) => "more time",
            (false, Direction::Lower) => "less time",
        };
        let what = if parts.is_empty() { " throughput" } else { "" };
        let what = if summary.direction == Direction::Higher { what } else { "" };
        parts.push(format!("{} has {amount} % {more}{what}", name(group, configuration)));
    }
    (!parts.is_empty()).then(|| format!("{}.", parts.join("; ")))
}

/// Returns the configurations with a decided difference, the worst of them first.
fn decided<'a>(
    group: &'a Group,
    metric: &MetricName,
    value: impl Fn(&Summary) -> f64,
) -> Vec<(&'a Configuration, &'a Summary)> {
    let each = group.configurations.iter();
    let mut decided: Vec<_> = each
        .filter_map(|configuration| Some((configuration, configuration.summary(metric)?)))
        .filter(|(_, summary)| is_decided(summary))
        .collect();
    decided.sort_by(|(_, one), (_, other)| {
        let order = value(other).partial_cmp(&value(one)).unwrap_or(Ordering::Equal);
        if one.direction == Direction::Higher { order.reverse() } else { order }
    });
    decided
}

/// Returns the names of the configurations with such a summary.
fn names(group: &Group, metric: &MetricName, is: fn(&Summary) -> bool) -> Vec<String> {
    let each = group.configurations.iter();
    each.filter(|each| each.summary(metric).is_some_and(is)).map(|each| name(group, each)).collect()
}

/// Returns a configuration's name, without the parts that all of the group have in common.
fn name(group: &Group, configuration: &Configuration) -> String {
    let each = || group.configurations.iter().filter(|each| each.measured() > 0);
    let has_one_kernel = each().all(|other| label::kernel(other) == label::kernel(configuration));
    if has_one_kernel {
        return label::mode(configuration);
    }
    let kernel = label::kernel(configuration);
    let all_are_debian = each().all(|other| label::kernel(other).starts_with(DEBIAN));
    let kernel = match all_are_debian {
        true => kernel.trim_start_matches(DEBIAN).to_owned(),
        false => kernel,
    };
    format!("{kernel} {}", label::mode(configuration))
}

const DEBIAN: &str = "debian:";

/// Returns `a`, `a and b` or `a, b and c`.
fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Returns a value with its unit, long times in milliseconds.
fn time(value: f64, unit: &str) -> String {
    match unit {
        "us" if value >= 1000.0 => format!("{} ms", number::number(value / 1e3)),
        unit => format!("{} {unit}", number::number(value)),
    }
}

/// Returns a sentence with a large first letter, behind the workload that it is about.
fn capital(prefix: &str, sentence: &str) -> String {
    if !prefix.is_empty() {
        return format!("{prefix}{sentence}");
    }
    let mut chars = sentence.chars();
    match chars.next() {
        // A name stays as it is written.
        Some(first) if ["under ", "at ", "it "].iter().any(|word| sentence.starts_with(word)) => {
            first.to_uppercase().chain(chars).collect()
        }
        _ => sentence.to_owned(),
    }
}
