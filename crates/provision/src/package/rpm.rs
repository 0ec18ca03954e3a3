//! The format of rpm's packages: a lead, a header of signatures, a header, and a compressed `cpio`
//! archive ("RPM V4 Package format" in rpm's manual; Linux Standard Base 5.0, Core, "Package File
//! Format"; cpio's "New ASCII Format" in Documentation/driver-api/early-userspace/buffer-format.rst).
//!
//! The signatures are not checked here: the SHA-256 of the whole file names a package that a user brings.
//! [`Vouched`] is what a reader needs who checks them.

use std::io::{self, Read};

use base64::{Engine, engine::general_purpose::STANDARD};
use preemptlab_model::Digest;

use super::{
    error::{PackageFault, damaged},
    item::{Facts, Format, Item, Kind, PATH_BYTES_MAX, count, shown, sound},
    stream::{Exactly, unpacked},
};

/// The length of the lead, in bytes.
const LEAD_BYTES: usize = 96;

/// More entries than a header has: Fedora's largest have some 150.
const TAGS_MAX: usize = 10_000;

/// The largest data of a header, in bytes: it lists every file, and rpm's own bound is 256 MiB.
const HEADER_BYTES_MAX: usize = 64 << 20;

/// More packages than one depends on.
const NEEDS_MAX: usize = 1_000;

/// More signatures than a package has.
const SIGNATURES_MAX: usize = 16;

/// The name of the last entry.
const TRAILER: &[u8] = b"TRAILER!!!";

/// Numbers of the header's entries that are read (rpm's manual, "RPM Tags").
mod tag {
    pub(super) const NAME: u32 = 1000;
    pub(super) const VERSION: u32 = 1001;
    pub(super) const RELEASE: u32 = 1002;
    pub(super) const EPOCH: u32 = 1003;
    pub(super) const VENDOR: u32 = 1011;
    pub(super) const LICENCE: u32 = 1014;
    pub(super) const URL: u32 = 1020;
    pub(super) const ARCH: u32 = 1022;
    pub(super) const SOURCE_RPM: u32 = 1044;
    pub(super) const REQUIRES: u32 = 1049;
    pub(super) const PAYLOAD_FORMAT: u32 = 1124;
    pub(super) const PAYLOAD_SHA256: u32 = 5092;

    /// Signatures of the header, in the header of signatures: packets, and packets in base64 (rpm 6).
    pub(super) const SIGNATURES: [u32; 2] = [268, 267];
    pub(super) const SIGNATURES_BASE64: u32 = 278;
}

/// The description of a package, and what says who made it: its signatures, and what they are of.
pub(crate) struct Vouched {
    pub(crate) facts: Facts,
    /// The signed bytes: the header, which has the description.
    pub(crate) header: Vec<u8>,
    /// OpenPGP packets.
    pub(crate) signatures: Vec<Vec<u8>>,
    /// SHA-256 of everything behind the header, as the header says.
    pub(crate) payload_sha256: Digest,
}

impl Vouched {
    /// Reads the beginning of a package. The file is left at the first byte behind the header.
    pub(crate) fn read(file: &mut impl Read) -> Result<Self, PackageFault> {
        let (signed_by, header) = headers(file)?;
        let packets = tag::SIGNATURES.iter().filter_map(|tag| signed_by.bytes(*tag));
        let mut signatures: Vec<Vec<u8>> = packets.map(<[u8]>::to_vec).collect();
        for text in signed_by.texts(tag::SIGNATURES_BASE64).take(SIGNATURES_MAX) {
            let packet = STANDARD.decode(text);
            let no_base64 = |_| PackageFault::Damaged("a signature is no base64".to_owned());
            signatures.push(packet.map_err(no_base64)?);
        }
        let payload = header.texts(tag::PAYLOAD_SHA256).next();
        let payload = payload.and_then(|text| text.parse().ok()).ok_or_else(|| {
            PackageFault::Damaged("its header has no SHA-256 of its payload".to_owned())
        })?;
        let facts = facts(&header)?;
        Ok(Self { facts, header: header.signed(), signatures, payload_sha256: payload })
    }
}

/// Reads the description of a package.
pub(super) fn open<'r>(
    mut file: Box<dyn Read + 'r>,
) -> Result<(Facts, Box<dyn Read + 'r>), PackageFault> {
    let (_, header) = headers(&mut file)?;
    let facts = facts(&header)?;
    Ok((facts, unpacked(file)?))
}

