//! The times of loads, by where their lines are and by how they are reached.

use std::{array, fmt};

use preemptlab_protocol::caches;

use crate::{CalibrateError, line};

/// The bytes of a line.
pub const LINE_BYTES: u64 = caches::LINE_BYTES as u64;

/// Layout of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Lines in a row, in pages of 2 MiB.
    Lines,
    /// A line of each 4 KiB, in pages of 2 MiB.
    Spread,
    /// A line of each page of 4 KiB.
    Pages,
}

impl Kind {
    /// Returns its name, which the program takes and prints.
    const fn name(self) -> &'static str {
        match self {
            Self::Lines => "lines",
            Self::Spread => "spread",
            Self::Pages => "pages",
        }
    }
}

/// A buffer whose lines are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Its layout.
    pub kind: Kind,
    /// Number of its lines.
    pub lines: u64,
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.name(), self.lines)
    }
}

impl Buffer {
    /// Describes the buffer for people.
    pub fn described(self) -> String {
        let Self { kind, lines } = self;
        match kind {
            Kind::Lines => format!("{lines} lines in a row"),
            Kind::Spread => format!("a line of each 4 KiB, {lines} of them"),
            Kind::Pages => format!("a line of each of {lines} pages"),
        }
    }
}

/// How a load is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// Its address is what the load before it has read.
    Chained,
    /// Its address is known before, and follows no order.
    Independent,
    /// It follows the line before it.
    InSequence,
}

/// Times of a load, one for each way to reach it, in nanoseconds.
type Loads = [f64; 3];

/// Times that one execution of the program measured.
struct LoadPass {
    granted_bytes: u64,
    asked_bytes: u64,
    loads: Vec<Loads>,
}

impl LoadPass {
    /// Reads the program's output: how much memory has pages of 2 MiB, and a line for each of the buffers.
    fn parse(text: &str, buffers: &[Buffer]) -> Result<Self, CalibrateError> {
        let unreadable = |line: &str| CalibrateError::Line(line.chars().take(80).collect());
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        let (granted_bytes, asked_bytes) = huge(first).ok_or_else(|| unreadable(first))?;
        let mut loads = Vec::with_capacity(buffers.len());
        for buffer in buffers {
            let text = lines.next().ok_or_else(|| unreadable(&format!("none of {buffer}")))?;
            loads.push(times(text, *buffer).ok_or_else(|| unreadable(text))?);
        }
        match lines.next() {
            Some(more) => Err(unreadable(more)),
            None => Ok(Self { granted_bytes, asked_bytes, loads }),
        }
    }
}

/// Reads how much memory has pages of 2 MiB, and how much was to have them.
fn huge(text: &str) -> Option<(u64, u64)> {
    let (granted, asked) = text.strip_prefix("huge ")?.split_once(' ')?;
    let [granted, asked] =
        [granted, asked].map(|word| if word == "0" { Some(0) } else { line::number(word) });
    Some((granted?, asked?))
}

/// Reads the line of a buffer.
fn times(text: &str, buffer: Buffer) -> Option<Loads> {
    let words: Vec<&str> = text.split(' ').collect();
    let [kind, lines, loads, times @ ..] = &words[..] else { return None };
    if *kind != buffer.kind.name() || line::number(lines)? != buffer.lines || times.len() != 3 {
        return None;
    }
    let loads = line::number(loads)?;
    let mut found = [0.0; 3];
    for (found, time) in found.iter_mut().zip(times) {
        *found = line::number(time)? as f64 / loads as f64;
    }
    Some(found)
}

/// Largest difference between the least times of two halves of the passes with which a time counts as one that comes
/// again, in percent: what shares the last cache and memory changes them more than those of instructions.
const DIFFERENCE_PERCENT_MAX: f64 = 20.0;

/// The times of several passes, which belong to two halves in turn.
pub struct LoadTimes {
    buffers: Vec<Buffer>,
    passes: Vec<LoadPass>,
}

impl LoadTimes {
    /// Begins with no times of these buffers.
    pub fn new(buffers: Vec<Buffer>) -> Self {
        Self { buffers, passes: Vec::new() }
    }

    /// Adds what the program has printed.
    ///
    /// # Errors
    ///
    /// [`CalibrateError::Line`]
    pub fn add(&mut self, text: &str) -> Result<(), CalibrateError> {
        self.passes.push(LoadPass::parse(text, &self.buffers)?);
        Ok(())
    }

    /// Returns the number of passes.
    pub fn passes(&self) -> usize {
        self.passes.len()
    }

    /// Returns the least time of a load of a buffer over all passes, in nanoseconds.
    ///
    /// # Panics
    ///
    /// Without a pass, or for a buffer that is none of those of the passes.
    pub fn ns(&self, buffer: Buffer, reached: Reached) -> f64 {
        self.least_ns(self.index(buffer), reached, 0, 1)
    }

