//! Observes a machine, writes settings for it, and puts them into force.
//!
//! - [`host`] observes this machine and its own kernel; it changes nothing.
//! - [`tune`] turns a configuration into settings and files, as values; it does no I/O. Readers of
//!   recordings use this module alone.
//! - [`apply`] puts settings into force, takes them back, and checks whether they took effect. It
//!   takes its settings from [`tune`], which has checked them, and its facts from [`host`].
//! - [`state`] is the document of what a machine can do, what its kernel runs with, and which settings took effect.
//!
//! This crate knows nothing of recordings, and depends on `model` only.

pub mod apply;
pub mod host;
pub mod state;
pub mod tune;
