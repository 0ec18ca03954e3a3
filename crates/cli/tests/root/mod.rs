//! The root folder of a Debian system, with programs of this machine, for `apply --root`.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use crate::common::Finished;

/// Release of the installed kernel, with Debian's configuration.
pub const RELEASE: &str = "6.12.117+deb13-amd64";
pub const CONFIG: &str = "CONFIG_IRQ_FORCED_THREADING=y\nCONFIG_TICK_ONESHOT=y\nCONFIG_NO_HZ_FULL=y\n\
    # CONFIG_PREEMPT_NONE is not set\nCONFIG_PREEMPT_VOLUNTARY=y\n# CONFIG_PREEMPT is not set\n\
    CONFIG_PREEMPT_DYNAMIC=y\nCONFIG_CPU_ISOLATION=y\nCONFIG_RCU_NOCB_CPU=y\nCONFIG_RCU_LAZY=y\n\
    CONFIG_DEBUG_FS=y\nCONFIG_SCHED_DEBUG=y\n";

/// Script in the place of grub-probe, which looks at disks: the folder is not a disk.
const PROBE: &str = "#!/bin/sh\ncase \"$*\" in\n*fs_uuid*) echo 0c7a6b6c-5a0e-4b1c-8d47-1d1f2f8b7f10 ;;\n\
    *=device*) echo /dev/vda1 ;;\n*=fs*) echo ext2 ;;\n*partmap*) echo gpt ;;\n*hint*) echo hd0,gpt1 ;;\nesac\n";

/// Script with the effects of grub-mkconfig that matter to its callers, in a tenth of the time.
const QUICK_MKCONFIG: &str = "#!/bin/sh\nset -e\n. /etc/default/grub\n\
    for x in /etc/default/grub.d/*.cfg; do [ ! -e \"$x\" ] || . \"$x\"; done\n\
    echo \"menuentry 'Debian' {\"\n\
    echo \"\tlinux /boot/vmlinuz-6.12.117+deb13-amd64 root=/dev/vda1 ro $GRUB_CMDLINE_LINUX_DEFAULT\"\n\
    echo '}'\n";

/// An entry as kernel-install writes it.
const ENTRY: &str = "title      Debian GNU/Linux 13 (trixie)\nversion    6.12.117+deb13-amd64\n\
    options    root=UUID=0c7a6b6c ro quiet\nlinux      /debian/6.12.117+deb13-amd64/linux\n";

/// Runs a command with the programs of this machine in the root folder's `/usr`; the mounts end
/// with it. `$1` is the folder, `$2` a file with more of such commands.
const SHELL: &str = r#"
set -e
root=$1; more=$2; shift 2
mount --rbind "$root" "$root"
mount --rbind /usr "$root/usr"
mount --bind "$root/grub-probe" "$root/usr/sbin/grub-probe"
mount --rbind /dev "$root/dev"
mount --rbind /proc "$root/proc"
eval "$more"
exec "$@"
"#;

/// A root folder.
pub struct Root {
    folder: tempfile::TempDir,
    /// Commands for the shell that runs everything here.
    pub more: String,
}

/// Content of the root folder: permissions, bytes and the time of the last change, by path.
pub type Snapshot = BTreeMap<PathBuf, (u32, Vec<u8>, std::time::SystemTime)>;

