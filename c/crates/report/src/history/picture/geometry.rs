//! Sizes, in units of the picture.

/// Left edge of the axis.
pub const LEFT: f64 = 62.0;
/// Length of the axis; to the right of it is the room for labels.
pub const PLOT: f64 = 640.0;
/// From the edges of the axis to the first and the last kernel.
pub const INSET: f64 = 30.0;
/// From the top of a panel to that of its plot.
pub const HEAD: f64 = 28.0;
/// Height of a plot.
pub const BODY: f64 = 120.0;
/// Distance between labels at the ends of lines.
pub const LABEL: f64 = 13.0;
/// Distance between neighbouring lines at one kernel.
pub const DODGE: f64 = 6.0;
