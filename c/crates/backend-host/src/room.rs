//! The root of a cell: the guest's image in memory, a few devices, and the kernel's files on the
//! machine's CPUs and memory nodes. The cell's first process mounts /proc.

use std::{
    fs::{self, File, Permissions},
    io::{self, BufReader, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::{PermissionsExt, chown, symlink},
    },
    path::{Component, Path, PathBuf},
};

use cpio::newc::Reader;
use preemptlab_protocol::live::FILTER_FILE;
use preemptlab_runner::Stop;
use rustix::{
    fs::{
        AtFlags, FileType, Gid, Mode, OFlags, ResolveFlags, Uid, chownat, fchmod, fchown, mkdirat,
        openat, openat2, symlinkat, unlinkat,
    },
    io::Errno,
    mount::{MountFlags, mount, mount_bind, mount_remount},
};

use crate::{error::host, filter, namespace::mounted};

/// A folder that is empty for all processes but the cell's.
pub const ROOT: &str = "/run/preemptlab/root";

/// The first process of a cell, in its root.
pub const PROGRAM: &str = "/cell";

/// Devices that programs expect.
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

/// Part of sysfs that a cell sees: CPUs, their caches, clock sources and memory nodes.
const SYSTEM: &str = "sys/devices/system";

/// Folders that are there whatever is in the image, so that nothing of it can be in their place.
const FOLDERS: [&str; 8] =
    ["dev", "dev/shm", "proc", "run", "sys", "sys/devices", "sys/devices/system", "tmp"];

/// Folders that every user may write to.
const OPEN_FOLDERS: [&str; 2] = ["dev/shm", "tmp"];

/// The longest target of a symbolic link, in bytes (PATH_MAX).
const TARGET_BYTES_MAX: u64 = 4096;

/// All that a cell writes is in this one file system: at most half of the machine's memory.
const OPTIONS: &str = "mode=0755,size=50%";

/// Makes a cell's root in the calling thread's mount namespace, and returns its path. Its files
/// belong to `owner`.
///
/// # Errors
///
/// [`Stop`] when it cannot be made.
pub fn make(image: &Path, program: &[u8], owner: u32) -> Result<PathBuf, Stop> {
    let root = PathBuf::from(ROOT);
    furnish(&root, image, program, owner)
        .map_err(|error| host(format!("a cell's root cannot be made: {error}")))?;
    Ok(root)
}

fn furnish(root: &Path, image: &Path, program: &[u8], owner: u32) -> io::Result<()> {
    fs::create_dir_all(root)?;
    let options = std::ffi::CString::new(OPTIONS)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mounted(root, mount("tmpfs", root, "tmpfs", flags, Some(options.as_c_str())))?;
    chown(root, Some(owner), Some(owner))?;
    for folder in FOLDERS.map(|folder| root.join(folder)) {
        fs::create_dir(&folder)?;
        chown(&folder, Some(owner), Some(owner))?;
    }
    let room = Room::open(root, owner)?;
    room.unpack(image)?;
    for folder in OPEN_FOLDERS.map(|folder| root.join(folder)) {
        fs::set_permissions(&folder, Permissions::from_mode(0o1777))?;
    }
    room.file(PROGRAM, 0o755, &mut &program[..])?;
    room.file(FILTER_FILE, 0o644, &mut &filter::bytes()?[..])?;
    for device in DEVICES.map(|name| Path::new("/dev").join(name)) {
        if device.exists() {
            let place = device.strip_prefix("/").unwrap_or(&device);
            room.file(&place.to_string_lossy(), 0o644, &mut io::empty())?;
            let place = root.join(place);
            mounted(&device, mount_bind(&device, &place))?;
        }
    }
    symlink("/proc/self/fd", root.join("dev/fd"))?;
    let system = root.join(SYSTEM);
    let host_system = Path::new("/").join(SYSTEM);
    mounted(&host_system, mount_bind(&host_system, &system))?;
    let read_only = MountFlags::BIND
        | MountFlags::RDONLY
        | MountFlags::NOSUID
        | MountFlags::NODEV
        | MountFlags::NOEXEC;
    mounted(&system, mount_remount(&system, read_only, c""))
}

/// A cell's root while it is filled. Links in it lead no write to another place.
struct Room {
    root: OwnedFd,
    owner: u32,
}

impl Room {
    fn open(root: &Path, owner: u32) -> io::Result<Self> {
        Ok(Self { root: File::open(root)?.into(), owner })
    }

    /// Unpacks an initramfs as the kernel would
    /// (Documentation/driver-api/early-userspace/buffer-format.rst).
    fn unpack(&self, image: &Path) -> io::Result<()> {
        let mut archive = BufReader::new(File::open(image)?);
        loop {
            let mut entry = Reader::new(archive)?;
            if entry.entry().is_trailer() {
                return Ok(());
            }
            let path = entry.entry().name().to_owned();
            let mode = entry.entry().mode();
            match FileType::from_raw_mode(mode) {
                FileType::Directory => self.folder(&path)?,
                FileType::RegularFile => self.file(&path, mode & 0o777, &mut entry)?,
                FileType::Symlink => {
                    let mut target = String::new();
                    entry.by_ref().take(TARGET_BYTES_MAX).read_to_string(&mut target)?;
                    self.link(&path, &target)?;
                }
                _ => return Err(io::Error::other(format!("`{path}` is no file"))),
            }
            archive = entry.finish()?;
        }
    }

