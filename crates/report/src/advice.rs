use preemptlab_stats::Recommendation;
use preemptlab_tune::Proposal;

/// Recommendation with the notes of the recordings.
#[derive(Clone, Debug)]
pub struct Advice {
    /// Recommendation.
    pub recommendation: Recommendation,
    /// The settings of the recommended configuration, or why they cannot be given; `None` when
    /// nothing is recommended.
    pub settings: Option<Result<Proposal, String>>,
    /// Command that would decide what is undecided, where there is one.
    pub next: Option<String>,
    /// Whether nobody gave the margin.
    pub is_margin_default: bool,
    /// Whether nobody named the baseline.
    pub is_baseline_default: bool,
}
