use std::time::Duration;

use preemptlab_experiment::RecordingWriter;
use preemptlab_runner::Summary;

use crate::Result;

/// Executes the planned cells that a recording lacks.
pub(crate) struct Bench<'a> {
    /// Cells at a time.
    pub jobs: usize,
    execute: &'a mut dyn FnMut(&RecordingWriter) -> Result<(Summary, Duration)>,
}

impl<'a> Bench<'a> {
    /// Creates a bench that executes cells so.
    pub fn new(
        jobs: usize,
        execute: &'a mut dyn FnMut(&RecordingWriter) -> Result<(Summary, Duration)>,
    ) -> Self {
        Self { jobs, execute }
    }

    /// Executes them, and tells the host time that a cell takes.
    pub fn execute(&mut self, writer: &RecordingWriter) -> Result<(Summary, Duration)> {
        (self.execute)(writer)
    }
}
