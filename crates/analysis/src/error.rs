use preemptlab_recording::RecordingError;
use preemptlab_stats::{ParseBaselineError, RecommendError, UnknownBaseline};
use preemptlab_trace::TraceError;

/// Says why a question about recordings has no answer. Texts name the cause and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The answer is no.
    #[error("{0}")]
    No(String),
    /// The recordings, an experiment or the question cannot be used.
    #[error("{0}")]
    Unusable(String),
    /// No cell measured anything.
    #[error("{0}")]
    Unmeasured(String),
    /// This machine gets in the way, such as with a full disk.
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

/// Is what this crate's functions return.
pub type Result<T, E = Error> = std::result::Result<T, E>;
