//! One table per group: a block of rows for each kernel. Each mode has its medians with their
//! ratios to the baseline, below them the intervals of the ratios, below these the verdicts.

use preemptlab_model::{MetricName, number};
use preemptlab_stats::{Configuration, Group, Margins, Samples, Summary};

use crate::{Cell, Column, Row, Table, Tone, label, verdict};

pub fn table(group: &Group, margins: &Margins) -> Table {
    of_metrics(group, shown(group), margins)
}

/// Returns the table with these metrics.
pub fn of_metrics(group: &Group, shown: Vec<&MetricName>, margins: &Margins) -> Table {
    let title = [label::group(group), label::replicates(group)]
        .into_iter()
        .chain(label::baseline(group))
        .chain(below(group).map(str::to_owned));
    let columns = shown.iter().map(|metric| column(group, metric));
    let mut table = Table::new(
        title.collect::<Vec<_>>().join("; "),
        [Column::left("mode")].into_iter().chain(columns),
    );
    let widths: Vec<usize> = shown.iter().map(|metric| ratio_width(group, metric)).collect();
    for of_kernel in label::by_kernel(group) {
        table.span(Cell::new(label::kernel(&of_kernel[0]), Tone::Strong));
        for configuration in of_kernel.iter().filter(|each| each.measured() > 0) {
            let mut cells = vec![Cell::from(format!("  {}", label::mode(configuration)))];
            let columns = shown.iter().zip(&widths);
            cells
                .extend(columns.map(|(metric, width)| value(group, configuration, metric, *width)));
            table.rows.push(Row::Cells(cells));
            table.rows.extend(further_rows(group, configuration, &shown, margins));
            if let Some(worst) = &configuration.worst {
                table.span(Cell::new(
                    format!("    {}", label::worst(configuration, worst)),
                    Tone::Faint,
                ));
            }
        }
        for trouble in label::troubles(of_kernel) {
            table.span(Cell::new(format!("  {trouble}"), Tone::Faint));
        }
    }
    table
}

/// Returns the metrics of an overview: of each latency the statistics that tell configurations
/// apart, and the workload's main numbers. Metrics of every instant precede those of samples.
fn shown(group: &Group) -> Vec<&MetricName> {
    let headline = group.metrics.iter().filter(|info| info.headline).map(|info| &info.name);
    let is_of_instants = |name: &&MetricName| MetricName::BOUNDS.contains(name);
    let (instants, others): (Vec<_>, Vec<_>) = headline.partition(is_of_instants);
    instants.into_iter().chain(others).collect()
}

fn column(group: &Group, metric: &MetricName) -> Column {
    let info = group.metrics.iter().find(|info| info.name == *metric);
    let unit = info.map_or("", |info| &*info.unit);
    match metric.of_what() {
        Some((of, statistic)) => Column::right(statistic).with_unit(unit).under(of),
        None => Column::right(metric.to_string()).with_unit(unit),
    }
}

/// Returns the meaning of the second line of each configuration, if there is one.
fn below(group: &Group) -> Option<&'static str> {
    let summaries = group.configurations.iter().flat_map(|each| &each.summaries);
    let mut effects = summaries.filter_map(|summary| summary.effect);
    effects.any(|effect| effect.interval.is_some()).then_some("below it its 95% interval")
}

/// Returns the median, and its ratio to the baseline's. The ratio takes the same width in every
/// row, so that digits of equal weight stand below each other.
fn value(group: &Group, configuration: &Configuration, metric: &MetricName, width: usize) -> Cell {
    let Some(summary) = configuration.summary(metric) else {
        return match configuration.samples(metric).is_some_and(Samples::are_none) {
            true => Cell::new("no events", Tone::Faint),
            false => Cell::default(),
        };
    };
    let median = number::number(summary.median);
    let ratio = ratio(group, configuration, metric).unwrap_or_default();
    let mark = if is_open(group, summary) { OPEN } else { "" };
    let tone = if mark.is_empty() { verdict::tone(summary) } else { Tone::Faint };
    Cell::new(format!("{median}{:<width$}", format!("{ratio}{mark}")), tone)
}

/// Mark of a ratio that is not decided, for those who see no colours.
const OPEN: &str = "?";

/// Returns whether a comparison with the baseline has enough replicates and is not decided.
fn is_open(group: &Group, summary: &Summary) -> bool {
    verdict::is_open(summary, baseline(group, summary))
}

fn baseline<'a>(group: &'a Group, summary: &Summary) -> Option<&'a Summary> {
    group.baseline()?.summary(&summary.name)
}

/// Returns the ratio as it follows a median; none for the baseline itself.
fn ratio(group: &Group, configuration: &Configuration, metric: &MetricName) -> Option<String> {
    if verdict::is_baseline(group, configuration) {
        return None;
    }
    Some(format!(" {}", number::ratio(configuration.summary(metric)?.ratio()?)))
}

fn ratio_width(group: &Group, metric: &MetricName) -> usize {
    let ratios = group.configurations.iter().filter_map(|each| {
        let is_open = is_open(group, each.summary(metric)?);
        Some(ratio(group, each, metric)?.chars().count() + usize::from(is_open))
    });
    ratios.max().unwrap_or(0)
}

/// Returns the lines below the medians, intervals and words, without empty ones.
fn further_rows(
    group: &Group,
    configuration: &Configuration,
    shown: &[&MetricName],
    margins: &Margins,
) -> Vec<Row> {
    let n = match configuration.measured() {
        measured if measured < configuration.replicates => format!("    n={measured}"),
        _ => String::new(),
    };
    let summaries = || shown.iter().map(|metric| configuration.summary(metric));
    let intervals = summaries().map(|summary| match summary {
        Some(summary) => Cell::new(label::ratio_interval(summary), Tone::Faint),
        None => Cell::default(),
    });
    let words = summaries().map(|summary| match summary {
        Some(summary) if is_open(group, summary) => Cell::default(),
        Some(summary) => verdict::word(summary, baseline(group, summary), margins),
        None => Cell::default(),
    });
    let rows = [
        [Cell::new(n, Tone::Faint)].into_iter().chain(intervals).collect::<Vec<_>>(),
        [Cell::default()].into_iter().chain(words).collect(),
    ];
    let is_said = |cells: &Vec<Cell>| cells.iter().any(|cell| !cell.text().is_empty());
    rows.into_iter().filter(is_said).map(Row::More).collect()
}
