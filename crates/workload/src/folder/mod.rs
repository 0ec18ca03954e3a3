//! A program of the user's own: a folder that holds it, and a `workload.toml` that says how it is
//! run and read. `docs/workload.md` describes that file key by key.

mod command;
mod definition;
mod metric;
mod pattern;
mod response;
mod source;
mod span;
mod text;

pub use definition::{Definition, Flaw, is_module};
use preemptlab_model::{Digest, Distribution, MetricName, PackageName, Platform, VirtualDuration};
use preemptlab_protocol::{Command, LoadStart, Report};
use serde::{Deserialize, Serialize};

use crate::{
    MeasureError, Measurements, MetricNames,
    activity::activity,
    cyclictest,
    phase::Phases,
    probes::{FifoPriority, IntervalUs, ProbeSet},
    program::{Circumstances, Program, Work},
};

/// Time of a cell besides settling and the window, in nanoseconds: starting, the surplus, ending.
const AROUND_WINDOW_NS: u64 = 500_000_000;

/// Program in a folder. The workload of a TOML file has the folder's path. A workload that is run
/// or was recorded has the folder's content instead, and needs the folder no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Folder {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<Box<Content>>,
}

/// Content of a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    /// SHA-256 of the archive of the folder's other files.
    files_sha256: Digest,
    /// Content of its `workload.toml`.
    #[serde(deserialize_with = "definition::checked")]
    definition: Definition,
}

impl Folder {
    /// Name of the file that describes the folder.
    pub const DEFINITION: &str = "workload.toml";

    /// Folder of the program's files in the guest.
    pub const PLACE: &str = "/workload";

    /// Name of the program in a folder that repeats a command, as `run --command` writes it there.
    pub const REPEAT: &str = "repeat";

    /// Returns whether the folder's one load repeats a command.
    pub fn repeats_command(&self) -> bool {
        let Some([load]) = self.definition().map(|definition| definition.load.as_slice()) else {
            return false;
        };
        let program = load.argv.first().and_then(|path| path.strip_prefix(Self::PLACE));
        program.and_then(|path| path.strip_prefix('/')) == Some(Self::REPEAT)
    }

    /// Returns the name that the kernel gives the program with the response times.
    pub fn response_program(&self) -> Option<String> {
        let of = &self.definition()?.latency.as_ref()?.from.name;
        let command = self.definition()?.probe.iter().find(|command| command.name == *of)?;
        command.program()
    }

    /// Creates a workload that holds the folder's content instead of its path.
    pub fn with_content(files_sha256: Digest, definition: Definition) -> Self {
        Self { path: None, content: Some(Box::new(Content { files_sha256, definition })) }
    }

    /// Returns the path of a folder that has not been read.
    pub fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// Returns the SHA-256 of the archive of a folder's files, once it was read.
    pub fn files_sha256(&self) -> Option<Digest> {
        self.content.as_ref().map(|content| content.files_sha256)
    }

    /// Returns the definition; `None` for a folder that has not been read, whose workload does
    /// nothing.
    fn definition(&self) -> Option<&Definition> {
        self.content.as_ref().map(|content| &content.definition)
    }
}

impl Program for Folder {
    fn packages(&self, _: &Platform) -> Vec<&str> {
        self.definition().map_or_else(Vec::new, |definition| {
            let probes = definition.cyclictest.any().then_some(cyclictest::PACKAGE);
            definition.packages.iter().map(PackageName::as_str).chain(probes).collect()
        })
    }

    fn assumed_packages(&self) -> Vec<&str> {
        self.definition().map_or_else(Vec::new, |definition| {
            // A package that the definition names itself is in the image and not assumed.
            let own = |name: &&str| !definition.packages.iter().any(|package| package == *name);
            let probes = definition.cyclictest.any().then_some(cyclictest::ASSUMED_PACKAGES);
            let probes = probes.into_iter().flatten().filter(own);
            definition.without.iter().map(PackageName::as_str).chain(probes).collect()
        })
    }

    fn module_files(&self) -> Vec<&str> {
        let files = self.definition().into_iter().flat_map(|definition| &definition.module_files);
        files.map(String::as_str).collect()
    }

