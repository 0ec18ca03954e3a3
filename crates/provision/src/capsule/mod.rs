//! A capsule: a recording with everything that its cells need, in one file that anybody can keep.
//!
//! ```text
//! capsule.json               the format, and the program that packed it
//! recording/...              the recording
//! packages/SHA256.deb        QEMU's packages
//! kernels/SHA256/vmlinuz     kernel images
//! images/SHA256              guest images, which hold the modules and programs of their cells
//! lists/N/InRelease          a list of packages that Debian signed, which names QEMU's
//! lists/N/Packages
//! licences/PACKAGE_VERSION   the licences of the packages in kernels and images; QEMU's packages hold their own
//! sources.json               the source package of every package, and of those that are not Debian's who made it
//! ```
//!
//! The same recording gives the same bytes, where Debian's signed lists are the same.

mod error;
mod form;
mod licences;
mod open;
mod own;
mod pack;

use std::{io::Read, path::Path};

pub use self::{
    error::CapsuleError,
    form::Needs,
    open::{Capsule, Trust, Vouched},
    pack::{Bytes, Contents},
};

/// First bytes of a frame of zstd (RFC 8878, 3.1.1).
const ZSTD: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();

/// Returns whether a path is that of a file which begins as a capsule does.
pub fn may_be_one(path: &Path) -> bool {
    let mut begin = [0; ZSTD.len()];
    let read = preemptlab_files::open(path).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && begin == ZSTD
}

/// Reads a file as a capsule, and unpacks it into an empty folder.
pub(crate) fn read_in_every_way(path: &Path, folder: &Path) {
    let _ = open::about(path);
    let _ = open::unfold(path, folder);
}

#[cfg(test)]
mod tests;
