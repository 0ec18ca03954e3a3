//! Every call and return around a moment, after the fact.

use std::process::ExitCode;

use preemptlab_trace::function_graph;

use super::{choice::Chosen, timelines::in_ms, tracing::Tracing};
use crate::{
    exit::{self, OrExit},
    moment::Moment,
};

/// Executes the cell again and prints the function graph of a window.
pub fn execute(tracing: &Tracing<'_>, cell: &Chosen, moment: Moment) -> exit::Result<ExitCode> {
    tracing.ensure(&[cell])?;
    let kernel = tracing.kernel(cell)?;
    let (start_ns, end_ns) =
        (moment.ns.saturating_sub(moment.window_ns), moment.ns.saturating_add(moment.window_ns));
    let findings = tracing.recording.traces().findings(cell.id);
    if let Some(findings) = findings.map_err(super::recording_failure)?
        && (end_ns < findings.start_ns || start_ns > findings.end_ns)
    {
        return Err(exit::failure(
            exit::UNUSABLE,
            format!(
                "there is nothing at {}: the cell lasts from {} to {}",
                in_ms(moment.ns),
                in_ms(findings.start_ns),
                in_ms(findings.end_ns)
            ),
        ));
    }
    let stream = tracing.execute(&cell.inputs, &kernel.zoom(start_ns, end_ns))?;
    let graph = function_graph(stream, &kernel).or_exit(exit::HOST)?;
    tracing.output.data(&graph)
}
