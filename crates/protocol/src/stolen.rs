//! Time that is stolen from a machine's CPUs: a hypervisor, the firmware or a device has it, and the kernel is not told.
//!
//! All are integers, so that no rounding of any machine reaches a cell.

use alloc::{format, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

/// The number of lengths that stand for all.
pub const LENGTHS: usize = 16;

/// The most gaps in a second: there is one in each tenth microsecond then.
const PER_S_MAX: u32 = 100_000;

/// The longest gap, in nanoseconds.
const LENGTH_NS_MAX: u32 = 100_000_000;

/// The largest part of a second that may be stolen, in nanoseconds.
const SUM_NS_MAX: u64 = 500_000_000;

/// All interrupts of timers, as a share.
pub const ALL: u32 = 10_000;

/// The most quantiles.
const QUANTILES_MAX: usize = 32;

/// How often time is stolen from each CPU, and for how long.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Keys", into = "Keys")]
pub struct Stolen {
    per_s: u32,
    lengths_ns: [u32; LENGTHS],
    timer_ns: Option<Quantiles>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    per_s: u32,
    lengths_ns: [u32; LENGTHS],
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timer_ns: Option<Quantiles>,
}

/// Quantiles of a length: shares in 1/10,000, from 0 to all, and the length in nanoseconds that such a share does not
/// exceed. Between two of them it rises linearly.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<(u32, u32)>", into = "Vec<(u32, u32)>")]
pub struct Quantiles(Vec<(u32, u32)>);

impl Quantiles {
    /// Returns the shares in 1/10,000 and their lengths in nanoseconds, ascending.
    pub fn pairs(&self) -> &[(u32, u32)] {
        &self.0
    }
}

impl TryFrom<Vec<(u32, u32)>> for Quantiles {
    type Error = String;

    fn try_from(pairs: Vec<(u32, u32)>) -> Result<Self, String> {
        let ascend = |pair: &[(u32, u32)]| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1;
        let ends = pairs.first().zip(pairs.last());
        let are_all = ends.is_some_and(|(first, last)| (first.0, last.0) == (0, ALL));
        if pairs.len() > QUANTILES_MAX || !are_all || !pairs.windows(2).all(ascend) {
            return Err(format!(
                "quantiles are 2 to {QUANTILES_MAX} pairs of a share, from 0 to {ALL}, and a length that ascends"
            ));
        }
        if pairs.iter().any(|(_, ns)| *ns > LENGTH_NS_MAX) {
            return Err(format!("a length is at most {LENGTH_NS_MAX} ns"));
        }
        Ok(Self(pairs))
    }
}

impl From<Quantiles> for Vec<(u32, u32)> {
    fn from(quantiles: Quantiles) -> Self {
        quantiles.0
    }
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
        Ok(Self { per_s, lengths_ns, timer_ns: None })
    }

    /// Adds the time that is stolen where a timer interrupts a CPU.
    #[must_use]
    pub fn with_timers(self, timer_ns: Option<Quantiles>) -> Self {
        Self { timer_ns, ..self }
    }

    /// Returns the number of gaps in a second.
    pub fn per_s(&self) -> u32 {
        self.per_s
    }

    /// Returns the lengths of gaps, which are equally likely, ascending, in nanoseconds.
    pub fn lengths_ns(&self) -> [u32; LENGTHS] {
        self.lengths_ns
    }

    /// Returns the time that is stolen where a timer interrupts a CPU; `None` where that is nothing.
    pub fn timer_ns(&self) -> Option<&Quantiles> {
        self.timer_ns.as_ref()
    }
}

impl TryFrom<Keys> for Stolen {
    type Error = String;

    fn try_from(Keys { per_s, lengths_ns, timer_ns }: Keys) -> Result<Self, String> {
        Ok(Self::new(per_s, lengths_ns)?.with_timers(timer_ns))
    }
}

impl From<Stolen> for Keys {
    fn from(Stolen { per_s, lengths_ns, timer_ns }: Stolen) -> Self {
        Self { per_s, lengths_ns, timer_ns }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

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

    #[test]
    fn quantiles_go_from_none_to_all() {
        let of = |pairs: &str| serde_json::from_str::<Quantiles>(pairs);
        let quantiles = of("[[0,0],[9900,60000],[10000,200000]]").unwrap();
        assert_eq!(quantiles.pairs()[1], (9_900, 60_000));
        let stolen = Stolen::new(1, [1; LENGTHS]).unwrap().with_timers(Some(quantiles));
        let text = serde_json::to_string(&stolen).unwrap();
        assert_eq!(serde_json::from_str::<Stolen>(&text).unwrap(), stolen);
        let many: Vec<_> = (0..=32).map(|n| (if n == 32 { ALL } else { n }, n)).collect();
        for (pairs, said) in [
            ("[]", "2 to 32 pairs"),
            ("[[0,0]]", "2 to 32 pairs"),
            ("[[1,0],[10000,1]]", "2 to 32 pairs"),
            ("[[0,0],[9999,1]]", "2 to 32 pairs"),
            ("[[0,0],[10001,1]]", "2 to 32 pairs"),
            ("[[0,0],[5000,3],[5000,4],[10000,5]]", "2 to 32 pairs"),
            ("[[0,0],[5000,3],[10000,2]]", "2 to 32 pairs"),
            ("[[0,0],[10000,100000001]]", "a length is at most"),
            (&serde_json::to_string(&many).unwrap(), "2 to 32 pairs"),
        ] {
            let refused = of(pairs).unwrap_err().to_string();
            assert!(refused.contains(said), "{pairs}: {refused}");
        }
    }
}
