//! The times of what two CPUs do for each other.

use std::array;

use crate::{CalibrateError, line};

/// Something that two CPUs do for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// A line that the other CPU has written is read: one way.
    Line,
    /// The kernel calls the CPUs that execute the process, where there is no other one.
    CallAlone,
    /// The kernel calls the other CPU, which is busy, and has its answer.
    CallOther,
    /// Each wakes the other by a futex, and sleeps until it is woken: there and back.
    Futex,
    /// The same by pipes.
    Pipe,
}

impl Exchange {
    /// All of them, in the order in which the program measures them.
    pub const ALL: [Self; 5] =
        [Self::Line, Self::CallAlone, Self::CallOther, Self::Futex, Self::Pipe];

    /// Those whose times have to come again. Where a line is, a hypervisor may change at any time.
    const STEADY: [Self; 4] = [Self::CallAlone, Self::CallOther, Self::Futex, Self::Pipe];

    /// Returns its name in the program's output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Line => "line-transfer",
            Self::CallAlone => "call-alone",
            Self::CallOther => "call-other",
            Self::Futex => "futex-between",
            Self::Pipe => "pipe-between",
        }
    }
}

/// Times of one exchange, each of an operation, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The shortest.
    pub least_ns: f64,
    /// A quarter is shorter.
    pub quartile_ns: f64,
    /// A half is shorter.
    pub median_ns: f64,
}

/// Times that one execution of the program measured: of each exchange, or the error with which the kernel refused
/// it.
#[derive(Clone, Debug, PartialEq)]
pub struct PairPass([Result<Spread, i32>; Exchange::ALL.len()]);

impl PairPass {
    /// Reads the program's output, in which each exchange has a line.
    ///
    /// # Errors
    ///
    /// [`CalibrateError::Line`]
    pub fn parse(text: &str) -> Result<Self, CalibrateError> {
        let unreadable = |line: &str| CalibrateError::Line(line.chars().take(80).collect());
        let mut found = [None; Exchange::ALL.len()];
        for text in text.lines() {
            let (exchange, spread) = line(text).ok_or_else(|| unreadable(text))?;
            if found[exchange as usize].replace(spread).is_some() {
                return Err(unreadable(text));
            }
        }
        let missing = Exchange::ALL.iter().find(|exchange| found[**exchange as usize].is_none());
        match missing {
            Some(missing) => Err(unreadable(&format!("none of {}", missing.name()))),
            None => Ok(Self(found.map(|spread| spread.expect("none is missing")))),
        }
    }

    /// Returns the times of an exchange.
    ///
    /// # Errors
    ///
    /// The number of the error with which the kernel refused it.
    pub fn of(&self, exchange: Exchange) -> Result<Spread, i32> {
        self.0[exchange as usize]
    }
}

/// Reads a line of the program.
fn line(text: &str) -> Option<(Exchange, Result<Spread, i32>)> {
    let words: Vec<&str> = text.split(' ').collect();
    let exchange = |name| Exchange::ALL.into_iter().find(|exchange| exchange.name() == name);
    match words[..] {
        [name, "error", errno] => {
            let errno = line::number(errno).and_then(|errno| i32::try_from(errno).ok())?;
            Some((exchange(name)?, Err(errno)))
        }
        [name, operations, least_ns, quartile_ns, median_ns] => {
            let operations = line::number(operations)?;
            let times = [least_ns, quartile_ns, median_ns].map(line::number);
            let [Some(least_ns), Some(quartile_ns), Some(median_ns)] = times else { return None };
            if !(least_ns <= quartile_ns && quartile_ns <= median_ns) {
                return None;
            }
            let of = |ns: u64| ns as f64 / operations as f64;
            let spread = Spread {
                least_ns: of(least_ns),
                quartile_ns: of(quartile_ns),
                median_ns: of(median_ns),
            };
            Some((exchange(name)?, Ok(spread)))
        }
        _ => None,
    }
}

/// Largest difference between two halves of the passes with which a time counts as one that comes again, in
/// percent. The time to wake a CPU depends on how deeply it sleeps, and so differs more than that of instructions.
const DIFFERENCE_PERCENT_MAX: f64 = 20.0;

/// The times of several passes, which belong to two halves in turn.
#[derive(Clone, Debug, Default)]
pub struct PairTimes(Vec<PairPass>);

/// Times of an exchange over all passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchanged {
    /// The least of all passes, the median of their quartiles, and that of their medians.
    pub spread: Spread,
    /// Difference between the quartiles of two halves of the passes, in percent.
    pub differ_percent: f64,
}

impl Exchanged {
    /// Returns whether its times come again.
    pub fn is_steady(&self) -> bool {
        self.differ_percent <= DIFFERENCE_PERCENT_MAX
    }
}

impl PairTimes {
    /// Adds the times of one more pass.
    pub fn add(&mut self, pass: PairPass) {
        self.0.push(pass);
    }

    /// Returns the number of passes.
    pub fn passes(&self) -> usize {
        self.0.len()
    }

