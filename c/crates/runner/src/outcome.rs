use crate::{Execution, Stop, refused};
use preemptlab_model::{CellInputs, CellRecord, Digest, FailureCause, Outcome, RECORDING_FORMAT};
use preemptlab_protocol::{CommandReport, Exit, Failure, FailureKind, Message, Stage};
use preemptlab_recording::CellFolder;
use preemptlab_workload::Workload;

/// Number of a console's last lines that are kept.
const CONSOLE_LINES_MAX: usize = 40;

/// Makes a cell's record of a backend's result.
///
/// # Errors
///
/// When the run was cancelled or the host cannot continue, and nothing may be recorded.
pub fn record(
    inputs: &CellInputs,
    workload: &Workload,
    result: Result<Execution, Stop>,
) -> Result<CellRecord, Stop> {
    let mut conditions = None;
    let (console, outcome) = match result {
        Ok(mut execution) => {
            let console = last_lines(&execution.console);
            conditions = execution.conditions.take().map(Box::new);
            (console, outcome(inputs, workload, execution))
        }
        Err(Stop::Failed { cause, reason, console }) => {
            (last_lines(&console), Outcome::Failed { cause, reason })
        }
        Err(stop @ (Stop::Cancelled | Stop::Host { .. })) => return Err(stop),
    };
    let record = CellRecord {
        format: RECORDING_FORMAT,
        id: inputs.id(),
        inputs: inputs.clone(),
        console,
        conditions,
        outcome,
    };
    if CellFolder::has_room_for(&record) {
        return Ok(record);
    }
    let reason = "it says more than a recording can hold".to_owned();
    Ok(CellRecord { outcome: Outcome::Failed { cause: FailureCause::Workload, reason }, ..record })
}

fn outcome(inputs: &CellInputs, workload: &Workload, execution: Execution) -> Outcome {
    let digest = Digest::of(&[execution.said.as_slice(), &execution.console].concat());
    match execution.message {
        Message::Done(report) => match workload.measure(inputs, &report) {
            Ok(_) => Outcome::Completed { digest, report: Box::new(report) },
            Err(error) => {
                Outcome::Failed { cause: FailureCause::Workload, reason: error.to_string() }
            }
        },
        Message::Failed(failure) => failed(inputs, failure),
        Message::Ready(_) => Outcome::Failed {
            cause: FailureCause::Boot,
            reason: "the guest booted again instead of running the cell".to_owned(),
        },
    }
}

fn failed(inputs: &CellInputs, failure: Failure) -> Outcome {
    if let Some(reason) = refused::refusal(&inputs.job, &failure) {
        return Outcome::Unavailable { reason, system: failure.system.map(Box::new) };
    }
    let cause = match failure.kind {
        FailureKind::Unavailable => {
            let system = failure.system.map(Box::new);
            let reason = refused::told_apart(failure.reason);
            return Outcome::Unavailable { reason, system };
        }
        FailureKind::TimeLimit => FailureCause::VirtualTimeLimit,
        FailureKind::OutOfMemory => FailureCause::OutOfMemory,
        FailureKind::Other if failure.stage == Stage::Boot => FailureCause::Boot,
        FailureKind::Other => FailureCause::Workload,
    };
    let said: Vec<String> = failure.commands.iter().filter_map(complaint).collect();
    let reason = std::iter::once(failure.reason).chain(said).collect::<Vec<_>>().join("; ");
    Outcome::Failed { cause, reason }
}

/// Returns the last line that a command wrote to its standard error, for the reason of a failure;
/// `None` for a command that ended well.
fn complaint(command: &CommandReport) -> Option<String> {
    if command.exit == Exit::Code(0) {
        return None;
    }
    let line = command.stderr.trim_end().lines().next_back()?;
    let exit = match command.exit {
        Exit::Code(code) => format!("status {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
        Exit::Stopped => "stopped".to_owned(),
    };
    Some(format!("{} ({exit}): {line}", command.name))
}

fn last_lines(console: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(console);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines[lines.len().saturating_sub(CONSOLE_LINES_MAX)..].iter().map(ToString::to_string).collect()
}
