//! Finds the costs of each class of instructions on a machine.
//!
//! The same program of micro-benchmarks (`guest/micro`) is executed on the machine, this one or one that a command reaches,
//! which tells the time of each benchmark, and in a guest, whose instructions are counted by class. The prices are those with which
//! the counts come nearest to the times. Some benchmarks are held out of the fit, to tell how well prices
//! predict benchmarks to which they were not fitted.
//!
//! Exchanges of two CPUs are measured between two of the machine, and executed in a guest of two CPUs in virtual
//! time: the price of an interrupt of another CPU and that of the halt are those with which both take as long.
//!
//! The sizes of caches are those that the kernel and the processor tell; what a miss costs is the time of loads of
//! buffers that one level holds and the one before it does not.
//!
//! A module (`kmod/micro`) executes the privileged benchmarks. The same program asks it for its lines.
//!
//! Prices are fitted in floating point; only integers leave this crate in a profile.

mod arch;
mod caches;
mod counted;
mod error;
mod exchange;
mod fit;
mod gaps;
mod guest;
mod held_out;
mod line;
mod machine;
mod module;
mod outcome;
mod pair;
mod price;
mod profile;
mod program;
mod site;
mod solve;
mod sysfs;
mod times;

pub use caches::{
    BeyondNs, Buffer, Holder, Level, MachineCaches, Moved, NoCaches, NoTransfer, Size, Tlb, Tlbs,
    Told, ToldCaches,
};
pub use counted::Counted;
pub use error::CalibrateError;
pub use exchange::{Exchange, Exchanged, PairPass, PairTimes, Spread};
pub use gaps::{Gaps, SHARE_MAX, Stolen};
pub use guest::{MicroCell, Target, counting_cell, pair_cell};
pub use held_out::{COLD, HELD_OUT, TIMED_ALONE};
pub use machine::Machine;
pub use module::{Loaded, Loader, MODULE, ThisKernel, build_tree};
pub use outcome::{Calibration, Errors, Found, PricedClass, Residual, calibrate};
pub use pair::{Cpus, OneCpu, Pair};
pub use program::{Passes, Place, Program, Reach};
pub use site::Site;
pub use solve::{Compared, Figures, Solution, Unsolved, solve};
pub use times::{Pass, Time, Times};
