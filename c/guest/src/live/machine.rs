//! The machine's own procfs, sysfs and debugfs, of which the cell's root shows as good as nothing.
//!
//! They are mounts without a place: whoever has their descriptors can use them, and these are closed
//! when a command is executed.

use core::sync::atomic::{AtomicI32, Ordering};

use rustix::{
    fd::{BorrowedFd, IntoRawFd, OwnedFd},
    fs::{CWD, Mode, OFlags, ResolveFlags, openat2},
    io::Errno,
    mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen},
};

/// What names a file of debugfs.
pub const DEBUGFS: &str = "/sys/kernel/debug/";

/// What names a file of the machine's /proc, in which the kernel's own threads are: that of the
/// cell's process namespace has none.
pub const MACHINE_PROC: &str = "/run/machine/proc/";

/// What names a file of the procfs of the cell's own process namespace, where it can be written to; the
/// one that commands see cannot (`live/proc.rs`).
pub const CELL_PROC: &str = "/run/cell/proc/";

/// A descriptor that is none.
const NONE: i32 = -1;

static PROC_MOUNT: AtomicI32 = AtomicI32::new(NONE);
static CELL_PROC_MOUNT: AtomicI32 = AtomicI32::new(NONE);
static SYSFS_MOUNT: AtomicI32 = AtomicI32::new(NONE);
static DEBUGFS_MOUNT: AtomicI32 = AtomicI32::new(NONE);

/// What a path begins with, the mount that it is in, and where in that; the first that fits counts.
static PLACES: [(&str, &AtomicI32, &str); 5] = [
    (DEBUGFS, &DEBUGFS_MOUNT, "./"),
    ("/sys/", &SYSFS_MOUNT, "./"),
    ("/proc/sys/", &PROC_MOUNT, "sys/"),
    (MACHINE_PROC, &PROC_MOUNT, "./"),
    (CELL_PROC, &CELL_PROC_MOUNT, "./"),
];

/// Makes the mounts. Whose processes the procfs shows is decided here: those of the caller's
/// namespace.
pub fn take() -> Result<(), Errno> {
    PROC_MOUNT.store(mounted("proc")?.into_raw_fd(), Ordering::Relaxed);
    SYSFS_MOUNT.store(mounted("sysfs")?.into_raw_fd(), Ordering::Relaxed);
    match mounted("debugfs") {
        // A kernel without debugfs is asked otherwise for its mode.
        Err(Errno::NODEV) => {}
        mount => DEBUGFS_MOUNT.store(mount?.into_raw_fd(), Ordering::Relaxed),
    }
    Ok(())
}

/// Makes the mount of the caller's own process namespace.
pub fn take_own() -> Result<(), Errno> {
    CELL_PROC_MOUNT.store(mounted("proc")?.into_raw_fd(), Ordering::Relaxed);
    Ok(())
}

fn mounted(kind: &str) -> Result<OwnedFd, Errno> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// Opens a file of the kernel by the path that it has where everything is mounted. No path leaves
/// the mount that it begins in.
pub fn open(path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let open = |folder: BorrowedFd<'_>, path: &str, resolve| {
        openat2(folder, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve)
    };
    let place = PLACES.iter().find_map(|(begins, mount, inside)| {
        Some((mount.load(Ordering::Relaxed), *inside, path.strip_prefix(begins)?))
    });
    match place {
        None => open(CWD, path, ResolveFlags::NO_MAGICLINKS),
        Some((NONE, ..)) => Err(Errno::NOENT),
        Some((mount, inside, rest)) => {
            // SAFETY: what `take` has stored is never closed.
            let mount = unsafe { BorrowedFd::borrow_raw(mount) };
            let path = alloc::format!("{inside}{rest}");
            open(mount, &path, ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS)
        }
    }
}
