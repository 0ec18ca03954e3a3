//! The decision whether a kernel is worse than another. docs/gate.md describes the method and its
//! measured error rates.

mod document;
mod judge;
mod mechanism;
mod row;
mod scale;
mod section;

pub use document::{
    GATE_FORMAT, Gate, GateFailure, GatePlace, GateRow, GateVerdict, SectionChange, SectionRow,
};
pub use judge::{GateRule, gate};
pub use mechanism::{Followed, Mechanism, ParseMechanismError};
