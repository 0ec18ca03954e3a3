//! Finds the costs of each class of instructions on a machine.
//!
//! The same program of micro-benchmarks (`guest/micro`) is executed on the machine, which tells the time of
//! each benchmark, and in a guest, whose instructions are counted by class. The prices are those with which
//! the counts come nearest to the times. Some benchmarks are held out of the fit, to tell how well prices
//! predict benchmarks to which they were not fitted.
//!
//! A module (`kmod/micro`) executes the privileged benchmarks. The same program asks it for its lines.
//!
//! Prices are fitted in floating point; only integers leave this crate in a profile.

mod arch;
mod counted;
mod error;
mod fit;
mod guest;
mod held_out;
mod line;
mod machine;
mod module;
mod outcome;
mod price;
mod profile;
mod program;
mod times;

pub use counted::Counted;
pub use error::CalibrateError;
pub use guest::{CountingCell, counting_cell};
pub use held_out::{COLD, HELD_OUT, TIMED_ALONE};
pub use machine::Machine;
pub use module::{Loaded, Loader, MODULE, ThisKernel, build_tree};
pub use outcome::{Calibration, Errors, PricedClass, Residual, calibrate};
pub use program::{Passes, Place, measure};
pub use times::{Pass, Time, Times};
