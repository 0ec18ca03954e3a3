//! The atlas: the longest sections of whole recordings, by function, and the configurations that cut them.
//!
//! Sections are of two classes. Of class **P** is code that the kernel executes for a call and that none and
//! voluntary do not leave; full, lazy and PREEMPT_RT preempt it. Of class **N** is everything with preemption or
//! interrupts off, and softirqs: no preemption mode cuts it, PREEMPT_RT some of it.

use std::collections::BTreeMap;

use preemptlab_experiment::Recording;
use preemptlab_model::{Factors, MeasuredCell, NoResult, Section, counted, of_machine};
use preemptlab_stats::Baseline;
use preemptlab_trace::{LongSection, SectionKind};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Error, Result,
    cells::{Keep, Reading, for_each_cell},
    explain::{called, identified, means, no_cell},
    moment::in_us,
};

/// The version of [`Atlas`] as a document.
const FORMAT: u32 = 1;

/// A model ends a section if its own longest one in the function is at most this part of it.
const ENDED_PART: u64 = 4;

/// Length below which nobody asks who ends a section, in nanoseconds.
const ENDED_NS_MIN: u64 = 1_000;

/// Class of sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub enum Class {
    /// Preemptible code that none and voluntary do not leave.
    P,
    /// Preemption or interrupts off, or softirqs.
    N,
}

impl Class {
    /// The classes, in order.
    pub const BOTH: [Self; 2] = [Self::P, Self::N];

    /// Returns the class of a kind of sections.
    pub fn of(kind: SectionKind) -> Self {
        if kind == SectionKind::NotPreemptible { Self::P } else { Self::N }
    }

    /// Returns the letter of the class.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::P => "P",
            Self::N => "N",
        }
    }
}

/// The longest sections of recordings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Atlas {
    /// Version of the document.
    pub format: u32,
    /// The configurations in the order of their plans, which numbers refer to.
    pub configurations: Vec<AtlasConfiguration>,
    /// The loads, in the order of their plans.
    pub loads: Vec<AtlasLoad>,
    /// The sections, one row a kind and function, the longest first.
    pub sections: Vec<AtlasSection>,
}

/// A configuration of an atlas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AtlasConfiguration {
    /// Kernel, mode, settings and machine: `debian:6.12 none`.
    pub name: String,
    /// The kernel as the experiment names it.
    pub kernel: String,
    /// The preemption model: the mode, or `rt` of a kernel that is built with `PREEMPT_RT`.
    pub model: String,
    /// Number of virtual CPUs.
    pub cpus: u32,
    /// Number of cells with sections.
    pub cells: usize,
}

/// A load of an atlas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AtlasLoad {
    /// Name of the workload.
    pub name: String,
    /// The longest sections of its cells under each configuration; `null` where the plan has no cell.
    pub cells: Vec<Option<AtlasCell>>,
}

/// The longest sections of a load under a configuration, over all replicates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AtlasCell {
    /// The longest section of class P.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<Longest>,
    /// The longest section of class N.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n: Option<Longest>,
    /// Number of replicates with sections.
    pub measured: u32,
    /// The reason why a replicate has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl AtlasCell {
    /// Returns the longest section of a class.
    pub fn longest(&self, class: Class) -> Option<&Longest> {
        match class {
            Class::P => self.p.as_ref(),
            Class::N => self.n.as_ref(),
        }
    }
}

/// The longest section of a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Longest {
    /// Length, in nanoseconds.
    pub ns: u64,
    /// Number of the replicate.
    pub replicate: u32,
    /// Its function, who was in it and what it consists of.
    #[serde(flatten)]
    pub section: LongSection,
    /// Callers of the function, the nearest first.
    pub callers: Vec<String>,
}

/// The sections of a kind in a function, over all cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AtlasSection {
    /// Class of the section.
    pub class: Class,
    /// Kind of the section.
    pub kind: SectionKind,
    /// The function to blame, or the call that is not preempted.
    pub function: String,
    /// The function in which the longest one spent more time than in any other, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside: Option<String>,
    /// Callers of the longest, the nearest first.
    pub callers: Vec<String>,
    /// The task and the levels of the kernel at the longest one, where they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// Time that the longest one waited for another CPU, in nanoseconds.
    pub waited_ns: u64,
    /// Length of the longest, in nanoseconds.
    pub longest_ns: u64,
    /// The load of the longest.
    pub load: String,
    /// Number of the configuration of the longest.
    pub configuration: usize,
    /// Number of the replicate of the longest.
    pub replicate: u32,
    /// Number of sections, in all cells.
    pub count: u64,
    /// All of them together, in nanoseconds.
    pub total_ns: u64,
    /// Number of loads that have one.
    pub loads: usize,
    /// Length of the longest under each configuration, in nanoseconds; `null` where there is none.
    pub by_configuration: Vec<Option<u64>>,
    /// The models that end it: those that preempt more than the model of the longest, under which its load was
    /// executed on the same version of the kernel with as many CPUs, and under which the longest section that any
    /// load has in this function is a quarter at most.
    pub ended_by: Vec<String>,
}

