//! One table per group: a block of rows for each kernel, and for each mode the medians with their
//! ratios to the baseline, above their ranges.

use preemptlab_stats::{Configuration, Direction, Group, Summary};

use crate::{Cell, Column, Row, Table, Tone, label, number};

/// The statistics of a probe that an overview shows.
const STATISTICS: [&str; 4] = ["p50", "p99", "max", "bound"];

pub fn table(group: &Group) -> Table {
    let shown = shown(group);
    let title = [label::group(group), label::replicates(group)]
        .into_iter()
        .chain(spread(group).map(str::to_owned))
        .chain(label::baseline(group));
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
            if configuration.measured() > 1 {
                table.rows.push(Row::Cells(ranges(configuration, &shown)));
            }
        }
        for trouble in label::troubles(of_kernel) {
            table.span(Cell::new(format!("  {trouble}"), Tone::Faint));
        }
    }
    table
}

/// What the real-time probe would have seen at worst, had it been due at every instant.
const BOUND: &str = "wakeup.bound";

/// The metrics that an overview shows: of each probe the statistics that tell configurations
/// apart, and everything that is no probe's. The bound stands beside what the real-time probe saw.
fn shown(group: &Group) -> Vec<&str> {
    let tells =
        |metric: &&str| probe(metric).is_none_or(|(_, statistic)| STATISTICS.contains(&statistic));
    let mut shown: Vec<&str> = group.metrics().into_iter().filter(tells).collect();
    let place = |name| shown.iter().position(|metric| *metric == name);
    if let (Some(p99), Some(max), Some(bound)) =
        (place("wakeup.fifo.p99"), place("wakeup.fifo.max"), place(BOUND))
        && p99 < max
        && max < bound
    {
        shown[max + 1..=bound].rotate_right(1);
        // There is room for so many columns, and beside the bound this one tells least.
        shown.remove(p99);
    }
    shown
}

/// The probe and the statistic of a metric such as `wakeup.fifo.p99.9`.
fn probe(metric: &str) -> Option<(&str, &str)> {
    if metric == BOUND {
        return Some(("fifo", "bound"));
    }
    metric.strip_prefix("wakeup.")?.split_once('.')
}

fn column(group: &Group, metric: &str) -> Column {
    let unit = group
        .configurations
        .iter()
        .find_map(|configuration| configuration.summary(metric))
        .map_or("", |summary| summary.unit);
    match probe(metric) {
        Some((probe, statistic)) => {
            let group = format!("{} wakeup", probe.to_uppercase());
            Column::right(statistic).with_unit(unit).under(group)
        }
        None => Column::right(metric).with_unit(unit),
    }
}

/// What the second line of each configuration is, if there is one.
fn spread(group: &Group) -> Option<&'static str> {
    let replicated = group.configurations.iter().any(|each| each.measured() > 1);
    replicated.then_some("min–max below")
}

/// The median, and its ratio to the baseline's. The ratio takes the same width in every row, so
/// that digits of equal weight stand below each other.
fn value(group: &Group, configuration: &Configuration, metric: &str, width: usize) -> Cell {
    let Some(summary) = configuration.summary(metric) else { return Cell::default() };
    let median = number::number(summary.median);
    let ratio = ratio(group, configuration, metric).unwrap_or_default();
    let tone = match group.baseline().and_then(|baseline| baseline.summary(metric)) {
        Some(baseline) => tone(summary, baseline),
        None => Tone::Plain,
    };
    Cell::new(format!("{median}{ratio:<width$}"), tone)
}

/// The ratio as it follows a median; none for the baseline itself.
fn ratio(group: &Group, configuration: &Configuration, metric: &str) -> Option<String> {
    if std::ptr::eq(group.baseline()?, configuration) {
        return None;
    }
    Some(format!(" {}", number::ratio(configuration.summary(metric)?.ratio?)))
}

fn ratio_width(group: &Group, metric: &str) -> usize {
    let ratios = group.configurations.iter().filter_map(|each| ratio(group, each, metric));
    ratios.map(|ratio| ratio.chars().count()).max().unwrap_or(0)
}

/// The line below the medians.
fn ranges(configuration: &Configuration, shown: &[&str]) -> Vec<Cell> {
    let n = match configuration.measured() {
        measured if measured < configuration.replicates => format!("    n={measured}"),
        _ => String::new(),
    };
    let range = |metric: &&str| match configuration.summary(metric) {
        Some(summary) => Cell::new(number::range(summary.min, summary.max), Tone::Faint),
        None => Cell::default(),
    };
    [Cell::new(n, Tone::Faint)].into_iter().chain(shown.iter().map(range)).collect()
}

/// A difference is one when the ranges of both do not touch; a single replicate has no range.
fn tone(summary: &Summary, baseline: &Summary) -> Tone {
    if summary.n() < 2 || baseline.n() < 2 {
        return Tone::Plain;
    }
    let (below, above) = (summary.max < baseline.min, summary.min > baseline.max);
    match summary.direction {
        Direction::Lower if below => Tone::Better,
        Direction::Lower if above => Tone::Worse,
        Direction::Higher if above => Tone::Better,
        Direction::Higher if below => Tone::Worse,
        _ => Tone::Plain,
    }
}
