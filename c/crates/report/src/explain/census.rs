//! The census of `cond_resched()` as sentences and a table.

use preemptlab_analysis::{
    explain::{Census, CensusConfiguration, CensusSite},
    in_us,
};
use preemptlab_model::plain;

use crate::{Cell, Column, Table, Terminal, Tone};

/// Number of call sites of a configuration that tables show.
const SHOWN: usize = 16;

/// Shows a census for a terminal: the sentences and the sites.
pub fn census_terminal(census: &Census, terminal: Terminal) -> String {
    let sentences = sentences(census).map(|said| terminal.note(&said));
    format!("{}\n{}", sentences.collect::<String>(), census_table(census).terminal(terminal))
}

/// Shows a census in Markdown: the sentences and the sites.
pub fn census_markdown(census: &Census) -> String {
    let sentences = sentences(census).map(|said| format!("- {}\n", plain::markdown(&said)));
    format!("{}\n{}", sentences.collect::<String>(), census_table(census).markdown())
}

/// Returns the sentences of a census, one for each configuration.
fn sentences(census: &Census) -> impl Iterator<Item = String> {
    census.configurations.iter().map(CensusConfiguration::sentence)
}

/// Returns the sites of a census as a table: of each configuration the most valuable ones.
pub fn census_table(census: &Census) -> Table {
    let columns = [
        Column::left("call site"),
        Column::right("calls"),
        Column::right("asked"),
        Column::right("ends").with_unit("us"),
        Column::right("without it").with_unit("us"),
    ];
    let mut table = Table::new("Call sites of cond_resched()", columns);
    for configuration in census.configurations.iter().filter(|it| !it.sites.is_empty()) {
        table.span(Cell::new(configuration.configuration.as_str(), Tone::Strong));
        for CensusSite { site, did } in configuration.sites.iter().take(SHOWN) {
            let matters = did.without_ns_max > configuration.longest_ns;
            let tone = if matters { Tone::Worse } else { Tone::Plain };
            table.row([
                Cell::from(format!("  {site}")),
                Cell::from(did.calls.to_string()),
                Cell::from(did.switches.to_string()),
                Cell::from(in_us(did.ended_ns_max)),
                Cell::new(in_us(did.without_ns_max), tone),
            ]);
        }
        if let Some(others) = configuration.sites.get(SHOWN..).filter(|it| !it.is_empty()) {
            let less = others.iter().map(|it| it.did.without_ns_max).max().unwrap_or(0);
            let said = format!("{} more, at most {} us without one", others.len(), in_us(less));
            table.span(Cell::new(format!("  {said}"), Tone::Faint));
        }
    }
    table.notes.push(
        "calls: with neither preemption nor interrupts off, in the windows of all seeds. asked: calls \
         at which a task waited for the CPU, so that the scheduler ran. ends: the longest stretch that \
         a call ended. without it: the longest stretch around its calls if this one site were not \
         there. A site is the place to which the call returns, as in the kernel's backtraces; under \
         voluntary those of might_sleep() are among them."
            .to_owned(),
    );
    table
}

#[cfg(test)]
mod tests {
    use preemptlab_trace::CallSite;

    use super::*;

    #[test]
    fn a_long_list_is_cut() {
        let did = || CallSite { calls: 2, switches: 1, ended_ns_max: 1_000, without_ns_max: 5_000 };
        let site = |number| CensusSite { site: format!("f{number}+0x1"), did: did() };
        let configuration = CensusConfiguration {
            configuration: "debian:6.12 none processes on 1 CPU".to_owned(),
            seeds: 5,
            longest_ns: 10_000,
            longest_ns_without_all: 40_000,
            sites: (0..20).map(site).collect(),
        };
        let census = Census { format: 1, configurations: vec![configuration] };
        let table = census_table(&census);
        assert_eq!(table.rows.len(), 1 + SHOWN + 1);
        assert!(census_markdown(&census).contains("4 more, at most 5.0 us without one"));
    }
}
