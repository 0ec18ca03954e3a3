//! A recording's files in JSON: sealed with their digest, and bounded, since they may come from
//! strangers.

use std::{io, path::Path};

use preemptlab_model::{RECORDING_FORMAT, RECORDING_FORMAT_MIN, seal, unseal};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::RecordingError;

/// Bounds of a kind of file, for its reader and for its writer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub bytes: u64,
    /// Values of JSON, of any kind. A value of two bytes can take a hundred in memory.
    pub values: usize,
}

/// A planned cell is some 2 KB in 100 values.
pub(crate) const PLAN_BOUNDS: Bounds = Bounds { bytes: 64 << 20, values: 3 << 20 };

/// Value of a file, and whether the file had a seal.
pub(crate) struct Read<T> {
    pub value: T,
    pub was_sealed: bool,
}

/// Reads a file whose first level has a `format`; `None` when there is no file.
pub(crate) fn read_json<T: DeserializeOwned>(
    path: &Path,
    bounds: Bounds,
) -> Result<Option<Read<T>>, RecordingError> {
    read_bytes(path, bounds)?.map(|bytes| unsealed(path, bytes, bounds)).transpose()
}

/// Reads the bytes of a file, which are not checked yet; `None` when there is no file.
pub(crate) fn read_bytes(path: &Path, bounds: Bounds) -> Result<Option<Vec<u8>>, RecordingError> {
    match preemptlab_files::read(path, bounds.bytes) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) => match error.kind() {
            // A path through a file leads to no file either.
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
            _ if preemptlab_files::is_of_the_file(&error) => {
                let (path, reason) = (path.to_owned(), error.to_string());
                Err(RecordingError::Damaged { path, reason })
            }
            _ => Err(RecordingError::io("read", path)(error)),
        },
    }
}

/// Reads the value in a file's bytes, and checks their seal.
pub(crate) fn unsealed<T: DeserializeOwned>(
    path: &Path,
    mut bytes: Vec<u8>,
    bounds: Bounds,
) -> Result<Read<T>, RecordingError> {
    let damaged = |reason: String| RecordingError::Damaged { path: path.to_owned(), reason };
    let was_sealed = unseal(&mut bytes).map_err(|error| damaged(error.to_string()))?;
    let range = RECORDING_FORMAT_MIN..=RECORDING_FORMAT;
    match parse(&bytes, bounds, |format| range.contains(&format)) {
        Ok(value) => Ok(Read { value, was_sealed }),
        Err(Refused::Format(found)) => {
            let (path, known) = (path.to_owned(), RECORDING_FORMAT);
            Err(RecordingError::OtherFormat { path, found, known })
        }
        Err(Refused::Other(reason)) => Err(damaged(reason)),
    }
}

/// Reason why JSON is refused.
pub(crate) enum Refused {
    Format(u32),
    Other(String),
}

/// Reads JSON whose first level has a known `format`.
pub(crate) fn parse<T: DeserializeOwned>(
    json: &[u8],
    bounds: Bounds,
    is_known: impl Fn(u32) -> bool,
) -> Result<T, Refused> {
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }

    let refused = |error: serde_json::Error| Refused::Other(error.to_string());
    // The format comes first, so that another format is called so and not damaged.
    let Format { format } = serde_json::from_slice(json).map_err(refused)?;
    if !is_known(format) {
        return Err(Refused::Format(format));
    }
    if values(json) > bounds.values {
        return Err(Refused::Other(format!("it holds more than {} values", bounds.values)));
    }
    serde_json::from_slice(json).map_err(refused)
}

/// Returns whether the file is new: one that is there already stays as it is.
pub(crate) fn write_json(
    path: &Path,
    value: &impl Serialize,
    bounds: Bounds,
) -> Result<bool, RecordingError> {
    let written =
        to_bytes(value, bounds).and_then(|json| preemptlab_files::write_new(path, &seal(json)));
    written.map_err(RecordingError::io("write", path))
}

/// Writes JSON that can be read again.
pub(crate) fn to_bytes(value: &impl Serialize, bounds: Bounds) -> io::Result<Vec<u8>> {
    /// A seal is some hundred bytes.
    const SEAL_BYTES_MAX: u64 = 128;
    let json = serde_json::to_vec(value)?;
    if json.len() as u64 + SEAL_BYTES_MAX > bounds.bytes || values(&json) > bounds.values {
        let reason =
            format!("it would hold more than {} MiB or too many values", bounds.bytes >> 20);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    Ok(json)
}

/// Returns an upper bound of the number of values in JSON, which is hardly above it.
fn values(json: &[u8]) -> usize {
    let (mut values, mut in_string, mut escaped) = (1, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b',' | b'[' | b'{' if !in_string => values += 1,
            _ => {}
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_strings() {
        assert_eq!(values(br#"1"#), 1);
        assert_eq!(values(br#"{"a,[{":"\",[","b":[1,2,3]}"#), 6);
    }

    #[test]
    fn what_would_not_be_read_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file.json");
        for bounds in [Bounds { bytes: 1 << 20, values: 9 }, Bounds { bytes: 140, values: 99 }] {
            let error =
                write_json(&path, &serde_json::json!({"format": 3, "v": vec![0; 10]}), bounds);
            assert!(error.unwrap_err().to_string().contains("would hold more than"));
            assert!(!path.exists());
        }
    }

    #[test]
    fn many_values_are_refused_before_they_take_memory() {
        let text = format!("{{\"format\":3,\"v\":[{}0]}}", "0,".repeat(1000));
        let bounds = Bounds { bytes: 1 << 20, values: 1000 };
        let refused = parse::<serde_json::Value>(text.as_bytes(), bounds, |_| true);
        assert!(matches!(refused, Err(Refused::Other(reason)) if reason.contains("1000 values")));
    }
}
