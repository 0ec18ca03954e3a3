//! A moment of virtual time on the command line, such as `9118.023ms±20us`.

use std::str::FromStr;

use preemptlab_model::{ParseTimeError, VirtualDuration};

/// Default time before and after a moment, in nanoseconds.
const WINDOW_NS: u64 = 10_000;

/// Longest time before and after a moment: beyond it a picture shows no detail.
const WINDOW_NS_MAX: u64 = 10_000_000;

/// A moment of virtual time, and how much around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Middle of the moment, in nanoseconds.
    pub ns: u64,
    /// Time before and after the middle, in nanoseconds.
    pub window_ns: u64,
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (moment, window) = match text.split_once('±').or_else(|| text.split_once("+-")) {
            Some((moment, window)) => (moment, duration_ns(window)?),
            None => (text, WINDOW_NS),
        };
        if window > WINDOW_NS_MAX {
            return Err("a window is at most 10 ms to each side".to_owned());
        }
        Ok(Self { ns: duration_ns(moment)?, window_ns: window })
    }
}

/// Reads a span of time; without a unit it is in nanoseconds.
fn duration_ns(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let unit = if text.ends_with(|c: char| c.is_ascii_digit()) { "ns" } else { "" };
    let duration: VirtualDuration =
        format!("{text}{unit}").parse().map_err(|error: ParseTimeError| error.to_string())?;
    Ok(duration.as_ns())
}

/// Returns a moment in the form that `zoom` takes.
pub fn in_ms(ns: u64) -> String {
    format!("{}.{:06}ms", ns / 1_000_000, ns % 1_000_000)
}

/// Returns a length of time in microseconds, in the form of tables and sentences.
pub fn in_us(ns: u64) -> String {
    format!("{:.1}", ns as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_exact() {
        let moment = |text: &str| text.parse::<Moment>().map(|m| (m.ns, m.window_ns));
        assert_eq!(moment("9118.023173ms±20us"), Ok((9_118_023_173, 20_000)));
        assert_eq!(moment("1s+-1ms"), Ok((1_000_000_000, 1_000_000)));
        assert_eq!(moment("17"), Ok((17, WINDOW_NS)));
        for wrong in
            ["", "1.5", "1.0001us", "x", "5 weeks", "1s±1s", "1s±", "99999999999999999999s"]
        {
            assert!(moment(wrong).is_err(), "{wrong}");
        }
    }
}
