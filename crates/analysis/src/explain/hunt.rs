//! The search for the worst wakeup that a configuration can have: long stretches of all seeds, each with the
//! probe's timer moved into it, until no stretch is left that could make a wakeup later than the worst one.
//!
//! A result is an execution, not a calculation. It includes the effects of softirqs that stop early, and of
//! code that polls `need_resched`.

use std::{collections::BTreeMap, fs::File, io::Seek};

use preemptlab_experiment::Recording;
use preemptlab_model::{CellInputs, MetricName, ProbeProcess};
use preemptlab_protocol::trace::TraceProgram;
use preemptlab_trace::{
    Kernel, MovedTimer, Timeline, Window, moved_timers, timelines, wakeups, window, worst,
};

use super::{
    choice::{Chosen, asked_for, completed, configurations, is_named},
    confirm::{met, tolerance_ns},
    traced::{Traced, target},
};
use crate::{Error, Result};

/// Number of executions in which the kernel noticed early that a task waits in a function, after which
/// stretches that begin in it are left out.
const NOTICED_MAX: usize = 2;

/// Search for the worst wakeup of the real-time probe in one configuration. The caller executes
/// [`Self::next_execution`] and hands over its stream to [`Self::take`], as long as there is one.
#[derive(Debug)]
pub struct Hunt {
    name: String,
    cells: Vec<Chosen>,
    kernel: Kernel,
    probe: ProbeProcess,
    bound_ns: u64,
    left: Vec<Candidate>,
    noticed: BTreeMap<Option<String>, usize>,
    /// The instant of the execution that was handed out last.
    tried: Option<Candidate>,
    executions: usize,
    recorded_ns: u64,
    worst: Worst,
    growth: Vec<Step>,
}

/// An instant that could make a wakeup late.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    /// Place of its cell.
    cell: usize,
    moved: MovedTimer,
    predicted_ns: u64,
}

impl Candidate {
    /// Returns whether it could make a wakeup later than this.
    fn may_exceed(&self, latency_ns: u64) -> bool {
        // The numbers of a recording may be anything.
        self.predicted_ns.saturating_add(tolerance_ns(self.predicted_ns)) > latency_ns
    }
}

/// The worst wakeup so far.
#[derive(Clone, Debug)]
pub struct Worst {
    /// Replicate of its cell.
    pub replicate: u32,
    /// Latency, in nanoseconds.
    pub latency_ns: u64,
    /// Whether its timer was moved.
    pub is_moved: bool,
    /// Where its nanoseconds went; `None` where the trace does not show the wakeup.
    pub timeline: Option<Timeline>,
}

/// A worse wakeup was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Step {
    /// Number of executions until then.
    pub executions: usize,
    /// Its latency, in nanoseconds.
    pub latency_ns: u64,
}

/// Returns the configurations that have a real-time probe, with their completed cells; those that a name
/// means, if there is one.
///
/// # Errors
///
/// When there are none.
pub fn probed(recording: &Recording, name: Option<&str>) -> Result<Vec<Vec<Chosen>>> {
    let mut cells = completed(recording, &MetricName::latest(false))?;
    cells.retain(|cell| {
        cell.max_us != 0.0
            && ProbeProcess::of(&cell.inputs.job).is_some()
            && name.is_none_or(|name| is_named(cell, name))
    });
    if cells.is_empty() {
        return Err(Error::Unusable(format!(
            "{} has no finished cell{} with a real-time probe",
            recording.path().display(),
            asked_for(name)
        )));
    }
    Ok(configurations(cells))
}

