//! Names a kernel's addresses, and finds the members of its structures.
//!
//! [`Symbols`] reads the text of a running kernel's `/proc/kallsyms`. [`Types`] reads the BTF in a
//! kernel's image.
//!
//! Invariants: nothing here does I/O, both are values made from bytes. The bytes come from a guest
//! and from a package, so their size is bounded, and malformed bytes are an error, never a panic.
//! No table of a kernel release is built in.
//!
//! This crate depends on no other crate of the workspace.
//!
//! ```
//! use preemptlab_symbols::Symbols;
//!
//! let symbols = Symbols::parse(
//!     "ffffffff81000000 T _stext\n\
//!      ffffffff81000100 T schedule\n\
//!      ffffffff81000400 t do_nothing.isra.0\n\
//!      ffffffff81001000 T _etext\n",
//! )?;
//! assert_eq!(symbols.address("schedule"), Some(0xffff_ffff_8100_0100));
//! let found = symbols.find(0xffff_ffff_8100_0410).unwrap();
//! assert_eq!((found.function(), found.offset), ("do_nothing", 0x10));
//! # Ok::<(), preemptlab_symbols::SymbolError>(())
//! ```

mod arm64;
mod btf;
mod bzimage;
mod compression;
mod error;
mod header;
mod kallsyms;
mod located;
mod steps;
#[cfg(test)]
mod testing;
mod types;

pub use arm64::arm64_release_of;
pub use bzimage::bzimage_release_of;
pub use error::{ImageError, SymbolError, TypesError};
pub use header::{is_arm64_image, is_bzimage, is_zboot};
pub use kallsyms::Symbols;
pub use located::{Located, function};
pub use types::{Member, Types};
