//! Another user who can write to a file.

use std::{fmt, fs, os::unix::fs::MetadataExt, path::PathBuf};

use preemptlab_model::plain;
use rustix::process::{getegid, geteuid};

/// A file or folder of a source that another user can write to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranger {
    /// The file or folder.
    pub path: PathBuf,
    /// The users who can write to it.
    pub who: Who,
}

/// Users besides this one who can write to something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Its owner, and the user of this process.
    Owner {
        /// Number of the owner.
        owner: u32,
        /// Number of this process's user.
        user: u32,
    },
    /// A group that is not this process's own.
    Group(u32),
    /// Every user.
    Everybody,
}

impl fmt::Display for Stranger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display().to_string();
        let path = plain::line(&path);
        match self.who {
            Who::Owner { owner, user } => {
                write!(
                    f,
                    "`{path}` belongs to the user with the number {owner}, and you are {user}"
                )
            }
            Who::Group(group) => {
                write!(
                    f,
                    "everybody in the group with the number {group} can write to `{path}` (`chmod g-w` ends that)"
                )
            }
            Who::Everybody => write!(f, "every user can write to `{path}` (`chmod o-w` ends that)"),
        }
    }
}

/// Says who besides this user can write to something.
pub(super) fn who(metadata: &fs::Metadata) -> Option<Who> {
    let (user, mode) = (geteuid().as_raw(), metadata.mode());
    if metadata.uid() != user {
        return Some(Who::Owner { owner: metadata.uid(), user });
    }
    if metadata.is_symlink() {
        return None;
    }
    // The sticky bit keeps the files of a folder, and lets every user add some.
    if mode & 0o002 != 0 {
        return Some(Who::Everybody);
    }
    // Many systems give each user a group of the same name, and let it write.
    (mode & 0o020 != 0 && metadata.gid() != getegid().as_raw()).then(|| Who::Group(metadata.gid()))
}
