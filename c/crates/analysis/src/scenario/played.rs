//! The outcomes of a scenario under each model, read from a recording.

use preemptlab_experiment::Recording;
use preemptlab_model::{
    CellInputs, FailureCause, KernelRef, Outcome as CellOutcome, Planned, PlannedCell, series,
};
use preemptlab_protocol::Report;
use preemptlab_protocol::script::Played as Record;
use preemptlab_scenario::{Checked, Counts, Model, Outcome, Scenario, check, outcome};
use preemptlab_trace::{Lanes, Window, lanes};

use super::asked::Under;
use crate::{Result, boot_kernels::BootKernels};

/// A scenario under one model.
pub struct Column {
    /// Name of the scenario, or of its variant.
    pub scenario: String,
    /// Name of the variant, where the file has variants.
    pub variant: Option<String>,
    /// Title that tells the column from its neighbours: `full`, or `pi, full` where there are
    /// variants.
    pub title: String,
    /// Model of the column.
    pub model: Model,
    /// Kernel of the model.
    pub kernel: KernelRef,
    /// State of the scenario under the model.
    pub state: State,
}

/// State of a scenario under a model.
pub enum State {
    /// The scenario was played.
    Played(Box<Played>),
    /// The scenario was not played.
    Failed {
        /// Reason, in words.
        reason: String,
    },
    /// The kernel has no such model.
    Unavailable {
        /// Reason, in words.
        reason: String,
    },
}

/// A scenario that was played.
pub struct Played {
    /// `uname -r`.
    pub release: String,
    /// The threads' numbers and times.
    pub record: Record,
    /// Outcome of the threads.
    pub outcome: Outcome,
    /// Expectations and their results.
    pub checked: Vec<Checked>,
    /// Lanes of all threads and CPUs from the scenario's start, which is its time 0, to its end.
    pub lanes: Lanes,
}

impl Played {
    /// Returns the counts of the trace.
    pub fn counts(&self) -> Counts {
        let cpus = &self.lanes.cpus;
        Counts {
            switches: cpus
                .iter()
                .map(|cpu| cpu.switches_between_threads + cpu.switches_with_idle)
                .sum(),
            schedule_calls: cpus.iter().map(|cpu| cpu.schedules).sum(),
        }
    }

    /// Returns the number of expectations that are met.
    pub fn met(&self) -> usize {
        self.checked.iter().filter(|checked| checked.met).count()
    }
}

impl Column {
    /// Returns the played scenario, if it was played.
    pub fn played(&self) -> Option<&Played> {
        match &self.state {
            State::Played(played) => Some(played),
            _ => None,
        }
    }
}

/// Returns the outcome of a scenario under every model.
///
/// # Errors
///
/// When the recording cannot be read.
pub(super) fn columns(
    recording: &Recording,
    kernels: &mut BootKernels,
    scenario: &Scenario,
    under: Under<'_>,
) -> Result<Vec<Column>> {
    under
        .models
        .iter()
        .map(|model| {
            let kernel = under.kernel_of(*model);
            let planned = recording.planned().map(|(_, planned)| planned).find(|planned| {
                let factors = &planned.factors;
                factors.workload == scenario.name()
                    && factors.kernel == kernel
                    && factors.preempt == model.mode()
            });
            let state = match planned {
                Some(planned) => state(recording, kernels, planned, scenario, *model)?,
                None => State::Failed { reason: "it was not planned".to_owned() },
            };
            let variant = scenario.variant().map(|variant| variant.name.clone());
            let title = match &variant {
                Some(variant) => format!("{variant}, {model}"),
                None => model.to_string(),
            };
            let scenario = scenario.name().to_owned();
            Ok(Column { scenario, variant, title, model: *model, kernel, state })
        })
        .collect()
}

fn state(
    recording: &Recording,
    kernels: &mut BootKernels,
    planned: &PlannedCell,
    scenario: &Scenario,
    model: Model,
) -> Result<State> {
    let inputs = match &planned.planned {
        Planned::Execute(inputs) => inputs,
        Planned::Unavailable { reason } => {
            return Ok(State::Unavailable { reason: reason.clone() });
        }
    };
    let failed = |reason: String| Ok(State::Failed { reason });
    let record = recording.record(planned)?;
    let report = match record.map(|record| record.outcome) {
        Some(CellOutcome::Completed { report, .. }) => report,
        Some(CellOutcome::Failed { cause: FailureCause::VirtualTimeLimit, .. }) => {
            return failed(ENDLESS.to_owned());
        }
        Some(CellOutcome::Failed { reason, .. }) => return failed(reason),
        Some(CellOutcome::Unavailable { reason, .. }) => return Ok(State::Unavailable { reason }),
        None => return failed("it was not executed".to_owned()),
    };
    match played(recording, kernels, inputs, &report, scenario, model)? {
        Ok(played) => Ok(State::Played(Box::new(played))),
        Err(reason) => failed(reason),
    }
}

fn played(
    recording: &Recording,
    kernels: &mut BootKernels,
    inputs: &CellInputs,
    report: &Report,
    scenario: &Scenario,
    model: Model,
) -> Result<Result<Played, String>> {
    let record = match preemptlab_workload::Scenario::played(report) {
        Ok(record) => record,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let outcome = match outcome(scenario, &record) {
        Ok(outcome) => outcome,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let (id, traces) = (inputs.id(), recording.traces());
    let kernel = kernels.get(&traces, &inputs.snapshot)?;
    let findings = traces.findings(id)?;
    let stream = traces.stream(id)?;
    let (Some(kernel), Some(findings), Some(stream)) = (kernel, findings, stream) else {
        return Ok(Err("it has no trace; remove the recording and play it again".to_owned()));
    };
    let virtual_ns = |ns: u64| ns.saturating_add_signed(findings.clock_offset_ns);
    let window =
        Window { start_ns: virtual_ns(record.start_ns), end_ns: virtual_ns(record.end_ns) };
    let lanes = lanes(stream, kernel, window).map_err(|error| traces.unreadable(id, error))?;
    let release = report.system.release.clone();
    let checked = check(scenario, &outcome, model, series(&release));
    Ok(Ok(Played { release, record, outcome, checked, lanes }))
}

/// Hint for a scenario that does not end. A thread that only waits is reported at the end; a thread
/// that keeps the CPU from all others keeps it from the reporter too.
const ENDLESS: &str = "something kept the CPU long after the end; look for a busy of a real-time \
                       thread, an irqs_off or a preempt_off that is longer than the scenario";
