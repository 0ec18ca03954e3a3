use preemptlab_model::{Direction, Distribution, Histogram, MetricName};
use preemptlab_report::extreme_in_words;
use preemptlab_report_html as page;
use preemptlab_stats::{Comparison, Configuration, Group, Interval, Summary, Verdict};

use super::{
    Gathered,
    gathered::{Key, key_of},
    timelines::Timelines,
};
use crate::Error;

/// The page's groups: those of the comparison, with histograms and timelines.
pub fn groups(gathered: &Gathered<'_>, comparison: &Comparison) -> Result<Vec<page::Group>, Error> {
    let mut timelines = Timelines::default();
    comparison.groups.iter().map(|each| group(each, gathered, &mut timelines)).collect()
}

fn group(
    group: &Group,
    gathered: &Gathered<'_>,
    timelines: &mut Timelines,
) -> Result<page::Group, Error> {
    let configurations = group.configurations.iter();
    let replicates = configurations.clone().map(|each| each.replicates).max().unwrap_or(0);
    let configurations = configurations.map(|each| {
        let key = key_of(group, each);
        let worst = gathered.worst.get(&key);
        let timelines = worst.map(|worst| timelines.of(worst)).transpose()?;
        Ok(configuration(each, gathered, &key, timelines.flatten()))
    });
    Ok(page::Group {
        workload: match group.backend {
            preemptlab_model::BackendKind::Vm => group.workload.clone(),
            backend => format!("{} ({backend})", group.workload),
        },
        cpus: group.cpus,
        replicates,
        baseline: group.baseline,
        metrics: group.metrics().into_iter().filter_map(|name| info(group, name)).collect(),
        configurations: configurations.collect::<Result<_, Error>>()?,
    })
}

fn info(group: &Group, name: &MetricName) -> Option<page::MetricInfo> {
    let summary = group.configurations.iter().find_map(|each| each.summary(name))?;
    Some(page::MetricInfo {
        name: name.to_string(),
        unit: summary.unit.to_owned(),
        better: match summary.direction {
            Direction::Lower => page::Better::Lower,
            Direction::Higher => page::Better::Higher,
        },
        headline: name.is_headline(),
    })
}

fn configuration(
    configuration: &Configuration,
    gathered: &Gathered<'_>,
    key: &Key,
    timeline: Option<page::Timeline>,
) -> page::Configuration {
    let histograms = gathered.histograms.get(key).into_iter().flatten();
    page::Configuration {
        run: configuration.run.clone(),
        kernel: kernel(configuration),
        rt: configuration.rt,
        mode: configuration.preempt.to_string(),
        observed: configuration.observed.iter().map(ToString::to_string).collect(),
        replicates: configuration.replicates,
        unavailable: configuration.unavailable.clone(),
        failures: configuration
            .failures
            .iter()
            .map(|failure| page::Failure {
                replicate: failure.replicate,
                reason: failure.reason.clone(),
            })
            .collect(),
        missing: configuration.missing,
        metrics: configuration.summaries.iter().map(values).collect(),
        histograms: histograms.map(|(probe, seen)| histogram(probe, seen)).collect(),
        timelines: timeline.into_iter().collect(),
    }
}

fn values(summary: &Summary) -> page::MetricValues {
    let ends = |Interval { low, high }: Interval| [low, high];
    let replicates = summary.replicates.iter().zip(&summary.values);
    let verdict = summary.effect.map(|effect| effect.verdict);
    page::MetricValues {
        name: summary.name.to_string(),
        values: replicates
            .map(|(replicate, value)| page::ReplicateValue { replicate: *replicate, value: *value })
            .collect(),
        median: summary.median,
        min: summary.min,
        max: summary.max,
        interval: summary.interval.map(ends),
        ratio: summary.ratio(),
        ratio_interval: summary.effect.and_then(|effect| effect.interval).map(ends),
        word: verdict.map(|verdict| match verdict {
            Verdict::Better => page::Word::Better,
            Verdict::Worse => page::Word::Worse,
            Verdict::Same => page::Word::Same,
            Verdict::Undecided { .. } => page::Word::Undecided,
        }),
        more: match verdict {
            Some(Verdict::Undecided { more }) => more,
            _ => None,
        },
        note: extreme_in_words(summary),
    }
}

/// The kernel with its settings.
fn kernel(configuration: &Configuration) -> String {
    let Configuration { kernel, settings, .. } = configuration;
    format!("{kernel} {settings}").trim_end().to_owned()
}

fn histogram(of: &Distribution, histogram: &Histogram) -> page::Histogram {
    page::Histogram {
        probe: match of {
            Distribution::Wakeup(probe) => probe.as_str().to_owned(),
            of => of.to_string(),
        },
        metric_prefix: of.to_string(),
        unit: "us".to_owned(),
        counts: histogram.counts().collect(),
        overflow: histogram.overflow(),
        overflow_max: histogram.max().filter(|_| histogram.overflow() > 0),
    }
}
