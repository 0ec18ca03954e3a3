//! Workloads: the job of a cell, and the meaning of its report.
//!
//! Nothing here does I/O: a [`Job`] goes out to the guest, its [`Report`] comes in, and
//! [`Measurements`] come out. A report that lacks results of the job is a [`MeasureError`], never a
//! smaller measurement.

mod activity;
mod bounded;
mod build;
mod command_line;
mod cyclictest;
mod cyclictest_hackbench;
mod cyclictest_kernel;
mod cyclictest_load;
mod error;
mod folder;
mod furnished;
mod hackbench;
mod histogram_file;
mod kind;
mod measurements;
mod names;
mod oslat;
mod outcome;
mod pgbench;
mod pgbench_result;
mod pgbench_server;
mod phase;
mod probes;
mod program;
mod scenario;
mod seconds;
mod sockperf;
mod sockperf_output;
mod stress_ng;
mod stress_ng_said;
mod stress_ng_yaml;
mod stressors;
mod window_time;

pub use build::Build;
pub use command_line::{CommandLine, ParseCommandLineError, ShellSyntax};
pub use cyclictest_hackbench::CyclictestHackbench;
pub use cyclictest_kernel::CyclictestKernel;
pub use cyclictest_load::{CyclictestLoad, Load};
pub use error::MeasureError;
pub use folder::{Definition, Flaw, Folder, is_module};
pub use furnished::FileSystem;
pub use hackbench::HackbenchMode;
pub use histogram_file::{
    Context as HistogramContext, HISTOGRAM_FILE_BYTES_MAX, HistogramFile, HistogramFileError,
    Series as HistogramSeries, Tool as HistogramTool,
};
pub use measurements::{Latency, Measurements};
pub use names::MetricNames;
pub use oslat::Oslat;
pub use pgbench::{Pgbench, PgbenchMode, PgbenchProtocol};
use preemptlab_model::{Arch, CellInputs, Digest, PreemptMode, VirtualDuration};
use preemptlab_protocol::{Command, FORMAT, Job, Report, Setting};
pub use probes::Probes;
use program::{Circumstances, Program, Work};
pub use scenario::Scenario;
pub use seconds::{ParseSecondsError, Seconds};
use serde::Serialize;
pub use sockperf::{Protocol, Sockperf, SockperfMode};
pub use stress_ng::{StressNg, StressPolicy};
pub use window_time::{ParseWindowTimeError, WindowTime};

/// A workload with its parameters. In TOML its `kind` stands first and says which one it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Workload {
    /// Two cyclictest probes beside hackbench.
    CyclictestHackbench(CyclictestHackbench),
    /// Two cyclictest probes beside work in the kernel.
    CyclictestKernel(CyclictestKernel),
    /// cyclictest alone, or beside stress-ng.
    Cyclictest(CyclictestLoad),
    /// oslat on every CPU.
    Oslat(Oslat),
    /// A stressor of stress-ng.
    StressNg(StressNg),
    /// sockperf over the loopback interface.
    Sockperf(Sockperf),
    /// A PostgreSQL server and its clients.
    Pgbench(Pgbench),
    /// A build with make and gcc.
    Build(Build),
    /// A program of the user's own.
    Folder(Folder),
    /// Threads and interrupts that follow a script.
    Scenario(Scenario),
}

/// Inputs that distinguish a workload's cells from each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobInputs {
    /// The replicate's seed: of the guest's entropy, and of the phases between load and probes.
    pub seed: u64,
    /// The mode to run in.
    pub preempt: PreemptMode,
    /// See [`Job::hz`].
    pub hz: Option<u32>,
    /// Settings besides the preemption mode and the tick.
    pub settings: Vec<Setting>,
    /// Number of virtual CPUs.
    pub cpus: u32,
    /// See [`Job::skew_ns`].
    pub skew_ns: Option<u64>,
}

impl Workload {
    fn program(&self) -> &dyn Program {
        match self {
            Self::CyclictestHackbench(workload) => workload,
            Self::CyclictestKernel(workload) => workload,
            Self::Cyclictest(workload) => workload,
            Self::Oslat(workload) => workload,
            Self::StressNg(workload) => workload,
            Self::Sockperf(workload) => workload,
            Self::Pgbench(workload) => workload,
            Self::Build(workload) => workload,
            Self::Folder(workload) => workload,
            Self::Scenario(workload) => workload,
        }
    }

    /// Returns whether the workload is a load alone, without a probe, so that its sections are its answer.
    pub fn is_load_alone(&self) -> bool {
        matches!(self, Self::StressNg(load) if load.window.is_some())
    }

    /// Returns the Debian packages that a guest's image needs, without their dependencies.
    pub fn packages(&self, guest: Arch) -> Vec<&str> {
        self.program().packages(guest.platform())
    }