/// Sections of a function, as they are collected.
struct Collected {
    section: AtlasSection,
    last_load: usize,
}

impl Atlas {
    /// Collects the sections of all cells of recordings; of those that words name, if there are any.
    ///
    /// # Errors
    ///
    /// When a cell cannot be read, or none has sections.
    pub fn new(recordings: &[&Recording], words: Option<&str>) -> Result<Self> {
        let mut atlas = Self {
            format: FORMAT,
            configurations: Vec::new(),
            loads: Vec::new(),
            sections: Vec::new(),
        };
        let mut collected: BTreeMap<(SectionKind, String), Collected> = BTreeMap::new();
        let mut others = Vec::new();
        for_each_cell(recordings, Keep::Sections, |at, reading| {
            let MeasuredCell { id, factors, result, .. } = &reading.cell;
            let label = recordings[at].manifest().experiment.factors.label(&factors.kernel);
            let called = called(label, factors);
            if words.is_none_or(|words| means(words, *id, &called)) {
                atlas.take_in(reading, &mut collected);
            } else if result.is_ok() {
                others.push(id.map_or_else(|| called.clone(), |id| identified(&called, id)));
            }
        })?;
        if let Some(words) = words
            && atlas.loads.is_empty()
            && !others.is_empty()
        {
            return Err(no_cell(words, &others));
        }
        if atlas.configurations.iter().all(|it| it.cells == 0) {
            let of = words.map(|words| format!(" of `{}`", words.escape_debug()));
            return Err(Error::Unusable(format!(
                "no cell{} has sections: {}",
                of.unwrap_or_default(),
                atlas
                    .reason()
                    .unwrap_or("they need a kernel with type information (BTF), and virtual time")
            )));
        }
        let configurations = atlas.configurations.len();
        atlas.loads.iter_mut().for_each(|load| load.cells.resize(configurations, None));
        atlas.sections = collected.into_values().map(|it| it.section).collect();
        for section in &mut atlas.sections {
            section.by_configuration.resize(configurations, None);
        }
        let ended: Vec<_> = atlas.sections.iter().map(|it| atlas.ended_by(it)).collect();
        for (section, ended) in atlas.sections.iter_mut().zip(ended) {
            section.ended_by = ended;
        }
        atlas.sections.sort_by(|a, b| {
            (b.longest_ns, a.kind, &a.function).cmp(&(a.longest_ns, b.kind, &b.function))
        });
        Ok(atlas)
    }

    /// Lists the sections of a class, the longest first.
    pub fn of_class(&self, class: Class) -> impl Iterator<Item = &AtlasSection> {
        self.sections.iter().filter(move |section| section.class == class)
    }

    /// Returns the number of cells with sections, and that of all.
    pub fn cells(&self) -> (usize, usize) {
        let cells = self.loads.iter().flat_map(|load| load.cells.iter().flatten());
        let (mut measured, mut all) = (0, 0);
        for cell in cells {
            all += 1;
            measured += usize::from(cell.measured > 0);
        }
        (measured, all)
    }

    /// Returns the models of the atlas, in the order of the configurations.
    pub fn models(&self) -> Vec<&str> {
        let mut models: Vec<&str> = Vec::new();
        for configuration in &self.configurations {
            if !models.contains(&configuration.model.as_str()) {
                models.push(&configuration.model);
            }
        }
        models
    }

