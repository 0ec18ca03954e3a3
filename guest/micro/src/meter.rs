//! Measures repetitions of a benchmark, or marks one for a plugin that counts its instructions.

use alloc::vec::Vec;

use preemptlab_sys::clock::now_ns;
use rustix::io;

use crate::marks;

/// Repetitions of a benchmark. The shortest is the one that nothing else disturbed.
const REPETITIONS: usize = 41;

/// What repetitions are executed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To measure the time that they take.
    Time,
    /// To count the instructions of one.
    Count,
}

/// Times that the repetitions of a benchmark took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// The shortest.
    pub min_ns: u64,
    /// A quarter was shorter.
    pub quartile_ns: u64,
    /// A half was shorter.
    pub median_ns: u64,
}

impl Spread {
    /// Returns the spread of times, of which there is at least one.
    pub fn of(mut times: Vec<u64>) -> Self {
        times.sort_unstable();
        let [quartile_ns, median_ns] = [4, 2].map(|part| times[times.len() / part]);
        Self { min_ns: times[0], quartile_ns, median_ns }
    }
}

/// Executes repetitions.
#[derive(Debug)]
pub struct Meter {
    purpose: Purpose,
    spread: Option<Spread>,
}

impl Meter {
    pub fn new(purpose: Purpose) -> Self {
        Self { purpose, spread: None }
    }

    /// Executes the operations of one repetition again and again.
    ///
    /// The first time is neither measured nor counted: it fills caches and touches memory.
    pub fn measure(&mut self, mut operations: impl FnMut() -> io::Result<()>) -> io::Result<()> {
        operations()?;
        match self.purpose {
            Purpose::Count => {
                marks::begin();
                let result = operations();
                marks::end();
                return result;
            }
            Purpose::Time => {
                let mut times = Vec::with_capacity(REPETITIONS);
                for _ in 0..REPETITIONS {
                    let begun_ns = now_ns();
                    operations()?;
                    times.push(now_ns() - begun_ns);
                }
                self.spread = Some(Spread::of(times));
            }
        }
        Ok(())
    }

    /// Returns what was measured last; `None` where nothing is measured.
    pub fn take(&mut self) -> Option<Spread> {
        self.spread.take()
    }
}
