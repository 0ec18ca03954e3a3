use preemptlab_model::{BackendKind, Factors, Metric, PreemptMode};

/// A cell and what it measured.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredCell {
    /// The recording it is from, when several are compared.
    pub run: Option<String>,
    /// What executed it, and so what its nanoseconds are.
    pub backend: BackendKind,
    /// Its place in its experiment.
    pub factors: Factors,
    /// Whether its kernel is built with `PREEMPT_RT`; `None` where nothing tells.
    pub rt: Option<bool>,
    /// The mode that the guest observed; `None` where the kernel does not tell.
    pub observed: Option<PreemptMode>,
    /// The look at the results before which it was executed: 0 for what was planned from the
    /// beginning, and in every recording whose number of replicates was fixed in advance.
    pub look: u32,
    /// Its metrics, or why there are none.
    pub result: Result<Vec<Metric>, NoResult>,
}

/// Why a cell has no metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoResult {
    /// It ran, or tried to.
    Failed(String),
    /// It cannot exist.
    Unavailable(String),
    /// It was not executed yet.
    Missing,
}

impl NoResult {
    /// The reason in words.
    pub fn reason(&self) -> &str {
        match self {
            Self::Failed(reason) | Self::Unavailable(reason) => reason,
            Self::Missing => "not executed yet",
        }
    }
}