    /// Says what the atlas shows, in sentences: how much it holds, the longest section of each class, and what
    /// the models leave.
    pub fn sentences(&self) -> Vec<String> {
        let (measured, all) = self.cells();
        let mut sentences = vec![format!(
            "{} under {}: {measured} of {all} cells have sections, in {}.",
            counted(self.loads.len(), "load"),
            counted(self.configurations.len(), "configuration"),
            counted(self.sections.len(), "function"),
        )];
        sentences.extend(Class::BOTH.iter().filter_map(|class| {
            let longest = self.of_class(*class).next()?;
            let AtlasConfiguration { name, cpus, .. } = &self.configurations[longest.configuration];
            let what = match class {
                Class::P => "call that is not preempted",
                Class::N => "section with something off",
            };
            let inside = longest.inside.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
            Some(format!(
                "The longest {what} (class {}) takes {} us: {}{inside}, beside {} under {name} on {}.",
                class.as_str(),
                in_us(longest.longest_ns),
                longest.function,
                longest.load,
                counted(*cpus as usize, "CPU"),
            ))
        }));
        for model in self.models() {
            let of_model = |place: usize| self.configurations[place].model == model;
            let longest = |class: Class| {
                let lengths = self.of_class(class).filter_map(|section| {
                    let each = section.by_configuration.iter().enumerate();
                    let of_it = each.filter(|(place, _)| of_model(*place));
                    Some((of_it.filter_map(|(_, ns)| *ns).max()?, section))
                });
                lengths.reduce(|a, b| if b.0 > a.0 { b } else { a })
            };
            let said: Vec<String> = Class::BOTH
                .iter()
                .filter_map(|class| longest(*class))
                .map(|(ns, section)| format!("{} us in {}", in_us(ns), section.function))
                .collect();
            if !said.is_empty() {
                sentences.push(format!(
                    "Under {model} at most {}.",
                    said.join(", and with something off ")
                ));
            }
        }
        sentences
    }

    /// Returns the first reason for which a cell has no sections.
    fn reason(&self) -> Option<&str> {
        let mut cells = self.loads.iter().flat_map(|load| load.cells.iter().flatten());
        cells.find_map(|cell| cell.reason.as_deref())
    }

    fn take_in(
        &mut self,
        Reading { cell, longest, .. }: Reading,
        collected: &mut BTreeMap<(SectionKind, String), Collected>,
    ) {
        let configuration = self.configuration(&cell);
        let name = &cell.factors.workload;
        // Plans go through all configurations of a load before the next load.
        let load = self.loads.iter().rposition(|load| load.name == *name).unwrap_or_else(|| {
            self.loads.push(AtlasLoad { name: name.clone(), cells: Vec::new() });
            self.loads.len() - 1
        });
        let cells = &mut self.loads[load].cells;
        if cells.len() <= configuration {
            cells.resize(configuration + 1, None);
        }
        let into = cells[configuration].get_or_insert_default();
        let sections = match (&cell.result, cell.sections) {
            (Ok(_), Some(sections)) => sections,
            (result, _) => {
                let reason = || match result {
                    Err(NoResult::Missing) => "it was not executed yet".to_owned(),
                    Err(NoResult::Failed(reason) | NoResult::Unavailable(reason)) => reason.clone(),
                    Ok(_) => "it was executed without a trace".to_owned(),
                };
                into.reason.get_or_insert_with(reason);
                return;
            }
        };
        into.measured += 1;
        self.configurations[configuration].cells += 1;
        let replicate = cell.factors.replicate;
        let mut details: BTreeMap<(SectionKind, String), LongSection> = longest
            .into_iter()
            .map(|section| ((section.kind, section.function.clone()), section))
            .collect();
        for section in sections {
            let Some(kind) = kind(&section) else { continue };
            let detail = details.remove(&(kind, section.function.clone()));
            let class = Class::of(kind);
            if into.longest(class).is_none_or(|known| section.max_ns > known.ns) {
                let section = Longest {
                    ns: section.max_ns,
                    replicate,
                    section: detail.clone().unwrap_or_else(|| undetailed(kind, &section)),
                    callers: section.callers.clone(),
                };
                match class {
                    Class::P => into.p = Some(section),
                    Class::N => into.n = Some(section),
                }
            }
            let place = Place { load, name, configuration, replicate };
            match collected.get_mut(&(kind, section.function.clone())) {
                Some(known) => known.add(section, detail, place),
                None => {
                    let key = (kind, section.function.clone());
                    collected.insert(key, Collected::new(kind, section, detail, place));
                }
            }
        }
    }

    /// Returns the number of a cell's configuration, which may be a new one.
    fn configuration(&mut self, cell: &MeasuredCell) -> usize {
        let Factors { kernel, preempt, settings, machine, cpus, .. } = cell.factors.clone();
        let model = if cell.rt == Some(true) { "rt" } else { preempt.as_str() };
        let kernel_name = kernel.to_string();
        let of = of_machine(machine.as_ref());
        let name = format!("{}{of}", Baseline { kernel, preempt, settings });
        let known = self.configurations.iter().position(|it| it.name == name && it.cpus == cpus);
        known.unwrap_or_else(|| {
            self.configurations.push(AtlasConfiguration {
                name,
                kernel: kernel_name,
                model: model.to_owned(),
                cpus,
                cells: 0,
            });
            self.configurations.len() - 1
        })
    }

