//! Compressed files that name their cell or boot.
//!
//! ```text
//! a skippable frame of zstd:  "preemptlab KIND ID"
//! a frame of zstd:            the content, with a checksum
//! ```
//!
//! The first frame is there for files that were renamed or mixed up; zstd(1) passes over it. A file
//! without one says nothing about itself, and its name is believed.

use std::{
    fmt,
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

use preemptlab_files::Draft;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    RecordingError,
    json::{Bounds, Refused, parse, to_bytes},
};

/// zstd's own default: a quarter of the bytes at some 300 MB/s.
const LEVEL: i32 = 3;

/// The largest content of a small file. A few bytes of zstd can stand for anything.
const CONTENT_BYTES_MAX: u64 = 64 << 20;

/// Largest ratio of a file's content to its size: of traces some 4, of layouts some 10.
const RATIO_MAX: u64 = 64;

/// The memory that unpacking takes: this much at level 19, a fraction at [`LEVEL`].
const WINDOW_BYTES_MAX_LOG: u32 = 23;

/// First bytes of a skippable frame (RFC 8878, 3.1.2); its length follows.
const SKIPPABLE: [u8; 4] = 0x184d_2a50_u32.to_le_bytes();

/// Longest label, in bytes.
const LABEL_BYTES_MAX: usize = 256;

/// Kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Trace,
    Findings,
    Unmeasured,
    Layout,
    Files,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Findings => "findings",
            Self::Unmeasured => "unmeasured",
            Self::Layout => "layout",
            Self::Files => "tar",
        }
    }

    /// Returns the bounds of the value in a file of this kind.
    fn bounds(self) -> Bounds {
        let bytes = match self {
            // Some 15 MB, nearly all of it one text.
            Self::Layout => 64 << 20,
            // Some 100 KB.
            Self::Findings => 16 << 20,
            // One sentence.
            Self::Unmeasured => 64 << 10,
            Self::Trace | Self::Files => 0,
        };
        Bounds { bytes, values: 1 << 18 }
    }
}

/// Outcome of copying a file from another folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// The other folder does not have the file.
    Absent,
    /// The file is new here.
    New,
    /// The file was here, with the same bytes.
    Same,
    /// The file was here with other bytes, which stay.
    Other,
}

/// A compressed file of a folder.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    pub path: PathBuf,
    kind: Kind,
    label: String,
}

impl Packed {
    pub fn new(folder: &Path, kind: Kind, id: &impl fmt::Display) -> Self {
        let name = kind.as_str();
        Self {
            path: folder.join(format!("{id}.{name}.zst")),
            kind,
            label: format!("preemptlab {name} {id}"),
        }
    }

