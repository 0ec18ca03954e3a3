use preemptlab_model::{BackendKind, Factors, InstructionCost, Metric, NoResult, PreemptMode};

/// A cell and what it measured.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredCell {
    /// The recording it is from, when several are compared.
    pub run: Option<String>,
    /// What executed it, and so what its nanoseconds are.
    pub backend: BackendKind,
    /// What an instruction takes there; `None` where its time is not virtual, or it cannot exist.
    pub cost: Option<InstructionCost>,
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
