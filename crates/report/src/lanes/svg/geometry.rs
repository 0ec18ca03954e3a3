//! Where things are in the picture.

/// Where names begin, and where the axis does.
pub const NAMES: f64 = 16.0;
pub const LEFT: f64 = 136.0;

/// How wide a cell is, and how many there are: what is shorter is as wide as one.
pub const CELL: f64 = 2.0;
pub const CELLS: usize = 470;

/// How long the axis is.
pub const PLOT: f64 = CELL * CELLS as f64;

/// Where an instant is.
pub fn x(ns: u64, end_ns: u64) -> f64 {
    LEFT + ns.min(end_ns) as f64 / end_ns as f64 * PLOT
}
