//! Signatures of archives, Debian's first of all: an `InRelease` file is a cleartext-signed text (RFC 9580, section 7).

use std::{
    ops::Range,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use pgp::{
    composed::{
        CleartextSignedMessage, Deserializable, DetachedSignature, SignedPublicKey,
        SignedPublicSubKey,
    },
    crypto::hash::HashAlgorithm,
    packet::{PublicKey, PublicSubkey, Signature, SignatureType, SignatureVersion},
    types::{KeyDetails, Tag},
};

/// The largest signed text that is read, in bytes. Debian's are below 300,000.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// The most lines of a signed text. The reader's time grows with their square.
const LINES_MAX: usize = 10_000;

/// The most signatures of a text. Debian's have three.
const SIGNATURES_MAX: usize = 16;

/// The certificates that sign Debian 12 and 13 (`keys/README.md`).
pub(crate) const DEBIAN: &[u8] = include_bytes!("keys/debian-archive.pgp");

/// Reason why nothing vouches for a signed text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// It is larger than any that Debian signs.
    #[error("the signed text is too large")]
    TooLarge,
    /// It has not the form of a signed text, or holds something beside it.
    #[error("it is no signed text: {0}")]
    Unreadable(String),
    /// A signature is none of OpenPGP's.
    #[error("a signature of it cannot be read: {0}")]
    Packet(String),
    /// No accepted key made any of its signatures.
    #[error("no accepted key signed it; it names {0}")]
    UnknownKey(String),
    /// An accepted key had not begun or had ended when it signed.
    #[error("the key {0} was not valid at the time of its signature")]
    KeyNotValid(String),
    /// An accepted key signed it for a time alone, which no archive does.
    #[error("the signature of the key {0} expires, and no archive makes one that does")]
    Expires(String),
    /// An accepted key signed another text.
    #[error("the signature of the key {0} does not fit the text")]
    Bad(String),
    /// A keyring cannot be read.
    #[error("the keyring cannot be read: {0}")]
    Keyring(String),
}

/// A text whose signature was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The signed lines alone, without the spaces that end them.
    pub text: String,
    /// Time at which the signer says that it signed.
    pub at: SystemTime,
}

/// Keys whose signatures are accepted, each with the time in which it signs.
#[derive(Clone, Debug)]
pub struct Keys(Vec<Key>);

#[derive(Clone, Debug)]
struct Key {
    public: Public,
    /// Seconds since 1970 in which the key and the certificate that holds it are valid.
    valid_unix_s: Range<u64>,
}

#[derive(Clone, Debug)]
enum Public {
    Primary(PublicKey),
    Subkey(PublicSubkey),
}

impl Keys {
    /// Returns the keys that sign Debian 12 and 13 and their security archives, as this program brings
    /// them.
    ///
    /// # Errors
    ///
    /// [`SignatureError::Keyring`]
    pub fn debian() -> Result<Self, SignatureError> {
        Self::read(DEBIAN)
    }

    /// Reads the keys of a keyring, which is trusted. A key that was revoked, or that its certificate
    /// does not let sign, is left out.
    ///
    /// # Errors
    ///
    /// [`SignatureError::Keyring`]
    pub fn read(keyring: &[u8]) -> Result<Self, SignatureError> {
        let unreadable = |error: pgp::errors::Error| SignatureError::Keyring(error.to_string());
        let mut keys = Vec::new();
        for certificate in SignedPublicKey::from_bytes_many(keyring).map_err(unreadable)? {
            keys.extend(Self::of_certificate(&certificate.map_err(unreadable)?));
        }
        match keys.is_empty() {
            true => Err(SignatureError::Keyring("it holds no key that signs".to_owned())),
            false => Ok(Self(keys)),
        }
    }

