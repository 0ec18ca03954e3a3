//! Changing files so that each is the old one or the new one, and is on the disk before the next.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use rustix::ioctl::{Opcode, Setter, ioctl, opcode};

use crate::apply::Contents;

/// First part of a draft's name. No program reads hidden files, or names that end in anything but
/// `.conf` and `.cfg`. The file's own name follows, so the draft of a killed process is found
/// without searching.
const DRAFT_PREFIX: &str = ".preemptlab-draft-";

/// Returns the path of a file's draft, which is beside it, since only there it can take its place.
fn draft(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{DRAFT_PREFIX}{name}.new"))
}

/// Writes a file's draft to the disk, with permissions and owner.
///
/// # Errors
///
/// The error of writing.
pub fn stage(path: &Path, contents: &Contents) -> io::Result<()> {
    let draft = draft(path);
    remove_if_there(&draft)?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    file.write_all(&contents.bytes)?;
    // A FAT filesystem has one owner and one mode for all, and refuses to change them.
    let metadata = file.metadata()?;
    if (metadata.uid(), metadata.gid()) != (contents.uid, contents.gid) {
        std::os::unix::fs::fchown(&file, Some(contents.uid), Some(contents.gid))?;
    }
    if metadata.permissions().mode() & 0o7777 != contents.mode {
        file.set_permissions(fs::Permissions::from_mode(contents.mode))?;
    }
    file.sync_all()
}

/// Puts a staged draft in the place of its file.
///
/// GRUB and firmware read the disk as it is: they neither replay a journal nor know the content of
/// memory. So that they find the old file or the new one after every single write to the disk, the
/// draft is in its place there before its name changes, and the file that it replaces loses its
/// blocks only when the name leads to the new one.
///
/// # Errors
///
/// The error of the system; the file is the old one or the new one then.
pub fn publish(path: &Path) -> io::Result<()> {
    let draft = draft(path);
    checkpoint(&File::open(&draft)?);
    // While it is open, its blocks are its own.
    let replaced = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        file => Some(file?),
    };
    fs::rename(draft, path)?;
    let published = File::open(path)?;
    published.sync_all()?;
    sync_folder(path)?;
    checkpoint(&published);
    drop(replaced);
    Ok(())
}

/// Makes ext4 write the content of its journal to its place. Other file systems and Linux before
/// 5.14 have no such call and write it at some later time.
fn checkpoint(file: &File) {
    // include/uapi/linux/ext4.h, Linux 6.12: `_IOW('f', 43, __u32)`.
    const EXT4_IOC_CHECKPOINT: Opcode = opcode::write::<u32>(b'f', 43);
    // SAFETY: the call reads a u32, and this is one.
    let call = unsafe { Setter::<EXT4_IOC_CHECKPOINT, u32>::new(0) };
    // SAFETY: the number is unique to ext4, and other file systems refuse it.
    let _ = unsafe { ioctl(file, call) };
}

/// Removes a file.
///
/// # Errors
///
/// The error of the system.
pub fn remove(path: &Path) -> io::Result<()> {
    remove_if_there(path)?;
    sync_folder(path)
}

/// Removes the draft that a file may have.
///
/// # Errors
///
/// The error of the system.
pub fn discard(path: &Path) -> io::Result<()> {
    remove_if_there(&draft(path))
}

/// Writes a file, or removes it, in one go.
///
/// # Errors
///
/// The error of the system; the file is the old one or the new one then.
pub fn set(path: &Path, contents: Option<&Contents>) -> io::Result<()> {
    match contents {
        Some(contents) => {
            stage(path, contents).and_then(|()| publish(path)).inspect_err(|_| drop(discard(path)))
        }
        None => remove(path),
    }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Flushes the folder that a file is in to the disk.
///
/// # Errors
///
/// The error of the system.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) => match File::open(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            folder => folder?.sync_all(),
        },
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_with_its_permissions_and_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.cfg");
        let mine = folder.path().metadata().unwrap();
        let contents =
            Contents { bytes: b"first".to_vec(), mode: 0o640, uid: mine.uid(), gid: mine.gid() };
        set(&path, Some(&contents)).unwrap();
        assert_eq!(Contents::read(&path).unwrap(), Some(contents.clone()));
        // A draft of a process that was killed does not stop the next one.
        fs::write(draft(&path), "half").unwrap();
        set(&path, Some(&contents.with("second"))).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        set(&path, None).unwrap();
        set(&path, None).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
