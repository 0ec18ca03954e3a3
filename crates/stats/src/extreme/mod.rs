//! The distribution of a configuration's maxima.

mod fit;
mod goodness;
mod likelihood;
mod maximum;
mod profile;
mod refusal;

pub use fit::{Estimate, ExtremeFit, Tail, fit};
pub use refusal::{NoFit, NoLevel};