    /// Adds other keys.
    pub(crate) fn add(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    fn of_certificate(certificate: &SignedPublicKey) -> Vec<Key> {
        let primary = &certificate.primary_key;
        // The latest statement of the certificate about itself counts; those of others do not.
        let statements = certificate.details.users.iter().flat_map(|user| {
            let own = |signature: &&Signature| {
                signature.verify_certification(primary, Tag::UserId, &user.id).is_ok()
            };
            user.signatures.iter().filter(own)
        });
        let statement = statements.max_by_key(|signature| signature.created());
        let Some(statement) = statement.filter(|found| found.is_certification()) else {
            return Vec::new();
        };
        if !certificate.details.revocation_signatures.is_empty() {
            return Vec::new();
        }
        let valid = validity(primary, statement);
        let mut keys = Vec::new();
        if statement.key_flags().sign() {
            let public = Public::Primary(primary.clone());
            keys.push(Key { public, valid_unix_s: valid.clone() });
        }
        for subkey in &certificate.public_subkeys {
            if let Some(binding) = binding(primary, subkey) {
                let own = validity(&subkey.key, binding);
                let both = own.start.max(valid.start)..own.end.min(valid.end);
                let public = Public::Subkey(subkey.key.clone());
                keys.push(Key { public, valid_unix_s: both });
            }
        }
        keys
    }
}

/// Returns the latest statement of a certificate that a subkey signs for it, to which the subkey agrees.
fn binding<'a>(primary: &PublicKey, subkey: &'a SignedPublicSubKey) -> Option<&'a Signature> {
    let is_revoked =
        |signature: &Signature| signature.typ() == Some(SignatureType::SubkeyRevocation);
    if subkey.signatures.iter().any(is_revoked) {
        return None;
    }
    let own =
        |signature: &&Signature| signature.verify_subkey_binding(primary, &subkey.key).is_ok();
    let latest =
        subkey.signatures.iter().filter(own).max_by_key(|signature| signature.created())?;
    let agrees = latest.embedded_signature().is_some_and(|signature| {
        signature.verify_primary_key_binding(&subkey.key, primary).is_ok()
    });
    (agrees && latest.key_flags().sign()).then_some(latest)
}

/// Returns the seconds since 1970 in which a key is valid by a statement about it.
fn validity(key: &impl KeyDetails, statement: &Signature) -> Range<u64> {
    let created = u64::from(key.created_at().as_secs());
    let lasts = statement.key_expiration_time().map(|duration| u64::from(duration.as_secs()));
    // Zero means without an end (RFC 9580, section 5.2.3.13).
    let end = lasts.filter(|lasts| *lasts > 0).map_or(u64::MAX, |lasts| created + lasts);
    created..end
}

impl Key {
    fn made(&self, signature: &Signature, bytes: &[u8]) -> bool {
        match &self.public {
            Public::Primary(key) => signature.verify(key, bytes).is_ok(),
            Public::Subkey(key) => signature.verify(key, bytes).is_ok(),
        }
    }

    /// Returns whether a signature says that this key made it.
    fn is_named(&self, signature: &Signature) -> bool {
        let (id, fingerprint) = match &self.public {
            Public::Primary(key) => (key.legacy_key_id(), key.fingerprint()),
            Public::Subkey(key) => (key.legacy_key_id(), key.fingerprint()),
        };
        signature.issuer_key_id().into_iter().any(|named| *named == id)
            || signature.issuer_fingerprint().into_iter().any(|named| *named == fingerprint)
    }
}

/// Returns the signed text of a cleartext-signed file, which at least one of the keys signed while it
/// was valid. Whether the text itself is too old is a question of its content.
///
/// # Errors
///
/// [`SignatureError`]
pub fn signed_text(file: &[u8], keys: &Keys) -> Result<Signed, SignatureError> {
    let lines = file.iter().filter(|byte| **byte == b'\n').count();
    if file.len() > TEXT_BYTES_MAX || lines > LINES_MAX {
        return Err(SignatureError::TooLarge);
    }
    let (message, _) = CleartextSignedMessage::from_armor(file)
        .map_err(|error| SignatureError::Unreadable(error.to_string()))?;
    let text = message.signed_text();
    let at = signed_at(text.as_bytes(), message.signatures(), keys)?;
    Ok(Signed { text: text.replace("\r\n", "\n"), at })
}

/// Checks that at least one of the keys signed bytes while it was valid. Each of the signatures is an OpenPGP
/// packet.
pub(crate) fn check_signed(
    bytes: &[u8],
    packets: &[Vec<u8>],
    keys: &Keys,
) -> Result<(), SignatureError> {
    let mut signatures = Vec::new();
    for packet in packets.iter().take(SIGNATURES_MAX) {
        let read = DetachedSignature::from_bytes(packet.as_slice());
        let read = read.map_err(|error| SignatureError::Packet(error.to_string()))?;
        signatures.push(read.signature);
    }
    signed_at(bytes, &signatures, keys).map(drop)
}

