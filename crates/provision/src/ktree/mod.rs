//! Kernels from trees and repositories of the user's own.
//!
//! The tree is never written to, and no kernel is built in it: its files, as git lists them, are
//! copied into the store, where a file that stays the same keeps its time. So a tree that was
//! built in place, one with changes, one that cannot be written to and a revision of a repository
//! are all the same to make, and make compiles only what changed.

mod build;
mod checkout;
mod copy;
mod error;
mod git;
mod listing;
#[cfg(test)]
mod tests;
mod workspace;

pub(crate) use self::{
    build::{Job, Tree},
    checkout::Checkout,
    git::Blobs,
    workspace::Workspace,
};
pub use self::{error::TreeError, git::Git};
