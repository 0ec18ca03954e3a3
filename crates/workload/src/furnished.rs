//! Things that stressors find in a guest besides their package: a file system, mounts, devices, and swap. All of it
//! is in memory.

use preemptlab_protocol::Command;
use serde::{Deserialize, Serialize};

use crate::program::command;

/// Package of the one program that mounts and sets swap up: it needs no library.
pub const PACKAGE: &str = "busybox-static";

const BUSYBOX: &str = "/usr/bin/busybox";

/// Modules of kernels that have them: checksums of file systems (also where a window needs none), sockets of
/// ciphers, devices that stressors open, and swap. A kernel loads most of them itself where it has a modprobe.
pub const MODULES: [&str; 10] = [
    "crc32c_generic",
    "algif_aead",
    "algif_hash",
    "algif_rng",
    "algif_skcipher",
    "dccp_ipv4",
    "loop",
    "softdog",
    "tun",
    "zram",
];

/// The disk in memory, and the module that makes it.
const DISK: &str = "/dev/ram0";
const DISK_MODULE: &str = "brd";

/// Size of the disk in KiB: XFS has 300 MiB at least. Only what is written takes memory.
const DISK_KIB: u32 = 384 << 10;

/// Folder of the file system.
const FOLDER: &str = "/run/files";

/// Identity of the file system, and seed of its hashes: chance would make another one in each boot.
const UUID: &str = "7b1c5b56-2a4e-4d5e-8f0a-63c1a0d2e4f6";

/// Mounts that a running system has and that stressors look for, leave for root to ping, and swap of 128 MiB. A kernel
/// without one of them is measured all the same: the stressor says what it misses.
const SCRIPT: &str = "b=/usr/bin/busybox
$b mkdir -p /dev/pts /dev/mqueue
$b mount -t devpts -o mode=620,ptmxmode=666 devpts /dev/pts
$b mount -t mqueue mqueue /dev/mqueue
$b mount -t cgroup2 cgroup2 /sys/fs/cgroup
$b mount -t securityfs securityfs /sys/kernel/security
$b mount -t tracefs tracefs /sys/kernel/tracing
echo 0 0 > /proc/sys/net/ipv4/ping_group_range
if echo 128M > /sys/block/zram0/disksize; then
    $b mkswap /dev/zram0
    $b swapon /dev/zram0
fi
exit 0";

/// File system in which a stressor makes its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileSystem {
    /// ext4, with checksums of files (fs-verity).
    Ext4,
    /// XFS.
    Xfs,
    /// Btrfs.
    Btrfs,
    /// tmpfs, which needs no disk.
    Tmpfs,
}

impl FileSystem {
    /// Returns the folder in which a stressor makes its files.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Tmpfs => "/tmp",
            Self::Ext4 | Self::Xfs | Self::Btrfs => FOLDER,
        }
    }

    /// Returns the package of the program that makes it.
    pub fn package(self) -> Option<&'static str> {
        match self {
            Self::Ext4 => Some("e2fsprogs"),
            Self::Xfs => Some("xfsprogs"),
            Self::Btrfs => Some("btrfs-progs"),
            Self::Tmpfs => None,
        }
    }

    /// Lists the modules that a guest needs for it.
    pub fn modules(self) -> Vec<&'static str> {
        match self {
            Self::Ext4 => vec![DISK_MODULE, "ext4"],
            Self::Xfs => vec![DISK_MODULE, "xfs"],
            Self::Btrfs => vec![DISK_MODULE, "btrfs"],
            Self::Tmpfs => Vec::new(),
        }
    }

    /// Lists the modules that a guest has where its kernel does, before [`modules`](Self::modules): checksums, first by
    /// the processor's own instruction, as a running system loads them by itself. From 6.14 on `crc32` has this
    /// code, and there are no such modules.
    pub fn wanted_modules(self) -> Vec<&'static str> {
        match self {
            Self::Ext4 | Self::Xfs | Self::Btrfs => vec!["crc32c_intel", "crc32c_generic"],
            Self::Tmpfs => Vec::new(),
        }
    }

    /// Lists the kernel parameters that its modules are given.
    pub fn parameters(self) -> Vec<String> {
        match self {
            Self::Ext4 | Self::Xfs | Self::Btrfs => {
                vec![format!("{DISK_MODULE}.rd_size={DISK_KIB}")]
            }
            Self::Tmpfs => Vec::new(),
        }
    }

    /// Returns the arguments of the program that makes it, the same bytes in each boot.
    fn made(self) -> Option<Vec<String>> {
        let words = match self {
            Self::Ext4 => format!(
                "/usr/sbin/mkfs.ext4 -q -F -b 4096 -O verity -U {UUID} -E \
                 hash_seed={UUID},lazy_itable_init=0,lazy_journal_init=0,nodiscard {DISK}"
            ),
            Self::Xfs => format!("/usr/sbin/mkfs.xfs -q -f -K -m uuid={UUID} {DISK}"),
            Self::Btrfs => format!("/usr/sbin/mkfs.btrfs -q -f -K -U {UUID} {DISK}"),
            Self::Tmpfs => return None,
        };
        Some(words.split_whitespace().map(str::to_owned).collect())
    }

    /// Returns its name for mount(8).
    fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
            Self::Tmpfs => "tmpfs",
        }
    }
}

/// Returns the commands that furnish a guest before its snapshot.
pub fn prepare(file_system: FileSystem) -> Vec<Command> {
    let furnish = command("furnish", busybox(&["sh", "-c", SCRIPT]));
    [furnish].into_iter().chain(disk(file_system)).collect()
}

/// Returns the commands that make and mount a file system; none for tmpfs.
pub fn disk(file_system: FileSystem) -> Vec<Command> {
    let Some(made) = file_system.made() else { return Vec::new() };
    vec![
        command("mkfs", made),
        command("mkdir", busybox(&["mkdir", "-p", FOLDER])),
        command("mount", busybox(&["mount", "-t", file_system.name(), DISK, FOLDER])),
        // As /tmp: some stressors work as an ordinary user.
        command("chmod", busybox(&["chmod", "1777", FOLDER])),
    ]
}

fn busybox(words: &[&str]) -> Vec<String> {
    [BUSYBOX].iter().chain(words).map(|&word| word.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_is_made_alike_in_each_boot() {
        for of in [FileSystem::Ext4, FileSystem::Xfs, FileSystem::Btrfs] {
            let commands = prepare(of);
            let names: Vec<&str> = commands.iter().map(|command| command.name.as_str()).collect();
            assert_eq!(names, ["furnish", "mkfs", "mkdir", "mount", "chmod"]);
            let made = commands[1].argv.join(" ");
            assert!(made.contains(UUID) && made.ends_with(DISK), "{made}");
            assert_eq!(commands[3].argv[3], of.name());
            assert_eq!(of.modules(), [DISK_MODULE, of.name()]);
            assert_eq!(of.parameters(), ["brd.rd_size=393216"]);
        }
        assert_eq!(prepare(FileSystem::Tmpfs).len(), 1);
        assert!(
            FileSystem::Tmpfs.modules().is_empty() && FileSystem::Tmpfs.parameters().is_empty()
        );
    }
}
