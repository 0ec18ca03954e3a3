//! At how many instants a task would have been later than each of some latencies.

use serde::{Deserialize, Serialize};

/// Steps in a decade of latencies, in thousandths of its begin: each is some 12 % above the one before.
const STEPS: [u64; 20] = [
    1000, 1122, 1259, 1413, 1585, 1778, 1995, 2239, 2512, 2818, 3162, 3548, 3981, 4467, 5012, 5623,
    6310, 7079, 7943, 8913,
];

/// Beginning of the first decade, in nanoseconds.
const FIRST_NS: u64 = 100;

/// Decades, up to 100 s.
const DECADES: u32 = 9;

/// Instants of a window at which the most urgent task would have been later than each of some latencies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Curve {
    /// Length of the window, in nanoseconds: the number of its instants.
    pub window_ns: u64,
    /// Latencies in nanoseconds, ascending, with the number of later instants. Below the first one all
    /// instants are later, above the last one none.
    pub later: Vec<(u64, u64)>,
}

impl Curve {
    /// Creates the curve of a window by the number of instants that are later than a latency.
    pub(crate) fn new(window_ns: u64, later_than: impl Fn(u64) -> u64) -> Self {
        let mut later: Vec<(u64, u64)> = Vec::new();
        for latency_ns in latencies_ns() {
            let instants = later_than(latency_ns).min(window_ns);
            if instants == window_ns {
                later.clear();
            }
            later.push((latency_ns, instants));
            if instants == 0 {
                break;
            }
        }
        Self { window_ns, later }
    }

    /// Takes in the curve of another window.
    pub fn merge(&mut self, other: &Self) {
        let latencies: std::collections::BTreeSet<u64> =
            self.later.iter().chain(&other.later).map(|(latency_ns, _)| *latency_ns).collect();
        let sum = |latency_ns: u64| {
            self.later_than(latency_ns).saturating_add(other.later_than(latency_ns))
        };
        let later = latencies.into_iter().map(|ns| (ns, sum(ns))).collect();
        *self = Self { window_ns: self.window_ns.saturating_add(other.window_ns), later };
    }

    /// Returns whether latencies ascend, and later ones have no more instants, nor any more than the window.
    pub fn is_ordered(&self) -> bool {
        let falls = |pair: &[(u64, u64)]| pair[0].0 < pair[1].0 && pair[0].1 >= pair[1].1;
        self.later.windows(2).all(falls)
            && self.later.first().is_none_or(|(_, instants)| *instants <= self.window_ns)
    }

    /// Returns the number of instants that are later than one of the latencies of a curve.
    fn later_than(&self, latency_ns: u64) -> u64 {
        match self.later.partition_point(|(known_ns, _)| *known_ns <= latency_ns) {
            0 => self.window_ns,
            after => self.later[after - 1].1,
        }
    }

    /// Returns the latencies in microseconds with the share of later instants, 1 at most.
    pub fn shares(&self) -> impl Iterator<Item = (f64, f64)> {
        let window_ns = self.window_ns.max(1) as f64;
        self.later.iter().map(move |(latency_ns, instants)| {
            (*latency_ns as f64 / 1e3, *instants as f64 / window_ns)
        })
    }
}

/// Returns the latencies at which curves are sampled, the same in all.
fn latencies_ns() -> impl Iterator<Item = u64> {
    (0..DECADES).flat_map(|decade| {
        STEPS.map(|step| step.saturating_mul(FIRST_NS * 10_u64.pow(decade)) / 1000)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(stretch_ns: u64, floor_ns: u64) -> Curve {
        Curve::new(1_000_000, |latency_ns| match latency_ns < floor_ns {
            true => 1_000_000,
            false => stretch_ns.saturating_sub(latency_ns - floor_ns),
        })
    }

    #[test]
    fn a_curve_goes_from_all_instants_to_none() {
        let curve = of(50_000, 1_500);
        assert_eq!(curve.later.first(), Some(&(1_413, 1_000_000)));
        assert_eq!(curve.later.last().map(|(_, instants)| *instants), Some(0));
        assert!(curve.is_ordered());
        let unordered = |later: &[(u64, u64)]| Curve { window_ns: 5, later: later.into() };
        for later in [&[(2, 1), (1, 0)][..], &[(1, 1), (2, 3)], &[(1, 6)]] {
            assert!(!unordered(later).is_ordered(), "{later:?}");
        }
        assert_eq!(curve.shares().next(), Some((1.413, 1.0)));
    }

    #[test]
    fn windows_are_added_up() {
        let mut both = of(50_000, 1_500);
        both.merge(&of(5_000, 10_000));
        assert_eq!(both.window_ns, 2_000_000);
        let at = |ns| both.later.iter().find(|(known, _)| *known == ns).unwrap().1;
        assert_eq!(at(1_413), 2_000_000);
        // 48.5 us of the first window, all of the second.
        assert_eq!(at(1_995), 1_000_000 + 49_505);
        assert_eq!(at(19_950), 31_550);
        let mut none = Curve::default();
        none.merge(&both);
        assert_eq!(none, both);
    }

    #[test]
    fn nothing_in_the_way_is_a_step() {
        assert_eq!(of(0, 1_500).later, [(1_413, 1_000_000), (1_585, 0)]);
    }
}
