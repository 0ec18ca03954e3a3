//! Debian: its archives through a private apt, and the names of its packages.

pub(crate) mod apt;
pub(crate) mod mirror;
pub(crate) mod names;
pub mod needs;
pub(crate) mod release;
pub(crate) mod signature;
pub(crate) mod signed_lists;
pub(crate) mod sources;
pub(crate) mod suite;