/// Returns the time at which one of the keys signed bytes while it was valid.
fn signed_at(
    bytes: &[u8],
    signatures: &[Signature],
    keys: &Keys,
) -> Result<SystemTime, SignatureError> {
    let mut error = SignatureError::UnknownKey(names(signatures));
    for signature in signatures.iter().take(SIGNATURES_MAX).filter(|it| is_sound(it)) {
        let Some(created) = signature.created().map(|created| u64::from(created.as_secs())) else {
            continue;
        };
        for key in keys.0.iter().filter(|key| key.is_named(signature)) {
            let name = || names(std::slice::from_ref(signature));
            if !key.made(signature, bytes) {
                error = SignatureError::Bad(name());
            } else if expires(signature) {
                error = SignatureError::Expires(name());
            } else if !key.valid_unix_s.contains(&created) {
                error = SignatureError::KeyNotValid(name());
            } else {
                return Ok(UNIX_EPOCH + Duration::from_secs(created));
            }
        }
    }
    Err(error)
}

/// Returns whether a signature is of a kind with which archives are signed: over a text or bytes, with a
/// hash that nobody has broken.
fn is_sound(signature: &Signature) -> bool {
    use HashAlgorithm::{Sha256, Sha384, Sha512};
    matches!(signature.version(), SignatureVersion::V4 | SignatureVersion::V6)
        && matches!(signature.typ(), Some(SignatureType::Text | SignatureType::Binary))
        && matches!(signature.hash_alg(), Some(Sha256 | Sha384 | Sha512))
}

/// Returns whether a signature has an end of its own (RFC 9580, section 5.2.3.18).
fn expires(signature: &Signature) -> bool {
    signature.signature_expiration_time().is_some_and(|duration| duration.as_secs() > 0)
}

/// Returns the keys that signatures name, for a message.
fn names(signatures: &[Signature]) -> String {
    let named = |signature: &Signature| {
        let id = signature.issuer_key_id().first().map(|id| id.to_string().to_uppercase());
        let long = || signature.issuer_fingerprint().first().map(|long| format!("{long:X}"));
        long().or(id).unwrap_or_else(|| "no key".to_owned())
    };
    let named: Vec<_> = signatures.iter().take(SIGNATURES_MAX).map(named).collect();
    if named.is_empty() { "no signature".to_owned() } else { named.join(", ") }
}

#[cfg(test)]
pub(crate) mod tests {
    use pgp::{
        composed::{ArmorOptions, SignedSecretKey},
        packet::{SignatureConfig, Subpacket, SubpacketData},
        ser::Serialize,
        types::{Password, Timestamp},
    };

    use super::*;
    use crate::distribution::debian::release::Release;

    /// The secret key of an archive that tests make, valid from 2020-01-01 to 2030-01-01.
    pub(crate) const ARCHIVE: &str = include_str!("keys/test-archive.asc");

    /// Another key with the same dates.
    pub(crate) const STRANGER: &str = include_str!("keys/test-stranger.asc");

    /// 2026-01-01, in seconds since 1970.
    pub(crate) const IN_2026: u32 = 1_767_225_600;

    fn secret(key: &str) -> SignedSecretKey {
        SignedSecretKey::from_string(key).unwrap().0
    }

    /// Returns the keyring with the public half of a secret key.
    pub(crate) fn keyring(key: &str) -> Vec<u8> {
        secret(key).to_public_key().to_bytes().unwrap()
    }

    fn accepted() -> Keys {
        Keys::read(&keyring(ARCHIVE)).unwrap()
    }

    fn config(key: &SignedSecretKey, at: u32, hash: HashAlgorithm) -> SignatureConfig {
        let mut config = SignatureConfig::v4(SignatureType::Text, key.algorithm(), hash);
        let created = SubpacketData::SignatureCreationTime(Timestamp::from_secs(at));
        let issuer = SubpacketData::IssuerFingerprint(key.fingerprint());
        config.hashed_subpackets =
            [created, issuer].map(|data| Subpacket::regular(data).unwrap()).into();
        config
    }

