//! Kernels: the names that persons give them, and their description in recordings.
//!
//! [`KernelRef`] is a name, which `grammar` reads; a text that names no kernel is explained by `slip` and `meant`.
//! [`Kernel`] is the one that ran.

mod grammar;
mod meant;
mod name;
mod package_files;
mod packaged;
mod recorded;
mod slip;
#[cfg(test)]
mod tests;
mod tree;

pub use self::{
    grammar::ParseKernelRefError,
    name::KernelRef,
    recorded::{Kernel, is_release},
    tree::{ConfigBase, Configured, KernelSource},
};
