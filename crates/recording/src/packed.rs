//! Compressed files that say whose they are.
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
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use preemptlab_durable::Draft;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::RecordingError;

/// zstd's own default: a quarter of the bytes at some 300 MB/s.
const LEVEL: i32 = 3;

/// The largest value that is read: a layout is some 15 MB of JSON, and a recording may come from
/// anybody.
const VALUE_BYTES_MAX: u64 = 256 << 20;

/// The largest content that is read: a trace of a minute is some 500 MB. A few bytes of zstd can
/// stand for anything.
const CONTENT_BYTES_MAX: u64 = 64 << 30;

/// How a skippable frame begins (RFC 8878, 3.1.2); its length follows.
const SKIPPABLE: [u8; 4] = 0x184d_2a50_u32.to_le_bytes();

/// The longest label.
const LABEL_BYTES_MAX: usize = 256;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Trace,
    Findings,
    Layout,
    Files,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Findings => "findings",
            Self::Layout => "layout",
            Self::Files => "tar",
        }
    }
}

/// A compressed file of a folder.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    pub path: PathBuf,
    label: String,
}

impl Packed {
    pub fn new(folder: &Path, kind: Kind, id: &impl fmt::Display) -> Self {
        let kind = kind.as_str();
        Self {
            path: folder.join(format!("{id}.{kind}.zst")),
            label: format!("preemptlab {kind} {id}"),
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
        let bytes = serde_json::to_vec(value)
            .map_err(|error| RecordingError::io("write", &self.path)(error.into()))?;
        self.write(&mut bytes.as_slice())
    }

    /// The content; `None` when there is no file. Damage is noticed while it is read, at its end at
    /// the latest.
    pub fn open(&self) -> Result<Option<impl Read + use<>>, RecordingError> {
        let error = || RecordingError::io("read", &self.path);
        let mut file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(error())?,
        };
        match label(&mut file).map_err(error())? {
            Some(label) if label != self.label.as_bytes() => {
                let label = String::from_utf8_lossy(&label).escape_debug().to_string();
                Err(self.damaged(format!("it calls itself `{label}`")))
            }
            _ => {
                let decoder = zstd::stream::read::Decoder::new(file).map_err(error())?;
                Ok(Some(decoder.take(CONTENT_BYTES_MAX)))
            }
        }
    }

    /// The value in JSON; its first level has a `format`.
    pub fn read_value<T: DeserializeOwned>(&self, known: u32) -> Result<Option<T>, RecordingError> {
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }

        let Some(stream) = self.open()? else { return Ok(None) };
        let mut bytes = Vec::new();
        stream
            .take(VALUE_BYTES_MAX)
            .read_to_end(&mut bytes)
            .map_err(|error| self.damaged(format!("it is cut off or damaged ({error})")))?;
        let damaged = |error: serde_json::Error| self.damaged(error.to_string());
        // The format comes first, so that another format is called so and not damaged.
        let Format { format: found } = serde_json::from_slice(&bytes).map_err(damaged)?;
        if found != known {
            return Err(RecordingError::OtherFormat { path: self.path.clone(), found, known });
        }
        serde_json::from_slice(&bytes).map(Some).map_err(damaged)
    }

    fn damaged(&self, reason: String) -> RecordingError {
        RecordingError::Damaged { path: self.path.clone(), reason }
    }
}

/// What a file says that it is, if it says so; leaves it at what follows.
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
            // A bit that nobody reads changes nothing.
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
