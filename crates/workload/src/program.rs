use preemptlab_model::{Platform, VirtualDuration};
use preemptlab_protocol::{Command, LoadStart, Policy, Report};

use crate::{MeasureError, Measurements, MetricNames};

/// Interface of every workload: commands to run in a guest, and a reader of their output.
pub trait Program {
    /// See [`Workload::packages`](crate::Workload::packages).
    fn packages(&self, guest: &Platform) -> Vec<&str>;

    /// See [`Workload::assumed_packages`](crate::Workload::assumed_packages).
    fn assumed_packages(&self) -> Vec<&str> {
        Vec::new()
    }

    /// See [`Workload::modules`](crate::Workload::modules).
    fn modules(&self) -> Vec<&str> {
        Vec::new()
    }

    /// See [`Workload::wanted_modules`](crate::Workload::wanted_modules).
    fn wanted_modules(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// See [`Workload::module_files`](crate::Workload::module_files).
    fn module_files(&self) -> Vec<&str> {
        Vec::new()
    }

    /// See [`Workload::parameters`](crate::Workload::parameters).
    fn parameters(&self) -> Vec<String> {
        Vec::new()
    }

    /// See [`Workload::prepare`](crate::Workload::prepare).
    fn prepare(&self, _: &Platform) -> Vec<Command> {
        Vec::new()
    }

    /// See [`Workload::needs_player`](crate::Workload::needs_player).
    fn needs_player(&self) -> bool {
        false
    }

    /// Returns the commands of one cell.
    fn work(&self, circumstances: Circumstances) -> Work;

    /// See [`Workload::metric_names`](crate::Workload::metric_names).
    fn metric_names(&self) -> MetricNames;

    /// See [`Workload::virtual_time_estimate`](crate::Workload::virtual_time_estimate).
    fn virtual_time_estimate(&self) -> VirtualDuration;

    /// Returns the measurements of a cell with `cpus` CPUs.
    fn measure(&self, cpus: u32, report: &Report) -> Result<Measurements, MeasureError>;
}

/// Returns a command that starts at once as an ordinary task of root, and gives the report no files.
pub fn command(name: &str, argv: Vec<String>) -> Command {
    Command {
        name: name.to_owned(),
        argv,
        unprivileged: false,
        policy: Policy::Other,
        ordinary_threads: 0,
        delay_ns: 0,
        files: Vec::new(),
        end: None,
    }
}

/// Circumstances of a cell that its commands may depend on.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances {
    /// Draws the phases between load and probes.
    pub seed: u64,
    /// Number of virtual CPUs.
    pub cpus: u32,
}

/// The commands of a cell; see [`Job`](preemptlab_protocol::Job).
#[derive(Debug)]
pub struct Work {
    /// The most virtual time that it may take.
    pub limit: VirtualDuration,
    /// Condition under which the load counts as running.
    pub load_start: LoadStart,
    /// Run for the whole window.
    pub load: Vec<Command>,
    /// Run to their end.
    pub probes: Vec<Command>,
}
