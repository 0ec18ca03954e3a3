//! The distribution of a configuration's maxima.

mod document;
mod fit;
mod goodness;
mod likelihood;
mod maximum;
mod profile;
mod refusal;

pub use document::{Extreme, LEVEL_CELLS};
pub use fit::{Estimate, ExtremeFit, Tail, fit};
pub use refusal::{NoFit, NoLevel};
