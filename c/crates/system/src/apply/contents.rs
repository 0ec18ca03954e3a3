use std::{
    fs, io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
};

use serde::{Deserialize, Serialize};

/// The largest file that is changed here, in bytes: a `grub.cfg` of a hundred kernels is smaller.
const BYTES_MAX: u64 = 8 << 20;

/// A file as a value: its bytes, permissions and owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// Bytes of the file.
    #[serde(with = "text_or_hex")]
    pub bytes: Vec<u8>,
    /// Permissions of the file.
    pub mode: u32,
    /// User that owns the file.
    pub uid: u32,
    /// Group that owns the file.
    pub gid: u32,
}

impl Contents {
    /// Returns a file of root's that every user may read.
    pub fn of_root(bytes: impl Into<Vec<u8>>) -> Self {
        Self { bytes: bytes.into(), mode: 0o644, uid: 0, gid: 0 }
    }

    /// Returns the same file with other bytes.
    pub fn with(&self, bytes: impl Into<Vec<u8>>) -> Self {
        Self { bytes: bytes.into(), ..*self }
    }

    /// Returns the text of the file; bytes that are no UTF-8 are replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Reads a file; `None` where there is none.
    ///
    /// # Errors
    ///
    /// When it is not a regular file, too large, or cannot be read.
    pub fn read(path: &Path) -> io::Result<Option<Self>> {
        let metadata = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if !metadata.is_file() || metadata.len() > BYTES_MAX {
            return Err(io::Error::other("it is no regular file of a reasonable size"));
        }
        Ok(Some(Self {
            bytes: fs::read(path)?,
            mode: metadata.permissions().mode() & 0o7777,
            uid: metadata.uid(),
            gid: metadata.gid(),
        }))
    }
}

/// Writes bytes as a string where they are text, so that people can read the journal.
mod text_or_hex {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Form {
        Text(String),
        Hex(String),
    }

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        let form = match std::str::from_utf8(bytes) {
            Ok(text) => Form::Text(text.to_owned()),
            Err(_) => Form::Hex(hex::encode(bytes)),
        };
        form.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        match Form::deserialize(deserializer)? {
            Form::Text(text) => Ok(text.into_bytes()),
            Form::Hex(text) => hex::decode(text).map_err(D::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_the_journal() {
        for bytes in [b"text\n".to_vec(), vec![0xff, 0, 7]] {
            let contents = Contents::of_root(bytes);
            let text = serde_json::to_string(&contents).unwrap();
            assert_eq!(serde_json::from_str::<Contents>(&text).unwrap(), contents);
        }
    }

    #[test]
    fn only_a_regular_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Contents::read(folder.path()).is_err());
        assert_eq!(Contents::read(&folder.path().join("absent")).unwrap(), None);
    }
}
