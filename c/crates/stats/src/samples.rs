use preemptlab_model::{Distribution, MeasuredCell};
use schemars::JsonSchema;
use serde::Serialize;
use ts_rs::TS;

/// Number of samples of a distribution in the cells of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS, JsonSchema)]
pub struct Samples {
    /// The distribution, such as `wakeup.fifo`.
    #[ts(as = "String")]
    pub of: Distribution,
    /// All samples.
    #[ts(type = "number")]
    pub count: u64,
    /// Number of cells that measured the distribution.
    pub cells: usize,
    /// Number of them without a sample: nothing happened that it could have been taken of.
    pub empty: usize,
}

impl Samples {
    /// Counts the samples of each distribution, in the order in which the workload gives them.
    pub(crate) fn of(cells: &[&MeasuredCell]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for (of, count) in cells.iter().flat_map(|cell| &cell.samples) {
            let at = all.iter().position(|known| known.of == *of).unwrap_or_else(|| {
                all.push(Self { of: of.clone(), count: 0, cells: 0, empty: 0 });
                all.len() - 1
            });
            let known = &mut all[at];
            known.count = known.count.saturating_add(*count);
            known.cells += 1;
            known.empty += usize::from(*count == 0);
        }
        all
    }

    /// Returns whether no cell had a sample.
    pub fn are_none(&self) -> bool {
        self.empty == self.cells
    }
}
