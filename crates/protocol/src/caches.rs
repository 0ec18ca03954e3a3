//! A machine's caches and what missing them costs: how large they are, and penalties in 1/256 ns.
//!
//! A profile may hold [`Caches`]; the plugin in QEMU models them. All are integers, so that no rounding of
//! any machine reaches a cell.

mod sizes;

use alloc::{format, string::String};
use core::num::NonZeroU32;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

pub use self::sizes::{CacheSize, LINE_BYTES, TlbSize};

/// Caches of a machine. Each CPU has its own, but for the last one, which all share: `l3`, or `l2` where there is no
/// `l3`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Caches {
    /// A miss overlaps the one before it where at most so many accesses to memory lie between.
    pub overlap_accesses: u16,
    /// The first cache, of data.
    pub l1d: CacheSize,
    /// The first cache, of instructions.
    pub l1i: CacheSize,
    /// The second cache.
    pub l2: CacheSize,
    /// The third cache; `None` on a machine whose CPUs share the second one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l3: Option<CacheSize>,
    /// Translations of data's pages of 4 KiB.
    pub dtlb: TlbSize,
    /// The same behind the first ones.
    pub stlb: TlbSize,
    /// Foresees loads of equal distance.
    pub prefetcher: Prefetcher,
    /// Prices of what the first caches lack.
    pub penalties: Penalties,
    /// Prices of lines that another CPU has written; without them such a line costs what one of the last
    /// cache does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfers: Option<Transfers>,
}

impl Caches {
    /// Returns the second cache of each CPU, where it is not the one that all share.
    pub fn second(&self) -> Option<CacheSize> {
        self.l3.and(Some(self.l2))
    }

    /// Returns the cache that all CPUs share.
    pub fn last(&self) -> CacheSize {
        self.l3.unwrap_or(self.l2)
    }
}

impl<'de> Deserialize<'de> for Caches {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let caches = Self::deserialize(deserializer)?;
        match (caches.l3, caches.penalties.l3) {
            (Some(_), None) => Err(D::Error::custom("there is an `l3`, and no penalty of it")),
            (None, Some(_)) => Err(D::Error::custom("there is a penalty of `l3`, and no `l3`")),
            _ => Ok(caches),
        }
    }
}

impl Serialize for Caches {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

/// Prices of a line that another CPU has written, by where that CPU is. A level that a machine does not
/// have needs none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfers {
    /// From a thread of the same core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<Transfer>,
    /// From another core that shares the last cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complex: Option<Transfer>,
    /// From another last cache of the same socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<Transfer>,
    /// From another socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far: Option<Transfer>,
}

/// What a line takes from one CPU to another, in 1/256 ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Transfer(u32);

impl Transfer {
    /// Returns the time in 1/256 ns.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl TryFrom<u32> for Transfer {
    type Error = String;

    fn try_from(transfer: u32) -> Result<Self, String> {
        if (1..=Penalty::MAX).contains(&transfer) {
            return Ok(Self(transfer));
        }
        Err(format!("a line takes 1 to {} (1/256 ns) from one CPU to another", Penalty::MAX))
    }
}

impl From<Transfer> for u32 {
    fn from(transfer: Transfer) -> Self {
        transfer.0
    }
}

/// Where a CPU is, as another one sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// A thread of the same core.
    Core,
    /// A core that shares the last cache.
    Complex,
    /// Another last cache of the same socket.
    Socket,
    /// Another socket.
    Far,
}

impl Distance {
    /// All of them, the nearest first.
    pub const ALL: [Self; 4] = [Self::Core, Self::Complex, Self::Socket, Self::Far];

    /// Returns its name, which is its key among [`Transfers`].
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Complex => "complex",
            Self::Socket => "socket",
            Self::Far => "far",
        }
    }
}

impl Transfers {
    /// Returns the price of a distance.
    pub const fn of(&self, distance: Distance) -> Option<Transfer> {
        match distance {
            Distance::Core => self.core,
            Distance::Complex => self.complex,
            Distance::Socket => self.socket,
            Distance::Far => self.far,
        }
    }
}

/// How many CPUs share a core, a last cache and a socket. CPUs with successive numbers are the nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Groups {
    /// Threads of a core.
    pub core: NonZeroU32,
    /// CPUs that share a last cache.
    pub complex: NonZeroU32,
    /// CPUs of a socket.
    pub socket: NonZeroU32,
}

