//! The latencies of configurations in one picture: the share of instants that are later than each.
//!
//! Both axes are logarithmic, as in the plots of OSADL's latency monitoring: real-time kernels differ in
//! one part in thousands or millions of all instants.

mod axis;
mod latencies;
mod svg;
mod terminal;

pub use latencies::{LatencyCurve, LatencyCurves};
pub use svg::svg as curves_svg;
pub use terminal::terminal as curves_terminal;
