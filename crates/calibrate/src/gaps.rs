//! The time that something takes from a thread that spins.

use preemptlab_protocol::stolen::{ALL, LENGTHS, Quantiles};

use crate::{CalibrateError, line};

/// The program prints no more gaps of a span.
const GAPS_MAX: usize = 4096;

/// A larger share of the time, and the machine is too busy elsewhere for prices of two CPUs.
pub const SHARE_MAX: f64 = 0.1;

/// A larger share of other threads, and CPUs do not sleep as those of an idle machine.
const PREEMPTED_SHARE_MAX: f64 = 0.05;

/// With fewer of the kernel's own gaps there is no quantile of 1 %.
const TIMERS_MIN: usize = 200;

/// Shares of the timer's interrupts whose lengths are kept, in 1/10,000.
const TIMER_SHARES: [u32; 9] = [0, 1_000, 2_500, 5_000, 7_500, 9_000, 9_700, 9_900, ALL];

/// Causes of gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// Nothing that the thread's kernel notes in the thread's account: a hypervisor, the firmware, or an
    /// interrupt of a device.
    Stolen,
    /// The thread's kernel, in its tick or to wake another thread.
    Own,
    /// Another thread.
    Preempted,
}

/// Gaps in the time of a thread that spun for a span.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    span_ns: u64,
    preempted_ns: u64,
    own_ns: Vec<u64>,
    preempted: u64,
    stolen_ns: Vec<u64>,
}

impl Gaps {
    /// Reads the program's output: the span, and then a line for each gap.
    ///
    /// # Errors
    ///
    /// [`CalibrateError::Line`]
    pub fn parse(text: &str) -> Result<Self, CalibrateError> {
        let unreadable = |line: &str| CalibrateError::Line(line.chars().take(80).collect());
        let (first, rest) = text.split_once('\n').ok_or_else(|| unreadable(text))?;
        let span_ns = first.strip_prefix("span ").and_then(line::number);
        let span_ns = span_ns.ok_or_else(|| unreadable(first))?;
        let mut gaps = Self { span_ns, ..Self::default() };
        let mut sum_ns = 0;
        for (number, text) in rest.lines().enumerate() {
            let (by, gap_ns) = gap(text).ok_or_else(|| unreadable(text))?;
            sum_ns += gap_ns;
            if number == GAPS_MAX || sum_ns > span_ns {
                return Err(unreadable(text));
            }
            match by {
                By::Stolen => gaps.stolen_ns.push(gap_ns),
                By::Own => gaps.own_ns.push(gap_ns),
                By::Preempted => {
                    gaps.preempted += 1;
                    gaps.preempted_ns += gap_ns;
                }
            }
        }
        Ok(gaps)
    }
}

/// Reads the line of a gap.
fn gap(text: &str) -> Option<(By, u64)> {
    let (by, gap_ns) = text.split_once(' ')?;
    let by = match by {
        "stolen" => By::Stolen,
        "own" => By::Own,
        "preempted" => By::Preempted,
        _ => return None,
    };
    Some((by, line::number(gap_ns)?))
}

/// Time that something takes from a thread that spins, beyond what its own kernel takes. Rates are of the time in
/// which no other thread had the CPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Stolen {
    /// How long threads spun, in nanoseconds.
    pub spun_ns: u64,
    /// Gaps in a second.
    pub per_s: f64,
    /// Share of the time that they take.
    pub share: f64,
    /// Gaps in a second that are the kernel's own.
    pub own_per_s: f64,
    /// Number of gaps in which another thread had the CPU.
    pub preempted: u64,
    /// Share of all time that these take.
    pub preempted_share: f64,
    /// Lengths of all gaps, ascending.
    sorted_ns: Vec<u64>,
    /// Lengths of the kernel's own gaps, ascending.
    own_sorted_ns: Vec<u64>,
}

