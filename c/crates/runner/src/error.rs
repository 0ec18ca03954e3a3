use preemptlab_experiment::NotOfExperiment;
use preemptlab_model::CellId;
use preemptlab_recording::RecordingError;

use crate::Stop;

/// Reason why a run ended early. Every cell that was finished is in the recording.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The user ended the run.
    #[error("interrupted; the same command resumes from here")]
    Cancelled,
    /// The host cannot continue.
    #[error("{0}")]
    Host(String),
    /// A cell in virtual time is a pure function of its inputs.
    #[error("cell {0} did not say the same again, which is a bug of preemptlab or of QEMU")]
    Different(CellId),
    /// A taker gave back the record of another cell than this one.
    #[error("cell {0} came back with the record of another cell; nothing of it was recorded")]
    Other(CellId),
    /// The recording or the cache cannot be used.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The plan of the recording is not that of its experiment.
    #[error(transparent)]
    NotOfExperiment(#[from] NotOfExperiment),
}

impl From<Stop> for RunError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Cancelled => Self::Cancelled,
            Stop::Host { reason } | Stop::Failed { reason, .. } => Self::Host(reason),
        }
    }
}
