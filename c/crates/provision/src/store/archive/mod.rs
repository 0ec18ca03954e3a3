//! A tar archive in one frame of zstd with a checksum: the form of seeds and of capsules. It holds no times
//! and no users' numbers, so that the same content gives the same bytes.

mod stream;
mod unfold;

use std::{
    fs,
    io::{self, Read, Write},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use tar::{Archive, Builder, EntryType, Header};
use zstd::stream::write::Encoder;

pub(crate) use self::{
    stream::Stream,
    unfold::{first, unfold},
};

/// Writer of an archive.
pub(crate) struct Packer<W: Write> {
    archive: Builder<Encoder<'static, W>>,
}

impl<W: Write> Packer<W> {
    /// Begins an archive that zstd packs at this level.
    pub(crate) fn new(writer: W, level: i32) -> io::Result<Self> {
        let mut encoder = Encoder::new(writer, level)?;
        encoder.include_checksum(true)?;
        Ok(Self { archive: Builder::new(encoder) })
    }

    /// Adds bytes under a name.
    pub(crate) fn bytes(&mut self, bytes: &[u8], name: &str) -> io::Result<()> {
        self.entry(name, 0o644, &mut &*bytes, bytes.len() as u64)
    }

    /// Adds a file under a name.
    pub(crate) fn file(&mut self, path: &Path, name: &str) -> io::Result<()> {
        let mut file = preemptlab_files::open(path)?;
        let metadata = file.metadata()?;
        let mode = if metadata.permissions().mode() & 0o100 == 0 { 0o644 } else { 0o755 };
        self.entry(name, mode, &mut file, metadata.len())
    }

    /// Adds a folder under a name, with all that it holds, sorted by name.
    pub(crate) fn folder(&mut self, folder: &Path, name: &str) -> io::Result<()> {
        let mut header = header_of(EntryType::Directory, 0o755, 0);
        self.archive.append_data(&mut header, format!("{name}/"), io::empty())?;
        let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (path, file_type) = (entry.path(), entry.file_type()?);
            let below = entry.file_name();
            let below = below.to_str().ok_or_else(|| io::Error::other("a name that is no text"))?;
            let name = format!("{name}/{below}");
            if file_type.is_dir() {
                self.folder(&path, &name)?;
            } else if file_type.is_symlink() {
                let mut header = header_of(EntryType::Symlink, 0o777, 0);
                self.archive.append_link(&mut header, &name, fs::read_link(&path)?)?;
            } else if file_type.is_file() {
                self.file(&path, &name)?;
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        name: &str,
        mode: u32,
        content: &mut (impl Read + ?Sized),
        bytes: u64,
    ) -> io::Result<()> {
        let mut header = header_of(EntryType::Regular, mode, bytes);
        self.archive.append_data(&mut header, name, content)
    }

    /// Ends the archive, and returns what it was written to.
    pub(crate) fn finish(self) -> io::Result<W> {
        self.archive.into_inner()?.finish()
    }
}

fn header_of(kind: EntryType, mode: u32, bytes: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(bytes);
    header.set_mtime(0);
    header
}

/// Opens an archive, which may be a stranger's.
pub(crate) fn open(path: &Path) -> io::Result<Archive<Stream>> {
    Ok(Archive::new(Stream::new(preemptlab_files::open(path)?)?))
}
