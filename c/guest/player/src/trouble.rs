use alloc::{format, string::String};

use rustix::io::Errno;

/// Why a script cannot be played, in words.
#[derive(Debug, PartialEq, Eq)]
pub struct Trouble(pub String);

/// What can fail.
pub type Result<T> = core::result::Result<T, Trouble>;

/// Names what was about to be done when the kernel refused.
pub trait Attempt<T> {
    /// `cannot {what}: error {number}`.
    fn attempt(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Attempt<T> for core::result::Result<T, Errno> {
    fn attempt(self, what: impl FnOnce() -> String) -> Result<T> {
        let because = |errno: Errno| format!("cannot {}: error {}", what(), errno.raw_os_error());
        self.map_err(|errno| Trouble(because(errno)))
    }
}
