//! The sizes of caches and TLBs.

use alloc::{format, string::String};

use serde::{Deserialize, Serialize};

/// The bytes of a line.
pub const LINE_BYTES: u32 = 64;

/// The most ways of a set.
const WAYS_MAX: u32 = 32;

/// A cache's bytes and ways: a power of two of sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "CacheKeys", into = "CacheKeys")]
pub struct CacheSize {
    sets: u32,
    ways: u32,
}

/// Keys of a cache.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CacheKeys {
    bytes: u32,
    ways: u32,
}

impl CacheSize {
    /// The fewest sets: a line's address within its page tells its set of so many.
    pub const SETS_MIN: u32 = 64;

    /// The most sets: 2 GiB with 32 ways.
    const SETS_MAX: u32 = 1 << 20;

    /// Returns the size that is the nearest to so many bytes, and among equal ones that whose ways are the
    /// nearest.
    pub fn nearest(bytes: u64, ways: u32) -> Self {
        let least_sets = Self::SETS_MIN.ilog2();
        let (sets, ways) = nearest(bytes / u64::from(LINE_BYTES), ways, least_sets, Self::SETS_MAX);
        Self { sets, ways }
    }

    /// Returns the number of bytes.
    pub const fn bytes(self) -> u32 {
        self.sets * self.ways * LINE_BYTES
    }

    /// Returns the number of sets.
    pub const fn sets(self) -> u32 {
        self.sets
    }

    /// Returns the number of lines of a set.
    pub const fn ways(self) -> u32 {
        self.ways
    }
}

impl TryFrom<CacheKeys> for CacheSize {
    type Error = String;

    fn try_from(CacheKeys { bytes, ways }: CacheKeys) -> Result<Self, String> {
        let sets = sets(bytes / LINE_BYTES, ways).filter(|sets| {
            bytes.is_multiple_of(LINE_BYTES) && (Self::SETS_MIN..=Self::SETS_MAX).contains(sets)
        });
        sets.map(|sets| Self { sets, ways }).ok_or_else(|| {
            format!(
                "{bytes} bytes in {ways} ways are no cache: it has 1 to {WAYS_MAX} ways and, in lines of \
                 {LINE_BYTES} bytes, a power of two of sets from {} to {}",
                Self::SETS_MIN,
                Self::SETS_MAX
            )
        })
    }
}

impl From<CacheSize> for CacheKeys {
    fn from(size: CacheSize) -> Self {
        Self { bytes: size.bytes(), ways: size.ways }
    }
}

/// A TLB's entries and ways: a power of two of sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "TlbKeys", into = "TlbKeys")]
pub struct TlbSize {
    sets: u32,
    ways: u32,
}

/// Keys of a TLB.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TlbKeys {
    entries: u32,
    ways: u32,
}

impl TlbSize {
    /// The most sets.
    const SETS_MAX: u32 = 1 << 12;

    /// Returns the size that is the nearest to so many entries, and among equal ones that whose ways are the
    /// nearest.
    pub fn nearest(entries: u64, ways: u32) -> Self {
        let (sets, ways) = nearest(entries, ways, 0, Self::SETS_MAX);
        Self { sets, ways }
    }

    /// Returns the number of entries.
    pub const fn entries(self) -> u32 {
        self.sets * self.ways
    }

    /// Returns the number of sets.
    pub const fn sets(self) -> u32 {
        self.sets
    }

    /// Returns the number of entries of a set.
    pub const fn ways(self) -> u32 {
        self.ways
    }
}

impl TryFrom<TlbKeys> for TlbSize {
    type Error = String;

    fn try_from(TlbKeys { entries, ways }: TlbKeys) -> Result<Self, String> {
        let sets = sets(entries, ways).filter(|sets| *sets <= Self::SETS_MAX);
        sets.map(|sets| Self { sets, ways }).ok_or_else(|| {
            format!(
                "{entries} entries in {ways} ways are no TLB: it has 1 to {WAYS_MAX} ways and a power of \
                 two of sets, at most {}",
                Self::SETS_MAX
            )
        })
    }
}

impl From<TlbSize> for TlbKeys {
    fn from(size: TlbSize) -> Self {
        Self { entries: size.entries(), ways: size.ways }
    }
}