impl Groups {
    /// Returns where one CPU is, as another one sees it.
    pub const fn distance(&self, one: u32, other: u32) -> Distance {
        let Self { core, complex, socket } = self;
        if one / core.get() == other / core.get() {
            Distance::Core
        } else if one / complex.get() == other / complex.get() {
            Distance::Complex
        } else if one / socket.get() == other / socket.get() {
            Distance::Socket
        } else {
            Distance::Far
        }
    }
}

/// A prefetcher: it learns the distance from miss to miss of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prefetcher {
    /// Instructions that it follows.
    pub streams: Streams,
    /// The equal distances in a row that it learns from.
    pub training: u8,
}

/// A number of instructions that a prefetcher follows: a power of two, at most 4096.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Streams(u32);

impl Streams {
    /// Returns the number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl TryFrom<u32> for Streams {
    type Error = &'static str;

    fn try_from(streams: u32) -> Result<Self, &'static str> {
        if streams.is_power_of_two() && streams <= 1 << 12 {
            Ok(Self(streams))
        } else {
            Err("the streams of a prefetcher must be a power of two, at most 4096")
        }
    }
}

impl From<Streams> for u32 {
    fn from(streams: Streams) -> Self {
        streams.0
    }
}

/// Penalties of what the first caches lack, by where it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Penalties {
    /// A line in the second cache.
    pub l2: Penalty,
    /// A line in the third cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l3: Option<Penalty>,
    /// A line in memory.
    pub memory: Penalty,
    /// A translation in the second TLB.
    pub stlb: Penalty,
    /// A translation in the page tables, besides the table's own line.
    pub walk: Penalty,
}

impl Penalties {
    /// Returns the penalty of a line in the cache that all CPUs share, or in the caches of another CPU.
    pub fn last(&self) -> Penalty {
        self.l3.unwrap_or(self.l2)
    }
}

/// What a miss costs in 1/256 ns, beyond a hit of the first cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "PenaltyKeys", into = "PenaltyKeys")]
pub struct Penalty {
    waits: u32,
    overlaps: u32,
    streams: u32,
}

/// Keys of a penalty.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PenaltyKeys {
    waits: u32,
    overlaps: u32,
    streams: u32,
}

impl Penalty {
    /// The longest: 65,535 ns.
    pub const MAX: u32 = (1 << 24) - 1;

    /// Makes a penalty of times in 1/256 ns.
    ///
    /// # Errors
    ///
    /// When one of them is longer than [`Self::MAX`], or than that of a miss that the CPU waits for.
    pub fn new(waits: u32, overlaps: u32, streams: u32) -> Result<Self, String> {
        if waits > Self::MAX || overlaps > waits || streams > waits {
            return Err(format!(
                "a penalty must be 0 to {} (1/256 ns), and no miss costs more than one that a CPU waits \
                 for",
                Self::MAX
            ));
        }
        Ok(Self { waits, overlaps, streams })
    }

    /// Returns the penalty of a miss that the CPU waits for.
    pub const fn waits(self) -> u32 {
        self.waits
    }

    /// Returns the penalty of a miss that comes while the CPU waits for another one.
    pub const fn overlaps(self) -> u32 {
        self.overlaps
    }

    /// Returns the penalty of a miss that the prefetcher has foreseen.
    pub const fn streams(self) -> u32 {
        self.streams
    }
}

impl TryFrom<PenaltyKeys> for Penalty {
    type Error = String;

    fn try_from(PenaltyKeys { waits, overlaps, streams }: PenaltyKeys) -> Result<Self, String> {
        Self::new(waits, overlaps, streams)
    }
}

