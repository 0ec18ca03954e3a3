//! Tables of the same configurations in two kinds of time.

use preemptlab_model::number;
use preemptlab_stats::{Accord, Agreement, Comparison, Effect, Interval, Shared};

use crate::{Cell, Column, Table, Tone, label};

/// Returns one table per workload, number of CPUs and pair of kinds of time; none where all time is of
/// one kind.
pub fn tables(comparison: &Comparison) -> Vec<Table> {
    comparison.agreements.iter().map(table).collect()
}

fn table(agreement: &Agreement) -> Table {
    let Agreement { workload, cpus, backends, profiles, baseline, shared } = agreement;
    let is_of_costs = backends[0] == backends[1];
    let [one, other] = [0, 1].map(|at| match &profiles[at] {
        Some(profile) => profile.to_string(),
        None if is_of_costs => "instructions".to_owned(),
        None => backends[at].to_string(),
    });
    let (one, other) = (one.as_str(), other.as_str());
    let names = || shared.iter().map(|each| &each.metric);
    let shown: Vec<&Shared> =
        shared.iter().filter(|each| each.metric.is_headline(names())).collect();
    let has_kernels = shown.iter().any(|each| each.kernels[0] != baseline.kernel);
    let name = match has_kernels {
        true => baseline.to_string(),
        false => format!("{} {}", baseline.preempt, baseline.settings).trim_end().to_owned(),
    };
    let title = format!(
        "{}: what {one} and {other} say; × is the ratio to {name}, each in its own time",
        label::place(workload, *cpus),
    );
    let mut table = Table::new(
        title,
        [
            Column::left("mode"),
            Column::left("metric"),
            Column::right(one),
            Column::right("95%"),
            Column::right(other),
            Column::right("95%"),
            Column::left("direction"),
        ],
    );
    for of_kernels in shown.chunk_by(|left, right| left.kernels == right.kernels) {
        if has_kernels {
            table.span(Cell::new(kernels(of_kernels[0]), Tone::Strong));
        }
        for each in of_kernels {
            let [of_one, of_other] = each.effects;
            let tone = match each.accord {
                Accord::Agree => Tone::Better,
                Accord::Disagree => Tone::Worse,
                Accord::Open => Tone::Faint,
            };
            let indent = if has_kernels { "  " } else { "" };
            table.row([
                Cell::from(format!("{indent}{} {}", each.preempt, each.settings).trim_end()),
                Cell::from(each.metric.to_string()),
                ratio(&of_one),
                interval(&of_one),
                ratio(&of_other),
                interval(&of_other),
                Cell::new(each.accord.as_str(), tone),
            ]);
        }
    }
    let count = |accord| shared.iter().filter(|each| each.accord == accord).count();
    table.notes.push(format!(
        "Of {} ratios that both have, {} agree in their direction, {} disagree, and of {} one of both \
         cannot tell (its interval holds 1). Sizes are not expected to agree.",
        shared.len(),
        count(Accord::Agree),
        count(Accord::Disagree),
        count(Accord::Open)
    ));
    if is_of_costs && count(Accord::Disagree) > 0 {
        let note = "What disagrees depends on the cost model: conclude nothing from it.";
        table.notes.push(note.to_owned());
    }
    table
}

/// Returns the kernel, or both where the kinds of time have different ones.
fn kernels(Shared { kernels: [one, other], .. }: &Shared) -> String {
    if one == other { one.to_string() } else { format!("{one} and {other}") }
}

fn ratio(effect: &Effect) -> Cell {
    effect.ratio.map(number::ratio).unwrap_or_default().into()
}

fn interval(effect: &Effect) -> Cell {
    let Some(Interval { low, high }) = effect.interval else { return Cell::default() };
    Cell::new(number::ratio_range(low, high), Tone::Faint)
}
