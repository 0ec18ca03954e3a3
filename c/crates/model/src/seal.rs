//! JSON files with a seal, which is their own digest: `{...,"sha256":"HEX"}`, the SHA-256 of
//! everything before the comma. A seal shows damage of the disk. It does not stop a person from
//! sealing a changed file again.

use crate::Digest;

const BEFORE: &[u8] = b",\"sha256\":\"";
const AFTER: &[u8] = b"\"}\n";
const HEX_CHARS: usize = 64;

/// The file does not have the digest that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its bytes do not have the SHA-256 that it names")]
pub struct BrokenSeal;

/// Seals a JSON object that is not empty, and ends the line.
pub fn seal(mut json: Vec<u8>) -> Vec<u8> {
    json.pop();
    let digest = Digest::of(&json).to_string();
    json.extend_from_slice(BEFORE);
    json.extend_from_slice(digest.as_bytes());
    json.extend_from_slice(AFTER);
    json
}

/// Makes a file the JSON object again that was sealed. Returns whether it had been: recordings of
/// format 2 have no seals.
///
/// # Errors
///
/// [`BrokenSeal`]
pub fn unseal(file: &mut Vec<u8>) -> Result<bool, BrokenSeal> {
    let Some(length) = file.len().checked_sub(BEFORE.len() + HEX_CHARS + AFTER.len()) else {
        return Ok(false);
    };
    let (json, seal) = file.split_at(length);
    let Some(digest) = seal.strip_prefix(BEFORE).and_then(|rest| rest.strip_suffix(AFTER)) else {
        return Ok(false);
    };
    if digest != Digest::of(json).to_string().as_bytes() {
        return Err(BrokenSeal);
    }
    file.truncate(length);
    file.push(b'}');
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &[u8] = br#"{"format":3,"text":"a \" and a }"}"#;

    #[test]
    fn what_was_sealed_is_had_again() {
        let sealed = seal(JSON.to_vec());
        assert!(serde_json::from_slice::<serde_json::Value>(&sealed).is_ok());
        let mut file = sealed.clone();
        assert_eq!(unseal(&mut file), Ok(true));
        assert_eq!(file, JSON);
        assert_eq!(unseal(&mut file), Ok(false));
        assert_eq!(file, JSON);
        assert_eq!(unseal(&mut Vec::new()), Ok(false));
    }

    /// A type that knows all its fields has no `sha256`, so it refuses the rest of a damaged seal.
    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let sealed = seal(JSON.to_vec());
        let noticed = |mut file: Vec<u8>| match unseal(&mut file) {
            Err(BrokenSeal) => true,
            Ok(_) => match serde_json::from_slice::<serde_json::Value>(&file) {
                Err(_) => true,
                Ok(value) => {
                    let fields = value.as_object().map(|fields| fields.keys().cloned());
                    fields.is_none_or(|mut names| names.any(|it| it != "format" && it != "text"))
                }
            },
        };
        for bit in 0..sealed.len() * 8 {
            let mut flipped = sealed.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            // The line's end carries nothing, and other spaces end it as well.
            let is_line_end = bit / 8 == sealed.len() - 1;
            assert!(is_line_end || noticed(flipped), "bit {bit}");
        }
        for length in 1..sealed.len() - 1 {
            assert!(noticed(sealed[..length].to_vec()), "{length}");
        }
    }
}
