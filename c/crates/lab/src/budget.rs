//! The cost of an answer, by which it ends.

use std::{str::FromStr, time::Duration};

use preemptlab_model::{HOST_UNITS, parse_ns};

/// The cost that an answer may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// Number of executions: cells of both kernels of a decision, or those of each configuration of a
    /// search.
    Cells(usize),
    /// Host time.
    Time(Duration),
}

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(cells) = text.parse() {
            return Ok(Self::Cells(cells));
        }
        let time = parse_ns(text, HOST_UNITS).map(|ns| Self::Time(Duration::from_nanos(ns)));
        time.map_err(|_| {
            "expected a number of executions such as 60, or a time such as 10m".to_owned()
        })
    }
}

impl Budget {
    /// Returns whether these executions, or this time, are within it.
    pub fn allows(self, cells: usize, time: Duration) -> bool {
        match self {
            Self::Cells(most) => cells <= most,
            Self::Time(most) => time <= most,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_and_times_are_told_apart() {
        assert_eq!("60".parse(), Ok(Budget::Cells(60)));
        assert_eq!("10m".parse(), Ok(Budget::Time(Duration::from_secs(600))));
        for text in ["", "ten", "-1", "5us", "60 cells"] {
            assert!(text.parse::<Budget>().is_err(), "{text}");
        }
        assert!(
            Budget::Cells(12).allows(12, Duration::MAX)
                && !Budget::Cells(12).allows(13, Duration::ZERO)
        );
    }
}
