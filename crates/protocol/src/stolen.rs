//! Time that is stolen from a machine's CPUs: a hypervisor, the firmware or a device has it, and the kernel is not told.
//!
//! All are integers, so that no rounding of any machine reaches a cell.

use alloc::{format, string::String};

use serde::{Deserialize, Serialize};

/// The number of lengths that stand for all.
pub const LENGTHS: usize = 16;

/// The most gaps in a second: there is one in each tenth microsecond then.
const PER_S_MAX: u32 = 100_000;

/// The longest gap, in nanoseconds.
const LENGTH_NS_MAX: u32 = 100_000_000;

/// The largest part of a second that may be stolen, in nanoseconds.
const SUM_NS_MAX: u64 = 500_000_000;

/// How often time is stolen from each CPU, and for how long.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Keys", into = "Keys")]
pub struct Stolen {
    per_s: u32,
    lengths_ns: [u32; LENGTHS],
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    per_s: u32,
    lengths_ns: [u32; LENGTHS],
}

impl Stolen {
    /// Creates a distribution of so many gaps in a second with these lengths, which are equally likely.
    ///
    /// # Errors
    ///
    /// When there are no gaps, more than there can be, lengths that do not ascend or cannot be, or more stolen than
    /// half of the time.
    pub fn new(per_s: u32, lengths_ns: [u32; LENGTHS]) -> Result<Self, String> {
        if !(1..=PER_S_MAX).contains(&per_s) {
            return Err(format!("time is stolen 1 to {PER_S_MAX} times in a second"));
        }
        if lengths_ns[0] == 0 || !lengths_ns.is_sorted() || lengths_ns[LENGTHS - 1] > LENGTH_NS_MAX
        {
            return Err(format!("the lengths ascend from 1 to at most {LENGTH_NS_MAX} ns"));
        }
        let sum_ns = lengths_ns.iter().map(|ns| u64::from(*ns)).sum::<u64>();
        if u64::from(per_s) * sum_ns / LENGTHS as u64 > SUM_NS_MAX {
            return Err("more than half of the time is stolen".into());
        }
        Ok(Self { per_s, lengths_ns })
    }

    /// Returns the number of gaps in a second.
    pub fn per_s(&self) -> u32 {
        self.per_s
    }

    /// Returns the lengths of gaps, which are equally likely, ascending, in nanoseconds.
    pub fn lengths_ns(&self) -> [u32; LENGTHS] {
        self.lengths_ns
    }
}

impl TryFrom<Keys> for Stolen {
    type Error = String;

    fn try_from(Keys { per_s, lengths_ns }: Keys) -> Result<Self, String> {
        Self::new(per_s, lengths_ns)
    }
}

impl From<Stolen> for Keys {
    fn from(Stolen { per_s, lengths_ns }: Stolen) -> Self {
        Self { per_s, lengths_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_stolen_is_refused() {
        let of = |per_s, first, last| {
            let mut lengths_ns = [5_000; LENGTHS];
            (lengths_ns[0], lengths_ns[LENGTHS - 1]) = (first, last);
            Stolen::new(per_s, lengths_ns)
        };
        let stolen = of(1_000, 1, 100_000).unwrap();
        assert_eq!((stolen.per_s(), stolen.lengths_ns()[15]), (1_000, 100_000));
        let text = serde_json::to_string(&stolen).unwrap();
        assert_eq!(serde_json::from_str::<Stolen>(&text).unwrap(), stolen);
        for (per_s, first, last, said) in [
            (0, 1, 5_000, "1 to 100000 times"),
            (100_001, 1, 5_000, "1 to 100000 times"),
            (10, 0, 5_000, "the lengths ascend"),
            (10, 5_001, 5_001, "the lengths ascend"),
            (10, 1, 4_999, "the lengths ascend"),
            (10, 1, 100_000_001, "the lengths ascend"),
            (100_000, 5_000, 10_000, "more than half"),
        ] {
            let refused = of(per_s, first, last).unwrap_err();
            assert!(refused.contains(said), "{refused}");
        }
        for text in [
            r#"{"per_s":1,"lengths_ns":[1,2]}"#,
            r#"{"per_s":1}"#,
            r#"{"per_s":-1,"lengths_ns":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}"#,
            r#"{"per_s":1,"lengths_ns":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16],"seed":1}"#,
        ] {
            assert!(serde_json::from_str::<Stolen>(text).is_err(), "{text}");
        }
    }
}
