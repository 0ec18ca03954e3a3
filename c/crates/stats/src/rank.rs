/// Up to this size of the smaller sample the rank test is exact.
const EXACT_MAX: usize = 20;

/// Largest number of pairs of values of the exact test.
const PAIRS_MAX: usize = 10_000;

/// Returns the two-sided p-value of the rank-sum test (Mann and Whitney, The Annals of Mathematical
/// Statistics 18, 1947): exact for small samples, whatever the distribution, and by the normal
/// approximation for large ones. Ties count half, rounded to the careful side.
pub fn rank_p(one: &[f64], other: &[f64]) -> f64 {
    let (m, n) = (one.len(), other.len());
    let below = one.iter().map(|value| {
        let less = other.iter().filter(|of| value < of).count();
        let equal = other.iter().filter(|of| value == *of).count();
        2 * less + equal
    });
    let twice: usize = below.sum();
    let u = twice.min(2 * m * n - twice).div_ceil(2);
    if m.min(n) <= EXACT_MAX && m * n <= PAIRS_MAX {
        exact(m.min(n), m.max(n), u)
    } else {
        let (m, n, u) = (m as f64, n as f64, u as f64);
        let deviation = (m * n * (m + n + 1.0) / 12.0).sqrt();
        let z = ((m * n / 2.0 - u - 0.5) / deviation).max(0.0);
        libm::erfc(z / std::f64::consts::SQRT_2).min(1.0)
    }
}

/// Returns the exact p-value. The numbers of orders of the two samples with each rank sum are the
/// coefficients of the product of `(1 - q^(n + i)) / (1 - q^i)`; those up to `u` need no others.
fn exact(m: usize, n: usize, u: usize) -> f64 {
    let mut orders = vec![0.0; u + 1];
    orders[0] = 1.0;
    for i in 1..=m {
        for at in (n + i..=u).rev() {
            orders[at] -= orders[at - n - i];
        }
        for at in i..=u {
            orders[at] += orders[at - i];
        }
    }
    let all = libm::exp(crate::bootstrap::ln_binomial(m + n, m));
    (2.0 * orders.iter().sum::<f64>() / all).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_scipy_says() {
        // scipy.stats.mannwhitneyu(..., method="exact")
        let one = [1.0, 2.0, 3.0, 4.0, 5.0];
        for (other, p) in [
            (vec![6.0, 7.0, 8.0, 9.0, 10.0], 2.0 / 252.0),
            (vec![4.5, 7.0, 8.0, 9.0, 10.0], 4.0 / 252.0),
            (vec![1.5, 2.5, 3.5, 4.5, 5.5], 0.690_476_190_476_190_5),
            (vec![6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0], 2.0 / 792.0),
        ] {
            assert!((rank_p(&one, &other) - p).abs() < 1e-12, "{other:?}");
            assert!((rank_p(&other, &one) - p).abs() < 1e-12, "{other:?}");
        }
        assert_eq!(rank_p(&one, &one), 1.0);
    }

    #[test]
    fn the_approximation_is_near_what_is_exact() {
        let one: Vec<f64> = (0..20).map(f64::from).collect();
        let shifted = |n: u32| (0..n).map(|value| f64::from(value) + 6.5).collect::<Vec<_>>();
        // scipy.stats.mannwhitneyu(..., method="exact"), and method="asymptotic" for 30 and 30.
        assert!((rank_p(&one, &shifted(20)) / 0.0026426305915593523 - 1.0).abs() < 1e-9);
        let thirty: Vec<f64> = (0..30).map(f64::from).collect();
        assert!((rank_p(&thirty, &shifted(30)) / 0.010314672402337998 - 1.0).abs() < 1e-9);
    }
}
