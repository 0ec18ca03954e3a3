use alloc::{borrow::Cow, format, string::String, vec::Vec};

use preemptlab_protocol::{Failure, FailureKind, Refusal};
use rustix::io::Errno;

use crate::stage;

/// Why the guest gives up.
#[derive(Debug)]
pub struct Trouble {
    /// What the host is to make of it.
    pub kind: FailureKind,
    /// In words.
    pub reason: String,
    /// The write of a setting that the kernel refused.
    pub refusal: Option<Refusal>,
}

/// What can fail in the guest.
pub type Result<T> = core::result::Result<T, Trouble>;

impl Trouble {
    /// Trouble that nothing special follows from.
    pub fn other(reason: impl Into<String>) -> Self {
        Self::of_kind(FailureKind::Other, reason)
    }

    /// The kernel has not got what the job wants.
    pub fn unavailable(reason: impl Into<String>) -> Self {
        Self::of_kind(FailureKind::Unavailable, reason)
    }

    /// Trouble that the host treats in a way of its own.
    pub fn of_kind(kind: FailureKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into(), refusal: None }
    }

    /// The message to the host, as long as nothing is known of the system and no command ran.
    pub fn into_failure(self) -> Failure {
        let Self { kind, reason, refusal } = self;
        let stage = stage::current();
        Failure { stage, kind, reason, system: None, commands: Vec::new(), refusal }
    }
}

/// Names what the guest was about to do when the kernel refused.
pub trait Attempt<T> {
    /// `cannot {what}: ENOENT`.
    fn attempt(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Attempt<T> for core::result::Result<T, Errno> {
    fn attempt(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|errno| Trouble::other(format!("cannot {}: {}", what(), name(errno))))
    }
}

/// The name of an error number, as errno(3) has it, for those that a guest may well meet.
pub fn name(errno: Errno) -> Cow<'static, str> {
    Cow::Borrowed(match errno {
        Errno::ACCESS => "EACCES",
        Errno::AGAIN => "EAGAIN",
        Errno::BUSY => "EBUSY",
        Errno::EXIST => "EEXIST",
        Errno::FBIG => "EFBIG",
        Errno::INVAL => "EINVAL",
        Errno::IO => "EIO",
        Errno::ISDIR => "EISDIR",
        Errno::LOOP => "ELOOP",
        Errno::NODATA => "ENODATA",
        Errno::NODEV => "ENODEV",
        Errno::NOENT => "ENOENT",
        Errno::NOEXEC => "ENOEXEC",
        Errno::NOMEM => "ENOMEM",
        Errno::NOSPC => "ENOSPC",
        Errno::NOSYS => "ENOSYS",
        Errno::NOTDIR => "ENOTDIR",
        Errno::NXIO => "ENXIO",
        Errno::OPNOTSUPP => "EOPNOTSUPP",
        Errno::PERM => "EPERM",
        Errno::RANGE => "ERANGE",
        Errno::ROFS => "EROFS",
        Errno::TOOBIG => "E2BIG",
        Errno::TXTBSY => "ETXTBSY",
        other => return Cow::Owned(format!("error {}", other.raw_os_error())),
    })
}
