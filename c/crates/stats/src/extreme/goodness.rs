//! The test whether a fitted distribution describes its sample.

use super::likelihood::{LOG_SCALE, Point, QUANTILE, SHAPE, log_ratio};

/// Returns the Anderson-Darling statistic of ascending values, whose neighbours are at least `step`
/// apart.
///
/// Rounding makes values the same, which the statistic would take for a misfit: in a hundred values
/// rounded to half their scale, always. So the probability that the fit gives to the range that is
/// rounded to a value is shared out evenly between those that have it. Where values of a fine
/// resolution are the same, that probability is about none, and the misfit shows.
pub fn anderson_darling(ascending: &[f64], step: f64, fitted: &Point) -> f64 {
    let mut probabilities = Vec::with_capacity(ascending.len());
    for same in ascending.chunk_by(|a, b| a == b) {
        if let [value] = same {
            probabilities.push(below_and_above(*value, fitted));
            continue;
        }
        let low = below_and_above(same[0] - step / 2.0, fitted);
        let high = below_and_above(same[0] + step / 2.0, fitted);
        probabilities.extend((0..same.len()).map(|i| {
            let part = (i as f64 + 0.5) / same.len() as f64;
            (low.0 + (high.0 - low.0) * part, low.1 + (high.1 - low.1) * part)
        }));
    }
    let n = probabilities.len() as f64;
    let log = |probability: f64| libm::log(probability.max(f64::MIN_POSITIVE));
    let pairs = probabilities.iter().zip(probabilities.iter().rev()).enumerate();
    let sum: f64 =
        pairs.map(|(i, (lower, upper))| (2 * i + 1) as f64 * (log(lower.0) + log(upper.1))).sum();
    -n - sum / n
}

/// Returns the value that one in twenty samples of the fitted distribution exceeds, the fit being
/// that of the sample by maximum likelihood: the approximation of Laio, "Cramer-von Mises and
/// Anderson-Darling goodness of fit tests for extreme value distributions with unknown parameters",
/// Water Resources Research 40 (2004) W09308, with the coefficients of `A2_GOFlaio` in the R
/// package nsRFA. The shape has the other sign there. `examples/extreme_coverage.rs` refuses 3 to 5
/// % by it.
pub fn critical(n: usize, shape: f64) -> f64 {
    // The 5 % point of the statistic that all distributions share after the transformation.
    const COMMON: f64 = 0.461_36;
    let (n, k) = (n as f64, -shape);
    let cubic = |a: f64, b: f64, c: f64| 1.0 + k * (a + k * (b + k * c));
    let form = 1.186 * cubic(-0.04, -0.04, -0.01) * (1.0 - 0.7 / n + 0.2 / n.sqrt());
    let scale = 0.189 * cubic(0.20, 0.37, 0.17) * (1.0 - 1.8 / n);
    let location = 0.147 * cubic(0.13, 0.21, 0.09) * (1.0 + 0.9 / n - 0.2 / n.sqrt());
    location + scale * libm::pow((COMMON - 0.0403) / 0.116, 0.851 / form)
}

/// Returns the probabilities of less and of more than a value.
fn below_and_above(value: f64, fitted: &Point) -> (f64, f64) {
    let y = (value - fitted[QUANTILE]) * libm::exp(-fitted[LOG_SCALE]);
    let u = fitted[SHAPE] * y;
    if u <= -1.0 {
        return if y < 0.0 { (0.0, 1.0) } else { (1.0, 0.0) };
    }
    let t = libm::exp(-y * log_ratio(u)[0]);
    (libm::exp(-t), -libm::expm1(-t))
}
