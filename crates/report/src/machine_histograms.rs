//! Histograms of machines beside a comparison or a recommendation.

use preemptlab_model::{Distribution, Statistic, number, plain};
use preemptlab_stats::{
    Comparison, Constraint, Limit, MachineHistogram, MachineLatency, MachineValue,
};

use crate::{Cell, Column, Table, Tone, View};

/// The title above a table of them.
const TITLE: &str = "Measured on machines with clocks of their own, one run each";

/// Returns a table for each unit; details have a row for each thread or CPU, too.
pub fn tables(comparison: &Comparison, view: View) -> Vec<Table> {
    let histograms = &comparison.histograms;
    let of_unit = |unit: &str| {
        let mut table = Table::new(format!("{TITLE}; latencies in {unit}"), columns());
        for of in histograms.iter().filter(|of| of.unit == unit) {
            let file = Cell::new(format!("{} ({})", of.file, of.tool), Tone::Strong);
            table.span(file);
            let shown = of.latencies.iter();
            let shown = shown.filter(|of| view == View::Details || of.only.is_none());
            shown.for_each(|of| table.row(row(of)));
        }
        (!table.rows.is_empty()).then_some(table)
    };
    ["us", "ns"].into_iter().filter_map(of_unit).collect()
}

fn columns() -> Vec<Column> {
    let numbers = ["samples", "min", "avg", "p50", "p99", "p99.9", "max"];
    [Column::left("latency")].into_iter().chain(numbers.map(Column::right)).collect()
}

fn row(of: &MachineLatency) -> Vec<Cell> {
    let name = match &of.only {
        None => format!("  {}", of.of),
        Some(only) => format!("    {only}"),
    };
    let mut cells = vec![Cell::from(name), Cell::from(grouped(of.samples))];
    cells.push(value(of.min));
    cells.push(number::number(of.avg).into());
    cells.extend([of.p50, of.p99, of.p99_9, of.max].map(value));
    cells
}

fn value(of: MachineValue) -> Cell {
    words(of).into()
}

fn words(MachineValue { value, is_above }: MachineValue) -> String {
    let above = if is_above { "above " } else { "" };
    format!("{above}{}", grouped(value))
}

/// Returns a whole number with all its digits: `1,199,998`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Explains such times, and that nothing is decided from them; `None` without any.
pub fn caption(comparison: &Comparison) -> Option<String> {
    let is_beside = !comparison.groups.is_empty();
    let beside = if is_beside {
        " Its microseconds and those of a recording are of different clocks: compare their causes and \
         orders, not their sizes."
    } else {
        ""
    };
    (!comparison.histograms.is_empty()).then(|| {
        format!(
            "Histograms of machines are of other processors, clocks and loads than any recording. Each is \
             one run: it has no spread, and nothing is decided from it.{beside}"
        )
    })
}

/// Says of each machine's histogram how it stands to a constraint; nothing where it does not measure that.
pub fn beside(constraint: &Constraint, histograms: &[MachineHistogram]) -> Vec<String> {
    let Limit::Value(limit) = constraint.limit else { return Vec::new() };
    let is_upper = constraint.comparator.is_upper();
    let statistic = match constraint.metric.name.statistic() {
        Some((Distribution::Bound, statistic)) if is_upper => statistic,
        Some((Distribution::Probe(probe), statistic)) if is_upper && probe.is_woken() => statistic,
        _ => return Vec::new(),
    };
    let mut said = Vec::new();
    for file in histograms {
        let wakeups = file.latencies.iter().filter(|it| it.is_wakeup && it.only.is_none());
        let values = wakeups.filter_map(|it| Some((it, of_statistic(it, statistic)?)));
        said.extend(values.map(|(it, value)| against(constraint, limit, file, it, value)));
    }
    said
}

fn of_statistic(of: &MachineLatency, statistic: Statistic) -> Option<MachineValue> {
    match statistic {
        Statistic::Min => Some(of.min),
        Statistic::Quantile(50_000) => Some(of.p50),
        Statistic::Quantile(99_000) => Some(of.p99),
        Statistic::Quantile(99_900) => Some(of.p99_9),
        Statistic::Max => Some(of.max),
        Statistic::Avg | Statistic::Quantile(_) | Statistic::Omitted => None,
    }
}

fn against(
    constraint: &Constraint,
    limit: f64,
    file: &MachineHistogram,
    of: &MachineLatency,
    found: MachineValue,
) -> String {
    let value = if file.unit == "ns" { found.value as f64 / 1e3 } else { found.value as f64 };
    let is_beyond = match found.is_above {
        true => value >= limit,
        false => !constraint.comparator.holds(value, limit),
    };
    let name = plain::line(&file.file);
    let statistic = constraint.metric.name.statistic().map(|(_, statistic)| statistic.to_string());
    let required = format!(
        "{} {} {} us",
        constraint.metric.name,
        constraint.comparator.as_str(),
        number::number(limit)
    );
    let seen = format!(
        "{name}: the {} of {} samples of {} was {} {}",
        statistic.unwrap_or_default(),
        grouped(of.samples),
        of.of,
        words(found),
        file.unit
    );
    match (is_beyond, found.is_above) {
        (true, _) => format!("{seen}, which breaks `{required}` on that machine."),
        (false, true) => format!("{seen}, which does not tell whether `{required}`."),
        (false, false) => {
            format!(
                "{seen}, within `{required}` in that one run, which does not show that it holds."
            )
        }
    }
}
