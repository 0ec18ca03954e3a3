//! Time that is stolen from a virtual CPU: a hypervisor, the firmware or a device has it, and the CPU's kernel is not
//! told.
//!
//! At each microsecond of a CPU's clock a gap begins with the same probability, and is as long as one of the
//! lengths. Both follow from the seed, the CPU and the microsecond alone, so that they depend on nothing that
//! happened before.

/// The shortest time between the starts of two gaps.
const SLOT_NS: i64 = 1000;

/// The number of slots in a second.
const SLOTS_PER_S: u64 = 1_000_000;

/// Lengths that are equally likely.
const LENGTHS: usize = 16;

/// How often time is stolen, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steals {
    seed: u64,
    per_s: u64,
    lengths_ns: [i64; LENGTHS],
}

/// Time that is stolen from a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    pub start_ns: i64,
    pub end_ns: i64,
}

impl Gap {
    pub fn len_ns(self) -> i64 {
        self.end_ns - self.start_ns
    }
}

impl Steals {
    /// Reads the seed, the gaps in a second and their lengths in nanoseconds, with spaces between.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split(' ');
        let (seed, per_s) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
        let lengths_ns: Vec<i64> = numbers.map(str::parse).collect::<Result<_, _>>().ok()?;
        let lengths_ns: [i64; LENGTHS] = lengths_ns.try_into().ok()?;
        let is_possible = (1..=SLOTS_PER_S).contains(&per_s) && lengths_ns.iter().all(|ns| *ns > 0);
        is_possible.then_some(Self { seed, per_s, lengths_ns })
    }

    /// The first gap of a CPU that begins after a time.
    pub fn first_after(&self, cpu: usize, ns: i64) -> Gap {
        let of_cpu = mixed(self.seed ^ mixed(cpu as u64 + 1));
        let mut start_ns = (ns.div_euclid(SLOT_NS) + 1) * SLOT_NS;
        loop {
            let drawn = mixed(of_cpu ^ (start_ns / SLOT_NS).cast_unsigned());
            // The upper half decides whether, and the lower half how long.
            if ((drawn >> 32) * SLOTS_PER_S) >> 32 < self.per_s {
                let len_ns = self.lengths_ns[drawn as usize % LENGTHS];
                return Gap { start_ns, end_ns: start_ns + len_ns };
            }
            start_ns += SLOT_NS;
        }
    }
}

/// Mixes bits as the finalizer of SplitMix64 does (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTHS_TEXT: &str = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16";

    fn steals(seed: u64, per_s: u64) -> Steals {
        Steals::parse(&format!("{seed} {per_s} {LENGTHS_TEXT}")).unwrap()
    }

    fn gaps(steals: &Steals, cpu: usize) -> Vec<Gap> {
        let mut gaps = vec![steals.first_after(cpu, 0)];
        while gaps.last().unwrap().end_ns < 1_000_000_000 {
            gaps.push(steals.first_after(cpu, gaps.last().unwrap().end_ns));
        }
        gaps
    }

    #[test]
    fn a_second_has_as_many_as_it_should_of_every_length() {
        for per_s in [1, 257, 1050, 100_000] {
            let gaps = gaps(&steals(7, per_s), 0);
            let (count, expected) = (gaps.len() as f64, per_s as f64);
            // Four standard deviations of a Poisson distribution.
            assert!((count - expected).abs() <= 4.0 * expected.sqrt() + 1.0, "{per_s}: {count}");
        }
        let gaps = gaps(&steals(7, 100_000), 0);
        for length in 1..=16 {
            let of_length = gaps.iter().filter(|gap| gap.len_ns() == length).count();
            assert!((5_800..6_700).contains(&of_length), "{length}: {of_length}");
        }
    }

    /// Where a search begins changes no gap.
    #[test]
    fn gaps_depend_on_seed_cpu_and_time_alone() {
        let steals_of_7 = steals(7, 1050);
        let all = gaps(&steals_of_7, 0);
        for pair in all.windows(2) {
            let between = pair[0].end_ns..pair[1].start_ns;
            let middle = (between.start + between.end) / 2;
            for ns in [between.start, middle, between.end - 1] {
                assert_eq!(steals_of_7.first_after(0, ns), pair[1]);
            }
        }
        assert_ne!(all, gaps(&steals_of_7, 1));
        assert_ne!(all, gaps(&steals(8, 1050), 0));
    }

    #[test]
    fn text_that_says_something_else_is_refused() {
        for text in [
            "",
            "7",
            "7 257",
            "7 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
            "7 1000001 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
            "7 257 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15",
            "7 257 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17",
            "7 257 0 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
            "-7 257 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
            "7 257 1  2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
        ] {
            assert_eq!(Steals::parse(text), None, "{text}");
        }
    }
}