    fn prepare(&self, _: &Platform) -> Vec<Command> {
        let prepare = self.definition().into_iter().flat_map(|definition| &definition.prepare);
        prepare.map(|command| command.command(&command.argv, Vec::new(), 0)).collect()
    }

    fn work(&self, circumstances: Circumstances) -> Work {
        let Some(definition) = self.definition() else {
            let load_start = LoadStart { written_bytes_min: 0, settle_ns: 0 };
            let limit = VirtualDuration::from_ns(0);
            return Work { limit, load_start, load: Vec::new(), probes: Vec::new() };
        };
        let mut phases = Phases::new(circumstances.seed);
        let [settle_ns, fifo_ns, other_ns] = [(); 3].map(|()| phases.next_ns());
        let command = |command: &command::FolderCommand, delay_ns| {
            let argv = command.filled(circumstances, definition.window);
            command.command(&argv, definition.files_of(&command.name), delay_ns)
        };
        let own = definition.probe.iter().map(|probe| command(probe, phases.next_ns()));
        let mut probes: Vec<Command> = own.collect();
        // Traces follow the first probe.
        if let Some(place) = definition.probe.iter().position(|probe| probe.wakeups) {
            probes[..=place].rotate_right(1);
        }
        probes.extend(probe_set(definition).commands(circumstances.cpus, 0, [fifo_ns, other_ns]));
        Work {
            limit: definition.limit.get(),
            load_start: LoadStart {
                written_bytes_min: 0,
                settle_ns: definition.settle.get().as_ns() + settle_ns,
            },
            load: definition.load.iter().map(|load| command(load, 0)).collect(),
            probes,
        }
    }

    fn metric_names(&self) -> MetricNames {
        let Some(definition) = self.definition() else { return MetricNames::default() };
        let own = definition.metric.iter().map(|metric| metric.name.as_str());
        let names = probe_set(definition).metric_names().numbers(own);
        let names = match &definition.latency {
            Some(_) => names.latency(&Distribution::Response, false).activity(),
            None => names.activity(),
        };
        match definition.probe.iter().any(|probe| probe.wakeups) {
            true => names.traced_wakeups(),
            false => names,
        }
    }

    fn virtual_time_estimate(&self) -> VirtualDuration {
        let window = self.definition().map_or(0, |definition| {
            definition.settle.get().as_ns() + VirtualDuration::from(definition.window).as_ns()
        });
        VirtualDuration::from_ns(window + AROUND_WINDOW_NS)
    }

    fn measure(&self, cpus: u32, report: &Report) -> Result<Measurements, MeasureError> {
        let definition = self.definition().ok_or_else(|| MeasureError::NoValue {
            metric: Self::DEFINITION.to_owned(),
            cause: "the folder was not read".to_owned(),
        })?;
        for command in &definition.load {
            command.check_load(report)?;
        }
        for command in &definition.probe {
            command.check_probe(report)?;
        }
        let response = definition.latency.as_ref().map(|latency| latency.measure(report));
        let mut latencies: Vec<_> = response.into_iter().collect::<Result<_, _>>()?;
        latencies.extend(probe_set(definition).latencies(cpus, report)?);
        let mut numbers = Vec::new();
        for metric in &definition.metric {
            numbers.push(metric.measure(report)?);
        }
        numbers.sort_by_key(|metric| metric.name != MetricName::Throughput);
        numbers.extend(activity(report));
        Ok(Measurements { latencies, numbers })
    }
}

fn probe_set(definition: &Definition) -> ProbeSet {
    ProbeSet {
        probes: definition.cyclictest,
        window: definition.window.into(),
        interval_us: IntervalUs::default(),
        fifo_priority: FifoPriority::default(),
        main_priority: main_priority(definition),
    }
}

/// Returns the priority of cyclictest's main thread, which ends the measurement: above the load.
fn main_priority(definition: &Definition) -> u8 {
    let load = definition.load.iter().filter_map(|command| command.policy.priority()).max();
    load.map_or(cyclictest::MAIN_PRIORITY, |load| load + 1)
}