    /// Returns the buffers whose chained loads do not take the same time in two halves of the passes, and by how many
    /// percent they differ.
    pub fn differing(&self) -> Vec<(Buffer, f64)> {
        if self.passes.len() < 2 {
            return Vec::new();
        }
        let differing = self.buffers.iter().enumerate().map(|(index, buffer)| {
            let halves: [f64; 2] =
                array::from_fn(|half| self.least_ns(index, Reached::Chained, half, 2));
            (*buffer, (halves[0].max(halves[1]) / halves[0].min(halves[1]) - 1.0) * 100.0)
        });
        differing.filter(|(_, percent)| *percent > DIFFERENCE_PERCENT_MAX).collect()
    }

    /// Returns how much memory had pages of 2 MiB in every pass, and how much was to have them.
    pub fn huge_bytes(&self) -> (u64, u64) {
        let least = |of: fn(&LoadPass) -> u64| self.passes.iter().map(of).min().unwrap_or(0);
        (least(|pass| pass.granted_bytes.min(pass.asked_bytes)), least(|pass| pass.asked_bytes))
    }

    fn index(&self, buffer: Buffer) -> usize {
        let index = self.buffers.iter().position(|other| *other == buffer);
        index.expect("the buffer is one of those that were measured")
    }

    fn least_ns(&self, index: usize, reached: Reached, skip: usize, step: usize) -> f64 {
        let passes = self.passes.iter().skip(skip).step_by(step);
        passes.map(|pass| pass.loads[index][reached as usize]).fold(f64::INFINITY, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUFFERS: [Buffer; 2] =
        [Buffer { kind: Kind::Lines, lines: 256 }, Buffer { kind: Kind::Pages, lines: 8192 }];
    const WHOLE: &str =
        "huge 2097152 4194304\nlines 256 1000 2000 500 250\npages 8192 1000 27000 5000 7000\n";

    fn times(passes: &[&str]) -> LoadTimes {
        let mut times = LoadTimes::new(BUFFERS.to_vec());
        passes.iter().for_each(|text| times.add(text).unwrap());
        times
    }

    #[test]
    fn the_least_time_of_all_passes_counts() {
        let times = times(&[WHOLE, &WHOLE.replace("27000", "26000").replace("2097152", "0")]);
        assert_eq!(times.ns(BUFFERS[1], Reached::Chained), 26.0);
        assert_eq!(times.ns(BUFFERS[0], Reached::InSequence), 0.25);
        assert_eq!(times.huge_bytes(), (0, 4_194_304));
        assert_eq!(times.differing(), []);
        assert_eq!(BUFFERS.map(|buffer| buffer.to_string()), ["lines:256", "pages:8192"]);
    }

    #[test]
    fn a_time_that_does_not_come_again_is_found() {
        let slow = WHOLE.replace("27000", "32940").replace("5000 7000", "50000 70000");
        let [(buffer, percent)] = times(&[WHOLE, &slow]).differing()[..] else { panic!() };
        assert_eq!((buffer, percent.round()), (BUFFERS[1], 22.0));
        // The least of each half counts.
        assert_eq!(times(&[WHOLE, &slow, &slow, WHOLE]).differing(), []);
        assert_eq!(times(&[WHOLE]).differing(), []);
    }

    #[test]
    fn lines_that_say_something_else_are_refused() {
        for (from, to) in [
            ("huge 2097152 4194304\n", ""),
            ("huge 2097152", "huge -1"),
            ("huge 2097152", "huge"),
            ("4194304", "4194304 1"),
            ("4194304", "1000000000001"),
            ("lines 256", "lines 255"),
            ("lines 256", "spread 256"),
            ("lines 256", "lines  256"),
            ("lines 256 1000", "lines 256 0"),
            ("2000 500 250", "2000 500"),
            ("2000 500 250", "2000 500 250 1"),
            ("2000 500 250", "0 500 250"),
            ("2000 500 250", "2000 -500 250"),
            ("2000 500 250", "2000 5e2 250"),
            ("2000 500 250", "2000 500 99999999999999999999"),
            ("2000 500 250", "2000 500 \u{1b}[2J"),
            ("pages 8192 1000 27000 5000 7000\n", ""),
            ("7000\n", "7000\npages 8192 1000 27000 5000 7000\n"),
            ("\npages", "\n\npages"),
        ] {
            let damaged = WHOLE.replace(from, to);
            assert_ne!(damaged, WHOLE, "{from}");
            let refused = LoadTimes::new(BUFFERS.to_vec()).add(&damaged).unwrap_err();
            assert!(matches!(refused, CalibrateError::Line(_)), "{to}: {refused}");
        }
        assert!(LoadTimes::new(Vec::new()).add("").is_err());
    }
}