    /// Signs a text as an archive does, with keys and the times of their signatures in seconds since 1970.
    pub(crate) fn sign(text: &str, signers: &[(&str, u32)]) -> Vec<u8> {
        let message = CleartextSignedMessage::new_many(text, |normal| {
            let sign = |(key, at): &(&str, u32)| {
                let key = secret(key);
                let config = config(&key, *at, HashAlgorithm::Sha256);
                config.sign(&key.primary_key, &Password::empty(), normal.as_bytes())
            };
            signers.iter().map(sign).collect()
        });
        message.unwrap().to_armored_bytes(ArmorOptions::default()).unwrap()
    }

    /// Signs bytes as an rpm is signed.
    pub(crate) fn sign_bytes(bytes: &[u8], (key, at): (&str, u32)) -> Vec<u8> {
        let key = secret(key);
        let config = SignatureConfig {
            typ: SignatureType::Binary,
            ..config(&key, at, HashAlgorithm::Sha256)
        };
        let signature = config.sign(&key.primary_key, &Password::empty(), bytes).unwrap();
        DetachedSignature::new(signature).to_bytes().unwrap()
    }

    const TEXT: &str = "Suite: stable\n- a dash\nSHA256:\n 00 1 main";

    #[test]
    fn the_signed_lines_come_back_with_the_time() {
        let signed = signed_text(&sign(TEXT, &[(ARCHIVE, IN_2026)]), &accepted()).unwrap();
        assert_eq!(signed.text, TEXT);
        assert_eq!(signed.at, UNIX_EPOCH + Duration::from_secs(u64::from(IN_2026)));
        let windows = String::from_utf8(sign(TEXT, &[(ARCHIVE, IN_2026)])).unwrap();
        let windows = windows.replace('\n', "\r\n");
        assert_eq!(signed_text(windows.as_bytes(), &accepted()).unwrap().text, TEXT);
    }

    #[test]
    fn a_changed_text_is_refused() {
        let file = String::from_utf8(sign(TEXT, &[(ARCHIVE, IN_2026)])).unwrap();
        for (before, after) in [("stable", "unstable"), ("SHA256", "SHA512"), (" 00 ", " 01 ")] {
            let changed = file.replacen(before, after, if before == "SHA256" { 2 } else { 1 });
            assert_ne!(changed, file);
            let error = signed_text(changed.as_bytes(), &accepted()).unwrap_err();
            assert!(matches!(error, SignatureError::Bad(_)), "{before}: {error:?}");
        }
    }

    #[test]
    fn nothing_stands_outside_of_the_signed_part() {
        let file = String::from_utf8(sign(TEXT, &[(ARCHIVE, IN_2026)])).unwrap();
        let unsigned = "Suite: evil\n";
        let within =
            file.replace("\n-----BEGIN PGP SIGNATURE", "\nSuite: evil\n-----BEGIN PGP SIGNATURE");
        let header = file.replacen("Hash: ", "Suite: evil\nHash: ", 1);
        let twice = format!("{file}{file}");
        for changed in
            [format!("{unsigned}{file}"), format!("{file}{unsigned}"), within, header, twice]
        {
            assert!(signed_text(changed.as_bytes(), &accepted()).is_err(), "{changed}");
        }
    }

    #[test]
    fn a_file_that_is_no_signed_text_is_refused() {
        let file = sign(TEXT, &[(ARCHIVE, IN_2026)]);
        let unsigned = sign(TEXT, &[]);
        for bytes in [b"", TEXT.as_bytes(), b"\xff\xfe", &file[..file.len() / 2], &unsigned] {
            assert!(signed_text(bytes, &accepted()).is_err());
        }
        let long = "x".repeat(TEXT_BYTES_MAX + 1);
        assert_eq!(signed_text(long.as_bytes(), &accepted()), Err(SignatureError::TooLarge));
        let lines = "\n".repeat(LINES_MAX + 1);
        assert_eq!(signed_text(lines.as_bytes(), &accepted()), Err(SignatureError::TooLarge));
    }

