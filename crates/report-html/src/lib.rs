//! A comparison as one HTML file that needs nothing else: no request leaves it, it opens from a
//! disk, and its script, style and data are inside. The data is [`PageData`]; `web/` is the script
//! that shows it.

mod cells;
mod data;
#[cfg(feature = "bundle")]
mod document;
mod histogram;
mod provenance;

pub use cells::CellRow;
pub use data::{Evidence, Instants, PageData, Timeline};
#[cfg(feature = "bundle")]
pub use document::html;
pub use histogram::Histogram;
pub use provenance::{ImageUsed, KernelUsed, QemuUsed};
