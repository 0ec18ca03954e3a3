//! Student's t distribution (Student, Biometrika 6, 1908).

/// Steps of the search for a quantile: each halves the interval that holds it.
const HALVINGS: u32 = 200;

/// Terms of the continued fraction at most; it converges after some dozens.
const TERMS_MAX: u32 = 500;

/// Returns the probability that a variable of `degrees` of freedom is above `t`.
pub fn upper_tail(t: f64, degrees: f64) -> f64 {
    let half = incomplete_beta(degrees / (degrees + t * t), degrees / 2.0, 0.5) / 2.0;
    if t < 0.0 { 1.0 - half } else { half }
}

/// Returns the value that such a variable exceeds with this probability, which is below a half.
pub fn upper_quantile(probability: f64, degrees: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while upper_tail(high, degrees) > probability && high < 1e150 {
        high *= 2.0;
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if upper_tail(middle, degrees) > probability {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// Returns the regularized incomplete beta function, by Lentz's evaluation of its continued fraction
/// (Press et al., Numerical Recipes, 6.4).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let ln = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b)
        + a * libm::log(x)
        + b * libm::log1p(-x);
    libm::exp(ln) * continued_fraction(x, a, b) / a
}

fn continued_fraction(x: f64, a: f64, b: f64) -> f64 {
    let tiny = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / tiny(1.0 - (a + b) * x / (a + 1.0));
    let mut product = d;
    for term in 1..=TERMS_MAX {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / tiny(1.0 + even * d);
        c = tiny(1.0 + even / c);
        product *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / tiny(1.0 + odd * d);
        c = tiny(1.0 + odd / c);
        product *= d * c;
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_the_tables_say() {
        // One and two degrees have a closed form; the others are of printed tables.
        for p in [0.4, 0.1, 0.01, 1e-6] {
            let cauchy = 1.0 / libm::tan(std::f64::consts::PI * p);
            assert!((upper_quantile(p, 1.0) / cauchy - 1.0).abs() < 1e-9, "{p}");
            let two = (1.0 - 2.0 * p) / (2.0 * p * (1.0 - p)).sqrt();
            assert!((upper_quantile(p, 2.0) / two - 1.0).abs() < 1e-9, "{p}");
        }
        for (p, degrees, t) in [
            (0.025, 4.0, 2.776),
            (0.005, 9.0, 3.250),
            (0.0005, 17.0, 3.965),
            (0.01, 30.0, 2.457),
            (0.001, 5.0, 5.893),
        ] {
            assert!((upper_quantile(p, degrees) - t).abs() < 6e-4, "{p} {degrees}");
        }
    }

    #[test]
    fn both_tails_are_everything() {
        for t in [0.0, 0.3, 2.0, 9.0] {
            assert!((upper_tail(t, 7.0) + upper_tail(-t, 7.0) - 1.0).abs() < 1e-12);
        }
    }
}
