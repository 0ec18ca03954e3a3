//! What a kernel's addresses and types are.
//!
//! [`Symbols`] names the addresses of a running kernel, out of the text of its `/proc/kallsyms`.
//! [`Types`] says where the members of its structures are, out of the BTF in its image. Both are
//! values from bytes: nothing here does I/O. Both inputs come from outside, a guest and a package,
//! so they are bounded, and whatever they hold is an error at worst.

mod btf;
mod bzimage;
mod error;
mod kallsyms;
mod located;
mod steps;
#[cfg(test)]
mod testing;
mod types;

pub use error::{SymbolError, TypesError};
pub use kallsyms::Symbols;
pub use located::{Located, function};
pub use types::{Member, Types};
