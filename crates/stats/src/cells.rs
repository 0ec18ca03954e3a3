use preemptlab_model::{
    BackendKind, CellCost, Clocks, Distribution, Factors, Metric, NoResult, PreemptMode,
};

/// Cell with its measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredCell {
    /// The recording it is from, when several are compared.
    pub run: Option<String>,
    /// Backend of the cell, which decides the meaning of its nanoseconds.
    pub backend: BackendKind,
    /// What the cell's time counts; `None` where its time is not virtual, or it cannot exist.
    pub cost: Option<CellCost>,
    /// Time of several CPUs; `None` where there is one, or the time is not virtual.
    pub clocks: Option<Clocks>,
    /// Factors of the cell.
    pub factors: Factors,
    /// Whether the cell's kernel is built with `PREEMPT_RT`; `None` where nothing tells.
    pub rt: Option<bool>,
    /// The mode that the guest observed; `None` where the kernel does not tell.
    pub observed: Option<PreemptMode>,
    /// Number of looks at the results before the cell was executed: 0 for a cell that was planned
    /// from the beginning, and in every recording whose number of replicates was fixed in advance.
    pub look: u32,
    /// Number of samples of each distribution of the cell. One without a sample has no metrics.
    pub samples: Vec<(Distribution, u64)>,
    /// Metrics of the cell, or the reason why there are none.
    pub result: Result<Vec<Metric>, NoResult>,
}