impl Root {
    /// Creates a root with GRUB, and the real grub-mkconfig.
    pub fn grub() -> Self {
        let root = Self::new();
        root.write(
            "etc/default/grub",
            "GRUB_DEFAULT=0\nGRUB_TIMEOUT=5\nGRUB_DISTRIBUTOR=Debian\n\
            GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\nGRUB_CMDLINE_LINUX=\"\"\n",
        );
        fs::create_dir_all(root.path("etc/grub.d")).unwrap();
        for entry in fs::read_dir("/etc/grub.d").unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), root.path("etc/grub.d").join(entry.file_name())).unwrap();
        }
        root.write("boot/grub/grub.cfg", "");
        root.regenerate();
        root
    }

    /// Creates a root with GRUB, and a grub-mkconfig that takes no time.
    pub fn quick_grub() -> Self {
        let mut root = Self::new();
        root.write("etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n");
        root.write("boot/grub/grub.cfg", "");
        root.program("grub-mkconfig", QUICK_MKCONFIG);
        root.more = "mount --bind \"$root/grub-mkconfig\" \"$root/usr/sbin/grub-mkconfig\"".into();
        root.regenerate();
        root
    }

    /// Creates a root with systemd-boot, and two entries.
    pub fn systemd_boot() -> Self {
        let mut root = Self::new();
        root.more =
            "mount -t tmpfs -o size=4k nothing \"$root/usr/lib/grub\" 2>/dev/null || :".into();
        root.write("boot/EFI/systemd/systemd-bootx64.efi", "");
        root.write("boot/loader/loader.conf", "timeout 3\n");
        root.write("boot/loader/entries/debian-6.12.117+deb13-amd64.conf", ENTRY);
        let other = ENTRY.replace("6.12.117+deb13", "6.12.107+deb13");
        root.write("boot/loader/entries/debian-6.12.107+deb13-amd64.conf", &other);
        root.write("boot/loader/entries/memtest.conf", "title memtest\nefi /memtest.efi\n");
        root.write("etc/kernel/cmdline", "root=UUID=0c7a6b6c ro quiet\n");
        root
    }

    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = Self { folder, more: String::new() };
        for name in ["usr", "dev", "proc", "run", "tmp", "var/lib", "etc/systemd/system", "sys"] {
            fs::create_dir_all(root.path(name)).unwrap();
        }
        for name in ["bin", "sbin", "lib", "lib64"] {
            std::os::unix::fs::symlink(format!("usr/{name}"), root.path(name)).unwrap();
        }
        root.write("etc/os-release", "ID=debian\nNAME=\"Debian GNU/Linux\"\n");
        root.write(&format!("boot/vmlinuz-{RELEASE}"), "");
        root.write(&format!("boot/initrd.img-{RELEASE}"), "");
        root.write(&format!("boot/config-{RELEASE}"), CONFIG);
        root.program("grub-probe", PROBE);
        root
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn program(&self, name: &str, text: &str) {
        self.write(name, text);
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Generates the boot configuration, like update-grub.
    pub fn regenerate(&self) {
        let output = self.shell(&["chroot", self.folder.path().to_str().unwrap(), "grub-mkconfig"]);
        output.succeeds();
        self.write("boot/grub/grub.cfg", &output.stdout);
    }

    /// Runs a command that sees the root folder with everything mounted; the user of the tests is
    /// root in it.
    pub fn shell(&self, arguments: &[&str]) -> Finished {
        self.shell_with(&self.more, arguments)
    }

    fn shell_with(&self, more: &str, arguments: &[&str]) -> Finished {
        let mut command = Command::new("unshare");
        if !rustix::process::geteuid().is_root() {
            command.arg("--map-root-user");
        }
        command.args(["--mount", "--propagation", "private", "sh", "-c", SHELL, "sh"]);
        command.arg(self.folder.path()).arg(more).args(arguments);
        command.env("NO_COLOR", "1").env("LC_ALL", "C").stdin(std::process::Stdio::null());
        Finished::new(command.output().unwrap())
    }

    /// Runs the binary under another program, such as strace.
    pub fn under(&self, program: &[&str], arguments: &[&str]) -> Finished {
        let binary = env!("CARGO_BIN_EXE_preemptlab");
        let root = self.folder.path().to_str().unwrap();
        self.shell(&[program, &[binary], arguments, &["--root", root]].concat())
    }

    pub fn preemptlab(&self, arguments: &[&str]) -> Finished {
        self.under(&[], arguments)
    }

    /// Runs the binary with the folder as its own root, which makes it the running machine: the
    /// kernel's files in `sys` are those of the test, and process 1 is in no container.
    pub fn live(&self, arguments: &[&str]) -> Finished {
        let binary = Path::new(env!("CARGO_BIN_EXE_preemptlab"));
        let folder = binary.parent().unwrap().display();
        let inside = format!(
            "mount --bind {folder} \"$root/tmp\"; mount --bind /dev/null \"$root/proc/1/environ\""
        );
        let root = Self::path(self, "").display().to_string();
        let more = format!("{}\n{inside}", self.more);
        self.shell_with(&more, &[&["chroot", &root, "/tmp/preemptlab"], arguments].concat())
    }

    /// Returns every file but mounts and the lock.
    pub fn snapshot(&self) -> Snapshot {
        fn walk(root: &Path, folder: &Path, found: &mut Snapshot) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let metadata = path.symlink_metadata().unwrap();
                let name = path.strip_prefix(root).unwrap().to_owned();
                if metadata.is_dir() {
                    walk(root, &path, found);
                }
                let bytes = if metadata.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
                let mode = metadata.permissions().mode();
                found.insert(name, (mode, bytes, metadata.modified().unwrap()));
            }
        }
        let mut found = Snapshot::new();
        for name in ["etc", "boot", "var"] {
            walk(self.folder.path(), &self.path(name), &mut found);
        }
        found
    }
}

/// Returns a snapshot without times.
pub fn contents(snapshot: &Snapshot) -> BTreeMap<&Path, (u32, &[u8])> {
    let each = snapshot.iter();
    each.map(|(path, (mode, bytes, _))| (path.as_path(), (*mode, bytes.as_slice()))).collect()
}

/// Returns the text of a file in a snapshot.
pub fn text(snapshot: &Snapshot, name: &str) -> String {
    String::from_utf8(snapshot[Path::new(name)].1.clone()).unwrap()
}