    /// Lists the models that end a section.
    fn ended_by(&self, section: &AtlasSection) -> Vec<String> {
        if section.longest_ns < ENDED_NS_MIN {
            return Vec::new();
        }
        let Some(load) = self.loads.iter().find(|load| load.name == section.load) else {
            return Vec::new();
        };
        let longest = &self.configurations[section.configuration];
        let ends = |model: &&str| {
            let of_it = self.configurations.iter().enumerate().filter(|(_, it)| {
                it.model == *model && it.cpus == longest.cpus && version(it) == version(longest)
            });
            let mut of_it = of_it.peekable();
            let is_cut = |(place, _): (usize, &AtlasConfiguration)| {
                let is_executed = load.cells[place].as_ref().is_some_and(|cell| cell.measured > 0);
                let longest_ns = section.by_configuration[place].unwrap_or(0);
                is_executed && longest_ns <= section.longest_ns / ENDED_PART
            };
            let is_stronger = strength(model) > strength(&longest.model);
            is_stronger && of_it.peek().is_some() && of_it.all(is_cut)
        };
        self.models().into_iter().filter(ends).map(str::to_owned).collect()
    }
}

/// Returns the place of a model among those that preempt ever more.
fn strength(model: &str) -> Option<usize> {
    ["none", "voluntary", "lazy", "full", "rt"].into_iter().position(|it| it == model)
}

/// Returns the kernel of a configuration by a name that it shares with the same version with `PREEMPT_RT`.
fn version(configuration: &AtlasConfiguration) -> &str {
    configuration.kernel.strip_suffix("-rt").unwrap_or(&configuration.kernel)
}

/// Place of a cell in the atlas.
#[derive(Clone, Copy)]
struct Place<'a> {
    load: usize,
    name: &'a str,
    configuration: usize,
    replicate: u32,
}

impl Collected {
    fn new(
        kind: SectionKind,
        section: Section,
        detail: Option<LongSection>,
        place: Place<'_>,
    ) -> Self {
        let mut collected = Self {
            section: AtlasSection {
                class: Class::of(kind),
                kind,
                function: section.function.clone(),
                inside: None,
                callers: Vec::new(),
                holder: None,
                waited_ns: 0,
                longest_ns: 0,
                load: place.name.to_owned(),
                configuration: place.configuration,
                replicate: place.replicate,
                count: 0,
                total_ns: 0,
                loads: 0,
                by_configuration: Vec::new(),
                ended_by: Vec::new(),
            },
            last_load: usize::MAX,
        };
        collected.add(section, detail, place);
        collected
    }

    fn add(&mut self, section: Section, detail: Option<LongSection>, place: Place<'_>) {
        let Self { section: into, last_load } = self;
        if *last_load != place.load {
            (*last_load, into.loads) = (place.load, into.loads + 1);
        }
        // The numbers of a recording may be anything.
        into.count = into.count.saturating_add(section.count);
        into.total_ns = into.total_ns.saturating_add(section.total_ns);
        if into.by_configuration.len() <= place.configuration {
            into.by_configuration.resize(place.configuration + 1, None);
        }
        let longest = &mut into.by_configuration[place.configuration];
        *longest = Some(longest.unwrap_or(0).max(section.max_ns));
        if section.max_ns > into.longest_ns {
            into.longest_ns = section.max_ns;
            into.callers = section.callers;
            place.name.clone_into(&mut into.load);
            (into.configuration, into.replicate) = (place.configuration, place.replicate);
            into.holder = detail.as_ref().map(holder);
            into.waited_ns = detail.as_ref().map_or(0, |detail| detail.waited_ns);
            into.inside = detail.and_then(|detail| detail.inside);
        }
    }
}

/// Says who was in a section: `stress-ng-mmap in munmap`.
fn holder(section: &LongSection) -> String {
    match section.context.is_empty() {
        true => section.comm.clone(),
        false => format!("{} in {}", section.comm, section.context),
    }
}

fn undetailed(kind: SectionKind, section: &Section) -> LongSection {
    LongSection {
        kind,
        function: section.function.clone(),
        inside: None,
        comm: String::new(),
        context: String::new(),
        waited_ns: 0,
        parts: Vec::new(),
    }
}

fn kind(section: &Section) -> Option<SectionKind> {
    SectionKind::ALL.into_iter().find(|kind| kind.as_str() == section.kind)
}
