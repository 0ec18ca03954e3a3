//! What a cell sees as its root: the guest's image in memory, and the kernel's own files.

use std::{
    fs::{self, File, Permissions},
    io::{self, BufReader, Read},
    os::unix::fs::{PermissionsExt, symlink},
    path::{Component, Path, PathBuf},
};

use cpio::newc::Reader;
use preemptlab_backend::Stop;
use preemptlab_protocol::MACHINE_PROC;
use rustix::{
    fs::FileType,
    mount::{MountFlags, mount, mount_bind, mount_bind_recursive},
};

use crate::{host, namespace::mounted};

/// A folder that is empty for everybody but the cell.
pub const ROOT: &str = "/run/preemptlab/root";

/// The first process of a cell, in its root.
pub const PROGRAM: &str = "/cell";

/// Devices that programs expect; `cpu_dma_latency` keeps CPUs from deep sleep while it is open
/// (Documentation/power/pm_qos_interface.rst), which cyclictest asks for.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "cpu_dma_latency"];

/// The longest target of a symbolic link, in bytes (PATH_MAX).
const TARGET_BYTES_MAX: u64 = 4096;

/// Makes a cell's root in the calling thread's mount namespace, and returns where it is.
pub fn make(image: &Path, program: &[u8]) -> Result<PathBuf, Stop> {
    let root = PathBuf::from(ROOT);
    furnish(&root, image, program)
        .map_err(|error| host(format!("a cell's root cannot be made: {error}")))?;
    Ok(root)
}

fn furnish(root: &Path, image: &Path, program: &[u8]) -> io::Result<()> {
    fs::create_dir_all(root)?;
    memory(root, "mode=0755")?;
    unpack(image, root)?;
    let file = root.join(PROGRAM.trim_start_matches('/'));
    fs::write(&file, program)?;
    fs::set_permissions(&file, Permissions::from_mode(0o755))?;

    bind(Path::new("/sys"), &root.join("sys"), true)?;
    let machine_proc = root.join(MACHINE_PROC.trim_start_matches('/'));
    fs::create_dir_all(&machine_proc)?;
    bind(Path::new("/proc"), &machine_proc, false)?;
    for folder in ["dev", "proc", "tmp"] {
        fs::create_dir_all(root.join(folder))?;
    }
    memory(&root.join("tmp"), "mode=1777")?;
    let dev = root.join("dev");
    memory(&dev, "mode=0755")?;
    for device in DEVICES.map(|name| Path::new("/dev").join(name)) {
        if device.exists() {
            let place = dev.join(device.file_name().unwrap_or_default());
            File::create(&place)?;
            bind(&device, &place, false)?;
        }
    }
    symlink("/proc/self/fd", dev.join("fd"))?;
    fs::create_dir(dev.join("shm"))?;
    memory(&dev.join("shm"), "mode=1777")
}

fn memory(place: &Path, options: &str) -> io::Result<()> {
    let options = std::ffi::CString::new(options)?;
    mounted(place, mount("tmpfs", place, "tmpfs", MountFlags::NOSUID, Some(options.as_c_str())))
}

fn bind(what: &Path, place: &Path, is_recursive: bool) -> io::Result<()> {
    let bind = if is_recursive { mount_bind_recursive } else { mount_bind };
    mounted(place, bind(what, place))
}

/// Unpacks an initramfs as the kernel would
/// (Documentation/driver-api/early-userspace/buffer-format.rst).
fn unpack(image: &Path, root: &Path) -> io::Result<()> {
    let mut archive = BufReader::new(File::open(image)?);
    loop {
        let mut entry = Reader::new(archive)?;
        if entry.entry().is_trailer() {
            return Ok(());
        }
        let path = inside(root, entry.entry().name())?;
        let mode = entry.entry().mode();
        match FileType::from_raw_mode(mode) {
            FileType::Directory => fs::create_dir_all(&path)?,
            FileType::RegularFile => {
                io::copy(&mut entry, &mut File::create(&path)?)?;
                fs::set_permissions(&path, Permissions::from_mode(mode & 0o777))?;
            }
            FileType::Symlink => {
                let mut target = String::new();
                entry.by_ref().take(TARGET_BYTES_MAX).read_to_string(&mut target)?;
                symlink(target, &path)?;
            }
            _ => return Err(io::Error::other(format!("`{}` is no file", path.display()))),
        }
        archive = entry.finish()?;
    }
}

/// A path of the archive, which must not leave the root.
fn inside(root: &Path, name: &str) -> io::Result<PathBuf> {
    let path = Path::new(name);
    if path.components().all(|part| matches!(part, Component::Normal(_))) {
        return Ok(root.join(path));
    }
    Err(io::Error::other(format!("the image has a file `{name}`")))
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
        let result = unpack(&image, &root);
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
        for name in ["../x", "/etc/x", "usr/../../x"] {
            assert!(unpacked(&[(name, 0o100_644, "")]).1.is_err(), "{name}");
        }
        assert!(unpacked(&[("null", 0o020_666, "")]).1.is_err());
    }
}
