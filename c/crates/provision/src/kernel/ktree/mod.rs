//! Kernels from trees and repositories of the user's own.
//!
//! The tree is never written to, and no kernel is built in it: its files, as git lists them, are
//! copied into the store, where a file that stays the same keeps its time. So a tree that was
//! built in place, one with changes, one that cannot be written to and a revision of a repository
//! are all the same to make, and make compiles only changed files.

mod answers;
mod build;
mod changes;
mod checkout;
mod commit;
mod config;
mod copy;
mod error;
mod git;
mod listing;
mod object_id;
mod objects;
mod paths;
mod refs;
mod repository;
mod stranger;
#[cfg(test)]
mod tests;
mod trust;
mod watched;
mod workspace;

pub(crate) use self::{
    answers::read_in_every_way,
    build::{Job, Tree},
    checkout::Checkout,
    trust::{stranger_of_repository, stranger_of_tree},
    workspace::Workspace,
};
pub use self::{
    error::TreeError,
    git::Git,
    repository::{Repository, alternates},
    stranger::{Stranger, Who},
    watched::StopReason,
};