impl Stolen {
    /// Joins the gaps of several spans.
    pub fn of(spans: &[Gaps]) -> Self {
        let sum = |of: fn(&Gaps) -> u64| spans.iter().map(of).sum::<u64>();
        let spun_ns = sum(|gaps| gaps.span_ns - gaps.preempted_ns);
        let sorted = |of: fn(&Gaps) -> &Vec<u64>| {
            let mut sorted_ns: Vec<u64> = spans.iter().flat_map(of).copied().collect();
            sorted_ns.sort_unstable();
            sorted_ns
        };
        let sorted_ns = sorted(|gaps| &gaps.stolen_ns);
        let seconds = spun_ns.max(1) as f64 / 1e9;
        Self {
            spun_ns,
            per_s: sorted_ns.len() as f64 / seconds,
            share: sorted_ns.iter().sum::<u64>() as f64 / spun_ns.max(1) as f64,
            own_per_s: sum(|gaps| gaps.own_ns.len() as u64) as f64 / seconds,
            own_sorted_ns: sorted(|gaps| &gaps.own_ns),
            preempted: sum(|gaps| gaps.preempted),
            preempted_share: sum(|gaps| gaps.preempted_ns) as f64
                / sum(|gaps| gaps.span_ns).max(1) as f64,
            sorted_ns,
        }
    }

    /// Returns the mean length of a gap in nanoseconds; `None` without gaps.
    pub fn mean_ns(&self) -> Option<f64> {
        let count = self.sorted_ns.len();
        (count > 0).then(|| self.sorted_ns.iter().sum::<u64>() as f64 / count as f64)
    }

    /// Returns the length that a share of the gaps, in 1/10,000, does not exceed, in nanoseconds; `None` without gaps.
    pub fn quantile_ns(&self, share: u32) -> Option<u64> {
        quantile(&self.sorted_ns, share)
    }

    /// Returns lengths that are equally likely and stand for all gaps, ascending, in nanoseconds: the means of
    /// as many parts of the sorted gaps, so that their mean is that of all, and the rare long ones are kept.
    /// `None` where there are fewer gaps than lengths.
    pub fn lengths_ns(&self) -> Option<[u64; LENGTHS]> {
        let count = self.sorted_ns.len();
        (count >= LENGTHS).then(|| {
            std::array::from_fn(|part| {
                let gaps = &self.sorted_ns[part * count / LENGTHS..(part + 1) * count / LENGTHS];
                let sum: u64 = gaps.iter().sum();
                (sum as f64 / gaps.len() as f64).round() as u64
            })
        })
    }

    /// Returns the gaps as virtual time has them; `None` where there are fewer than lengths, or more than can be.
    pub fn modelled(&self) -> Option<preemptlab_protocol::stolen::Stolen> {
        let lengths_ns = self.lengths_ns()?.map(|ns| u32::try_from(ns).unwrap_or(u32::MAX));
        let stolen =
            preemptlab_protocol::stolen::Stolen::new(self.per_s.round() as u32, lengths_ns).ok()?;
        Some(stolen.with_timers(self.timers()))
    }

    /// Returns by how much the kernel's own gaps, nearly all of which are its timer's interrupts, exceed the shortest of
    /// them; `None` where there are too few. The shortest is what the interrupt itself takes, which has a price.
    pub fn timers(&self) -> Option<Quantiles> {
        let own_ns = &self.own_sorted_ns;
        let least_ns = *own_ns.first().filter(|_| own_ns.len() >= TIMERS_MIN)?;
        let of = |share| {
            let more_ns = quantile(own_ns, share)? - least_ns;
            Some((share, u32::try_from(more_ns).unwrap_or(u32::MAX)))
        };
        TIMER_SHARES.into_iter().map(of).collect::<Option<Vec<_>>>()?.try_into().ok()
    }

    /// Returns whether other threads have the CPUs so often that these do not sleep as those of an idle machine.
    pub fn is_shared(&self) -> bool {
        self.preempted_share > PREEMPTED_SHARE_MAX
    }

    /// Returns whether the gaps take too much time for prices of two CPUs.
    pub fn is_too_much(&self) -> bool {
        self.share > SHARE_MAX
    }
}

