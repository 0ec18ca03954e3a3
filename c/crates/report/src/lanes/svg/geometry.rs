//! The places of the parts of the picture.

/// Left edge of the names, and of the axis.
pub const NAMES: f64 = 16.0;
pub const LEFT: f64 = 136.0;

/// Width of a cell, and number of cells: a shorter stretch is as wide as one.
pub const CELL: f64 = 2.0;
pub const CELLS: usize = 470;

/// Length of the axis.
pub const PLOT: f64 = CELL * CELLS as f64;

/// Returns the place of an instant.
pub fn x(ns: u64, end_ns: u64) -> f64 {
    LEFT + ns.min(end_ns) as f64 / end_ns as f64 * PLOT
}
