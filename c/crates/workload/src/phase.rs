//! Phases: offsets that shift load, probes and the tick against each other.

use rand_xoshiro::{
    SplitMix64,
    rand_core::{Rng, SeedableRng},
};

/// Longest period that a phase has to cover, in nanoseconds: one tick of a kernel with `HZ=250`.
const PHASE_NS_MAX: u64 = 4_000_000;

/// The phases of a replicate, drawn from its seed: the same on every machine.
pub struct Phases(SplitMix64);

impl Phases {
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64::from_seed(seed.to_le_bytes()))
    }

    /// Returns the next phase in nanoseconds, evenly distributed over a tick.
    pub fn next_ns(&mut self) -> u64 {
        self.0.next_u64() % PHASE_NS_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks numbers that must never change, because a cell's identity depends on them.
    #[test]
    fn phases_are_the_same_forever() {
        let mut phases = Phases::new(1_234_567);
        assert_eq!(phases.next_ns(), 6_457_827_717_110_365_317 % PHASE_NS_MAX);
        assert_eq!(phases.next_ns(), 3_203_168_211_198_807_973 % PHASE_NS_MAX);
    }
}
