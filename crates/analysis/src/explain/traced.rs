//! A cell's trace, and the kernel with which it is read.

use std::io::Read;

use preemptlab_experiment::Recording;
use preemptlab_model::ProbeProcess;
use preemptlab_trace::{Kernel, Target, Timeline, Wakeup, timelines, wakeups, window};

use super::choice::Chosen;
use crate::{Error, Result};

/// A cell with its trace, ready to be looked at.
pub(super) struct Traced<'a> {
    pub recording: &'a Recording,
    pub cell: &'a Chosen,
    pub kernel: Kernel,
}

impl<'a> Traced<'a> {
    pub fn new(recording: &'a Recording, cell: &'a Chosen) -> Result<Self> {
        let boot = &cell.inputs.snapshot;
        let kernel = recording.explained().kernel(boot.id(), boot.machine.arch)?.ok_or_else(|| {
            Error::unusable(
                "the recording lacks the layout of the cell's kernel; run the same command again",
            )
        })?;
        Ok(Self { recording, cell, kernel })
    }

    /// Opens the stream of a cell's trace.
    ///
    /// # Errors
    ///
    /// When the cell has no trace, or it cannot be read.
    pub fn stream(recording: &Recording, cell: &Chosen) -> Result<impl Read + use<>> {
        let stream = recording.explained().stream(cell.id)?;
        stream.ok_or_else(|| Error::unusable("the cell has no trace"))
    }

    /// Returns the wakeups of the cell's probe, in its window.
    ///
    /// # Errors
    ///
    /// When the trace cannot be read.
    pub fn wakeups(&self, probe: &ProbeProcess, is_fair: bool) -> Result<Vec<Wakeup>> {
        let stream = Self::stream(self.recording, self.cell)?;
        let window = window(&self.cell.inputs.job, &self.cell.report);
        wakeups(stream, &self.kernel, target(probe, is_fair), window)
            .map_err(|error| self.unreadable(error))
    }

    /// Returns the timelines of wakeups.
    ///
    /// # Errors
    ///
    /// When the trace cannot be read.
    pub fn timelines(&self, wakeups: Vec<Wakeup>) -> Result<Vec<Timeline>> {
        let stream = Self::stream(self.recording, self.cell)?;
        timelines(stream, &self.kernel, wakeups).map_err(|error| self.unreadable(error))
    }

    pub fn unreadable(&self, error: preemptlab_trace::TraceError) -> Error {
        self.recording.explained().unreadable(self.cell.id, error).into()
    }
}

/// Returns the tasks of a probe that traces follow: the real-time ones, or the fair ones.
pub fn target(probe: &ProbeProcess, is_fair: bool) -> Target<'_> {
    Target { comm: &probe.comm, is_realtime: !is_fair, first_waits: probe.first_waits }
}

/// Returns the process of the cell's probes.
pub(super) fn probe(cell: &Chosen) -> Result<ProbeProcess> {
    ProbeProcess::of(&cell.inputs.job).ok_or_else(|| {
        let workload = &cell.factors.workload;
        let advice = "`trace` and `zoom` show what its kernel did, or choose a cell of another \
                      workload with --cell";
        Error::Unusable(format!("{workload} has no probe; {advice}"))
    })
}
