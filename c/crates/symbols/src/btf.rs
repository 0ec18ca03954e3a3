//! The BPF Type Format, as a table of types (Documentation/bpf/btf.rst).

use std::ops::Range;

use crate::TypesError;

/// The longest blob that is parsed, in bytes. Debian's kernels have some 5 MiB.
const BTF_BYTES_MAX: usize = 256 << 20;

/// The most types (include/uapi/linux/btf.h, `BTF_MAX_TYPE`).
const TYPES_MAX: usize = 0xf_ffff;

/// Longest name, in bytes; a longer one is cut (kernel/bpf/btf.c, `__btf_name_valid`).
const NAME_BYTES_MAX: usize = 512;

/// The parts of the header that every version has, in bytes.
const HEADER_BYTES: usize = 24;

/// The part of a type that every kind has, in bytes.
const TYPE_BYTES: usize = 12;

/// The kinds of types (include/uapi/linux/btf.h, `BTF_KIND_*`).
pub(crate) mod kind {
    pub(crate) const INT: u8 = 1;
    pub(crate) const PTR: u8 = 2;
    pub(crate) const ARRAY: u8 = 3;
    pub(crate) const STRUCT: u8 = 4;
    pub(crate) const UNION: u8 = 5;
    pub(crate) const ENUM: u8 = 6;
    pub(crate) const TYPEDEF: u8 = 8;
    pub(crate) const VOLATILE: u8 = 9;
    pub(crate) const CONST: u8 = 10;
    pub(crate) const RESTRICT: u8 = 11;
    pub(crate) const FLOAT: u8 = 16;
    pub(crate) const TYPE_TAG: u8 = 18;
    pub(crate) const ENUM64: u8 = 19;
}

/// Sizes of the data after the common part, by kind, in bytes: once, and for each of its `vlen`
/// entries.
const LAYOUTS: [(usize, usize); 20] = [
    (0, 0),  // void, which no record has
    (4, 0),  // INT
    (0, 0),  // PTR
    (12, 0), // ARRAY
    (0, 12), // STRUCT
    (0, 12), // UNION
    (0, 8),  // ENUM
    (0, 0),  // FWD
    (0, 0),  // TYPEDEF
    (0, 0),  // VOLATILE
    (0, 0),  // CONST
    (0, 0),  // RESTRICT
    (0, 0),  // FUNC
    (0, 8),  // FUNC_PROTO
    (4, 0),  // VAR
    (0, 12), // DATASEC
    (0, 0),  // FLOAT
    (4, 0),  // DECL_TAG
    (0, 0),  // TYPE_TAG
    (0, 12), // ENUM64
];

/// A blob of BTF.
#[derive(Clone, Debug)]
pub(crate) struct Btf {
    types: Box<[u8]>,
    strings: Box<[u8]>,
    /// Offsets of the types in `types`. The first one has the id 1: 0 is `void`.
    starts: Vec<u32>,
}

/// Type of a blob.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Type<'a> {
    /// Kind of the type, one of [`kind`].
    pub(crate) kind: u8,
    /// The kind's flag: of a structure, that its members may name a bitfield's size; of an
    /// enumeration, that its constants are signed.
    pub(crate) flag: bool,
    /// Name of the type; empty for none.
    pub(crate) name: &'a [u8],
    /// Size in bytes, or the id of the type that it refers to, as the kind has it.
    pub(crate) size_or_type: u32,
    words: &'a [u8],
}

impl<'a> Type<'a> {
    /// Iterates over the entries behind the common part, of `N` words each.
    pub(crate) fn entries<const N: usize>(&self) -> impl Iterator<Item = [u32; N]> + use<'a, N> {
        self.words.chunks_exact(N * 4).map(|entry| {
            let mut words = [0; N];
            for (word, bytes) in words.iter_mut().zip(entry.chunks_exact(4)) {
                *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            }
            words
        })
    }
}

impl Btf {
    pub(crate) fn parse(blob: &[u8]) -> Result<Self, TypesError> {
        Self::read(blob).map_err(TypesError::Btf)
    }

