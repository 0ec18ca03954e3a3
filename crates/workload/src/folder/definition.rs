use std::collections::BTreeSet;

use preemptlab_model::{Direction, MetricName, PackageName, Probe, nearest};
use serde::{Deserialize, Deserializer, Serialize, de::Error};

use super::{
    command::FolderCommand,
    metric::{self, FolderMetric},
    response::{self, Response},
    source::{Part, Source, Used},
    span::Span,
};
use crate::{Probes, Seconds, cyclictest};

/// The version of the format.
const FORMAT: u32 = 1;

/// The most commands of a kind, and metrics: a job must stay small.
const EACH_MAX: usize = 32;

/// The longest name of a kernel module (the kernel's MODULE_NAME_LEN).
const MODULE_BYTES_MAX: usize = 56;

/// First part of the names of preemptlab's own modules.
const BUILT_HERE: &str = "preemptlab";

/// The names of the cyclictest probes.
const PROBES: [&str; 2] = [Probe::Fifo.declared().name, Probe::Other.declared().name];

/// First parts of the names of metrics that every cell has, which no metric of a folder may have.
const BUILT_IN: [&str; 1] = ["context_switches"];
const BUILT_IN_PARTS: [&str; 6] =
    ["wakeup", "latency", response::NAME, "interrupts", "softirqs", "kthread"];

/// A `workload.toml`: how a program is run and read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// The version of the format; 1.
    format: u32,
    /// Description of the program's measurements.
    #[serde(default)]
    description: String,
    /// Debian packages that the guest's image gets, with all that they depend on.
    #[serde(default)]
    pub(super) packages: Vec<PackageName>,
    /// Dependencies that the program does not use.
    #[serde(default)]
    pub(super) without: Vec<PackageName>,
    /// Modules of the guest's kernel whose files the program finds, with those of all that they depend on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) module_files: Vec<String>,
    /// Time that the program is asked to measure, and that cyclictest measures.
    #[serde(default = "default_window")]
    pub(super) window: Seconds,
    /// Time from the start of the load to the window.
    #[serde(default = "default_settle")]
    pub(super) settle: Span,
    /// The most virtual time that a cell may take.
    #[serde(default = "default_limit")]
    pub(super) limit: Span,
    /// Probes of cyclictest that run beside the program.
    #[serde(default = "no_probes")]
    pub(super) cyclictest: Probes,
    /// Run one after the other before the snapshot, each to its end.
    #[serde(default)]
    pub(super) prepare: Vec<FolderCommand>,
    /// Run for ever, and are killed.
    #[serde(default)]
    pub(super) load: Vec<FolderCommand>,
    /// Run to their end, the last of which ends the window.
    #[serde(default)]
    pub(super) probe: Vec<FolderCommand>,
    /// Numbers that the program reports.
    #[serde(default)]
    pub(super) metric: Vec<FolderMetric>,
    /// Response times that the program reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) latency: Option<Response>,
}

const fn default_window() -> Seconds {
    const { Seconds::new(2).unwrap() }
}

const fn default_settle() -> Span {
    Span::from_ms(50)
}

const fn default_limit() -> Span {
    Span::from_ms(60_000)
}

const fn no_probes() -> Probes {
    Probes::None
}

