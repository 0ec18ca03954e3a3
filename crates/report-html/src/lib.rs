//! A comparison as one HTML file that needs nothing else: no request leaves it, it opens from a
//! disk, and its script, style and data are inside. The data is [`PageData`]; what the page does
//! with it is in `web/`.

mod cells;
mod data;
#[cfg(feature = "bundle")]
mod document;
mod histogram;
mod metric;
mod provenance;
mod text;

pub use cells::{CellRow, CellStatus};
pub use data::{Configuration, FORMAT, Failure, Group, PageData, Timeline, Verdict};
#[cfg(feature = "bundle")]
pub use document::html;
pub use histogram::Histogram;
pub use metric::{Better, MetricInfo, MetricValues, ReplicateValue, Word};
pub use provenance::{ImageUsed, KernelUsed, Package, QemuUsed};
