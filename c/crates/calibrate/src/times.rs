//! The times of the benchmarks on the machine.

use std::collections::BTreeMap;

use crate::{
    CalibrateError,
    line::{self, LINES_MAX},
};

/// Times of a benchmark in one pass of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    /// Operations of a repetition.
    pub operations: u64,
    /// The shortest repetition.
    pub min_ns: u64,
}

/// Times that one execution of the program measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pass(BTreeMap<String, Time>);

impl Pass {
    /// Reads the program's output.
    ///
    /// # Errors
    ///
    /// [`CalibrateError::Line`]
    pub fn parse(text: &str) -> Result<Self, CalibrateError> {
        let unreadable = |line: &str| CalibrateError::Line(line.chars().take(80).collect());
        let line = |line: &str| {
            let [name, operations, min_ns, quartile_ns] =
                line.split(' ').collect::<Vec<_>>().try_into().ok()?;
            line::number(quartile_ns)?;
            let operations = line::number(operations)?;
            let time = Time { operations, min_ns: line::number(min_ns)? };
            Some((line::name(name)?, time))
        };
        let mut pass = BTreeMap::new();
        for text in text.lines() {
            let (name, time) = line(text).ok_or_else(|| unreadable(text))?;
            if pass.len() == LINES_MAX || pass.insert(name, time).is_some() {
                return Err(unreadable(text));
            }
        }
        Ok(Self(pass))
    }
}

/// Largest difference between two halves of a measurement, in percent.
const DIFFERENCE_PERCENT_MAX: f64 = 10.0;

/// The shortest times of several passes. Passes belong to two halves in turn, which tell whether the times
/// come again.
#[derive(Clone, Debug, Default)]
pub struct Times {
    halves: [BTreeMap<String, Time>; 2],
    passes: usize,
}

impl Times {
    /// Adds the times of one more pass.
    pub fn add(&mut self, Pass(pass): Pass) {
        let half = &mut self.halves[self.passes % 2];
        for (name, time) in pass {
            let least = half.entry(name).or_insert(time);
            least.min_ns = least.min_ns.min(time.min_ns);
        }
        self.passes += 1;
    }

    /// Adds the times of other benchmarks.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        for (half, of_other) in self.halves.iter_mut().zip(other.halves) {
            half.extend(of_other);
        }
        self.passes = self.passes.max(other.passes);
        self
    }

    /// Returns the number of passes.
    pub fn passes(&self) -> usize {
        self.passes
    }

    /// Returns the number of benchmarks.
    pub fn benchmarks(&self) -> usize {
        self.halves[0].len()
    }

    /// Returns the benchmarks whose halves differ by more than they may, the worst first, with the
    /// difference in percent.
    pub fn differing(&self) -> Vec<(&str, f64)> {
        let [first, second] = &self.halves;
        let mut differing: Vec<(&str, f64)> = first
            .iter()
            .filter_map(|(name, time)| {
                let other = second.get(name)?;
                let [less, more] = [time.min_ns.min(other.min_ns), time.min_ns.max(other.min_ns)];
                let percent = (more as f64 / less as f64 - 1.0) * 100.0;
                (percent > DIFFERENCE_PERCENT_MAX).then_some((name.as_str(), percent))
            })
            .collect();
        differing.sort_by(|(_, left), (_, right)| right.total_cmp(left));
        differing
    }

    /// Returns the time of an operation of each benchmark, in nanoseconds.
    pub fn of_operations(&self) -> BTreeMap<&str, f64> {
        let [first, second] = &self.halves;
        let least = |name: &str, time: &Time| {
            second.get(name).map_or(time.min_ns, |other| other.min_ns.min(time.min_ns))
        };
        first
            .iter()
            .map(|(name, time)| (name.as_str(), least(name, time) as f64 / time.operations as f64))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(passes: &[&str]) -> Times {
        let mut times = Times::default();
        passes.iter().for_each(|text| times.add(Pass::parse(text).unwrap()));
        times
    }

    #[test]
    fn the_shortest_repetition_of_all_passes_counts() {
        let times =
            times(&["a 10 300 400\nb 1 7 7\n", "a 10 250 900\nb 1 8 8\n", "a 10 240 240\n"]);
        assert_eq!(times.of_operations(), BTreeMap::from([("a", 24.0), ("b", 7.0)]));
        assert_eq!(times.passes(), 3);
    }

    #[test]
    fn times_that_do_not_come_again_are_named() {
        let steady = times(&["a 1 100 100\nb 1 109 120\n", "a 1 109 110\nb 1 100 110\n"]);
        assert!(steady.differing().is_empty());
        let unsteady = times(&["a 1 100 100\nb 1 300 120\n", "a 1 120 110\nb 1 100 110\n"]);
        let names: Vec<_> = unsteady.differing().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["b", "a"]);
        // Another pass in each half settles it.
        let settled = times(&["a 1 100 100\n", "a 1 120 120\n", "a 1 102 103\n", "a 1 101 130\n"]);
        assert!(settled.differing().is_empty());
    }

    #[test]
    fn lines_that_say_something_else_are_refused() {
        for text in ["a", "a 1", "a 1 2", "a 0 2 3", "a 1 -2 3", "a x 2 3", " ", "a 1 2 3.5"]
            .into_iter()
            .chain([
                "a 1 2 3 4",
                "a  1 2 3",
                "A 1 2 3",
                "a 1 2 3\na 1 2 3",
                "a 1 2 3\0",
                "a 1 2 3 ",
            ])
            .chain([
                "a 1 18446744073709551616 3",
                "a 1 2000000000000 3",
                "a 1 2\r 3",
                "\u{1b} 1 2 3",
            ])
        {
            let refused = Pass::parse(text).unwrap_err();
            assert!(matches!(refused, CalibrateError::Line(_)), "{text}: {refused}");
        }
        let many: String = (0..=LINES_MAX).map(|number| format!("a{number} 1 2 3\n")).collect();
        assert!(Pass::parse(&many).is_err());
    }
}
