//! A package that a kernel's name gives.

use std::{
    fs::File,
    io::{self, Seek},
    path::Path,
};

use preemptlab_model::Digest;

use super::super::provisioned::KernelError;
use crate::PackageFault;

/// The largest file of a package, in bytes. Debian's have some 160 MiB, and modules with their debug
/// information several GiB.
const FILE_BYTES_MAX: u64 = 4 << 30;

/// Returns a function that says which package a fault is of, for `map_err`.
pub(super) fn fault(path: &Path) -> impl Fn(PackageFault) -> KernelError {
    move |fault| KernelError::Package { path: path.to_owned(), fault }
}

/// A package of a kernel as a file, with its hash.
pub(crate) struct Named<'a> {
    pub(super) path: &'a Path,
    file: File,
    pub(crate) sha256: Digest,
}

impl<'a> Named<'a> {
    pub(super) fn open(path: &'a Path) -> Result<Self, KernelError> {
        Self::at(path, path)
    }

    /// Opens a package that is at `place` and that messages call `path`.
    pub(crate) fn at(place: &Path, path: &'a Path) -> Result<Self, KernelError> {
        let own = own(path);
        let file = preemptlab_files::open(place).map_err(&own)?;
        if file.metadata().map_err(&own)?.len() > FILE_BYTES_MAX {
            let reason = format!("it is larger than {} MiB", FILE_BYTES_MAX >> 20);
            return Err(own(io::Error::new(io::ErrorKind::FileTooLarge, reason)));
        }
        let sha256 = Digest::of_reader(&file).map_err(&own)?;
        Ok(Self { path, file, sha256 })
    }

    /// Returns the file from its beginning.
    pub(super) fn again(&self) -> Result<&File, KernelError> {
        (&self.file).rewind().map_err(own(self.path))?;
        Ok(&self.file)
    }

    /// Refuses a file that was written to after it was hashed.
    pub(super) fn check_unchanged(&self) -> Result<(), KernelError> {
        match Digest::of_reader(self.again()?).map_err(own(self.path))? == self.sha256 {
            true => Ok(()),
            false => Err(fault(self.path)(PackageFault::Changed)),
        }
    }
}

/// Returns a function that says which file an error of the system is about, for `map_err`.
fn own(path: &Path) -> impl Fn(io::Error) -> KernelError {
    move |error| KernelError::Own { path: path.to_owned(), error }
}
