//! Finds the commit that made a kernel worse.
//!
//! The search is that of `git bisect`. It takes place in a repository of its own, which borrows the
//! objects of the user's (`gitrepository-layout(5)`, `objects/info/alternates`), so nothing is written
//! to the user's. Whether a commit is worse its caller says; each answer is in a journal before the
//! search goes on, so that a killed search is continued with all of its answers.

mod error;
mod history;
mod journal;
mod line;
mod repository;
mod search;

pub use error::BisectError;
pub use history::{Commit, Revert};
pub use journal::{Answer, Ends, Step};
pub use search::{Claim, Next, Search};
