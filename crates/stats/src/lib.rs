//! Histograms of one cell, summaries over replicates, and the comparison of configurations.
//!
//! Nothing here does I/O. Every result is finite: what cannot be computed is absent, never NaN.

mod baseline;
mod comparison;
mod histogram;
mod metric;
mod summary;

pub use baseline::{Baseline, ParseBaselineError, UnknownBaseline};
pub use comparison::{Comparison, Configuration, Failure, Group, MeasuredCell, NoResult, compare};
pub use histogram::Histogram;
pub use metric::{Direction, Metric};
pub use summary::Summary;