    pub fn write(&self, content: &mut impl Read) -> Result<(), RecordingError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let mut written = || {
            let mut draft = Draft::new_in(folder)?;
            let file = draft.file();
            file.write_all(&SKIPPABLE)?;
            file.write_all(&(self.label.len() as u32).to_le_bytes())?;
            file.write_all(self.label.as_bytes())?;
            let mut encoder = zstd::stream::write::Encoder::new(file, LEVEL)?;
            encoder.include_checksum(true)?;
            io::copy(content, &mut encoder)?;
            encoder.finish()?;
            draft.publish(&self.path)
        };
        written().map(drop).map_err(RecordingError::io("write", &self.path))
    }

    pub fn write_value(&self, value: &impl Serialize) -> Result<(), RecordingError> {
        let bytes =
            to_bytes(value, self.kind.bounds()).map_err(RecordingError::io("write", &self.path))?;
        self.write(&mut bytes.as_slice())
    }

    /// Opens the content; `None` when there is no file. Damage is noticed while the content is
    /// read, at its end at the latest.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened, or belongs to another cell or boot.
    pub fn open(&self) -> Result<Option<impl Read + use<>>, RecordingError> {
        let error = || RecordingError::io("read", &self.path);
        let mut file = match preemptlab_files::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if preemptlab_files::is_of_the_file(&error) => {
                return Err(self.damaged(error.to_string()));
            }
            file => file.map_err(error())?,
        };
        let length = file.metadata().map_err(error())?.len();
        let left = CONTENT_BYTES_MAX.saturating_add(length.saturating_mul(match self.kind {
            // A folder's bound is its own, and its files may be anything.
            Kind::Files => u64::MAX,
            _ => RATIO_MAX,
        }));
        match label(&mut file).map_err(error())? {
            Some(label) if label != self.label.as_bytes() => {
                let label = String::from_utf8_lossy(&label).escape_debug().to_string();
                Err(self.damaged(format!("it calls itself `{label}`")))
            }
            _ => {
                let mut decoder = zstd::stream::read::Decoder::new(file).map_err(error())?;
                decoder.window_log_max(WINDOW_BYTES_MAX_LOG).map_err(error())?;
                Ok(Some(Unfolding { content: decoder, left }))
            }
        }
    }

    /// Reads the value in JSON; its first level has a `format`.
    ///
    /// # Errors
    ///
    /// When the file is damaged, too large or of another format.
    pub fn read_value<T: DeserializeOwned>(
        &self,
        known: RangeInclusive<u32>,
    ) -> Result<Option<T>, RecordingError> {
        let Some(stream) = self.open()? else { return Ok(None) };
        let bounds = self.kind.bounds();
        let mut bytes = Vec::new();
        stream
            .take(bounds.bytes + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| self.damaged(format!("it is cut off or damaged ({error})")))?;
        if bytes.len() as u64 > bounds.bytes {
            let reason = format!("it holds more than {} MiB", bounds.bytes >> 20);
            return Err(self.damaged(reason));
        }
        parse(&bytes, bounds, |format| known.contains(&format)).map(Some).map_err(|refused| {
            match refused {
                Refused::Format(found) => {
                    let known = *known.end();
                    RecordingError::OtherFormat { path: self.path.clone(), found, known }
                }
                Refused::Other(reason) => self.damaged(reason),
            }
        })
    }

    /// Copies another folder's file with this name, byte for byte, once its content is found whole.
    ///
    /// # Errors
    ///
    /// When the other file is damaged or cannot be read, or this one cannot be written.
    pub fn copy_from(&self, other: &Self) -> Result<Copied, RecordingError> {
        let Some(mut content) = other.open()? else { return Ok(Copied::Absent) };
        let reading = || RecordingError::io("read", &other.path);
        let mut file = preemptlab_files::open(&other.path).map_err(reading())?;
        if self.path.exists() {
            let mut here = preemptlab_files::open(&self.path)
                .map_err(RecordingError::io("read", &self.path))?;
            let same = is_same(&mut here, &mut file).map_err(reading())?;
            return Ok(if same { Copied::Same } else { Copied::Other });
        }
        io::copy(&mut content, &mut io::sink())
            .map_err(|error| other.damaged(format!("it is cut off or damaged ({error})")))?;
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let mut written = || {
            let mut draft = Draft::new_in(folder)?;
            io::copy(&mut file, draft.file())?;
            draft.publish(&self.path)
        };
        written().map_err(RecordingError::io("write", &self.path))?;
        Ok(Copied::New)
    }

    fn damaged(&self, reason: String) -> RecordingError {
        RecordingError::Damaged { path: self.path.clone(), reason }
    }
}

/// Content of a file, up to the largest size that it can have.
struct Unfolding<R> {
    content: R,
    left: u64,
}

impl<R: Read> Read for Unfolding<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read(buffer)?;
        match self.left.checked_sub(count as u64) {
            Some(left) => self.left = left,
            None => {
                let reason = "it stands for far more bytes than a trace of its size";
                return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
            }
        }
        Ok(count)
    }
}

/// Tells whether two files hold the same bytes.
fn is_same(one: &mut File, other: &mut File) -> io::Result<bool> {
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let mut one = BufReader::with_capacity(1 << 16, one);
    let mut other = BufReader::with_capacity(1 << 16, other);
    loop {
        let (a, b) = (one.fill_buf()?, other.fill_buf()?);
        let length = a.len().min(b.len());
        if a[..length] != b[..length] || (length == 0 && a.len() != b.len()) {
            return Ok(false);
        }
        if length == 0 {
            return Ok(true);
        }
        one.consume(length);
        other.consume(length);
    }
}