/// Reads the header of signatures and the header.
fn headers(mut file: &mut impl Read) -> Result<(Header, Header), PackageFault> {
    let mut lead = [0; LEAD_BYTES];
    file.read_exact(&mut lead).map_err(damaged)?;
    if !matches!(lead[4], 3 | 4) {
        return Err(PackageFault::Damaged(format!("its format has the number {}", lead[4])));
    }
    if lead[6..8] == [0, 1] {
        return Err(PackageFault::Source);
    }
    let signatures = Header::read(&mut file)?;
    // The next header begins at a place that eight divides.
    let padding = (8 - signatures.data.len() % 8) % 8;
    io::copy(&mut Exactly::new(&mut file, padding as u64), &mut io::sink()).map_err(damaged)?;
    Ok((signatures, Header::read(&mut file)?))
}

/// Returns the description in a header.
fn facts(header: &Header) -> Result<Facts, PackageFault> {
    let text = |tag, name: &str| {
        let missing = || PackageFault::Damaged(format!("its header has no {name}"));
        header.texts(tag).next().filter(|text| !text.is_empty()).ok_or_else(missing)
    };
    if let Some(format) = header.texts(tag::PAYLOAD_FORMAT).next().filter(|it| it != "cpio") {
        return Err(PackageFault::Damaged(format!(
            "its payload is `{}`, and no cpio archive",
            shown(format.as_bytes())
        )));
    }
    let said = |tag| header.texts(tag).next().unwrap_or_default();
    let version = format!("{}-{}", text(tag::VERSION, "version")?, text(tag::RELEASE, "release")?);
    Ok(Facts {
        format: Format::Rpm,
        name: text(tag::NAME, "name")?,
        version: match header.number(tag::EPOCH) {
            None | Some(0) => version,
            Some(epoch) => format!("{epoch}:{version}"),
        },
        arch: text(tag::ARCH, "architecture")?,
        needs: header.texts(tag::REQUIRES).take(NEEDS_MAX).collect(),
        source: said(tag::SOURCE_RPM),
        built_using: String::new(),
        licence: said(tag::LICENCE),
        maker: said(tag::VENDOR),
        home: said(tag::URL),
    })
}

/// A header: its beginning, its index of entries of 16 bytes, and the data that they point into.
struct Header {
    intro: [u8; 16],
    index: Vec<u8>,
    data: Vec<u8>,
}

impl Header {
    fn read(file: &mut impl Read) -> Result<Self, PackageFault> {
        let mut intro = [0; 16];
        file.read_exact(&mut intro).map_err(damaged)?;
        let [tags, bytes] = [8, 12].map(|place| number_at(&intro, place).unwrap_or(0) as usize);
        if intro[..4] != [0x8e, 0xad, 0xe8, 1] {
            return Err(PackageFault::Damaged("a header is missing".to_owned()));
        }
        if tags > TAGS_MAX || bytes > HEADER_BYTES_MAX {
            return Err(PackageFault::Damaged("a header is too large".to_owned()));
        }
        let mut part = |bytes: usize| {
            // The memory grows with the bytes that are there.
            let mut part = Vec::new();
            Exactly::new(&mut *file, bytes as u64).read_to_end(&mut part).map_err(damaged)?;
            Ok(part)
        };
        Ok(Self { intro, index: part(16 * tags)?, data: part(bytes)? })
    }

    /// Returns the bytes that a signature is of.
    fn signed(&self) -> Vec<u8> {
        [&self.intro[..], &self.index, &self.data].concat()
    }

    /// Returns the bytes of an entry; `None` where it is missing or has others than bytes.
    fn bytes(&self, tag: u32) -> Option<&[u8]> {
        // BIN.
        let (_, place, length) = self.find(tag).filter(|(kind, ..)| *kind == 7)?;
        self.data.get(place..)?.get(..length)
    }

    /// Returns the type of an entry, its place in the data and the number of its values.
    fn find(&self, tag: u32) -> Option<(u32, usize, usize)> {
        let entry = self.index.chunks_exact(16).find(|it| number_at(it, 0) == Some(tag))?;
        let [kind, place, values] = [4, 8, 12].map(|place| number_at(entry, place));
        Some((kind?, place? as usize, values? as usize))
    }

    /// Returns the texts of an entry, none where it is missing or no text. A byte of zero ends each.
    fn texts(&self, tag: u32) -> impl Iterator<Item = String> {
        // STRING, STRING_ARRAY and I18NSTRING.
        let found = self.find(tag).filter(|(kind, ..)| matches!(kind, 6 | 8 | 9));
        let (_, place, values) = found.unwrap_or_default();
        let texts = self.data.get(place..).unwrap_or_default().split(|byte| *byte == 0);
        texts.take(values).map(|text| String::from_utf8_lossy(text).into_owned())
    }

