use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rustix::fs::{StatVfsMountFlags, statvfs};

use crate::apply::{Contents, Error, Result};

/// Files that container managers leave in a container (podman, Docker, systemd-nspawn).
const CONTAINER_FILES: [&str; 3] = ["/run/.containerenv", "/.dockerenv", "/run/systemd/container"];

/// Systems that describe their boot configuration in another way, by the `ID` of os-release(5).
const ELSEWHERE: [(&str, &str, &str); 5] = [
    ("nixos", "this is NixOS", "set boot.kernelParams in its configuration, and nixos-rebuild"),
    ("guix", "this is Guix", "set kernel-arguments in its configuration, and guix system"),
    ("ubuntu-core", "this is Ubuntu Core", "use `snap set system system.kernel.cmdline-append=`"),
    ("opensuse-microos", "this is a transactional system", TRANSACTIONAL),
    ("sle-micro", "this is a transactional system", TRANSACTIONAL),
];

const TRANSACTIONAL: &str = "edit /etc/default/grub, then `transactional-update grub.cfg`";

/// A machine, or the root folder of one.
#[derive(Clone, Debug)]
pub struct Machine {
    root: PathBuf,
}

impl Machine {
    /// Names the machine with this root folder; `/` is the machine that this process runs on.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Returns its root folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns whether this process runs on it, so that its kernel can be read and set.
    pub fn is_live(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Returns the path of one of its files.
    pub fn path(&self, absolute: &str) -> PathBuf {
        self.root.join(absolute.trim_start_matches('/'))
    }

    /// Reads a file of one line.
    pub(crate) fn line(&self, absolute: &str) -> io::Result<String> {
        Ok(fs::read_to_string(self.path(absolute))?.trim().to_owned())
    }

    /// Reads the id of its boot, if this process runs on it.
    pub(crate) fn boot(&self) -> Option<String> {
        crate::host::boot_id(&self.root)
    }

    /// Returns a new file of the user that preemptlab runs as, which is root except in tests.
    pub(crate) fn new_file(&self, bytes: impl Into<Vec<u8>>) -> Contents {
        let uid = rustix::process::geteuid().as_raw();
        let gid = rustix::process::getegid().as_raw();
        Contents { uid, gid, ..Contents::of_root(bytes) }
    }

    /// Checks that its settings may be changed.
    ///
    /// # Errors
    ///
    /// When it is a container, an immutable system or read-only, or this process is not root's.
    pub fn may_be_changed(&self, verb: &'static str) -> Result<()> {
        self.container()?;
        self.immutable()?;
        if !rustix::process::geteuid().is_root() {
            return Err(Error::NotRoot { verb });
        }
        for path in ["/etc", "/usr", "/var/lib", "/boot"] {
            self.is_writable(path)?;
        }
        Ok(())
    }

    /// Checks whether a folder is writable, without writing to it.
    pub(crate) fn is_writable(&self, path: &str) -> Result<()> {
        let read_only = statvfs(self.path(path))
            .is_ok_and(|space| space.f_flag.contains(StatVfsMountFlags::RDONLY));
        if !read_only {
            return Ok(());
        }
        let instead = match path {
            "/usr" | "/etc" => {
                "an immutable system has a way of its own to set kernel parameters; `preemptlab \
                 apply ... --emit script` prints what is to be done"
                    .to_owned()
            }
            _ => format!("`mount -o remount,rw {path}` makes it writable"),
        };
        Err(Error::Unsupported { reason: format!("{path} is read-only"), instead })
    }

    /// Refuses a container, whose `/proc/1/environ` holds `container=` (systemd's container
    /// interface).
    fn container(&self) -> Result<()> {
        let marked = CONTAINER_FILES.into_iter().find(|path| self.path(path).exists());
        let told = fs::read(self.path("/proc/1/environ")).is_ok_and(|environment| {
            environment.split(|byte| *byte == 0).any(|it| it.starts_with(b"container="))
        });
        if !self.is_live() || (marked.is_none() && !told) {
            return Ok(());
        }
        let evidence = marked.unwrap_or("container= of process 1");
        Err(Error::Unsupported {
            reason: format!("this is a container ({evidence}), which boots no kernel of its own"),
            instead: "run preemptlab on the machine itself".to_owned(),
        })
    }

    fn immutable(&self) -> Result<()> {
        let unsupported = |reason: &str, instead: &str| {
            Err(Error::Unsupported { reason: reason.to_owned(), instead: instead.to_owned() })
        };
        if self.path("/run/ostree-booted").exists() || self.path("/ostree/repo").exists() {
            let instead = "use `rpm-ostree kargs --append=PARAMETER`, and --delete to undo it";
            return unsupported("ostree keeps this system's boot entries", instead);
        }
        let release = ["/etc/os-release", "/usr/lib/os-release"]
            .into_iter()
            .find_map(|path| fs::read_to_string(self.path(path)).ok())
            .unwrap_or_default();
        let ids: Vec<&str> = release
            .lines()
            .filter_map(|line| line.strip_prefix("ID="))
            .map(|id| id.trim_matches(['"', '\'']))
            .collect();
        if let Some((_, reason, instead)) = ELSEWHERE.into_iter().find(|(id, ..)| ids.contains(id))
        {
            return unsupported(reason, instead);
        }
        if self.path("/usr/sbin/transactional-update").exists() {
            return unsupported("this is a transactional system", TRANSACTIONAL);
        }
        Ok(())
    }
}
