//! A comparison in a few sentences.

use preemptlab_model::{Direction, Distribution, MetricName, Probe, Statistic, counted};
use preemptlab_stats::{Comparison, Configuration, Group, Margin, Summary, Verdict};

use crate::{View, label, number, verdict};

/// Result of a comparison for a reader who reads nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InWords {
    /// Main result, in one sentence.
    pub headline: String,
    /// Further notes; a sentence or two each.
    pub points: Vec<String>,
}

/// Describes which configuration has the shortest latency and which the highest throughput, in each
/// group, and how certain the comparisons are.
pub fn in_words(comparison: &Comparison) -> InWords {
    let mut said = comparison.groups.iter().filter_map(|group| {
        let sentence = sentence(group, comparison.margin)?;
        match comparison.groups.len() {
            1 => Some(sentence),
            _ => Some(format!("{}: {sentence}", label::group(group))),
        }
    });
    let headline = said.next().unwrap_or_else(|| "Nothing was measured.".to_owned());
    let missing = comparison.groups.iter().filter_map(missing);
    let points = said.chain(verdict::legend(comparison, View::Overview)).chain(missing).collect();
    InWords { headline, points }
}

/// The metrics by which configurations are told apart, the best of them first.
const LATENCIES: [MetricName; 4] = [
    MetricName::Of(Distribution::Response, Statistic::Quantile(990)),
    MetricName::FIFO_P99,
    MetricName::FIFO_MAX,
    MetricName::Of(Distribution::Wakeup(Probe::Other), Statistic::Quantile(990)),
];

fn sentence(group: &Group, margin: Margin) -> Option<String> {
    let latency = LATENCIES.into_iter().find(|name| group.metrics().contains(&name));
    let latency = latency.and_then(|name| best(group, &name));
    let throughput = best(group, &MetricName::Throughput);
    // The least of values that do not differ is none that is worth a name.
    let alike = latency.and_then(|(_, late)| alike(group, margin, &late.name));
    Some(match (latency, throughput) {
        (Some(_), Some((most, done))) if alike.is_some() => format!(
            "{}; {} has the highest throughput, {}.",
            alike.unwrap_or_default(),
            name(most),
            with_baseline(group, margin, done)
        ),
        (Some(_), None) if alike.is_some() => format!("{}.", alike.unwrap_or_default()),
        (Some((least, late)), Some((most, done))) if std::ptr::eq(least, most) => format!(
            "{} has the lowest {}, {}, and the highest throughput, {}.",
            name(least),
            late.name.title(),
            with_baseline(group, margin, late),
            with_baseline(group, margin, done)
        ),
        (Some((least, late)), Some((most, done))) => {
            let own =
                least.summary(&MetricName::Throughput).map(|own| with_baseline(group, margin, own));
            format!(
                "{} has the lowest {}, {}{}; {} has the highest throughput, {}.",
                name(least),
                late.name.title(),
                with_baseline(group, margin, late),
                own.map(|own| format!(", at {own}")).unwrap_or_default(),
                name(most),
                with_baseline(group, margin, done)
            )
        }
        (Some((configuration, summary)), None) | (None, Some((configuration, summary))) => format!(
            "{} has the best {}, {}.",
            name(configuration),
            summary.name.title(),
            with_baseline(group, margin, summary)
        ),
        (None, None) => return None,
    })
}

/// Returns that no configuration differs from the baseline in a metric, with the values; `None` where
/// some does, or that is undecided.
fn alike(group: &Group, margin: Margin, metric: &MetricName) -> Option<String> {
    let summaries: Vec<&Summary> =
        group.configurations.iter().filter_map(|each| each.summary(metric)).collect();
    let others: Vec<(&Summary, Verdict)> =
        summaries.iter().filter_map(|each| Some((*each, each.effect?.verdict))).collect();
    if others.is_empty() || !others.iter().all(|(_, verdict)| verdict.is_alike()) {
        return None;
    }
    // Of several words that which allows for more.
    let coarsest = others.iter().find(|(_, verdict)| *verdict == Verdict::WithinResolution);
    let (summary, verdict) = coarsest.or(others.first())?;
    let medians = summaries.iter().map(|each| each.median);
    let (least, most) =
        (medians.clone().fold(f64::INFINITY, f64::min), medians.fold(0.0, f64::max));
    Some(format!(
        "All have the same {}, {} {}, {}",
        metric.title(),
        number::range(least, most),
        summary.unit,
        verdict::in_full(*verdict, summary, margin)
    ))
}

/// Returns the configuration with the best median; of equal ones the first.
fn best<'a>(group: &'a Group, metric: &MetricName) -> Option<(&'a Configuration, &'a Summary)> {
    let measured =
        group.configurations.iter().filter_map(|each| Some((each, each.summary(metric)?)));
    measured.reduce(|best, next| {
        let is_better = match best.1.direction {
            Direction::Lower => next.1.median < best.1.median,
            Direction::Higher => next.1.median > best.1.median,
        };
        if is_better { next } else { best }
    })
}

fn name(configuration: &Configuration) -> String {
    let run = configuration.run.as_ref().map(|run| format!("{run}: ")).unwrap_or_default();
    format!("{run}{}", configuration.name())
}

/// Returns the median with its unit and its relation to the baseline's.
fn with_baseline(group: &Group, margin: Margin, summary: &Summary) -> String {
    let value = format!("{} {}", number::number(summary.median), summary.unit);
    let (Some(effect), Some(baseline)) = (summary.effect, group.baseline()) else { return value };
    let Some(ratio) = effect.ratio else { return value };
    let ratio = number::ratio(ratio);
    let verdict = verdict::in_full(effect.verdict, summary, margin);
    format!("{value} ({ratio} of {}, {verdict})", name(baseline))
}

fn missing(group: &Group) -> Option<String> {
    let count = |is: fn(&Configuration) -> bool| {
        group.configurations.iter().filter(|each| is(each)).count()
    };
    let unavailable = count(|each| each.unavailable.is_some());
    let failed = count(|each| !each.failures.is_empty());
    let waiting = count(|each| each.missing > 0);
    let words = [
        (unavailable, "cannot exist", "cannot exist"),
        (failed, "has cells that failed", "have cells that failed"),
        (waiting, "has cells that were not executed yet", "have cells that were not executed yet"),
    ];
    let words: Vec<String> = words
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, several)| format!("{count} {}", if count == 1 { one } else { several }))
        .collect();
    (!words.is_empty()).then(|| {
        let all = counted(group.configurations.len(), "configuration");
        format!("Of {all} of {}, {}.", label::group(group), words.join(" and "))
    })
}