    #[test]
    fn one_known_key_of_several_is_enough() {
        let stranger = signed_text(&sign(TEXT, &[(STRANGER, IN_2026)]), &accepted()).unwrap_err();
        assert!(
            matches!(&stranger, SignatureError::UnknownKey(key) if key.len() == 40),
            "{stranger}"
        );
        for signers in [[STRANGER, ARCHIVE], [ARCHIVE, STRANGER]] {
            let file = sign(TEXT, &signers.map(|key| (key, IN_2026)));
            assert_eq!(signed_text(&file, &accepted()).unwrap().text, TEXT);
        }
    }

    #[test]
    fn a_key_vouches_for_what_it_signed_while_it_was_valid() {
        // The key is valid from 2020-01-01 to 2030-01-01, whatever this machine's clock says.
        const BEGIN: u32 = 1_577_836_800;
        const END: u32 = 1_893_456_000;
        let at = |at| signed_text(&sign(TEXT, &[(ARCHIVE, at)]), &accepted());
        assert!(at(BEGIN).is_ok() && at(END - 1).is_ok());
        for outside in [BEGIN - 1, END, END + 1] {
            let error = at(outside).unwrap_err();
            assert!(matches!(error, SignatureError::KeyNotValid(_)), "{error}");
        }
        // A second signature within that time is enough.
        assert!(signed_text(&sign(TEXT, &[(ARCHIVE, END), (ARCHIVE, BEGIN)]), &accepted()).is_ok());
    }

    #[test]
    fn a_signature_of_another_kind_is_refused() {
        let signed = |change: &dyn Fn(&mut SignatureConfig)| {
            let message = CleartextSignedMessage::new_many(TEXT, |normal| {
                let key = secret(ARCHIVE);
                let mut config = config(&key, IN_2026, HashAlgorithm::Sha256);
                change(&mut config);
                Ok(vec![config.sign(&key.primary_key, &Password::empty(), normal.as_bytes())?])
            });
            let file = message.unwrap().to_armored_bytes(ArmorOptions::default()).unwrap();
            signed_text(&file, &accepted())
        };
        assert!(signed(&|_| {}).is_ok());
        assert!(signed(&|config| config.hash_alg = HashAlgorithm::Sha3_256).is_err());
        let ends = |config: &mut SignatureConfig| {
            let day = pgp::types::Duration::from_secs(86_400);
            let data = SubpacketData::SignatureExpirationTime(day);
            config.hashed_subpackets.push(Subpacket::regular(data).unwrap());
        };
        let error = signed(&ends).unwrap_err();
        assert!(matches!(error, SignatureError::Expires(_)), "{error}");
    }

    /// A real one of 2026-11-24, which subkeys of two certificates signed; one of them is not brought.
    const REAL: &[u8] = include_bytes!("keys/test-bookworm-security.InRelease");

    #[test]
    fn debian_s_own_signature_is_good() {
        let keys = Keys::debian().unwrap();
        let signed = signed_text(REAL, &keys).unwrap();
        assert_eq!(signed.at, UNIX_EPOCH + Duration::from_secs(1_795_480_474));
        assert!(signed.text.starts_with("Origin: Debian\n") && !signed.text.contains("-----"));
        let release = Release::parse(&signed.text).unwrap();
        assert_eq!(release.codename, "bookworm-security");
        assert!(release.by_hash && release.valid_until.is_some());
        assert!(release.file("main/binary-amd64/Packages.xz").is_some());
        let mut changed = REAL.to_vec();
        let digit = changed.windows(8).position(|bytes| bytes == b"Packages").unwrap() - 80;
        changed[digit] ^= 1;
        assert!(matches!(signed_text(&changed, &keys), Err(SignatureError::Bad(_))));
        assert!(matches!(signed_text(REAL, &accepted()), Err(SignatureError::UnknownKey(_))));
    }

    #[test]
    fn debian_s_keys_are_read() {
        let keys = Keys::debian().unwrap();
        // Six certificates; each automatic one signs with a subkey.
        assert_eq!(keys.0.len(), 10);
        let ends: Vec<_> = keys.0.iter().map(|key| key.valid_unix_s.end).collect();
        // 2031-01-01 and 2036-01-01.
        assert!(ends.iter().all(|end| (1_924_992_000..2_082_758_400).contains(end)), "{ends:?}");
        assert!(matches!(Keys::read(b""), Err(SignatureError::Keyring(_))));
        assert!(matches!(Keys::read(TEXT.as_bytes()), Err(SignatureError::Keyring(_))));
    }
}
