//! The cell's /proc: of its own processes, and of the machine what benchmarks read.

use alloc::{format, vec::Vec};
use core::mem::MaybeUninit;

use rustix::{
    fs::{FileType, Mode, OFlags, RawDir, open, unlink},
    mount::{self, MountFlags, mount_bind, mount_remount},
};

use crate::trouble::{Attempt, Result};

/// Files and folders of /proc, besides those of processes, that stay; what else a kernel has there
/// is empty.
const KEPT: [&str; 29] = [
    "buddyinfo",
    "cgroups",
    "cmdline",
    "config.gz",
    "cpuinfo",
    "devices",
    "diskstats",
    "filesystems",
    "interrupts",
    "loadavg",
    "locks",
    "meminfo",
    "misc",
    "mounts",
    "net",
    "partitions",
    "pressure",
    "schedstat",
    "self",
    "softirqs",
    "stat",
    "swaps",
    "sys",
    "sysvipc",
    "thread-self",
    "uptime",
    "version",
    "vmstat",
    "zoneinfo",
];

/// Room for some hundred entries of /proc at a time.
const FOLDER_BYTES: usize = 16 << 10;

/// In the place of files: nothing is read from it, and nothing can be written to it.
const EMPTY: &str = "/run/empty";

const RESTRICTED: MountFlags =
    MountFlags::NOSUID.union(MountFlags::NODEV).union(MountFlags::NOEXEC);

/// Mounts it.
pub fn mount() -> Result<()> {
    mount::mount("proc", "/proc", "proc", RESTRICTED, None).attempt(|| "mount proc on /proc".into())
}

/// Empties what is not kept, and makes all of it read-only: a sysctl is written to by user id alone
/// (`sysctl_perm` in fs/proc/proc_sysctl.c).
pub fn protect() -> Result<()> {
    let read_only = MountFlags::BIND | MountFlags::RDONLY | RESTRICTED;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    open(EMPTY, flags, Mode::empty()).attempt(|| format!("make {EMPTY}"))?;
    for (name, kind) in entries()? {
        let place = format!("/proc/{name}");
        let masked = match kind {
            FileType::Directory => {
                mount::mount("tmpfs", &place, "tmpfs", RESTRICTED | MountFlags::RDONLY, None)
            }
            FileType::Symlink => continue,
            _ => mount_bind(EMPTY, &place).and_then(|()| mount_remount(&place, read_only, c"")),
        };
        masked.attempt(|| format!("mount nothing on {place}"))?;
    }
    // It stays where it is mounted.
    unlink(EMPTY).attempt(|| format!("remove {EMPTY}"))?;
    mount_remount("/proc", read_only, c"").attempt(|| "make /proc read-only".into())
}

/// What is there and is neither a process nor kept.
fn entries() -> Result<Vec<(alloc::string::String, FileType)>> {
    let mut buffer = [MaybeUninit::uninit(); FOLDER_BYTES];
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = open("/proc", flags, Mode::empty()).attempt(|| "open /proc".into())?;
    let mut found = Vec::new();
    let mut entries = RawDir::new(folder, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry.attempt(|| "read /proc".into())?;
        let name = entry.file_name().to_string_lossy();
        let is_process = name.bytes().all(|byte| byte.is_ascii_digit());
        if !is_process && ![".", ".."].contains(&&*name) && !KEPT.contains(&&*name) {
            found.push((name.into(), entry.file_type()));
        }
    }
    Ok(found)
}