/// Returns whether a text can be the name of a kernel module.
pub fn is_module(name: &str) -> bool {
    (1..=MODULE_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

/// Reason why a definition that is well-formed makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// A text in its file where it shows.
    pub place: String,
    /// Error, in words.
    pub message: String,
    /// Remedy, in words.
    pub help: String,
}

impl Definition {
    /// Refuses a definition that is well-formed but makes no sense.
    ///
    /// # Errors
    ///
    /// The first [`Flaw`].
    pub fn check(&self) -> Result<(), Flaw> {
        if self.format != FORMAT {
            let message = format!("format {} is not known", self.format);
            return flaw("format", message, "this version reads format 1");
        }
        self.check_module_files()?;
        self.check_commands()?;
        self.check_metrics()?;
        if self.metric.is_empty() && self.latency.is_none() && !self.cyclictest.any() {
            return flaw(
                "format",
                "nothing is measured".to_owned(),
                "add a [[metric]], a [latency], or cyclictest = \"both\"",
            );
        }
        Ok(())
    }

    fn check_module_files(&self) -> Result<(), Flaw> {
        if self.module_files.len() > EACH_MAX {
            let message = format!("there are more than {EACH_MAX} modules");
            return flaw("module_files", message, "name those that the program loads");
        }
        match self.module_files.iter().find(|name| !is_module(name) || name.starts_with(BUILT_HERE))
        {
            Some(name) if is_module(name) => flaw(
                name,
                format!("`{name}` is built for an experiment, and is in no package of a kernel"),
                "name it in `modules` of the experiment's [machine]",
            ),
            Some(name) => flaw(
                name,
                format!("`{name}` is not the name of a kernel module"),
                "letters, digits, `_` and `-`, without `.ko`",
            ),
            None => Ok(()),
        }
    }

    fn check_commands(&self) -> Result<(), Flaw> {
        if self.probe.is_empty() && !self.cyclictest.any() {
            return flaw(
                "format",
                "there is no probe, so nothing would end a cell".to_owned(),
                "add a [[probe]] whose command ends, or cyclictest = \"both\"",
            );
        }
        let kinds = [("prepare", &self.prepare), ("load", &self.load), ("probe", &self.probe)];
        for (kind, commands) in kinds {
            if commands.len() > EACH_MAX {
                let message = format!("there are more than {EACH_MAX} commands of one kind");
                return flaw(&format!("[[{kind}]]"), message, "let a script start them");
            }
        }
        let mut names = BTreeSet::from(PROBES);
        for command in self.prepare.iter().chain(&self.load).chain(&self.probe) {
            let name = command.name.as_str();
            if !names.insert(name) {
                let message = match PROBES.contains(&name) {
                    true => format!("`{name}` is the name of a cyclictest"),
                    false => format!("two commands have the name `{name}`"),
                };
                return flaw(&format!("\"{name}\""), message, "give each a name of its own");
            }
        }
        if let Some(command) = self.prepare.iter().find(|command| command.varies()) {
            return flaw(
                &format!("\"{}\"", command.name),
                format!("`{}` depends on the cell, but runs before there are cells", command.name),
                "only loads and probes have {seed} and {cpus}",
            );
        }
        self.check_wakeups()
    }

    /// Refuses wakeups of which a trace cannot tell whose they are: it knows programs by their names.
    fn check_wakeups(&self) -> Result<(), Flaw> {
        let place = |command: &FolderCommand| format!("\"{}\"", command.name);
        let no_probes = || self.prepare.iter().chain(&self.load);
        if let Some(command) = no_probes().find(|command| command.wakeups) {
            let message = format!("`{}` has `wakeups`, and is no probe", command.name);
            return flaw(&place(command), message, "make it a [[probe]]");
        }
        let mut followed = self.probe.iter().filter(|probe| probe.wakeups);
        let Some(probe) = followed.next() else { return Ok(()) };
        if let Some(second) = followed.next() {
            let message = format!("`{}` and `{}` both have `wakeups`", probe.name, second.name);
            return flaw(&place(second), message, "choose the probe that traces follow");
        }
        if self.cyclictest.any() {
            let message = format!(
                "`{}` has `wakeups`, but traces follow the cyclictest beside it",
                probe.name
            );
            return flaw(&place(probe), message, "leave out `wakeups`, or `cyclictest`");
        }
        let others = self.load.iter().chain(&self.probe).filter(|other| other.name != probe.name);
        for other in others {
            if other.program() == probe.program() {
                let message = format!(
                    "`{}` and `{}` are the same program, whose wakeups a trace cannot tell apart",
                    probe.name, other.name
                );
                return flaw(&place(other), message, "give one of them another file name");
            }
            let is_probe = self.probe.contains(other);
            if is_probe && other.program().as_deref() == Some(cyclictest::PROGRAM) {
                let message = format!(
                    "`{}` has `wakeups`, but traces follow the cyclictest of `{}`",
                    probe.name, other.name
                );
                return flaw(&place(other), message, "make it a [[load]], or move `wakeups` to it");
            }
        }
        Ok(())
    }

    fn check_metrics(&self) -> Result<(), Flaw> {
        if self.metric.len() > EACH_MAX {
            let message = format!("there are more than {EACH_MAX} metrics");
            return flaw("[[metric]]", message, "keep those that tell something");
        }
        let mut names = BTreeSet::from(BUILT_IN);
        for metric in &self.metric {
            let name = metric.name.as_str();
            let place = format!("\"{name}\"");
            let is_built_in = name
                .split('.')
                .next()
                .is_some_and(|part| BUILT_IN_PARTS.contains(&part) || BUILT_IN.contains(&part));
            if is_built_in {
                let message =
                    format!("`{name}` is the name of a metric that preemptlab itself has");
                return flaw(&place, message, "choose another name");
            }
            if !names.insert(name) {
                return flaw(
                    &place,
                    format!("two metrics have the name `{name}`"),
                    "give each a name of its own",
                );
            }
            if MetricName::Throughput == name && metric.better == Direction::Lower {
                let message = "a throughput is better the higher it is".to_owned();
                return flaw(&place, message, "give the metric another name, or `higher`");
            }
            if let Some((message, help)) = metric.flaw() {
                return flaw(&place, message, &help);
            }
            self.check_source(&metric.from)?;
        }
        match &self.latency {
            None => Ok(()),
            Some(latency) if matches!(latency.from.part, Part::Used(_)) => flaw(
                "[latency]",
                format!("{} is one number, and no distribution", latency.from),
                "read NAME.stdout, NAME.stderr or NAME:/FILE",
            ),
            Some(latency) => self.check_source(&latency.from),
        }
    }

    fn check_source(&self, source: &Source) -> Result<(), Flaw> {
        let commands = || self.load.iter().chain(&self.probe).map(|each| each.name.as_str());
        let (place, name) = (format!("\"{source}\""), &source.name);
        if !commands().any(|each| each == name) {
            let message = format!("there is no load or probe `{name}`");
            let help = match nearest(name, commands()) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => format!("valid here: {}", commands().collect::<Vec<_>>().join(", ")),
            };
            return flaw(&place, message, &help);
        }
        let is_load = self.load.iter().any(|load| load.name == *name);
        if is_load && source.part == Part::Used(Used::Real) {
            let message = format!("{source} is how long a load ran before it was killed");
            return flaw(&place, message, "measure the time of a probe");
        }
        Ok(())
    }

    /// Returns the files of a command that are read, each once.
    pub(super) fn files_of(&self, command: &str) -> Vec<String> {
        let latency = self.latency.iter().filter_map(|latency| metric::file(&latency.from));
        let files: BTreeSet<&str> = self
            .metric
            .iter()
            .filter_map(FolderMetric::file)
            .chain(latency)
            .filter(|(name, _)| *name == command)
            .map(|(_, file)| file)
            .collect();
        files.into_iter().map(str::to_owned).collect()
    }
}

/// Reads a definition that was recorded and must still make sense.
///
/// # Errors
///
/// A definition that is not well-formed, or has a [`Flaw`].
pub fn checked<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Definition, D::Error> {
    let definition = Definition::deserialize(deserializer)?;
    definition.check().map_err(|flaw| D::Error::custom(flaw.message))?;
    Ok(definition)
}

fn flaw(place: &str, message: String, help: &str) -> Result<(), Flaw> {
    Err(Flaw { place: place.to_owned(), message, help: help.to_owned() })
}
