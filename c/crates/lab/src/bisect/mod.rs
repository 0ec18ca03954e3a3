//! Finds the commit that made a kernel worse.
//!
//! The search is that of `git bisect`. It takes place in a repository of its own, which borrows the
//! objects of the user's (`gitrepository-layout(5)`, `objects/info/alternates`), so nothing is written
//! to the user's. Its caller says whether a commit is worse. Each answer is in a journal before the
//! search continues, so that a killed search keeps all of its answers.

mod bisection;
mod error;
mod history;
mod journal;
mod line;
mod range;
mod repository;
mod search;
mod searched;
mod worst;

pub use bisection::{BisectRequest, bisect};
pub use error::BisectError;
pub use history::Revert;
pub use journal::Ends;
pub use range::BisectRange;
pub use search::{Claim, Next, Search};
pub use searched::Between;
