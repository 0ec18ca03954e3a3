use preemptlab_model::PreemptMode;
use preemptlab_stats::{Comparison, Configuration, Effect, Group, Margin, Summary, Verdict};

use crate::{label, table_csv};

const HEADER: [&str; 26] = [
    "run",
    "workload",
    "cpus",
    "kernel",
    "rt",
    "preempt",
    "settings",
    "observed",
    "status",
    "metric",
    "unit",
    "better",
    "replicates",
    "n",
    "median",
    "min",
    "max",
    "median_low",
    "median_high",
    "ratio",
    "ratio_low",
    "ratio_high",
    "p_adjusted",
    "verdict",
    "more",
    "reason",
];

/// The last column, where there is more to tell apart than virtual time.
const BACKEND: &str = "backend";

/// Writes a comparison as CSV: a row per configuration and metric. A configuration without
/// measurements has one row, with its reason. With measurements in another than virtual time, a
/// column `backend` follows the others.
///
/// `status` is `measured`, `failed`, `unavailable` or, where nothing was executed yet, `missing`;
/// `ratio` is to the baseline of the same workload and number of CPUs, and empty without one;
/// `observed` lists modes separated by blanks; `_low` and `_high` are the ends of 95 % intervals;
/// `more` is about how many more replicates would decide what is undecided.
pub fn csv(comparison: &Comparison) -> String {
    let has_backends = comparison.groups.iter().any(|group| !group.backend.is_vm());
    let with_backend = move |mut row: Vec<String>, backend: &str| {
        row.extend(has_backends.then(|| backend.to_owned()));
        row
    };
    let header = with_backend(HEADER.map(str::to_owned).to_vec(), BACKEND);
    let rows = comparison.groups.iter().flat_map(|group| {
        let rows =
            group.configurations.iter().flat_map(|each| rows(group, each, comparison.margin));
        rows.map(|row| with_backend(row, group.backend.as_str())).collect::<Vec<_>>()
    });
    table_csv::write([header].into_iter().chain(rows))
}

fn rows(group: &Group, configuration: &Configuration, margin: Margin) -> Vec<Vec<String>> {
    if configuration.summaries.is_empty() {
        return vec![row(group, configuration, None, margin)];
    }
    let summaries = configuration.summaries.iter();
    summaries.map(|summary| row(group, configuration, Some(summary), margin)).collect()
}

fn row(
    group: &Group,
    configuration: &Configuration,
    summary: Option<&Summary>,
    margin: Margin,
) -> Vec<String> {
    let status = match summary {
        Some(_) => "measured",
        // Nothing happened that would have a value.
        None if configuration.measured() > 0 => "measured",
        None if configuration.unavailable.is_some() => "unavailable",
        None if configuration.failures.is_empty() && configuration.missing > 0 => "missing",
        None => "failed",
    };
    let of_summary = |text: fn(&Summary) -> String| summary.map(text).unwrap_or_default();
    let effect = summary.and_then(|summary| summary.effect.as_ref());
    let of_effect = |text: fn(&Effect) -> String| effect.map(text).unwrap_or_default();
    let observed: Vec<&str> = configuration.observed.iter().map(|mode| mode.as_str()).collect();
    vec![
        configuration.run.clone().unwrap_or_default(),
        group.workload.clone(),
        group.cpus.to_string(),
        configuration.kernel.to_string(),
        configuration.rt.map(|rt| rt.to_string()).unwrap_or_default(),
        PreemptMode::as_str(configuration.preempt).to_owned(),
        configuration.settings.to_string(),
        observed.join(" "),
        status.to_owned(),
        of_summary(|summary| summary.name.to_string()),
        of_summary(|summary| summary.unit.to_owned()),
        of_summary(|summary| summary.direction.as_str().to_owned()),
        configuration.replicates.to_string(),
        summary.map_or(0, |summary| summary.n).to_string(),
        of_summary(|summary| summary.median.to_string()),
        of_summary(|summary| summary.min.to_string()),
        of_summary(|summary| summary.max.to_string()),
        of_summary(|summary| text(summary.interval.map(|interval| interval.low))),
        of_summary(|summary| text(summary.interval.map(|interval| interval.high))),
        of_summary(|summary| text(summary.ratio())),
        of_effect(|effect| text(effect.interval.map(|interval| interval.low))),
        of_effect(|effect| text(effect.interval.map(|interval| interval.high))),
        of_effect(|effect| effect.p_adjusted.to_string()),
        effect.map(|effect| effect.verdict.word(margin)).unwrap_or_default(),
        of_effect(|effect| match effect.verdict {
            Verdict::Undecided { more } => more.map(|more| more.to_string()).unwrap_or_default(),
            _ => String::new(),
        }),
        match summary {
            None if configuration.measured() > 0 => label::no_events(configuration),
            _ => label::trouble(configuration),
        }
        .unwrap_or_default(),
    ]
}

fn text(number: Option<f64>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}
