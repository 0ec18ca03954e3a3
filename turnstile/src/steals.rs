//! Time that is stolen from a virtual CPU: a hypervisor, the firmware or a device has it, and the CPU's kernel is not
//! told.
//!
//! At each microsecond of a CPU's clock a gap begins with the same probability, and is as long as one of the
//! lengths. Both follow from the seed, the CPU and the microsecond alone, so that they depend on nothing that
//! happened before.
//!
//! Where a timer interrupts a CPU, a hypervisor has to do something for it, and sometimes does more. So time may be stolen
//! there, too, by quantiles of its own.

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
    /// Shares in 1/10,000 of the timers' interrupts, from 0 to all, and what such a share at most loses, in nanoseconds.
    timer_ns: Vec<(u64, i64)>,
}

/// All interrupts of timers, as a share.
const ALL: u64 = 10_000;

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
    /// Reads the seed, the gaps in a second, their lengths in nanoseconds and the quantiles of timers
    /// (`SHARE:NS`), with spaces between.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split(' ');
        let (seed, per_s) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
        let lengths_ns = numbers.by_ref().take(LENGTHS).map(str::parse);
        let lengths_ns: Vec<i64> = lengths_ns.collect::<Result<_, _>>().ok()?;
        let lengths_ns: [i64; LENGTHS] = lengths_ns.try_into().ok()?;
        let timer_ns = numbers.map(|pair| {
            let (share, ns) = pair.split_once(':')?;
            Some((share.parse().ok()?, ns.parse().ok()?))
        });
        let timer_ns: Vec<(u64, i64)> = timer_ns.collect::<Option<_>>()?;
        let ascend =
            |pair: &[(u64, i64)]| pair[0].0 < pair[1].0 && (0..=pair[1].1).contains(&pair[0].1);
        let are_all = match timer_ns[..] {
            [] => true,
            [(first, _), .., (last, _)] => (first, last) == (0, ALL),
            [_] => false,
        };
        let is_possible = (1..=SLOTS_PER_S).contains(&per_s)
            && lengths_ns.iter().all(|ns| *ns > 0)
            && are_all
            && timer_ns.windows(2).all(ascend);
        is_possible.then_some(Self { seed, per_s, lengths_ns, timer_ns })
    }

    /// The time that a CPU loses where a timer interrupts it at a time, in nanoseconds.
    pub fn at_timer_ns(&self, cpu: usize, ns: i64) -> i64 {
        let drawn = mixed(mixed(self.seed ^ mixed(!(cpu as u64))) ^ ns.cast_unsigned());
        // A share of all with 32 bits behind the point.
        let share = (drawn >> 32) * ALL;
        let above = |pair: &&[(u64, i64)]| share < pair[1].0 << 32;
        let Some(&[(low, low_ns), (high, high_ns)]) = self.timer_ns.windows(2).find(above) else {
            return 0;
        };
        let part = i128::from(share - (low << 32)) * i128::from(high_ns - low_ns);
        low_ns + (part / i128::from((high - low) << 32)) as i64
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
    fn timers_lose_what_their_quantiles_say() {
        let text = format!("7 1 {LENGTHS_TEXT} 0:0 5000:1000 9900:60000 10000:200000");
        let steals = Steals::parse(&text).unwrap();
        let mut lost_ns: Vec<i64> = (0..100_000).map(|n| steals.at_timer_ns(0, n * 997)).collect();
        assert_ne!(steals.at_timer_ns(0, 997), steals.at_timer_ns(1, 997));
        lost_ns.sort_unstable();
        let of = |share: usize| lost_ns[share * 10];
        assert!((970..1_030).contains(&of(5_000)), "{}", of(5_000));
        assert!((57_000..63_000).contains(&of(9_900)), "{}", of(9_900));
        assert!(lost_ns[0] >= 0 && lost_ns[99_999] > 195_000 && lost_ns[99_999] <= 200_000);
        assert_eq!(self::steals(7, 1).at_timer_ns(0, 997), 0);
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
            "7 257 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 0:0",
            "7 257 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 0:0 9999:1",
            "7 257 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 0:5 10000:1",
            "7 257 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 0:0 0:1 10000:1",
            "7 257 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 0:0 10000:x",
        ] {
            assert_eq!(Steals::parse(text), None, "{text}");
        }
    }
}
