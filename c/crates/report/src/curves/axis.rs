//! Logarithmic axes.

use super::latencies::LatencyCurves;

/// Decades of a logarithmic axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decades {
    /// Exponent at its begin.
    pub first: i32,
    /// Exponent at its end, which is larger.
    pub last: i32,
}

impl Decades {
    /// Returns the least decades that hold all values, which are positive.
    fn around(values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.filter(|value| value.is_finite() && *value > 0.0).collect();
        let least = values.iter().copied().fold(f64::MAX, f64::min);
        let most = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let exponent = |value: f64| libm::log10(value.clamp(1e-12, 1e12));
        let first = exponent(least.min(most)).floor() as i32;
        Self { first, last: (exponent(most).ceil() as i32).max(first + 1) }
    }

    /// Returns the place of a value between the begin, 0, and the end, 1.
    pub fn place(self, value: f64) -> f64 {
        let exponent = libm::log10(value.max(1e-300));
        ((exponent - f64::from(self.first)) / f64::from(self.last - self.first)).clamp(0.0, 1.0)
    }

    /// Returns the exponents of the axis.
    pub fn exponents(self) -> impl DoubleEndedIterator<Item = i32> {
        self.first..=self.last
    }
}

/// Returns the axis of latencies in microseconds, and that of shares.
pub fn axes(curves: &LatencyCurves) -> (Decades, Decades) {
    let each = || curves.curves.iter();
    let latencies = each().flat_map(|curve| {
        // The last latency with all instants is where the curve leaves the top.
        let first = curve.later.iter().rfind(|(_, share)| *share >= 1.0).map(|(us, _)| *us);
        first.into_iter().chain([curve.worst_us])
    });
    let shares = each().flat_map(|curve| curve.later.iter().map(|(_, share)| *share));
    let shares = Decades::around(shares);
    (Decades::around(latencies), Decades { first: shares.first.min(-3), last: 0 })
}

/// Returns a power of ten of microseconds: `10 us`, `1 ms`.
pub fn latency(exponent: i32) -> String {
    let (exponent, unit) = match exponent {
        ..0 => (exponent + 3, "ns"),
        0..3 => (exponent, "us"),
        3..6 => (exponent - 3, "ms"),
        _ => (exponent - 6, "s"),
    };
    format!("{} {unit}", 10_f64.powi(exponent))
}

/// Returns a power of ten as a share: `10 %`, `0.001 %`.
pub fn share(exponent: i32) -> String {
    format!("{} %", 10_f64.powi(exponent + 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curves::latencies::testing;

    #[test]
    fn axes_hold_every_value() {
        let (latencies, shares) = axes(&testing::curves());
        assert_eq!((latencies.first, latencies.last), (0, 3));
        assert_eq!((shares.first, shares.last), (-5, 0));
        assert_eq!(latencies.place(1.0), 0.0);
        assert_eq!(shares.place(1.0), 1.0);
        let none = LatencyCurves { title: String::new(), curves: Vec::new() };
        assert!(axes(&none).0.last > axes(&none).0.first);
    }

    #[test]
    fn powers_have_units() {
        assert_eq!([-1, 0, 2, 3, 6].map(latency), ["100 ns", "1 us", "100 us", "1 ms", "1 s"]);
        assert_eq!([0, -2, -5].map(share), ["100 %", "1 %", "0.001 %"]);
    }
}
