//! The census of `cond_resched()`: the use of each of its call sites, in all cells of a configuration.

use preemptlab_experiment::Recording;
use preemptlab_model::{MetricName, ProbeProcess, counted};
use preemptlab_trace::{CallSite, Census as OfCells, census, opportunities, window};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    choice::{Chosen, asked_for, completed, configurations, is_named},
    traced::{Traced, target},
};
use crate::{Error, Result, moment::in_us};

/// Number of call sites that a sentence names.
const NAMED: usize = 3;

/// The version of [`Census`] as a document.
const FORMAT: u32 = 1;

/// Effects of the call sites of `cond_resched()` in the cells of recordings' configurations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Census {
    /// Version of the document.
    pub format: u32,
    /// Census of each configuration.
    pub configurations: Vec<CensusConfiguration>,
}

/// Call sites and what they do in the cells of one configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CensusConfiguration {
    /// Name of the configuration.
    pub configuration: String,
    /// Number of its cells with a trace.
    pub seeds: usize,
    /// The longest stretch in which the scheduler could not switch to a real-time task, in nanoseconds.
    pub longest_ns: u64,
    /// The longest without any of the sites, in nanoseconds.
    pub longest_ns_without_all: u64,
    /// The most valuable first.
    pub sites: Vec<CensusSite>,
}

/// A call site and what its calls do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CensusSite {
    /// Where the call returns to, in the form of the kernel's own backtraces: `function+offset`.
    pub site: String,
    /// Effects of its calls in all cells.
    #[serde(flatten)]
    pub did: CallSite,
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
        let configurations = configurations(cells)
            .into_iter()
            .map(|cells| CensusConfiguration::new(recording, &cells));
        Ok(Self { format: FORMAT, configurations: configurations.collect::<Result<_>>()? })
    }
}

impl CensusConfiguration {
    fn new(recording: &Recording, cells: &[Chosen]) -> Result<Self> {
        let first = cells.first().ok_or_else(|| Error::unusable("there is no cell"))?;
        // Replicates are forks of one boot.
        let kernel = Traced::new(recording, first)?.kernel;
        let mut all = OfCells::default();
        for cell in cells {
            let opportunities = opportunities(&cell.inputs.job, &cell.report);
            let probe = ProbeProcess::of(&cell.inputs.job);
            let probe = probe.as_ref().map(|probe| target(probe, false));
            let stream = Traced::stream(recording, cell)?;
            let of_cell = census(
                stream,
                &kernel,
                probe,
                opportunities,
                window(&cell.inputs.job, &cell.report),
            )
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
            CensusSite { site: site.unwrap_or_else(|| format!("{address:#x}")), did }
        });
        let mut sites: Vec<CensusSite> = named.collect();
        let worth = |site: &CensusSite| (site.did.without_ns_max, site.did.ended_ns_max);
        sites.sort_by(|one, other| worth(other).cmp(&worth(one)).then(one.site.cmp(&other.site)));
        let configuration = first.configuration();
        Ok(Self { configuration, seeds: cells.len(), longest_ns, longest_ns_without_all, sites })
    }

    /// Says in a sentence which sites matter for the longest stretch.
    pub fn sentence(&self) -> String {
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

    fn configuration(sites: &[(&str, u64)]) -> CensusConfiguration {
        let site = |(name, without_ns_max): &(&str, u64)| {
            let did = CallSite {
                calls: 2,
                switches: 1,
                ended_ns_max: 1_000,
                without_ns_max: *without_ns_max,
            };
            CensusSite { site: (*name).to_owned(), did }
        };
        CensusConfiguration {
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
}