/// Returns the value that a share of ascending values, in 1/10,000, does not exceed; `None` without values.
fn quantile(sorted: &[u64], share: u32) -> Option<u64> {
    let rank = (sorted.len() * share as usize).div_ceil(ALL as usize);
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_belong_to_whom_took_them() {
        let gaps = Gaps::parse(
            "span 1000000000\nstolen 20000\nown 15000\npreempted 500000000\nstolen 10000\nown 9000\n",
        );
        let stolen = Stolen::of(&[gaps.unwrap()]);
        assert_eq!(stolen.spun_ns, 500_000_000);
        assert_eq!((stolen.per_s, stolen.own_per_s, stolen.preempted), (4.0, 4.0, 1));
        assert_eq!((stolen.preempted_share, stolen.is_shared()), (0.5, true));
        assert_eq!(stolen.mean_ns(), Some(15_000.0));
        assert_eq!(stolen.share, 30_000.0 / 500_000_000.0);
        assert_eq!(
            (stolen.quantile_ns(5_000), stolen.quantile_ns(ALL)),
            (Some(10_000), Some(20_000))
        );
        assert_eq!((stolen.lengths_ns(), stolen.modelled()), (None, None));
        assert!(!stolen.is_too_much());
    }

    #[test]
    fn lengths_stand_for_all_gaps_and_keep_their_mean() {
        let lines: String = (1..=160).map(|number| format!("stolen {}\n", number * 100)).collect();
        let stolen = Stolen::of(&[Gaps::parse(&format!("span 10000000\n{lines}")).unwrap()]);
        let lengths = stolen.lengths_ns().unwrap();
        assert!(lengths.is_sorted());
        assert_eq!((lengths[0], lengths[15]), (550, 15_550));
        let mean = lengths.iter().sum::<u64>() as f64 / LENGTHS as f64;
        assert_eq!(Some(mean), stolen.mean_ns());
        assert!(stolen.is_too_much());
        let most = Stolen::of(&[Gaps::parse(&format!("span 1500000\n{lines}")).unwrap()]);
        assert_eq!(most.modelled(), None, "more than half of the time");
        let stolen = Stolen::of(&[Gaps::parse(&format!("span 1000000000\n{lines}")).unwrap()]);
        let modelled = stolen.modelled().unwrap();
        assert_eq!((modelled.per_s(), modelled.lengths_ns()[15]), (160, 15_550));
    }

    #[test]
    fn timers_take_longer_than_the_shortest() {
        let lines = |count: u64| (0..count).map(|n| format!("own {}\n", 2_500 + n * 10)).collect();
        let of = |lines: String| {
            Stolen::of(&[Gaps::parse(&format!("span 1000000000\n{lines}")).unwrap()]).timers()
        };
        assert_eq!(of(lines(199)), None);
        let timers = of(lines(1_000)).unwrap();
        assert_eq!(timers.pairs()[0], (0, 0));
        assert_eq!(timers.pairs()[3], (5_000, 4_990));
        assert_eq!(timers.pairs()[7..], [(9_900, 9_890), (10_000, 9_990)]);
    }

    #[test]
    fn a_thread_that_nothing_interrupts_has_no_gaps() {
        let stolen = Stolen::of(&[Gaps::parse("span 500000000\n").unwrap()]);
        assert_eq!((stolen.per_s, stolen.share), (0.0, 0.0));
        assert_eq!((stolen.mean_ns(), stolen.quantile_ns(5_000)), (None, None));
        assert_eq!(Stolen::of(&[]).per_s, 0.0);
    }

    #[test]
    fn lines_that_say_something_else_are_refused() {
        let many = "stolen 1500\n".repeat(GAPS_MAX + 1);
        for text in [
            "",
            "span 5",
            "span 0\n",
            "span -5\n",
            "span 1000000000001\n",
            "stolen 5000\n",
            "span 9000\nstolen\n",
            "span 9000\nstolen 0\n",
            "span 9000\nborrowed 2000\n",
            "span 9000\nstolen 2000 own\n",
            "span 9000\nstolen 9001\n",
            "span 9000\nstolen 5000\nown 5000\n",
            "span 9000\nspan 9000\n",
            "span 9000\n\nown 2000\n",
            &format!("span 1000000000000\n{many}"),
        ] {
            let refused = Gaps::parse(text).unwrap_err();
            assert!(matches!(refused, CalibrateError::Line(_)), "{refused}");
        }
    }
}