/// Reads a file's label, if it has one, and leaves the file at its content.
fn label(file: &mut File) -> io::Result<Option<Vec<u8>>> {
    let mut head = [0; 8];
    let mut read = 0;
    while read < head.len() {
        match file.read(&mut head[read..])? {
            0 => break,
            count => read += count,
        }
    }
    let length = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
    if read < head.len() || head[..4] != SKIPPABLE || length > LABEL_BYTES_MAX {
        file.seek(SeekFrom::Start(0))?;
        return Ok(None);
    }
    let mut label = vec![0; length];
    file.read_exact(&mut label)?;
    Ok(Some(label))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTENT: &[u8] = b"what a trace says, and says again, and says again";

    fn packed(folder: &Path, id: &str) -> Packed {
        Packed::new(folder, Kind::Trace, &id)
    }

    fn content(packed: &Packed) -> Result<Vec<u8>, String> {
        let stream = packed.open().map_err(|error| error.to_string())?;
        let mut bytes = Vec::new();
        let read = stream.ok_or("absent")?.read_to_end(&mut bytes);
        read.map(|_| bytes).map_err(|error| error.to_string())
    }

    #[test]
    fn what_was_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let one = packed(folder.path(), "one");
        assert!(one.open().unwrap().is_none());
        one.write(&mut &*CONTENT).unwrap();
        assert_eq!(content(&one).unwrap(), CONTENT);
        // As zstd(1) sees it, too.
        let file = File::open(&one.path).unwrap();
        assert_eq!(zstd::stream::decode_all(file).unwrap(), CONTENT);
    }

    #[test]
    fn what_unfolds_without_end_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let one = packed(folder.path(), "one");
        one.write(&mut io::repeat(b' ').take(1 << 27)).unwrap();
        assert!(std::fs::metadata(&one.path).unwrap().len() < 1 << 20);
        let error = io::copy(&mut one.open().unwrap().unwrap(), &mut io::sink()).unwrap_err();
        assert!(error.to_string().contains("far more bytes"), "{error}");

        let value = Packed::new(folder.path(), Kind::Findings, &"one");
        value.write(&mut io::repeat(b' ').take(1 << 25)).unwrap();
        let said = value.read_value::<serde_json::Value>(1..=1).unwrap_err().to_string();
        assert!(said.contains("more than 16 MiB"), "{said}");

        // An encoder of level 19 makes a file whose reader needs a large window.
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 19).unwrap();
        encoder.window_log(27).unwrap();
        encoder.write_all(&vec![7; 1 << 20]).unwrap();
        std::fs::write(&one.path, encoder.finish().unwrap()).unwrap();
        assert!(content(&one).is_err());
    }

    #[test]
    fn a_pipe_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let one = packed(folder.path(), "one");
        let made = std::process::Command::new("mkfifo").arg(&one.path).status().unwrap();
        assert!(made.success());
        let said = content(&one).unwrap_err();
        assert!(said.contains("no regular file"), "{said}");
    }

    #[test]
    fn a_file_without_a_label_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let one = packed(folder.path(), "one");
        std::fs::write(&one.path, zstd::stream::encode_all(CONTENT, 3).unwrap()).unwrap();
        assert_eq!(content(&one).unwrap(), CONTENT);
    }

    #[test]
    fn a_renamed_file_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (packed(folder.path(), "one"), packed(folder.path(), "two"));
        one.write(&mut &*CONTENT).unwrap();
        std::fs::rename(&one.path, &two.path).unwrap();
        let error = content(&two).unwrap_err();
        assert!(error.contains("it calls itself `preemptlab trace one`"), "{error}");
    }

    #[test]
    fn every_flipped_bit_and_every_cut_of_the_content_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let one = packed(folder.path(), "one");
        one.write(&mut &*CONTENT).unwrap();
        let whole = std::fs::read(&one.path).unwrap();
        let start = SKIPPABLE.len() + 4 + one.label.len();
        for bit in start * 8..whole.len() * 8 {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&one.path, flipped).unwrap();
            // A flipped bit that no reader uses changes nothing.
            if let Ok(content) = content(&one) {
                assert_eq!(content, CONTENT, "bit {bit}");
            }
        }
        for length in start + 1..whole.len() {
            std::fs::write(&one.path, &whole[..length]).unwrap();
            assert!(content(&one).is_err(), "{length}");
        }
    }
}