impl From<Penalty> for PenaltyKeys {
    fn from(Penalty { waits, overlaps, streams }: Penalty) -> Self {
        Self { waits, overlaps, streams }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use serde::de::DeserializeOwned;

    use super::*;

    #[track_caller]
    pub(super) fn refused<T: DeserializeOwned>(text: &str) -> String {
        serde_json::from_str::<T>(text).err().expect(text).to_string()
    }

    #[test]
    fn no_miss_costs_more_than_one_that_is_waited_for() {
        let text = r#"{"waits":16777215,"overlaps":0,"streams":7}"#;
        let penalty: Penalty = serde_json::from_str(text).unwrap();
        assert_eq!((penalty.waits(), penalty.overlaps(), penalty.streams()), (16_777_215, 0, 7));
        assert_eq!(serde_json::to_string(&penalty).unwrap(), text);
        for text in [
            r#"{"waits":16777216,"overlaps":0,"streams":0}"#,
            r#"{"waits":1,"overlaps":2,"streams":0}"#,
            r#"{"waits":1,"overlaps":0,"streams":2}"#,
        ] {
            let said = refused::<Penalty>(text);
            assert!(said.contains("a penalty must be 0 to 16777215"), "{said}");
        }
        refused::<Penalty>(r#"{"waits":-1,"overlaps":0,"streams":0}"#);
        refused::<Penalty>(r#"{"waits":1}"#);
    }

    #[test]
    fn the_last_cache_has_a_penalty_and_is_there() {
        let text = |l3: &str, penalty: &str| {
            format!(
                r#"{{"overlap_accesses":8,"l1d":{{"bytes":32768,"ways":2}},"l1i":{{"bytes":49152,"ways":3}},"l2":{{"bytes":1048576,"ways":16}},{l3}"dtlb":{{"entries":32,"ways":32}},"stlb":{{"entries":1024,"ways":4}},"prefetcher":{{"streams":16,"training":2}},"penalties":{{"l2":{{"waits":3,"overlaps":2,"streams":1}},{penalty}"memory":{{"waits":9,"overlaps":2,"streams":1}},"stlb":{{"waits":1,"overlaps":1,"streams":1}},"walk":{{"waits":1,"overlaps":1,"streams":1}}}}}}"#
            )
        };
        let l3 = r#""l3":{"bytes":8388608,"ways":16},"#;
        let penalty = r#""l3":{"waits":6,"overlaps":2,"streams":1},"#;
        let read = |text: &str| serde_json::from_str::<Caches>(text).unwrap();

        let three = read(&text(l3, penalty));
        assert_eq!((three.second(), Some(three.last())), (Some(three.l2), three.l3));
        assert_eq!(three.penalties.last().waits(), 6);
        assert_eq!(serde_json::to_string(&three).unwrap(), text(l3, penalty));
        let two = read(&text("", ""));
        assert_eq!((two.second(), two.last()), (None, two.l2));
        assert_eq!(two.penalties.last().waits(), 3);
        assert_eq!(serde_json::to_string(&two).unwrap(), text("", ""));

        let said = refused::<Caches>(&text(l3, ""));
        assert!(said.contains("no penalty of it"), "{said}");
        let said = refused::<Caches>(&text("", penalty));
        assert!(said.contains("and no `l3`"), "{said}");
    }

    #[test]
    fn a_transfer_takes_time() {
        let text = r#"{"complex":6400,"far":16777215}"#;
        let transfers: Transfers = serde_json::from_str(text).unwrap();
        let found = Distance::ALL.map(|distance| transfers.of(distance).map(Transfer::get));
        assert_eq!(found, [None, Some(6400), None, Some(16_777_215)]);
        assert_eq!(serde_json::to_string(&transfers).unwrap(), text);
        for text in [r#"{"complex":0}"#, r#"{"complex":16777216}"#, r#"{"complex":-1}"#] {
            refused::<Transfers>(text);
        }
        assert!(refused::<Transfers>(r#"{"node":1}"#).starts_with("unknown field `node`"));
    }

    #[test]
    fn successive_cpus_are_near() {
        let groups: Groups = serde_json::from_str(r#"{"core":2,"complex":4,"socket":8}"#).unwrap();
        let of_first = [1, 2, 3, 4, 7, 8].map(|other| groups.distance(0, other));
        use Distance::{Complex, Core, Far, Socket};
        assert_eq!(of_first, [Core, Complex, Complex, Socket, Socket, Far]);
        assert_eq!((groups.distance(5, 4), groups.distance(9, 6)), (Core, Far));
        refused::<Groups>(r#"{"core":0,"complex":4,"socket":8}"#);
    }

    #[test]
    fn streams_are_a_power_of_two() {
        assert_eq!(serde_json::from_str::<Streams>("64").unwrap().get(), 64);
        for text in ["0", "3", "8192", "-1"] {
            refused::<Streams>(text);
        }
    }
}
