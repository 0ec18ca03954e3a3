//! Histograms of one cell, summaries over replicates, and the comparison of configurations with
//! what it is worth. docs/statistics.md says which methods these are and how far they hold.
//!
//! Nothing here does I/O. Every result is finite: what cannot be computed is absent, never NaN.

mod baseline;
mod bootstrap;
mod cells;
mod compare;
mod comparison;
mod effect;
mod histogram;
mod interval;
mod looks;
mod margin;
mod metric;
mod multiplicity;
mod summary;

pub use baseline::{Baseline, ParseBaselineError, UnknownBaseline};
pub use bootstrap::MedianBootstrap;
pub use cells::{MeasuredCell, NoResult};
pub use compare::{Rule, compare};
pub use comparison::{Comparison, Configuration, Failure, Group};
pub use effect::{Effect, REPLICATES_MIN, Verdict};
pub use histogram::Histogram;
pub use interval::Interval;
pub use looks::Looks;
pub use margin::{Margin, ParseMarginError};
pub use metric::{Direction, Metric};
pub use summary::Summary;