    fn read(blob: &[u8]) -> Result<Self, &'static str> {
        if blob.len() > BTF_BYTES_MAX {
            return Err("it is longer than any kernel's");
        }
        match blob {
            [0x9f, 0xeb, 1, ..] => {}
            [0x9f, 0xeb, ..] => return Err("its version is not 1"),
            [0xeb, 0x9f, ..] => return Err("it is of a big-endian machine"),
            _ => return Err("its magic is missing"),
        }
        let word = |offset| u32_at(blob, offset).ok_or("its header is cut short");
        let header_bytes = word(4)? as usize;
        if header_bytes < HEADER_BYTES || header_bytes > blob.len() {
            return Err("its header is cut short");
        }
        // Sections are placed relative to the end of the header.
        let section = |offset: usize| -> Result<&[u8], &'static str> {
            let (start, length) = (word(offset)? as usize, word(offset + 4)? as usize);
            let body = &blob[header_bytes..];
            start
                .checked_add(length)
                .and_then(|end| body.get(start..end))
                .ok_or("a section is cut short")
        };
        let (types, strings) = (section(8)?, section(16)?);
        if strings.first() != Some(&0) || strings.last() != Some(&0) {
            return Err("its names do not end");
        }
        // Newer blobs tell how long the kinds are that this parser does not know.
        let layouts = match header_bytes >= 32 {
            true => section(24)?,
            false => &[],
        };
        let starts = starts(types, layouts)?;
        Ok(Self { types: types.into(), strings: strings.into(), starts })
    }

    /// Returns the ids of every type but `void`.
    pub(crate) fn ids(&self) -> Range<u32> {
        1..self.starts.len() as u32 + 1
    }

    /// Returns a type; `None` for `void` and for an id without a type.
    pub(crate) fn get(&self, id: u32) -> Option<Type<'_>> {
        let place = (id as usize).checked_sub(1)?;
        let start = *self.starts.get(place)? as usize;
        let end = self.starts.get(place + 1).map_or(self.types.len(), |end| *end as usize);
        let record = self.types.get(start..end)?;
        let (common, words) = record.split_at_checked(TYPE_BYTES)?;
        let info = u32_at(common, 4)?;
        Some(Type {
            kind: kind_of(info),
            flag: info >> 31 == 1,
            name: self.name(u32_at(common, 0)?),
            size_or_type: u32_at(common, 8)?,
            words,
        })
    }

    /// Returns the name at an offset into the names; empty for an offset outside of them.
    pub(crate) fn name(&self, offset: u32) -> &[u8] {
        let rest = self.strings.get(offset as usize..).unwrap_or_default();
        let rest = &rest[..rest.len().min(NAME_BYTES_MAX)];
        rest.split(|byte| *byte == 0).next().unwrap_or_default()
    }
}

/// Returns the offset of each type.
fn starts(types: &[u8], layouts: &[u8]) -> Result<Vec<u32>, &'static str> {
    let mut starts = Vec::new();
    let mut offset = 0;
    while offset < types.len() {
        if starts.len() == TYPES_MAX {
            return Err("it has too many types");
        }
        // The blob's length bounds the offset.
        starts.push(offset as u32);
        let info = u32_at(types, offset + 4).ok_or("its last type is cut short")?;
        let kind = usize::from(kind_of(info));
        let (once, each) = match LAYOUTS.get(kind) {
            Some(_) if kind == 0 => return Err("it has a type of no kind"),
            Some(layout) => *layout,
            None => match layouts.get(kind * 4..kind * 4 + 2) {
                Some(layout) => (usize::from(layout[0]), usize::from(layout[1])),
                None => return Err("it has a type of an unknown kind"),
            },
        };
        offset += TYPE_BYTES + once + each * (info & 0xff_ffff) as usize;
    }
    match offset == types.len() {
        true => Ok(starts),
        false => Err("its last type is cut short"),
    }
}

/// Returns the kind in a type's second word. Its lower 24 bits are the number of entries; before
/// 7.1 they were 16, and the kind had 5 bits: the others were zero.
fn kind_of(info: u32) -> u8 {
    (info >> 24) as u8 & 0x7f
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Blob;

    #[test]
    fn types_are_numbered_from_one() {
        let mut blob = Blob::default();
        blob.int("int", 4);
        blob.structure("pair", 8, &[("a", 1, 0), ("b", 1, 32)]);
        blob.refer(kind::PTR, "", 2);
        let btf = Btf::parse(&blob.bytes()).unwrap();
        assert_eq!(btf.ids(), 1..4);
        let pair = btf.get(2).unwrap();
        assert_eq!((pair.kind, pair.name, pair.size_or_type), (kind::STRUCT, &b"pair"[..], 8));
        let members: Vec<_> =
            pair.entries().map(|[name, id, at]| (btf.name(name), id, at)).collect();
        assert_eq!(members, [(&b"a"[..], 1, 0), (&b"b"[..], 1, 32)]);
        assert!(btf.get(0).is_none() && btf.get(4).is_none());
        assert_eq!(btf.name(u32::MAX), b"");
    }

    #[test]
    fn every_truncation_is_an_error() {
        let mut blob = Blob::default();
        blob.int("int", 4);
        blob.structure("pair", 8, &[("a", 1, 0), ("b", 1, 32)]);
        let bytes = blob.bytes();
        for length in 0..bytes.len() {
            assert!(Btf::parse(&bytes[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn kinds_of_the_future_are_passed_over_where_their_length_is_told() {
        let mut blob = Blob::default();
        // As long as a kind that has one word and two for each of three entries.
        blob.record("future", 20, 3, 0, &[0; 7]);
        blob.int("int", 4);
        assert!(Btf::parse(&blob.bytes()).is_err());
        let mut layouts = vec![0; 21 * 4];
        layouts[80..82].copy_from_slice(&[4, 8]);
        let btf = Btf::parse(&blob.bytes_with(&layouts)).unwrap();
        assert_eq!(btf.get(2).unwrap().name, b"int");
    }

    #[test]
    fn what_is_not_ours_is_refused() {
        let mut blob = Blob::default();
        blob.int("int", 4);
        let bytes = blob.bytes();
        for (offset, value) in [(0, 0), (2, 2), (4, 23), (8, 0xff), (12, 0xff), (16, 0xff), (31, 0)]
        {
            let mut bytes = bytes.clone();
            bytes[offset] = value;
            assert!(Btf::parse(&bytes).is_err(), "{offset}");
        }
    }
}
