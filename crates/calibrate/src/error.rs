use std::io;

/// Reason why a machine cannot be calibrated.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// The program of benchmarks cannot be executed.
    #[error("the micro-benchmarks cannot be executed: {0}")]
    Program(io::Error),
    /// The program of benchmarks has failed.
    #[error("the micro-benchmarks failed: {0}")]
    Failed(String),
    /// The program printed something else than it should.
    #[error("the micro-benchmarks printed a line that cannot be read: {0:?}")]
    Line(String),
    /// The times of a machine cannot be relied on.
    #[error("the machine cannot be calibrated now: {0}")]
    Unsteady(String),
    /// The guest did not do its job.
    #[error("the micro-benchmarks failed in the guest: {0}")]
    Guest(String),
    /// Machine and guest executed different benchmarks.
    #[error("machine and guest executed different benchmarks: {0}")]
    Different(String),
    /// The solver found no prices.
    #[error("no prices fit what was measured: {0}")]
    NoFit(String),
    /// This machine's kernel takes no module.
    #[error("`--root` measures with a module, and {0}")]
    NoModule(String),
    /// The user has interrupted it.
    #[error("interrupted")]
    Interrupted,
}
