//! How well machines are predicted, as tables.

use preemptlab_model::{counted, number, plain};
use preemptlab_stats::{
    Fidelity, FidelityMachine, FidelityRelation, FidelitySource, FidelityWakeups,
};

use crate::{Cell, Column, Table, Terminal, Tone, View};

/// Statistics of wakeups, in the order of [`statistics`].
const STATISTICS: [&str; 3] = ["p50", "p99", "maximum"];

/// Renders the fidelity of predictions for a terminal; details have a table of each machine's workloads.
pub fn fidelity_terminal(fidelity: &Fidelity, view: View, terminal: Terminal) -> String {
    let tables = tables(fidelity, view);
    tables.iter().map(|table| table.terminal(terminal)).collect::<Vec<_>>().join("\n")
}

/// Renders the fidelity of predictions in GitHub's Markdown; details have a table of each machine's workloads.
pub fn fidelity_markdown(fidelity: &Fidelity, view: View) -> String {
    tables(fidelity, view).iter().map(Table::markdown).collect::<Vec<_>>().join("\n")
}

fn tables(fidelity: &Fidelity, view: View) -> Vec<Table> {
    let mut tables = vec![errors(fidelity)];
    tables.extend(wakeups(fidelity));
    if view == View::Details {
        tables.extend(machines(fidelity).map(|at| workloads(fidelity, at)));
    }
    tables
}

/// Lists the indices of the machines.
fn machines(fidelity: &Fidelity) -> impl Iterator<Item = usize> {
    let sources = fidelity.sources.iter().enumerate();
    sources.filter(|(_, source)| source.machine.is_some()).map(|(at, _)| at)
}

/// Lists what predicts a machine.
fn predicting(fidelity: &Fidelity, machine: usize) -> impl Iterator<Item = &FidelityRelation> {
    fidelity.relations.iter().filter(move |relation| relation.machine == machine)
}

/// Returns the errors of each machine by each source.
fn errors(fidelity: &Fidelity) -> Table {
    let mut table = Table::new(
        format!("{}: how well the throughput of machines is predicted", fidelity.experiment),
        [
            Column::left("predicted by"),
            Column::right("mean").under("pairs"),
            Column::right("largest").under("pairs"),
            Column::right("factor").under("best"),
            Column::right("mean").under("with it"),
            Column::right("largest").under("with it"),
            Column::right("alone").under("within 20%"),
            Column::right("with it").under("within 20%"),
            Column::right("alone").under("within 25%"),
            Column::right("with it").under("within 25%"),
        ],
    );
    for machine in machines(fidelity) {
        table.span(Cell::new(described(&fidelity.sources[machine]), Tone::Strong));
        for relation in predicting(fidelity, machine) {
            let FidelityRelation { pairs, workloads, with_factor, .. } = relation;
            let name = fidelity.sources[relation.by].title();
            let errors =
                [pairs.mean, pairs.max, relation.factor, with_factor.mean, with_factor.max];
            let counts = [
                workloads.within_20_percent,
                with_factor.within_20_percent,
                workloads.within_25_percent,
                with_factor.within_25_percent,
            ];
            let of = relation.ratios.len();
            let errors = errors.map(number::ratio).into_iter();
            let counts = counts.into_iter().map(|count| format!("{count} of {of}"));
            table.row([name].into_iter().chain(errors).chain(counts));
        }
    }
    table.notes.push(
        "The error of a workload is the larger of prediction and machine over the smaller, that of a pair the same of \
         the ratio of two workloads; means are geometric. The best factor is one constant for all workloads: the \
         geometric mean of machine over prediction."
            .to_owned(),
    );
    table
}

/// Says which machine it is.
fn described(source: &FidelitySource) -> String {
    let Some(FidelityMachine { description, cpus, release, hz, preempt, replicates, .. }) =
        &source.machine
    else {
        return source.name.clone();
    };
    let hz = hz.map(|hz| format!(" HZ={hz}")).unwrap_or_default();
    format!(
        "{}: {description} ({release} {preempt}{hz}), {}, {}",
        source.name,
        counted(*cpus as usize, "CPU"),
        counted(*replicates as usize, "replicate")
    )
}

/// Returns the latencies of each machine that has them, and the shares that each source predicts; `None` without
/// any.
fn wakeups(fidelity: &Fidelity) -> Option<Table> {
    let columns = STATISTICS.map(Column::right);
    let columns = [Column::left("FIFO wakeups")].into_iter().chain(columns);
    let title =
        "FIFO wakeups beside loads: of a machine in us, and the share of it that is predicted";
    let mut table = Table::new(title, columns);
    for machine in machines(fidelity) {
        let source = &fidelity.sources[machine];
        let own = source.workloads.iter().filter_map(|of| of.wakeup_fifo_us.as_ref());
        let own: Vec<&FidelityWakeups> = own.collect();
        if own.is_empty() {
            continue;
        }
        let name = format!("{}, us beside {}", source.title(), counted(own.len(), "load"));
        table.row([Cell::new(name, Tone::Strong)].into_iter().chain(ranges(&own, number::range)));
        for relation in predicting(fidelity, machine) {
            let shares = relation.ratios.iter().filter_map(|ratio| ratio.wakeup_fifo.as_ref());
            let shares: Vec<&FidelityWakeups> = shares.collect();
            if !shares.is_empty() {
                let name = Cell::from(format!("  {}", fidelity.sources[relation.by].title()));
                let shares =
                    ranges(&shares, |low, high| format!("×{}", number::ratio_range(low, high)));
                table.row([name].into_iter().chain(shares));
            }
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

/// Returns the range of each statistic.
fn ranges(of: &[&FidelityWakeups], words: impl Fn(f64, f64) -> String) -> [Cell; 3] {
    let range = |at: usize| {
        let values = of.iter().map(|wakeups| statistics(wakeups)[at]);
        values.fold((f64::INFINITY, 0.0), |(low, high), value| (value.min(low), value.max(high)))
    };
    [0, 1, 2].map(range).map(|(low, high)| words(low, high).into())
}

fn statistics(FidelityWakeups { p50, p99, max }: &FidelityWakeups) -> [f64; 3] {
    [*p50, *p99, *max]
}

/// Returns the workloads of a machine, and the share of each that is predicted.
fn workloads(fidelity: &Fidelity, machine: usize) -> Table {
    let source = &fidelity.sources[machine];
    let relations: Vec<&FidelityRelation> = predicting(fidelity, machine).collect();
    let names = relations.iter().map(|relation| fidelity.sources[relation.by].title());
    let columns = [Column::left("workload"), Column::right("throughput").with_unit("per s")];
    let columns = columns.into_iter().chain(names.map(Column::right));
    let title = format!("{}, and the share of its throughput that is predicted", source.title());
    let mut table = Table::new(title, columns);
    for workload in &source.workloads {
        let share = |relation: &&FidelityRelation| {
            let mut ratios = relation.ratios.iter();
            let of = ratios.find(|ratio| ratio.workload == workload.workload);
            of.map(|of| number::ratio(of.throughput)).unwrap_or_default()
        };
        let own = [
            plain::line(&workload.workload).into_owned(),
            number::number(workload.throughput_per_s),
        ];
        table.row(own.into_iter().chain(relations.iter().map(share)));
    }
    table
}
