//! Frames on the results port: magic, length, checksum, payload.
//!
//! ```text
//! "PLAB"  u32 LE length of the payload  u32 LE CRC-32 of the payload  payload: a Message as JSON
//! ```

use alloc::{string::String, string::ToString, vec::Vec};
use serde::{Deserialize, Serialize};

use crate::{Failure, Report, System};

const MAGIC: [u8; 4] = *b"PLAB";
const HEADER_BYTES: usize = 12;

/// The largest payload that is accepted, in bytes; a guest is not trusted to be modest.
pub const PAYLOAD_BYTES_MAX: usize = 64 << 20;

/// What the guest has to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// The boot is done and the guest is about to stop for the snapshot.
    Ready(System),
    /// The cell is done.
    Done(Report),
    /// The guest gave up.
    Failed(Failure),
}

/// Why bytes are not a sequence of frames.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The bytes end inside a frame.
    #[error("the guest's message is cut off after {have} of {want} bytes")]
    Truncated {
        /// Bytes that are there.
        have: usize,
        /// Bytes that the header announces.
        want: usize,
    },
    /// The bytes do not start with a frame's magic.
    #[error("the guest's output at byte {offset} is not a message")]
    Magic {
        /// Where the frame should start.
        offset: usize,
    },
    /// The announced length is beyond [`PAYLOAD_BYTES_MAX`].
    #[error("the guest announces a message of {0} bytes, which is more than is accepted")]
    TooLong(usize),
    /// The payload does not have the announced checksum.
    #[error("the guest's message is corrupted (its checksum differs)")]
    Checksum,
    /// The payload is not a [`Message`].
    #[error("the guest's message cannot be read: {0}")]
    Payload(String),
}

/// Encodes a message as one frame.
///
/// # Errors
///
/// Never for the types of this crate; the error of `serde_json` is passed on all the same.
pub fn encode(message: &Message) -> Result<Vec<u8>, serde_json::Error> {
    let payload = serde_json::to_vec(message)?;
    let mut frame = Vec::with_capacity(HEADER_BYTES + payload.len());
    frame.extend_from_slice(&MAGIC);
    frame.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    frame.extend_from_slice(&crc32fast::hash(&payload).to_le_bytes());
    frame.extend_from_slice(&payload);
    Ok(frame)
}

/// Decodes every frame of a guest's output.
///
/// # Errors
///
/// [`FrameError`] at the first byte that does not fit.
pub fn decode(bytes: &[u8]) -> Result<Vec<Message>, FrameError> {
    let mut messages = Vec::new();
    let mut offset = 0;
    while offset < bytes.len() {
        let rest = &bytes[offset..];
        if !rest.starts_with(&MAGIC[..rest.len().min(MAGIC.len())]) {
            return Err(FrameError::Magic { offset });
        }
        let Some((header, body)) = rest.split_at_checked(HEADER_BYTES) else {
            return Err(FrameError::Truncated { have: rest.len(), want: HEADER_BYTES });
        };
        let length = u32_at(header, 4) as usize;
        if length > PAYLOAD_BYTES_MAX {
            return Err(FrameError::TooLong(length));
        }
        let Some(payload) = body.get(..length) else {
            return Err(FrameError::Truncated { have: body.len(), want: length });
        };
        if crc32fast::hash(payload) != u32_at(header, 8) {
            return Err(FrameError::Checksum);
        }
        let message = serde_json::from_slice(payload)
            .map_err(|error| FrameError::Payload(error.to_string()))?;
        messages.push(message);
        offset += HEADER_BYTES + length;
    }
    Ok(messages)
}

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[offset..offset + 4]);
    u32::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ready(release: &str) -> Message {
        Message::Ready(System { release: release.into(), ..System::default() })
    }

    #[test]
    fn messages_survive_the_wire() {
        let messages = [ready("6.12.0"), ready("7.2.0")];
        let mut bytes = encode(&messages[0]).unwrap();
        bytes.extend(encode(&messages[1]).unwrap());
        assert_eq!(decode(&bytes).unwrap(), messages);
    }

    #[test]
    fn every_truncation_is_an_error() {
        let bytes = encode(&ready("6.12.0")).unwrap();
        for length in 1..bytes.len() {
            assert!(matches!(decode(&bytes[..length]), Err(FrameError::Truncated { .. })));
        }
    }

    #[test]
    fn every_flipped_bit_is_an_error() {
        let bytes = encode(&ready("6.12.0")).unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut corrupted = bytes.clone();
            corrupted[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&corrupted).is_err(), "bit {bit}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = decode(&bytes);
        }
    }
}