    /// Returns the number of an entry; `None` where it is missing or no number.
    fn number(&self, tag: u32) -> Option<u32> {
        // INT32.
        let (_, place, _) = self.find(tag).filter(|(kind, ..)| *kind == 4)?;
        number_at(&self.data, place)
    }
}

fn number_at(bytes: &[u8], place: usize) -> Option<u32> {
    let bytes = bytes.get(place..)?.first_chunk()?;
    Some(u32::from_be_bytes(*bytes))
}

/// Calls `visit` with every entry of the `cpio` archive.
pub(super) fn each<E: From<PackageFault>>(
    mut payload: impl Read,
    entries_max: usize,
    mut visit: impl FnMut(&Item<'_>, &mut dyn Read) -> Result<(), E>,
) -> Result<(), E> {
    let mut entries = 0;
    loop {
        count(&mut entries, entries_max)?;
        let entry = Entry::read(&mut payload)?;
        if entry.path == TRAILER {
            break;
        }
        let mut content = Exactly::new(&mut payload, entry.bytes);
        let path = sound(&entry.path)?;
        if !path.is_empty() {
            let Entry { kind, mode, modified_unix_s, bytes, .. } = entry;
            visit(&Item { path, kind, mode, modified_unix_s, bytes }, &mut content)?;
        }
        io::copy(&mut content, &mut io::sink()).map_err(damaged)?;
        skip(&mut payload, padding(entry.bytes))?;
    }
    // What compressed the archive checks it at its end.
    io::copy(&mut payload, &mut io::sink()).map_err(damaged)?;
    Ok(())
}

/// The header of an entry of the archive.
struct Entry {
    path: Vec<u8>,
    kind: Kind,
    mode: u32,
    modified_unix_s: u64,
    bytes: u64,
}

impl Entry {
    fn read(payload: &mut impl Read) -> Result<Self, PackageFault> {
        let mut header = [0; 110];
        payload.read_exact(&mut header).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => PackageFault::Damaged("the file ends early".to_owned()),
            _ => damaged(error),
        })?;
        match &header[..6] {
            b"070701" | b"070702" => {}
            b"07070X" => {
                let reason = "its files are named in its header alone (cpio's magic is 07070X), \
                              which only rpm can read";
                return Err(PackageFault::Damaged(reason.to_owned()));
            }
            _ => return Err(PackageFault::Damaged("an entry of its archive is none".to_owned())),
        }
        // Thirteen numbers of eight hexadecimal digits.
        let field = |number: usize| {
            let digits = &header[6 + 8 * number..][..8];
            let text = str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'));
            text.and_then(|text| u32::from_str_radix(text, 16).ok())
                .ok_or_else(|| PackageFault::Damaged("a number of its archive is none".to_owned()))
        };
        let (mode, links, modified) = (field(1)?, field(4)?, field(5)?);
        let (bytes, path_bytes) = (field(6)?, field(11)?);
        if path_bytes as usize > PATH_BYTES_MAX {
            return Err(PackageFault::Damaged("a path in it is too long".to_owned()));
        }
        let mut path = Vec::new();
        let path_bytes = u64::from(path_bytes);
        Exactly::new(&mut *payload, path_bytes).read_to_end(&mut path).map_err(damaged)?;
        if path.pop() != Some(0) {
            return Err(PackageFault::Damaged("a path in it has no end".to_owned()));
        }
        skip(payload, padding(header.len() as u64 + path_bytes))?;
        // inode(7), "The file type and mode".
        let kind = match mode & 0o170_000 {
            0o100_000 if links > 1 => Kind::Hardlink,
            0o100_000 => Kind::File,
            0o040_000 => Kind::Folder,
            0o120_000 => Kind::Symlink,
            _ => Kind::Special,
        };
        let (mode, modified_unix_s) = (mode & 0o7777, modified.into());
        Ok(Self { path, kind, mode, modified_unix_s, bytes: bytes.into() })
    }
}

/// Returns the bytes to the next place that four divides.
fn padding(bytes: u64) -> u64 {
    (4 - bytes % 4) % 4
}

fn skip(payload: &mut impl Read, bytes: u64) -> Result<(), PackageFault> {
    io::copy(&mut Exactly::new(payload, bytes), &mut io::sink()).map(drop).map_err(damaged)
}
