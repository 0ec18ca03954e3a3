//! The cells of recordings as tables for pandas, R, DuckDB: as CSV or as Apache Parquet.
//!
//! Rows come in cell by cell and leave as bytes, so memory does not grow with the recording. The
//! same rows give the same bytes. `fields.rs` describes the content of the tables, once: for both
//! formats, and for docs/export.md.

mod column;
mod csv_table;
mod error;
mod exported_cell;
mod fields;
mod files;
mod memory;
mod parquet_buffer;
mod parquet_table;
mod probe;
mod recorded;
mod row;
mod table;
mod writer;

pub use column::{Column, Kind};
pub use error::ExportError;
pub use exported_cell::ExportedCell;
pub use files::{Tables, export_tables};
pub use memory::parquet_in_memory;
pub use probe::Probe;
pub use table::{Format, Table};
pub use writer::Export;
