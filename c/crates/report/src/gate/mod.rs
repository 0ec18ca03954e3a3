//! The decision of a gate, in a form for each of its readers.

mod cases;
mod github;
mod junit;
mod kcidb;
mod letter;
mod tables;

pub use github::gate_github;
pub use junit::gate_junit;
pub use kcidb::gate_kcidb;
pub use letter::gate_letter;
pub use tables::{gate_headline, gate_markdown, gate_terminal};

#[cfg(test)]
pub(crate) mod testing;
