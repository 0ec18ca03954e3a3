//! Names of objects: the hashes of the objects.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

/// The largest file of a revision, and the largest commit or folder, in bytes.
pub(super) const BLOB_BYTES_MAX: u64 = 256 << 20;
const NODE_BYTES_MAX: u64 = 8 << 20;

/// How a repository names its objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Format {
    #[default]
    Sha1,
    Sha256,
}

/// The name of an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ObjectId {
    bytes: [u8; 32],
    length: u8,
}

/// Kind of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    Blob,
    Tree,
    Commit,
}

impl Format {
    /// Returns the length of a name, in bytes.
    pub(super) const fn id_bytes(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    /// Returns a hash that has seen the head of an object.
    pub(super) fn begin(self, kind: ObjectKind, bytes: u64) -> Hash {
        let mut hash = match self {
            Self::Sha1 => Hash::Sha1(Sha1::new()),
            Self::Sha256 => Hash::Sha256(Sha256::new()),
        };
        hash.update(format!("{} {bytes}\0", kind.as_str()).as_bytes());
        hash
    }

    /// Returns the name of an object.
    pub(super) fn name(self, kind: ObjectKind, content: &[u8]) -> ObjectId {
        let mut hash = self.begin(kind, content.len() as u64);
        hash.update(content);
        hash.end()
    }
}

/// The name of an object in the making.
pub(super) enum Hash {
    Sha1(Sha1),
    Sha256(Sha256),
}

impl Hash {
    pub(super) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha1(hash) => hash.update(bytes),
            Self::Sha256(hash) => hash.update(bytes),
        }
    }

    pub(super) fn end(self) -> ObjectId {
        match self {
            Self::Sha1(hash) => ObjectId::from_bytes(&hash.finalize()),
            Self::Sha256(hash) => ObjectId::from_bytes(&hash.finalize()),
        }
        .unwrap_or(ObjectId { bytes: [0; 32], length: 32 })
    }
}

impl ObjectId {
    /// Returns the name of these bytes: 20 or 32.
    pub(super) fn from_bytes(given: &[u8]) -> Option<Self> {
        let mut bytes = [0; 32];
        bytes.get_mut(..given.len())?.copy_from_slice(given);
        matches!(given.len(), 20 | 32).then_some(Self { bytes, length: given.len() as u8 })
    }

    pub(super) fn is_of(self, format: Format) -> bool {
        usize::from(self.length) == format.id_bytes()
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes[..self.length.into()].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for ObjectId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(()),
        };
        if !matches!(text.len(), 40 | 64) {
            return Err(());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Self { bytes, length: (text.len() / 2) as u8 })
    }
}

impl Serialize for ObjectId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ObjectId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|()| D::Error::custom("no name of an object"))
    }
}

impl ObjectKind {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Blob => "blob",
            Self::Tree => "tree",
            Self::Commit => "commit",
        }
    }

    /// Returns the most bytes of one.
    pub(super) const fn bytes_max(self) -> u64 {
        match self {
            Self::Blob => BLOB_BYTES_MAX,
            Self::Tree | Self::Commit => NODE_BYTES_MAX,
        }
    }
}
