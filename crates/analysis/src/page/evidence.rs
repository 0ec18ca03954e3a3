use preemptlab_model::{Distribution, Histogram};
use preemptlab_report::extreme_in_words;
use preemptlab_report_html as page;
use preemptlab_stats::{Comparison, Configuration};

use super::{Gathered, gathered::key_of, timelines::Timelines};
use crate::Error;

/// Returns the evidence of each configuration's numbers.
///
/// # Errors
///
/// When a trace cannot be read.
pub fn evidence(
    gathered: &Gathered<'_>,
    comparison: &Comparison,
) -> Result<Vec<page::Evidence>, Error> {
    let mut timelines = Timelines::default();
    let mut evidence = Vec::new();
    for (at, group) in comparison.groups.iter().enumerate() {
        for (of, configuration) in group.configurations.iter().enumerate() {
            let key = key_of(group, configuration);
            let worst = gathered.worst.get(&key);
            let timeline = worst.map(|worst| timelines.of(worst)).transpose()?;
            let histograms = gathered.histograms.get(&key).into_iter().flatten();
            evidence.push(page::Evidence {
                group: at,
                configuration: of,
                histograms: histograms.map(|(of, seen)| histogram(of, seen)).collect(),
                timelines: timeline.flatten().into_iter().collect(),
                notes: notes(configuration).collect(),
            });
        }
    }
    Ok(evidence)
}

fn notes(configuration: &Configuration) -> impl Iterator<Item = (String, String)> {
    let summaries = configuration.summaries.iter();
    summaries.filter_map(|summary| Some((summary.name.to_string(), extreme_in_words(summary)?)))
}

fn histogram(of: &Distribution, histogram: &Histogram) -> page::Histogram {
    page::Histogram {
        of: of.clone(),
        title: of.title().to_owned(),
        unit: "us".to_owned(),
        counts: histogram.counts().collect(),
        overflow: histogram.overflow(),
        overflow_max: histogram.max().filter(|_| histogram.overflow() > 0),
    }
}