impl Hunt {
    /// Finds the instants to try in the traces of a configuration's cells.
    ///
    /// # Errors
    ///
    /// When a trace is missing or damaged.
    pub fn new(recording: &Recording, cells: Vec<Chosen>) -> Result<Self> {
        let first = cells.first().ok_or_else(|| Error::unusable("there is no cell"))?;
        let kernel = Traced::new(recording, first)?.kernel;
        let probe = ProbeProcess::of(&first.inputs.job);
        let probe = probe.ok_or_else(|| Error::unusable("there is no probe"))?;
        let (mut bound_ns, mut left) = (0, Vec::new());
        let mut recorded: Option<(usize, u64)> = None;
        for (place, cell) in cells.iter().enumerate() {
            let findings = recording.explained().findings(cell.id)?;
            let findings = findings.ok_or_else(|| Error::unusable("a cell has no trace"))?;
            let Some(bound) = findings.bound else { continue };
            bound_ns = bound.max_ns().max(bound_ns);
            if recorded.is_none_or(|(_, worst_ns)| bound.observed_ns() > worst_ns) {
                recorded = Some((place, bound.observed_ns()));
            }
            let target = target(&probe, false);
            let stream = Traced::stream(recording, cell)?;
            let moved = moved_timers(stream, &kernel, target, &bound, findings.clock_offset_ns)?;
            left.extend(moved.into_iter().map(|moved| Candidate {
                cell: place,
                moved,
                predicted_ns: bound.floor_ns.saturating_add(moved.wait_ns()),
            }));
        }
        let (place, recorded_ns) =
            recorded.ok_or_else(|| Error::unusable("no trace has a wakeup of the probe"))?;
        let timeline = {
            let traced = Traced::new(recording, &cells[place])?;
            let found = worst(traced.wakeups(&probe, false)?, 1);
            traced.timelines(found)?.pop()
        };
        left.sort_by_key(|candidate| std::cmp::Reverse(candidate.predicted_ns));
        let worst = Worst {
            replicate: cells[place].factors.replicate,
            latency_ns: recorded_ns,
            is_moved: false,
            timeline,
        };
        Ok(Self {
            name: first.configuration(),
            cells,
            kernel,
            probe,
            bound_ns,
            left,
            noticed: BTreeMap::new(),
            tried: None,
            executions: 0,
            recorded_ns,
            worst,
            growth: vec![Step { executions: 0, latency_ns: recorded_ns }],
        })
    }

    /// Returns the next execution: a cell, and the program that moves its timer; `None` where no instant is
    /// left that could make a wakeup later than the worst one.
    pub fn next_execution(&mut self) -> Option<(CellInputs, TraceProgram)> {
        let least_ns = self.worst.latency_ns;
        let (kernel, noticed) = (&self.kernel, &self.noticed);
        self.left.retain(|candidate| {
            let times = noticed.get(&function(kernel, &candidate.moved)).copied();
            candidate.may_exceed(least_ns) && times.unwrap_or(0) < NOTICED_MAX
        });
        if self.left.is_empty() {
            return None;
        }
        let candidate = self.left.remove(0);
        self.tried = Some(candidate);
        self.executions += 1;
        Some((self.cells[candidate.cell].inputs.clone(), self.kernel.moved(&candidate.moved)))
    }

    /// Takes the stream of the execution.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn take(&mut self, mut again: File) -> Result<()> {
        let Some(Candidate { cell, moved, predicted_ns }) = self.tried.take() else {
            return Ok(());
        };
        let cell = &self.cells[cell];
        // The cell goes another way from there on, and may end at another time.
        let whole = Window { end_ns: u64::MAX, ..window(&cell.inputs.job, &cell.report) };
        let target = target(&self.probe, false);
        let all = wakeups(&again, &self.kernel, target, whole)?;
        let Some(wakeup) = met(&moved, all) else { return Ok(()) };
        let latency_ns = wakeup.latency_ns();
        if latency_ns.saturating_add(tolerance_ns(predicted_ns)) < predicted_ns {
            *self.noticed.entry(function(&self.kernel, &moved)).or_default() += 1;
        }
        if latency_ns > self.worst.latency_ns {
            again.rewind().map_err(|error| Error::Machine(error.to_string()))?;
            self.worst = Worst {
                replicate: cell.factors.replicate,
                latency_ns,
                is_moved: true,
                timeline: timelines(&again, &self.kernel, vec![wakeup])?.pop(),
            };
            self.growth.push(Step { executions: self.executions, latency_ns });
        }
        Ok(())
    }

    /// Returns how the configuration is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of cells whose stretches are searched.
    pub fn seeds(&self) -> usize {
        self.cells.len()
    }

    /// Returns the number of executions so far.
    pub fn executions(&self) -> usize {
        self.executions
    }

    /// Returns whether no instant is left that could make a wakeup later than the worst one.
    pub fn is_exhausted(&self) -> bool {
        !self.left.iter().any(|candidate| candidate.may_exceed(self.worst.latency_ns))
    }

    /// Returns the largest latency that the recording has, in nanoseconds.
    pub fn recorded_ns(&self) -> u64 {
        self.recorded_ns
    }

    /// Returns the largest bound of the cells, in nanoseconds.
    pub fn bound_ns(&self) -> u64 {
        self.bound_ns
    }

    /// Returns the worst wakeup that was executed.
    pub fn worst(&self) -> &Worst {
        &self.worst
    }

    /// Returns how the worst grew, from the recorded one on.
    pub fn growth(&self) -> &[Step] {
        &self.growth
    }
}

fn function(kernel: &Kernel, moved: &MovedTimer) -> Option<String> {
    kernel.function(moved.closed.start_address).map(str::to_owned)
}