    fn folder(&self, path: &str) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        match mkdirat(&parent, name, Mode::from_raw_mode(0o755)) {
            Err(Errno::EXIST) => return Ok(()),
            result => result?,
        }
        self.own(&parent, name)
    }

    /// Makes a file; one that is there is replaced.
    fn file(&self, path: &str, mode: u32, content: &mut dyn Read) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        absent(unlinkat(&parent, name, AtFlags::empty()))?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut file = File::from(openat(&parent, name, flags, Mode::RUSR | Mode::WUSR)?);
        io::copy(content, &mut file)?;
        file.flush()?;
        fchown(&file, Some(Uid::from_raw(self.owner)), Some(Gid::from_raw(self.owner)))?;
        Ok(fchmod(&file, Mode::from_raw_mode(mode))?)
    }

    fn link(&self, path: &str, target: &str) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        absent(unlinkat(&parent, name, AtFlags::empty()))?;
        symlinkat(target, &parent, name)?;
        self.own(&parent, name)
    }

    fn own(&self, parent: impl AsFd, name: &str) -> io::Result<()> {
        let (uid, gid) = (Uid::from_raw(self.owner), Gid::from_raw(self.owner));
        Ok(chownat(parent, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Returns the folder that holds a path of the archive, and the name in it. Links on the way
    /// are followed as if the root were the machine's.
    fn parent<'path>(&self, path: &'path str) -> io::Result<(OwnedFd, &'path str)> {
        let error = || io::Error::other(format!("the image has a file `{path}`"));
        let path = Path::new(path.strip_prefix('/').unwrap_or(path));
        if !path.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(error());
        }
        let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(error)?;
        let parent = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok((openat2(&self.root, parent, flags, Mode::empty(), ResolveFlags::IN_ROOT)?, name))
    }
}

fn absent(result: Result<(), Errno>) -> io::Result<()> {
    match result {
        Err(Errno::NOENT) => Ok(()),
        result => Ok(result?),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use cpio::newc::{Builder, trailer};

    use super::*;

    fn archive(entries: &[(&str, u32, &str)]) -> Vec<u8> {
        let mut archive = Vec::new();
        for (name, mode, content) in entries {
            let length = u32::try_from(content.len()).unwrap();
            let mut writer = Builder::new(name).mode(*mode).write(&mut archive, length);
            writer.write_all(content.as_bytes()).unwrap();
            writer.finish().unwrap();
        }
        trailer(&mut archive).unwrap();
        archive
    }

    fn unpacked(entries: &[(&str, u32, &str)]) -> (tempfile::TempDir, io::Result<()>) {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        fs::write(&image, archive(entries)).unwrap();
        let root = folder.path().join("root");
        fs::create_dir(&root).unwrap();
        let own = rustix::process::geteuid().as_raw();
        let result = Room::open(&root, own).and_then(|room| room.unpack(&image));
        (folder, result)
    }

    #[test]
    fn an_image_is_unpacked() {
        let (folder, result) = unpacked(&[
            ("usr", 0o040_755, ""),
            ("usr/run", 0o100_755, "#!"),
            ("bin", 0o120_777, "usr"),
        ]);
        result.unwrap();
        let run = folder.path().join("root/bin/run");
        assert_eq!(fs::read_to_string(&run).unwrap(), "#!");
        assert_eq!(fs::metadata(&run).unwrap().permissions().mode() & 0o777, 0o755);
    }

    #[test]
    fn an_image_stays_in_its_root() {
        for name in ["../x", "usr/../../x", "..", ".", ""] {
            assert!(unpacked(&[(name, 0o100_644, "")]).1.is_err(), "{name}");
        }
        assert!(unpacked(&[("null", 0o020_666, "")]).1.is_err());
    }

    #[test]
    fn links_of_an_image_lead_to_somewhere_in_it() {
        let outside = tempfile::tempdir().unwrap();
        let path = outside.path().to_str().unwrap();
        let (_, result) = unpacked(&[("out", 0o120_777, path), ("out/x", 0o100_644, "")]);
        assert!(result.is_err(), "there is no such folder in the image");
        let target = format!("{path}/x");
        let (folder, result) = unpacked(&[("x", 0o120_777, &target), ("x", 0o100_644, "mine")]);
        result.unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("root/x")).unwrap(), "mine");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);

        let (folder, result) = unpacked(&[
            ("usr", 0o040_755, ""),
            ("lib", 0o120_777, "/usr"),
            ("lib/x", 0o100_644, "mine"),
        ]);
        result.unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("root/usr/x")).unwrap(), "mine");
    }
}
