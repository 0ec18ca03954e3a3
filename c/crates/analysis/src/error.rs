use preemptlab_recording::RecordingError;
use preemptlab_stats::{MarginError, ParseBaselineError, RecommendError, UnknownBaseline};
use preemptlab_trace::TraceError;

/// Reason why a question about recordings has no answer. Texts name the cause and a remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The answer is no.
    #[error("{0}")]
    No(String),
    /// The recordings, an experiment or the question cannot be used.
    #[error("{0}")]
    Unusable(String),
    /// No cell has measurements.
    #[error("{0}")]
    Unmeasured(String),
    /// The machine has a problem, such as a full disk.
    #[error("{0}")]
    Machine(String),
    /// A recording cannot be read or written.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// A text names no configuration.
    #[error(transparent)]
    ParseBaseline(#[from] ParseBaselineError),
    /// The recordings lack the baseline.
    #[error(transparent)]
    Baseline(#[from] UnknownBaseline),
    /// Margins fit neither each other nor the recordings.
    #[error(transparent)]
    Margin(#[from] MarginError),
    /// The recordings cannot be asked for a recommendation.
    #[error(transparent)]
    Recommend(#[from] RecommendError),
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

impl Error {
    /// Returns the error of recordings or a question that cannot be used.
    pub fn unusable(text: impl Into<String>) -> Self {
        Self::Unusable(text.into())
    }
}

/// Result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;