    /// Returns the times of an exchange.
    ///
    /// # Errors
    ///
    /// The number of the error with which the kernel refused it.
    ///
    /// # Panics
    ///
    /// With fewer than two passes, which have no halves.
    pub fn of(&self, exchange: Exchange) -> Result<Exchanged, i32> {
        let spreads: Vec<Spread> =
            self.0.iter().map(|pass| pass.of(exchange)).collect::<Result<_, _>>()?;
        let all = |of: fn(&Spread) -> f64| median(spreads.iter().map(of));
        let halves: [f64; 2] = array::from_fn(|half| {
            median(spreads.iter().skip(half).step_by(2).map(|spread| spread.quartile_ns))
        });
        let differ_percent = (halves[0].max(halves[1]) / halves[0].min(halves[1]) - 1.0) * 100.0;
        let spread = Spread {
            least_ns: spreads.iter().map(|spread| spread.least_ns).fold(f64::INFINITY, f64::min),
            quartile_ns: all(|spread| spread.quartile_ns),
            median_ns: all(|spread| spread.median_ns),
        };
        Ok(Exchanged { spread, differ_percent })
    }

    /// Returns the number of exchanges whose times have not come again, but for the transfer of a line.
    pub fn differing(&self) -> usize {
        let unsteady = |exchange: &Exchange| self.of(*exchange).is_ok_and(|it| !it.is_steady());
        if self.passes() < 2 {
            0
        } else {
            Exchange::STEADY.iter().filter(|it| unsteady(it)).count()
        }
    }
}

/// Returns the median of values, of which there is at least one; of an even number the lesser of the middle ones.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[(values.len() - 1) / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "line-transfer 100 4000 21200 25000\ncall-alone 1 200 250 260\n\
                         call-other 1 7000 8600 8800\nfutex-between 1 20000 37000 45000\n\
                         pipe-between error 24\n";

    #[test]
    fn each_exchange_has_a_line() {
        let pass = PairPass::parse(WHOLE).unwrap();
        let line = pass.of(Exchange::Line).unwrap();
        assert_eq!((line.least_ns, line.quartile_ns, line.median_ns), (40.0, 212.0, 250.0));
        assert_eq!(pass.of(Exchange::CallOther).unwrap().quartile_ns, 8600.0);
        assert_eq!(pass.of(Exchange::Pipe), Err(24));
    }

    #[test]
    fn lines_that_say_something_else_are_refused() {
        let said = |text: &str| PairPass::parse(text).unwrap_err().to_string();
        assert!(said("").contains("none of line-transfer"));
        assert!(
            said(&WHOLE.replace("call-alone 1 200 250 260\n", "")).contains("none of call-alone")
        );
        assert!(said(&format!("{WHOLE}call-other 1 1 2 3\n")).contains("call-other 1 1 2 3"));
        for (from, to) in [
            ("call-alone 1", "call-alone 0"),
            ("call-alone 1", "call-alone -1"),
            ("call-alone", "Call-alone"),
            ("call-alone", "unheard-of"),
            ("7000 8600 8800", "7000 8600"),
            ("7000 8600 8800", "7000 8600 8800 9000"),
            ("7000 8600 8800", "8700 8600 8800"),
            ("7000 8600 8800", "7000 8900 8800"),
            ("7000 8600 8800", "7000 8600 1000000000001"),
            ("7000 8600 8800", "0 8600 8800"),
            ("7000 8600 8800", "7000 8600 8800.5"),
            ("error 24", "error 0"),
            ("error 24", "error 99999999999"),
            ("error 24", "error \u{1b}[2J"),
            ("pipe-between", "\npipe-between"),
        ] {
            let damaged = WHOLE.replace(from, to);
            assert_ne!(damaged, WHOLE);
            let refused = PairPass::parse(&damaged).unwrap_err();
            assert!(matches!(refused, CalibrateError::Line(_)), "{to}: {refused}");
        }
    }

    fn times(quartiles: &[u64]) -> PairTimes {
        let mut times = PairTimes::default();
        for quartile in quartiles {
            let text = WHOLE.replace("37000 45000", &format!("{quartile} 90000"));
            times.add(PairPass::parse(&text).unwrap());
        }
        times
    }

    #[test]
    fn passes_are_joined_by_their_median() {
        let times = times(&[37_000, 38_000, 60_000, 37_500]);
        let futex = times.of(Exchange::Futex).unwrap();
        assert_eq!(futex.spread.quartile_ns, 37_500.0);
        assert_eq!(futex.spread.least_ns, 20_000.0);
        assert_eq!(times.of(Exchange::Pipe), Err(24));
        assert!(futex.is_steady());
    }

    #[test]
    fn times_that_do_not_come_again_are_counted() {
        let unsteady = times(&[37_000, 50_000, 37_000, 50_000]);
        assert!((unsteady.of(Exchange::Futex).unwrap().differ_percent - 35.0).abs() < 0.5);
        assert_eq!(unsteady.differing(), 1);
        assert_eq!(times(&[37_000, 40_000]).differing(), 0);
        assert_eq!(times(&[37_000]).differing(), 0);
    }
}
