//! The sibling of a cell, under the configuration that should remove a cause.

use std::fmt::Write;

use preemptlab_model::counted;
use preemptlab_trace::{Cause, Divergence, Timeline, divergence, worst};

use super::{
    choice::Chosen,
    traced::{Traced, probe},
};
use crate::{Result, moment::in_ms};

/// Number of a sibling's worst wakeups that are searched for the cause. One lucky wakeup proves
/// nothing.
const SEARCHED: usize = 20;

/// The cause is gone where it lasts at most this share of its length, in percent.
const LEFT_MAX: u64 = 90;

/// A cell's sibling beside its worst wakeup.
pub struct Beside {
    /// The sibling.
    pub cell: Chosen,
    /// The wakeup with the same number.
    pub timeline: Option<Timeline>,
    /// Where the two cells part; `None` where they never do, or are of several boots.
    pub divergence: Option<Divergence>,
    is_same_boot: bool,
    /// Cause that the sibling should remove.
    pub cause: Cause,
    /// Duration of the cause in the worst wakeup of the cell, in nanoseconds.
    pub cause_ns: u64,
    /// Latency of that wakeup, in nanoseconds.
    latency_ns: u64,
    /// Longest duration of the cause in the sibling's worst wakeups, in nanoseconds.
    pub cause_ns_max: u64,
    /// Latency of the sibling's worst wakeup, in nanoseconds.
    pub latency_ns_max: u64,
    searched: usize,
}

impl Beside {
    pub(super) fn new(
        traced: &Traced<'_>,
        cell: Chosen,
        is_fair: bool,
        first: &Timeline,
        cause: Cause,
    ) -> Result<Self> {
        let other = Traced::new(traced.recording, &cell)?;
        let all = other.wakeups(&probe(&cell)?, is_fair)?;
        let same = all.iter().find(|same| same.ordinal == first.wakeup.ordinal).cloned();
        let mut found = other.timelines(same.into_iter().chain(worst(all, SEARCHED)).collect())?;
        let has_same = found.first().is_some_and(|it| it.wakeup.ordinal == first.wakeup.ordinal);
        let timeline = has_same.then(|| found.remove(0));
        let is_same_boot = cell.inputs.snapshot == traced.cell.inputs.snapshot;
        let divergence = if is_same_boot {
            let stream = |cell| Traced::stream(traced.recording, cell);
            divergence(stream(traced.cell)?, stream(&cell)?, &traced.kernel)?
        } else {
            None
        };
        let lasted = |timeline: &Timeline| lasted_ns(timeline, cause);
        Ok(Self {
            timeline,
            divergence,
            is_same_boot,
            cause,
            cause_ns: lasted(first),
            latency_ns: first.wakeup.latency_ns(),
            cause_ns_max: found.iter().map(lasted).max().unwrap_or(0),
            latency_ns_max: found.iter().map(|it| it.wakeup.latency_ns()).max().unwrap_or(0),
            searched: found.len(),
            cell,
        })
    }

    /// Returns whether the sibling's trace shows that the cause is gone, or shorter, and its worst
    /// wakeup earlier.
    pub fn is_cure(&self) -> bool {
        let is_earlier = self.latency_ns_max < self.latency_ns;
        self.searched > 0 && is_earlier && is_shorter(self.cause_ns_max, self.cause_ns)
    }

    /// Describes the sibling's effect on the cause.
    pub fn words(&self) -> String {
        let us = |ns: u64| ns as f64 / 1e3;
        let name = self.cell.name();
        let measured = format!(
            "the cause ({}) took at most {:.1} us of each of its {} worst wakeups (here {:.1} us), \
             and the worst was {:.1} us late (here {:.1} us).",
            self.cause.as_str(),
            us(self.cause_ns_max),
            self.searched,
            us(self.cause_ns),
            us(self.latency_ns_max),
            us(self.latency_ns),
        );
        if !self.is_cure() {
            let none = "The recording does not show that it would";
            return match self.searched {
                0 => format!("{none}: {name} has no wakeup of the probe."),
                _ => format!("{none}: in {name} {measured}"),
            };
        }
        let mut words = format!("The recording shows it: in {name} {measured}");
        words += " The wakeup with the same number, at the same seed,";
        match &self.timeline {
            Some(timeline) => {
                let _ = write!(words, " took {:.1} us.", us(timeline.wakeup.latency_ns()));
            }
            None => words += " was not found.",
        }
        match (&self.divergence, self.is_same_boot) {
            (Some(divergence), _) => {
                let name = |function: &Option<String>| {
                    function.clone().unwrap_or_else(|| "an unknown function".to_owned())
                };
                let _ = write!(
                    words,
                    " The two share their first {}, and part at {}, in {} here and in {} \
                     there.",
                    counted(divergence.common, "event"),
                    in_ms(divergence.ns),
                    name(&divergence.function),
                    name(&divergence.other_function)
                );
            }
            (None, true) => words += " The two never part.",
            (None, false) => words += " It is another kernel, so that the two share no past.",
        }
        words
    }
}

fn is_shorter(ns: u64, than_ns: u64) -> bool {
    u128::from(ns) * 100 <= u128::from(than_ns) * u128::from(LEFT_MAX)
}

fn lasted_ns(timeline: &Timeline, cause: Cause) -> u64 {
    let causes = timeline.causes();
    causes.iter().find(|(known, _)| *known == cause).map_or(0, |(_, ns)| *ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_gone_where_a_tenth_of_it_is() {
        assert!(is_shorter(0, 25_000) && is_shorter(22_500, 25_000));
        assert!(!is_shorter(22_501, 25_000) && !is_shorter(30_000, 25_000));
        assert!(!is_shorter(u64::MAX, 1) && !is_shorter(1, 0));
    }
}
