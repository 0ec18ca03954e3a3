//! The census of `cond_resched()`: what each of its call sites is good for, in all cells of a configuration.

use preemptlab_experiment::Recording;
use preemptlab_model::{MetricName, counted, plain};
use preemptlab_report::{Cell, Column, Table, Terminal, Tone};
use preemptlab_trace::{
    CallSite, Census as OfCells, Target, census, opportunities, target, window,
};
use serde::Serialize;

use super::{
    choice::{Chosen, asked_for, completed, configurations, is_named},
    traced::Traced,
};
use crate::{Error, Result, moment::in_us};

/// Number of call sites of a configuration that tables show.
const SHOWN: usize = 16;

/// Number of call sites that a sentence names.
const NAMED: usize = 3;

/// The version of [`Census`] as a document.
const FORMAT: u32 = 1;

/// What call sites of `cond_resched()` do in the cells of recordings' configurations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Census {
    format: u32,
    configurations: Vec<Configuration>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Configuration {
    configuration: String,
    seeds: usize,
    /// The longest stretch in which the scheduler could not switch to a real-time task, in nanoseconds.
    longest_ns: u64,
    /// The longest without any of the sites, in nanoseconds.
    longest_ns_without_all: u64,
    /// The most valuable first.
    sites: Vec<Site>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Site {
    /// Where the call returns to, in the form of the kernel's own backtraces: `function+offset`.
    site: String,
    #[serde(flatten)]
    did: CallSite,
}

impl Census {
    /// Takes the census of a recording's configurations; of those that a name means, if there is one.
    ///
    /// # Errors
    ///
    /// When there is none with a trace, a trace does not say where calls came from, or cannot be read.
    pub fn new(recording: &Recording, name: Option<&str>) -> Result<Self> {
        let path = recording.path().display();
        let mut cells = completed(recording, &MetricName::latest(false))?;
        cells.retain(|cell| name.is_none_or(|name| is_named(cell, name)));
        if cells.is_empty() {
            return Err(Error::Unusable(format!("{path} has no finished cell{}", asked_for(name))));
        }
        cells.retain(|cell| recording.explained().contains(cell.id));
        if cells.is_empty() {
            return Err(Error::Unusable(format!(
                "its cells have no traces: preemptlab run {path} --trace"
            )));
        }
        let configurations =
            configurations(cells).into_iter().map(|cells| Configuration::new(recording, &cells));
        Ok(Self { format: FORMAT, configurations: configurations.collect::<Result<_>>()? })
    }

    /// Returns what came of it, a sentence for each configuration.
    fn sentences(&self) -> Vec<String> {
        self.configurations.iter().map(Configuration::sentence).collect()
    }

    /// Shows the sentences and the sites, for a terminal.
    pub fn text(&self, terminal: Terminal) -> String {
        let sentences = self.sentences().into_iter().map(|said| terminal.note(&said));
        format!("{}\n{}", sentences.collect::<String>(), self.table().terminal(terminal))
    }

    /// Shows the sentences and the sites, as Markdown.
    pub fn markdown(&self) -> String {
        let sentences = self.sentences();
        let sentences = sentences.iter().map(|said| format!("- {}\n", plain::markdown(said)));
        format!("{}\n{}", sentences.collect::<String>(), self.table().markdown())
    }

    /// Returns the sites as a table: of each configuration the most valuable ones.
    pub fn table(&self) -> Table {
        let columns = [
            Column::left("call site"),
            Column::right("calls"),
            Column::right("asked"),
            Column::right("ends").with_unit("us"),
            Column::right("without it").with_unit("us"),
        ];
        let mut table = Table::new("Call sites of cond_resched()", columns);
        for configuration in self.configurations.iter().filter(|it| !it.sites.is_empty()) {
            table.span(Cell::new(configuration.configuration.as_str(), Tone::Strong));
            for Site { site, did } in configuration.sites.iter().take(SHOWN) {
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
}

impl Configuration {
    fn new(recording: &Recording, cells: &[Chosen]) -> Result<Self> {
        let first = cells.first().ok_or_else(|| Error::unusable("there is no cell"))?;
        // Replicates are forks of one boot.
        let kernel = Traced::new(recording, first)?.kernel;
        let mut all = OfCells::default();
        for cell in cells {
            let opportunities = opportunities(&cell.inputs.job, &cell.report);
            let comm = target(&cell.inputs.job);
            let probe = comm.as_deref().map(|comm| Target { comm, is_realtime: true });
            let stream = Traced::stream(recording, cell)?;
            let of_cell = census(stream, &kernel, probe, opportunities, window(&cell.report))
                .map_err(|error| recording.explained().unreadable(cell.id, error))?;
            all.add(of_cell);
        }
        if all.unknown > 0 {
            return Err(Error::Unusable(format!(
                "the traces of {} do not say where cond_resched() is called: an earlier version \
                 recorded them. Record them into another folder: preemptlab run EXPERIMENT --trace",
                recording.path().display()
            )));
        }
        let OfCells { sites, longest_ns, longest_ns_without_all, .. } = all;
        let named = sites.into_iter().map(|(address, did)| {
            let site = kernel.call_site(address);
            Site { site: site.unwrap_or_else(|| format!("{address:#x}")), did }
        });
        let mut sites: Vec<Site> = named.collect();
        let worth = |site: &Site| (site.did.without_ns_max, site.did.ended_ns_max);
        sites.sort_by(|one, other| worth(other).cmp(&worth(one)).then(one.site.cmp(&other.site)));
        let configuration = first.configuration();
        Ok(Self { configuration, seeds: cells.len(), longest_ns, longest_ns_without_all, sites })
    }

    fn sentence(&self) -> String {
        let Self { configuration, longest_ns, longest_ns_without_all, sites, .. } = self;
        let longest = in_us(*longest_ns);
        if sites.is_empty() {
            return format!(
                "{configuration}: no call of cond_resched() in {}; the longest stretch is {longest} us.",
                counted(self.seeds, "seed")
            );
        }
        let calls: u64 = sites.iter().map(|site| site.did.calls).sum();
        let asked: u64 = sites.iter().map(|site| site.did.switches).sum();
        let matter: Vec<_> =
            sites.iter().filter(|site| site.did.without_ns_max > *longest_ns).collect();
        let named: Vec<_> = matter
            .iter()
            .take(NAMED)
            .map(|site| format!("{} ({} us)", site.site, in_us(site.did.without_ns_max)))
            .collect();
        let alone = match matter.len() {
            0 => "None of them alone matters for it.".to_owned(),
            count if count <= NAMED => format!("Alone these matter for it: {}.", named.join(", ")),
            count => {
                format!("Alone {count} matter for it, most of all {}.", named.join(", "))
            }
        };
        format!(
            "{configuration}: {calls} calls from {} in {}, {asked} of them with a task that waited. The \
             longest stretch is {longest} us, and {} us without any of them. {alone}",
            counted(sites.len(), "place"),
            counted(self.seeds, "seed"),
            in_us(*longest_ns_without_all)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration(sites: &[(&str, u64)]) -> Configuration {
        let site = |(name, without_ns_max): &(&str, u64)| {
            let did = CallSite {
                calls: 2,
                switches: 1,
                ended_ns_max: 1_000,
                without_ns_max: *without_ns_max,
            };
            Site { site: (*name).to_owned(), did }
        };
        Configuration {
            configuration: "debian:6.12 none processes on 1 CPU".to_owned(),
            seeds: 5,
            longest_ns: 10_000,
            longest_ns_without_all: 40_000,
            sites: sites.iter().map(site).collect(),
        }
    }

    #[test]
    fn what_matters_is_named() {
        let said = configuration(&[("a+0x10", 30_000), ("b+0x20", 9_000)]).sentence();
        assert_eq!(
            said,
            "debian:6.12 none processes on 1 CPU: 4 calls from 2 places in 5 seeds, 2 of them with a task \
             that waited. The longest stretch is 10.0 us, and 40.0 us without any of them. Alone these \
             matter for it: a+0x10 (30.0 us)."
        );
        let four = [("a", 30_000), ("b", 20_000), ("c", 15_000), ("d", 12_000)];
        assert!(configuration(&four).sentence().ends_with(
            "Alone 4 matter for it, most of all a (30.0 us), b (20.0 us), c (15.0 us)."
        ));
        assert!(
            configuration(&[("a", 3)]).sentence().ends_with("None of them alone matters for it.")
        );
        let said = configuration(&[]).sentence();
        assert!(
            said.ends_with("no call of cond_resched() in 5 seeds; the longest stretch is 10.0 us.")
        );
    }

    #[test]
    fn a_long_list_is_cut() {
        let names: Vec<String> = (0..20).map(|number| format!("f{number}+0x1")).collect();
        let sites: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 5_000)).collect();
        let census = Census { format: FORMAT, configurations: vec![configuration(&sites)] };
        let table = census.table();
        assert_eq!(table.rows.len(), 1 + SHOWN + 1);
        assert!(census.markdown().contains("4 more, at most 5.0 us without one"));
    }
}