    /// Packages that [`packages`](Self::packages) depend on and that the workload does not use, so
    /// that the image can do without.
    pub fn assumed_packages(&self) -> Vec<&str> {
        self.program().assumed_packages()
    }

    /// Returns the SHA-256 of the archive of the files that the guest's image needs besides
    /// packages; `None` when it needs none.
    pub fn files_sha256(&self) -> Option<Digest> {
        match self {
            Self::Folder(folder) => folder.files_sha256(),
            _ => None,
        }
    }

    /// Returns the least memory that a machine with `cpus` CPUs needs for it, in MiB; 0 where that is not known.
    pub fn memory_mib_min(&self, cpus: u32) -> u32 {
        match self {
            Self::CyclictestKernel(workload) => workload.memory_mib_min(cpus),
            _ => 0,
        }
    }

    /// Gives a load beside probes whose file names no file system the one that it has by default.
    pub fn name_file_system(&mut self) {
        if let Self::CyclictestKernel(workload) = self {
            workload.name_file_system();
        }
    }

    /// Puts the files of a load beside probes on tmpfs, and returns whether they were on a disk. `stress-ng` keeps its
    /// disk, since its file system is what is measured.
    pub fn put_files_on_tmpfs(&mut self) -> bool {
        match self {
            Self::CyclictestKernel(workload) => workload.put_files_on_tmpfs(),
            _ => false,
        }
    }

    /// Returns the kernel's modules that a guest needs, without those that they depend on.
    pub fn modules(&self) -> Vec<&str> {
        self.program().modules()
    }

    /// Returns the modules that a guest has where its kernel does.
    pub fn wanted_modules(&self) -> Vec<&'static str> {
        self.program().wanted_modules()
    }

    /// Returns the modules whose files a guest finds beside the workload's own, and does not load.
    pub fn module_files(&self) -> Vec<&str> {
        self.program().module_files()
    }

    /// Returns the kernel parameters that its modules are given.
    pub fn parameters(&self) -> Vec<String> {
        self.program().parameters()
    }

    /// Returns whether the guest's image needs the player of scenarios.
    pub fn needs_player(&self) -> bool {
        self.program().needs_player()
    }

    /// Returns the workloads that a list of stressors stands for, each with the end of its name; `None` where the
    /// workload is no list.
    pub fn listed(&self) -> Option<Vec<(String, Self)>> {
        match self {
            Self::StressNg(stress_ng) => stress_ng.listed(),
            _ => None,
        }
    }

    /// Returns the reason why no cell executes the workload, whatever its kernel and machine; `None` where cells do.
    pub fn left_out(&self) -> Option<String> {
        match self {
            Self::StressNg(stress_ng) => stress_ng.left_out(),
            _ => None,
        }
    }

    /// Returns the commands that run once per boot, before the snapshot, for all cells that are
    /// forked from it.
    pub fn prepare(&self, guest: Arch) -> Vec<Command> {
        self.program().prepare(guest.platform())
    }

    /// Returns the guest's job in one cell.
    pub fn job(&self, inputs: JobInputs) -> Job {
        let JobInputs { seed, preempt, hz, settings, cpus, skew_ns } = inputs;
        let Work { limit, load_start, load, probes } =
            self.program().work(Circumstances { seed, cpus });
        Job {
            format: FORMAT,
            seed,
            preempt: preempt.as_str().to_owned(),
            hz,
            settings,
            skew_ns,
            limit_ns: limit.as_ns(),
            load_start,
            load,
            probes,
        }
    }

    /// Returns the names of all metrics that a cell can have.
    pub fn metric_names(&self) -> MetricNames {
        self.program().metric_names()
    }

    /// Returns the name that the kernel gives the program whose waits are the response times; nothing
    /// where there are none.
    pub fn response_program(&self) -> Option<String> {
        match self {
            Self::Sockperf(sockperf) if sockperf.mode == SockperfMode::PingPong => {
                Some("sockperf".to_owned())
            }
            Self::Pgbench(_) => Some("pgbench".to_owned()),
            Self::Folder(folder) => folder.response_program(),
            _ => None,
        }
    }

    /// Returns whether the workload repeats a command for the window, see [`Folder::REPEAT`].
    pub fn repeats_command(&self) -> bool {
        matches!(self, Self::Folder(folder) if folder.repeats_command())
    }

    /// Estimates the virtual time of a cell.
    pub fn virtual_time_estimate(&self) -> VirtualDuration {
        self.program().virtual_time_estimate()
    }

    /// Returns the measurements in a cell's report.
    ///
    /// # Errors
    ///
    /// [`MeasureError`] when the report is not that of a sound run of the cell.
    pub fn measure(
        &self,
        cell: &CellInputs,
        report: &Report,
    ) -> Result<Measurements, MeasureError> {
        error::check_mode(&cell.job, report)?;
        self.program().measure(cell.snapshot.machine.cpus, report)
    }
}
