//! Files of packages, a distribution's and a stranger's: the description of a `.deb` or an `.rpm`, and its
//! content as a stream. No program of the machine reads them, and nothing is unpacked here: a visitor
//! decides about each entry.
//!
//! Bounds hold on everything that is read. A path that leads out of the package, or that no reader could
//! see, refuses the whole package.

mod deb;
mod error;
mod item;
mod rpm;
mod stream;

use std::io::{self, Read};

pub use self::error::PackageFault;
use self::stream::{Bounded, peek};
pub(crate) use self::{
    error::damaged,
    item::{Bounds, Facts, Format, Item, Kind, in_debian_s_words},
    rpm::Vouched,
};

/// Bounds of a package that a user brings. Ubuntu's modules without compression have some 600 MiB in 6,000
/// files.
pub(crate) const OWN_BOUNDS: Bounds = Bounds { bytes: 4 << 30, entries: 200_000 };

/// A package whose description was read.
pub(crate) struct Opened<'r> {
    pub(crate) facts: Facts,
    body: Box<dyn Read + 'r>,
}

/// Reads the description of a package.
///
/// # Errors
///
/// [`PackageFault`]
pub(crate) fn open<'r>(file: impl Read + 'r) -> Result<Opened<'r>, PackageFault> {
    let (head, file) = peek(Box::new(io::BufReader::new(file)), 8).map_err(damaged)?;
    let (facts, body) = match &*head {
        deb::MAGIC => deb::open(file)?,
        [0xed, 0xab, 0xee, 0xdb, ..] => rpm::open(file)?,
        [] => return Err(PackageFault::Format("the file is empty")),
        [b'<', ..] => return Err(PackageFault::Format("the file begins as a web page does")),
        _ => return Err(PackageFault::Format("the file begins as neither of them does")),
    };
    Ok(Opened { facts, body })
}

impl Opened<'_> {
    /// Calls `visit` with every entry of the package and its content.
    ///
    /// # Errors
    ///
    /// [`PackageFault`], and the errors of `visit`.
    pub(crate) fn each<E: From<PackageFault>>(
        self,
        bounds: Bounds,
        visit: impl FnMut(&Item<'_>, &mut dyn Read) -> Result<(), E>,
    ) -> Result<(), E> {
        let body = Bounded::new(self.body, bounds.bytes);
        match self.facts.format {
            Format::Deb => deb::each(body, bounds.entries, visit),
            Format::Rpm => rpm::each(body, bounds.entries, visit),
        }
    }
}

#[cfg(test)]
mod tests;
