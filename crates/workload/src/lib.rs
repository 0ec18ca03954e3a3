//! Workloads: what a cell has to do, and what its report means.
//!
//! Nothing here does I/O: a [`Job`] goes out to the guest, its [`Report`] comes in, and
//! [`Measurements`] come out. A report that does not hold what the job wanted is a
//! [`MeasureError`], never a smaller measurement.

mod bounded;
mod cyclictest;
mod cyclictest_hackbench;
mod error;
mod hackbench;
mod kind;
mod measurements;
mod phase;
mod seconds;

pub use cyclictest_hackbench::CyclictestHackbench;
pub use error::MeasureError;
pub use hackbench::HackbenchMode;
pub use measurements::{Latency, Measurements, Throughput};
use preemptlab_model::{CellInputs, PreemptMode, VirtualDuration};
use preemptlab_protocol::{Job, Report};
pub use seconds::{ParseSecondsError, Seconds};
use serde::Serialize;

/// A workload with its parameters. In TOML its `kind` stands first and says which one it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Workload {
    /// Two cyclictest probes beside hackbench.
    CyclictestHackbench(CyclictestHackbench),
}

/// What distinguishes a workload's cells from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobInputs {
    /// The replicate's seed: of the guest's entropy, and of the phases between load and probes.
    pub seed: u64,
    /// The mode to run in.
    pub preempt: PreemptMode,
    /// Virtual CPUs.
    pub cpus: u32,
    /// See [`Job::skew_ns`].
    pub skew_ns: Option<u64>,
}

impl Workload {
    /// The Debian packages that the guest's image needs, besides what they depend on.
    pub fn packages(&self) -> &'static [&'static str] {
        match self {
            Self::CyclictestHackbench(_) => &["rt-tests"],
        }
    }

    /// Packages that [`packages`](Self::packages) depend on and that the workload does not use, so
    /// that the image can do without. In rt-tests only the helper scripts are written in Python.
    pub fn assumed_packages(&self) -> &'static [&'static str] {
        match self {
            Self::CyclictestHackbench(_) => &["python3"],
        }
    }

    /// What the guest has to do in one cell.
    pub fn job(&self, inputs: JobInputs) -> Job {
        match self {
            Self::CyclictestHackbench(workload) => workload.job(inputs),
        }
    }

    /// How much virtual time a cell takes, roughly.
    pub fn virtual_time_estimate(&self) -> VirtualDuration {
        match self {
            Self::CyclictestHackbench(workload) => workload.virtual_time_estimate(),
        }
    }

    /// What a cell measured.
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
        match self {
            Self::CyclictestHackbench(workload) => {
                workload.measure(cell.snapshot.machine.cpus, report)
            }
        }
    }
}
