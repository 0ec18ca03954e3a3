//! The axis of time that all panels have in common.

use crate::timeline::Ticks;

/// Returns the places of an axis's marks, at most `count` steps of them, each with its label in the
/// unit that fits; the first has the unit.
pub fn marks(end_ns: u64, count: u64) -> Vec<(u64, String)> {
    let marks: Vec<u64> = Ticks::new(end_ns, count).marks().map(|(ns, _)| ns).collect();
    let step_ns = marks.get(1).copied().unwrap_or(end_ns);
    let (unit, unit_ns) = match step_ns {
        100_000_000.. => ("s", 1_000_000_000),
        100_000.. => ("ms", 1_000_000),
        100.. => ("us", 1_000),
        _ => ("ns", 1),
    };
    // A step is 1, 2 or 5 times a power of ten, and at least a tenth of the unit.
    let decimals = usize::from(step_ns < unit_ns);
    let label = |ns: u64| match decimals {
        0 => format!("{}", ns / unit_ns),
        _ => format!("{}.{}", ns / unit_ns, ns % unit_ns * 10 / unit_ns),
    };
    let first = |ns: u64| if ns == 0 { format!("0 {unit}") } else { label(ns) };
    marks.into_iter().map(|ns| (ns, first(ns))).collect()
}

/// Returns a duration in words, to three digits or so: `2.00 s`.
pub fn duration(ns: u64) -> String {
    let number = preemptlab_model::number::number;
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..999_500 => format!("{} us", number(ns as f64 / 1e3)),
        999_500..999_500_000 => format!("{} ms", number(ns as f64 / 1e6)),
        _ => format!("{} s", number(ns as f64 / 1e9)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(end_ns: u64) -> String {
        marks(end_ns, 8).into_iter().map(|(_, label)| label).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn marks_are_round() {
        assert_eq!(labels(10_000_000_000), "0 s 2 4 6 8 10");
        assert_eq!(labels(1_500_000_000), "0 s 0.2 0.4 0.6 0.8 1.0 1.2 1.4");
        assert_eq!(labels(100_000), "0 us 20 40 60 80 100");
        assert_eq!(labels(7_300_000), "0 ms 1 2 3 4 5 6 7");
        assert_eq!(labels(700_000), "0 ms 0.1 0.2 0.3 0.4 0.5 0.6 0.7");
        assert_eq!(labels(50), "0 ns 10 20 30 40 50");
        assert_eq!(labels(1), "0 ns 1");
    }

    #[test]
    fn durations_have_three_digits() {
        assert_eq!(duration(2_000_000_000), "2 s");
        assert_eq!(duration(1_234_567), "1.23 ms");
        assert_eq!(duration(17_042), "17.0 us");
        assert_eq!(duration(999_700), "1.00 ms");
    }
}
