//! One table per metric: every statistic of every configuration.

use preemptlab_model::{MetricName, number};
use preemptlab_stats::{Configuration, Group, Margins, Summary};

use crate::{Cell, Column, Row, Table, Tone, extremes, label, verdict};

pub fn tables(group: &Group, margins: &Margins) -> Vec<Table> {
    let metrics = group.metrics();
    let mut tables: Vec<Table> =
        metrics.iter().map(|metric| table(group, metric, margins)).collect();
    let troubles = label::by_kernel(group).flat_map(|of_kernel| {
        let kernel = label::kernel(&of_kernel[0]);
        label::troubles(of_kernel).into_iter().map(move |trouble| format!("{kernel} {trouble}"))
    });
    // Said once per group, not once per metric.
    match tables.last_mut() {
        Some(last) => last.notes.extend(troubles),
        None => tables.push(Table {
            title: label::group(group),
            notes: troubles.collect(),
            ..Table::default()
        }),
    }
    tables
}

fn table(group: &Group, metric: &MetricName, margins: &Margins) -> Table {
    let of_metric =
        group.configurations.iter().filter_map(|each| Some((each, each.summary(metric)?)));
    let measured: Vec<_> = of_metric.collect();
    let what = measured.first().map(|(_, summary)| {
        format!("{metric}, {}, {} is better", summary.unit, summary.direction.as_str())
    });
    let title = [Some(label::group(group)), what, label::baseline(group)];
    let mut table = Table::new(
        title.into_iter().flatten().collect::<Vec<_>>().join("; "),
        [
            Column::left("kernel"),
            Column::left("mode"),
            Column::right("n"),
            Column::right("median"),
            Column::right("95%"),
            Column::right("min"),
            Column::right("max"),
            Column::right("ratio"),
            Column::right("95%"),
            Column::left("verdict"),
        ],
    );
    for (configuration, summary) in measured {
        table.rows.push(Row::Cells(row(group, configuration, summary, margins)));
    }
    table.notes = extremes::notes(group, metric);
    table
}

fn row(
    group: &Group,
    configuration: &Configuration,
    summary: &Summary,
    margins: &Margins,
) -> Vec<Cell> {
    vec![
        label::kernel(configuration).into(),
        label::mode(configuration).into(),
        summary.n.to_string().into(),
        number::number(summary.median).into(),
        label::interval(summary.interval).into(),
        Cell::new(number::number(summary.min), Tone::Faint),
        Cell::new(number::number(summary.max), Tone::Faint),
        summary.ratio().map(number::ratio).unwrap_or_default().into(),
        label::ratio_interval(summary).into(),
        verdict::words(group, configuration, summary, margins),
    ]
}
