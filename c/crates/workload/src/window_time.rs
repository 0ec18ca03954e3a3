use std::{fmt, str::FromStr};

use preemptlab_model::VirtualDuration;
use preemptlab_protocol::{CommandSignal, EndSignal};
use serde::{Deserialize, Serialize};

use crate::Seconds;

const NS_PER_MS: u64 = 1_000_000;

const MS_PER_S: u32 = 1_000;

/// Time that programs measure: whole virtual milliseconds, written `250ms` or `2s`.
///
/// Programs count their time in seconds. One that is to measure for a part of a second is sent the signal
/// that ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WindowTime {
    ms: u32,
}

impl WindowTime {
    const MIN_MS: u32 = 50;
    const MAX_MS: u32 = 3_600 * MS_PER_S;

    /// Creates a window from its number of milliseconds; `None` unless that is 50 to 3600000.
    pub const fn from_ms(ms: u32) -> Option<Self> {
        match ms {
            Self::MIN_MS..=Self::MAX_MS => Some(Self { ms }),
            _ => None,
        }
    }

    /// Returns the window in microseconds.
    pub fn as_us(self) -> u64 {
        u64::from(self.ms) * 1_000
    }

    /// Returns the window as a program counts it; `None` where it is not a whole number of seconds.
    pub fn whole_seconds(self) -> Option<Seconds> {
        (self.ms.is_multiple_of(MS_PER_S)).then_some(self.seconds_at_least(0))
    }

    /// Returns the least number of seconds that holds the window and `more_ms` more, or the
    /// most that there are.
    pub fn seconds_at_least(self, more_ms: u32) -> Seconds {
        let seconds = self.ms.saturating_add(more_ms).div_ceil(MS_PER_S);
        Seconds::new(seconds).unwrap_or(Seconds::MOST)
    }

    /// Returns the signal that ends a program which does not count the window itself, and begins to measure
    /// at most `begins_within_ns` after its start.
    pub fn end(self, signal: CommandSignal, begins_within_ns: u64) -> Option<EndSignal> {
        let after_ns = begins_within_ns + VirtualDuration::from(self).as_ns();
        self.whole_seconds().is_none().then_some(EndSignal { signal, after_ns })
    }
}

impl From<Seconds> for WindowTime {
    fn from(seconds: Seconds) -> Self {
        Self { ms: seconds.get() * MS_PER_S }
    }
}

impl From<WindowTime> for VirtualDuration {
    fn from(window: WindowTime) -> Self {
        Self::from_ms(window.ms.into())
    }
}

/// The text is not a window.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time from 50ms to 3600s in whole milliseconds, such as 250ms or 2s")]
pub struct ParseWindowTimeError(String);

impl FromStr for WindowTime {
    type Err = ParseWindowTimeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let duration: Option<VirtualDuration> = text.parse().ok();
        duration
            .map(VirtualDuration::as_ns)
            .filter(|ns| ns.is_multiple_of(NS_PER_MS))
            .and_then(|ns| Self::from_ms(u32::try_from(ns / NS_PER_MS).ok()?))
            .ok_or_else(|| ParseWindowTimeError(text.to_owned()))
    }
}

impl TryFrom<String> for WindowTime {
    type Error = ParseWindowTimeError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl fmt::Display for WindowTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.whole_seconds() {
            Some(seconds) => seconds.fmt(f),
            None => write!(f, "{}ms", self.ms),
        }
    }
}

impl From<WindowTime> for String {
    fn from(window: WindowTime) -> Self {
        window.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_whole_milliseconds() {
        for (text, ms) in [("2s", 2_000), ("2000ms", 2_000), ("250ms", 250), ("50ms", 50)] {
            assert_eq!(text.parse(), Ok(WindowTime { ms }), "{text}");
        }
        for text in ["50ms", "2s", "2500ms", "3600s"] {
            assert_eq!(text.parse::<WindowTime>().unwrap().to_string(), text);
        }
        for text in ["", "s", "2", "0s", "49ms", "3601s", "3600001ms", "+2s", "250.5ms", "500us"] {
            assert!(text.parse::<WindowTime>().is_err(), "{text}");
        }
    }

    #[test]
    fn only_a_part_of_a_second_is_ended_by_a_signal() {
        let window = |text: &str| text.parse::<WindowTime>().unwrap();
        assert_eq!(window("2s").end(CommandSignal::Alarm, 7), None);
        let end = window("250ms").end(CommandSignal::Terminate, 7);
        assert_eq!(
            end,
            Some(EndSignal { signal: CommandSignal::Terminate, after_ns: 250_000_007 })
        );
        assert_eq!(window("250ms").whole_seconds(), None);
        assert_eq!(window("250ms").seconds_at_least(0), Seconds::ONE);
        assert_eq!(window("250ms").seconds_at_least(751).get(), 2);
        assert_eq!(window("3600s").seconds_at_least(1), Seconds::MOST);
    }
}
