use std::collections::BTreeMap;

use preemptlab_analysis::{
    Compared, Error,
    cells::{Key, key_of, key_of_cell},
};
use preemptlab_experiment::Recording;
use preemptlab_model::{Distribution, Histogram, MeasuredCell};
use preemptlab_stats::{Comparison, Configuration};

use super::{data, timelines::Timelines};
use crate::extremes::extreme_in_words;

/// Returns the evidence of each configuration's numbers.
///
/// # Errors
///
/// When a trace cannot be read.
pub fn evidence(
    compared: &Compared,
    comparison: &Comparison,
) -> Result<Vec<data::Evidence>, Error> {
    let mut timelines = Timelines::default();
    let worst = worst(compared);
    let mut evidence = Vec::new();
    for (at, group) in comparison.groups.iter().enumerate() {
        for (of, configuration) in group.configurations.iter().enumerate() {
            let timeline = worst.get(&key_of(group, configuration));
            let timeline = timeline.map(|(recording, cell)| timelines.of(recording, cell));
            let timeline = timeline.transpose()?;
            let spread = compared.cells().spread(group, configuration);
            let histograms = spread.into_iter().flat_map(|spread| &spread.histograms);
            evidence.push(data::Evidence {
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

/// Finds the traced cell with the worst wakeup of each configuration, the first of equal ones.
fn worst(compared: &Compared) -> BTreeMap<Key, (&Recording, &MeasuredCell)> {
    let mut worst: BTreeMap<Key, (&Recording, &MeasuredCell)> = BTreeMap::new();
    for (recording, cells) in compared.parts() {
        let traces = recording.traces();
        for cell in cells.iter().filter(|cell| cell.result.is_ok() && cell.latest_us().is_some()) {
            let key = key_of_cell(cell);
            let is_worse = worst.get(&key).is_none_or(|(_, of)| of.latest_us() < cell.latest_us());
            if is_worse && cell.id.is_some_and(|id| traces.contains(id)) {
                worst.insert(key, (recording, cell));
            }
        }
    }
    worst
}

fn notes(configuration: &Configuration) -> impl Iterator<Item = (String, String)> {
    let summaries = configuration.summaries.iter();
    summaries.filter_map(|summary| Some((summary.name.to_string(), extreme_in_words(summary)?)))
}

fn histogram(of: &Distribution, histogram: &Histogram) -> data::Histogram {
    data::Histogram {
        of: of.clone(),
        title: of.title().to_owned(),
        unit: "us".to_owned(),
        counts: histogram.counts().collect(),
        overflow: histogram.overflow(),
        overflow_max: histogram.max().filter(|_| histogram.overflow() > 0),
    }
}
