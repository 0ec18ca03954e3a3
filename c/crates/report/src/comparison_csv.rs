use preemptlab_model::PreemptMode;
use preemptlab_stats::{
    Comparison, Configuration, Effect, Group, MachineHistogram, MachineValue, Margins, Summary,
    Verdict,
};

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

/// The backend of a histogram that a tool wrote on a machine.
const MACHINE: &str = "machine";

/// A further column, where there is more to tell apart than virtual time.
const BACKEND: &str = "backend";

/// A further column, where virtual time is that of several machines.
const PROFILE: &str = "profile";

/// Writes a comparison as CSV: a row per configuration and metric. A configuration without
/// measurements has one row, with its reason. With measurements in another than virtual time, a
/// column `backend` follows the others; rows of histograms from machines have `machine` there, and no
/// configuration. With prices of several profiles, a column `profile` is the last; it is empty where
/// each instruction takes the same time.
///
/// `status` is `measured`, `failed`, `unavailable` or, where nothing was executed yet, `missing`;
/// `ratio` is to the baseline of the same workload and number of CPUs, and empty without one;
/// `observed` lists modes separated by blanks; `_low` and `_high` are the ends of 95 % intervals;
/// `more` is about how many more replicates would decide an undecided comparison.
pub fn csv(comparison: &Comparison) -> String {
    let is_timed = |group: &Group| !group.backend.is_vm();
    let has_backends = comparison.groups.iter().any(is_timed) || !comparison.histograms.is_empty();
    let virtual_ones = comparison.groups.iter().filter(|group| !is_timed(group));
    let mut profiles: Vec<_> = virtual_ones.map(|group| &group.profile).collect();
    profiles.dedup();
    let has_profiles = profiles.len() > 1;
    let with_time = move |mut row: Vec<String>, backend: &str, profile: &str| {
        row.extend(has_backends.then(|| backend.to_owned()));
        row.extend(has_profiles.then(|| profile.to_owned()));
        row
    };
    let header = with_time(HEADER.map(str::to_owned).to_vec(), BACKEND, PROFILE);
    let rows = comparison.groups.iter().flat_map(|group| {
        let rows =
            group.configurations.iter().flat_map(|each| rows(group, each, &comparison.margins));
        let profile = group.profile.as_ref().map(ToString::to_string).unwrap_or_default();
        rows.map(|row| with_time(row, group.backend.as_str(), &profile)).collect::<Vec<_>>()
    });
    let of_machines = comparison.histograms.iter().flat_map(machine_rows);
    let of_machines = of_machines.map(|row| with_time(row, MACHINE, ""));
    table_csv::write([header].into_iter().chain(rows).chain(of_machines))
}

/// Returns a row for each statistic of a machine's histogram. Its kernel and mode are unknown; a value
/// in no bucket is left out, with the bound in the last column.
fn machine_rows(of: &MachineHistogram) -> Vec<Vec<String>> {
    let rows = of.latencies.iter().flat_map(|latency| {
        let whole = |of: MachineValue| match of.is_above {
            true => (String::new(), format!("above {}", of.value)),
            false => (of.value.to_string(), String::new()),
        };
        let avg = (latency.avg.to_string(), String::new());
        let values = [
            ("min", whole(latency.min)),
            ("avg", avg),
            ("p50", whole(latency.p50)),
            ("p99", whole(latency.p99)),
            ("p99.9", whole(latency.p99_9)),
            ("max", whole(latency.max)),
        ];
        let only = latency.only.as_ref().map(|only| format!(" {only}")).unwrap_or_default();
        let name = format!("{}{only}", latency.of);
        let samples = (latency.samples.to_string(), String::new());
        let rows = values.into_iter().map(|(statistic, value)| (statistic, &*of.unit, value));
        let rows = rows.chain([("samples", "samples", samples)]);
        rows.map(|(statistic, unit, value)| machine_row(of, &name, statistic, unit, value))
            .collect::<Vec<_>>()
    });
    rows.collect()
}

fn machine_row(
    of: &MachineHistogram,
    name: &str,
    statistic: &str,
    unit: &str,
    (value, reason): (String, String),
) -> Vec<String> {
    let better = if statistic == "samples" { "higher" } else { "lower" };
    let metric = format!("{name}.{statistic}");
    HEADER
        .map(|column| {
            let text = match column {
                "run" => &of.file,
                "workload" => &of.tool,
                "status" => "measured",
                "metric" => &metric,
                "unit" => unit,
                "better" => better,
                "replicates" | "n" => "1",
                "median" | "min" | "max" => &value,
                "reason" => &reason,
                _ => "",
            };
            text.to_owned()
        })
        .to_vec()
}

fn rows(group: &Group, configuration: &Configuration, margins: &Margins) -> Vec<Vec<String>> {
    if configuration.summaries.is_empty() {
        return vec![row(group, configuration, None, margins)];
    }
    let summaries = configuration.summaries.iter();
    summaries.map(|summary| row(group, configuration, Some(summary), margins)).collect()
}

fn row(
    group: &Group,
    configuration: &Configuration,
    summary: Option<&Summary>,
    margins: &Margins,
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
        summary.and_then(|summary| word(summary, margins)).unwrap_or_default(),
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

fn word(summary: &Summary, margins: &Margins) -> Option<String> {
    Some(summary.effect?.verdict.word(margins.of(&summary.name, &summary.unit)))
}

fn text(number: Option<f64>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}
