//! The marks of an axis of time.

/// Marks on an axis that begins at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticks {
    step_ns: u64,
    end_ns: u64,
}

impl Ticks {
    /// Chooses at most `count` steps, each of 1, 2 or 5 times a power of ten.
    pub fn new(end_ns: u64, count: u64) -> Self {
        let mut power = 1_u64;
        loop {
            for factor in [1, 2, 5] {
                let step_ns = power.saturating_mul(factor);
                if end_ns / step_ns <= count.max(1) || step_ns == u64::MAX {
                    return Self { step_ns, end_ns };
                }
            }
            power = power.saturating_mul(10);
        }
    }

    /// Returns each mark in nanoseconds, with its number in microseconds.
    pub fn marks(self) -> impl Iterator<Item = (u64, String)> {
        let count = self.end_ns / self.step_ns;
        (0..=count).map(move |index| {
            let ns = index * self.step_ns;
            (ns, self.label(ns))
        })
    }

    /// Returns the label with the decimals of the step.
    fn label(self, ns: u64) -> String {
        let decimals = match self.step_ns {
            1000.. => 0,
            100.. => 1,
            10.. => 2,
            _ => 3,
        };
        let us = super::text::us(ns);
        let end = us.len() - 3 + decimals;
        us[..end].trim_end_matches('.').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(end_ns: u64, count: u64) -> String {
        Ticks::new(end_ns, count).marks().map(|(_, label)| label).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn steps_are_round() {
        assert_eq!(labels(29_079, 10), "0 5 10 15 20 25");
        assert_eq!(labels(9_965_849, 10), "0 1000 2000 3000 4000 5000 6000 7000 8000 9000");
        assert_eq!(labels(950, 5), "0.0 0.2 0.4 0.6 0.8");
        assert_eq!(labels(70, 5), "0.00 0.02 0.04 0.06");
        assert_eq!(labels(3, 5), "0.000 0.001 0.002 0.003");
        assert_eq!(labels(0, 5), "0.000");
    }

    #[test]
    fn no_end_is_too_late() {
        assert!(Ticks::new(u64::MAX, 10).marks().count() <= 11);
        assert!(Ticks::new(u64::MAX, 0).marks().count() <= 2);
    }
}