/// Returns the sets that so many lines make, if they are a power of two.
fn sets(lines: u32, ways: u32) -> Option<u32> {
    let is_whole = (1..=WAYS_MAX).contains(&ways) && lines.is_multiple_of(ways);
    is_whole.then(|| lines / ways).filter(|sets| sets.is_power_of_two())
}

/// Returns the sets, at least 2^`least_sets`, and the ways that make the nearest to so many lines.
fn nearest(lines: u64, wanted_ways: u32, least_sets: u32, sets_max: u32) -> (u32, u32) {
    let sets = (least_sets..=sets_max.ilog2()).map(|power| 1 << power);
    let sizes = sets.flat_map(|sets: u32| (1..=WAYS_MAX).map(move |ways| (sets, ways)));
    let difference = |(sets, ways): &(u32, u32)| {
        (u64::from(sets * ways).abs_diff(lines), ways.abs_diff(wanted_ways))
    };
    sizes.min_by_key(difference).unwrap_or((sets_max, WAYS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caches::tests::refused;

    #[test]
    fn a_cache_has_a_power_of_two_of_sets() {
        let text = r#"{"bytes":49152,"ways":12}"#;
        let cache: CacheSize = serde_json::from_str(text).unwrap();
        assert_eq!((cache.sets(), cache.ways()), (64, 12));
        assert_eq!(serde_json::to_string(&cache).unwrap(), text);
        for (bytes, ways) in [
            (0, 1),
            (4096, 0),
            (49152, 8),
            (49152, 13),
            (49153, 12),
            (2048, 1),
            (1 << 20, 33),
            (1 << 27, 1),
        ] {
            let said = refused::<CacheSize>(&format!(r#"{{"bytes":{bytes},"ways":{ways}}}"#));
            assert!(said.contains("are no cache: it has 1 to 32 ways"), "{said}");
        }
        let said = refused::<CacheSize>(r#"{"bytes":49152,"ways":12,"line":32}"#);
        assert!(said.starts_with("unknown field `line`"), "{said}");
    }

    #[test]
    fn a_tlb_has_a_power_of_two_of_sets() {
        let text = r#"{"entries":96,"ways":12}"#;
        let tlb: TlbSize = serde_json::from_str(text).unwrap();
        assert_eq!((tlb.sets(), tlb.ways()), (8, 12));
        assert_eq!(serde_json::to_string(&tlb).unwrap(), text);
        for (entries, ways) in [(0, 1), (96, 0), (96, 16), (96, 33), (1 << 13, 1)] {
            let said = refused::<TlbSize>(&format!(r#"{{"entries":{entries},"ways":{ways}}}"#));
            assert!(said.contains("are no TLB"), "{said}");
        }
    }

    #[test]
    fn what_no_size_is_becomes_the_nearest() {
        let of = |bytes, ways| {
            let size = CacheSize::nearest(bytes, ways);
            let text = serde_json::to_string(&size).unwrap();
            assert_eq!(serde_json::from_str::<CacheSize>(&text).unwrap(), size);
            (size.bytes(), size.ways())
        };
        // An Intel Xeon has 245,760 sets of 20, a Core i7-8700K 12,288 of 16.
        assert_eq!(of(300 << 20, 20), (304 << 20, 19));
        assert_eq!(of(12 << 20, 16), (12 << 20, 12));
        // A size that a profile can hold stays as it is.
        for (bytes, ways) in [(48 << 10, 12), (2 << 20, 16), (32 << 20, 16), (1 << 20, 8)] {
            assert_eq!(of(bytes.into(), ways), (bytes, ways));
        }
        assert_eq!(of(0, 0), (4096, 1));
        assert_eq!(of(u64::MAX, u32::MAX), (1 << 31, 32));
        let of = |entries, ways| {
            let size = TlbSize::nearest(entries, ways);
            (size.entries(), size.ways())
        };
        // One set of all, and 384 sets of 8.
        assert_eq!((of(72, 72), of(3072, 8)), ((72, 18), (3072, 6)));
        assert_eq!((of(96, 6), of(0, 0)), ((96, 6), (1, 1)));
    }
}
