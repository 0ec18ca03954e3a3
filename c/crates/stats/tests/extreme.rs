//! Tests of the extreme-value fit against references, and of its refusals.

use preemptlab_stats::{Estimate, Interval, NoFit, NoLevel, Tail, fit};
use proptest::prelude::*;
use serde_json::Value;

/// Returns the results of reference/extreme.py.
fn references() -> Vec<Value> {
    serde_json::from_str(include_str!("reference/extreme.json")).unwrap()
}

fn maxima(case: &Value) -> Vec<f64> {
    case["maxima"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

fn reference(name: &str) -> Vec<f64> {
    maxima(references().iter().find(|case| case["name"] == name).unwrap())
}

#[track_caller]
fn near(found: f64, expected: &Value) {
    let expected = expected.as_f64().unwrap();
    assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{found} {expected}");
}

#[track_caller]
fn agrees(found: &Estimate, expected: &Value) {
    near(found.value, &expected["value"]);
    near(found.interval.low, &expected["low"]);
    near(found.interval.high, &expected["high"]);
}

#[test]
fn fits_agree_with_the_reference_to_nine_digits() {
    let cases = references();
    assert_eq!(cases.len(), 6);
    for case in &cases {
        let fit = fit(&maxima(case)).unwrap();
        agrees(&fit.location, &case["location"]);
        agrees(&fit.scale, &case["scale"]);
        agrees(&fit.shape, &case["shape"]);
        near(fit.anderson_darling, &case["anderson_darling"]);
        for level in case["levels"].as_array().unwrap() {
            let blocks = level["blocks"].as_u64().unwrap().try_into().unwrap();
            agrees(&fit.level(blocks).unwrap(), level);
        }
    }
}

#[test]
fn port_pirie_is_what_coles_published() {
    // An Introduction to Statistical Modeling of Extreme Values (2001), section 3.4.1.
    let fit = fit(&reference("port pirie")).unwrap();
    let rounded = |estimate: Estimate, unit: f64| (estimate.value / unit).round() as i64;
    assert_eq!(rounded(fit.location, 0.01), 387);
    assert_eq!(rounded(fit.scale, 0.001), 198);
    assert_eq!(rounded(fit.shape, 0.001), -50);
    assert_eq!(rounded(fit.level(10).unwrap(), 0.01), 430);
    assert_eq!(rounded(fit.level(100).unwrap(), 0.01), 469);
    assert_eq!(fit.tail, Tail::Undecided);
}

#[test]
fn a_bounded_tail_ends_above_the_largest_and_a_heavy_one_nowhere() {
    let bounded = reference("bounded");
    let Tail::Bounded { end } = fit(&bounded).unwrap().tail else { panic!("no bound") };
    assert!(bounded.iter().all(|maximum| *maximum < end), "{end}");
    assert_eq!(fit(&quantiles(200, 0.4, 100.0, 20.0)).unwrap().tail, Tail::Unbounded);
}

/// Returns the quantiles of a distribution at evenly spaced probabilities: a sample that fits.
fn quantiles(n: u32, shape: f64, location: f64, scale: f64) -> Vec<f64> {
    (0..n)
        .map(|i| -(-((f64::from(i) + 0.5) / f64::from(n)).ln()).ln())
        .map(|variate| location + scale * (shape * variate).exp_m1() / shape)
        .collect()
}

#[test]
fn the_order_and_the_unit_of_maxima_change_nothing() {
    let maxima = quantiles(40, 0.1, 7000.0, 900.0);
    let reversed: Vec<f64> = maxima.iter().rev().copied().collect();
    let expected = fit(&maxima).unwrap();
    assert_eq!(fit(&reversed).unwrap(), expected);
    // A power of two is exact.
    let other_unit: Vec<f64> = maxima.iter().map(|maximum| maximum / 1024.0).collect();
    let found = fit(&other_unit).unwrap();
    assert_eq!(found.shape, expected.shape);
    assert_eq!(found.level(100).unwrap().value * 1024.0, expected.level(100).unwrap().value);
}

#[test]
fn levels_rise_with_the_cells() {
    let fit = fit(&reference("heavy")).unwrap();
    assert_eq!(fit.level(0), Err(NoLevel::TooFewBlocks));
    assert_eq!(fit.level(1), Err(NoLevel::TooFewBlocks));
    let levels: Vec<f64> =
        [2, 10, 100, 10_000].iter().map(|blocks| fit.level(*blocks).unwrap().value).collect();
    assert!(levels.is_sorted(), "{levels:?}");
}

#[test]
fn what_carries_no_fit_is_refused_with_its_reason() {
    let fits = quantiles(40, 0.1, 7000.0, 900.0);
    assert!(fit(&fits).is_ok());
    let refused = |maxima: &[f64]| fit(maxima).unwrap_err();

    assert_eq!(refused(&fits[..19]), NoFit::TooFew { n: 19, needed: 20 });
    assert_eq!(refused(&[]), NoFit::TooFew { n: 0, needed: 20 });
    let one = refused(&fits[..1]).to_string();
    assert!(one.starts_with("1 replicate is too few for"), "{one}");
    assert_eq!(refused(&[13.0; 40]), NoFit::AllEqual { n: 40, value: 13.0 });
    assert_eq!(refused(&[0.0; 40]), NoFit::AllEqual { n: 40, value: 0.0 });
    for value in [-1.0, f64::INFINITY] {
        let mut maxima = fits.clone();
        maxima[7] = value;
        assert_eq!(refused(&maxima), NoFit::NotALatency { value });
    }

    // Whole microseconds, of a configuration that hardly varies.
    let tied: Vec<f64> = (0..40).map(|i| [13.0, 13.0, 14.0, 13.0, 15.0][i % 5]).collect();
    assert!(matches!(refused(&tied), NoFit::TooCoarse { step: 1.0, .. }), "{:?}", fit(&tied));

    // Two causes, apart.
    let mixed: Vec<f64> = fits.iter().flat_map(|one| [*one, one + 9000.0]).collect();
    assert!(matches!(refused(&mixed), NoFit::Misfit { .. }), "{:?}", fit(&mixed));

    // Most replicates meet the very same bound, to the nanosecond.
    let mut clipped = fits.clone();
    clipped.iter_mut().for_each(|maximum| *maximum = maximum.min(7400.125));
    assert!(matches!(refused(&clipped), NoFit::TailTooShort { .. }), "{:?}", fit(&clipped));

    let crowded = quantiles(40, -0.8, 100.0, 20.0);
    assert!(matches!(refused(&crowded), NoFit::TailTooShort { .. }), "{:?}", fit(&crowded));
    let heavy = quantiles(60, 1.5, 100.0, 20.0);
    assert!(matches!(refused(&heavy), NoFit::TailTooHeavy { .. }), "{:?}", fit(&heavy));
}

fn sound(estimate: Estimate) {
    let Estimate { value, interval: Interval { low, high } } = estimate;
    assert!(low.is_finite() && value.is_finite() && high.is_finite(), "{estimate:?}");
    assert!(low <= value && value <= high, "{estimate:?}");
}

fn sound_or_refused(maxima: &[f64]) {
    let Ok(fit) = fit(maxima) else { return };
    sound(fit.location);
    sound(fit.scale);
    sound(fit.shape);
    assert!(fit.scale.interval.low > 0.0);
    assert!(fit.anderson_darling.is_finite());
    if let Tail::Bounded { end } = fit.tail {
        assert!(end.is_finite());
    }
    for blocks in [2, 100, u32::MAX] {
        if let Ok(level) = fit.level(blocks) {
            sound(level);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_floats_are_fitted_soundly_or_refused(maxima in prop::collection::vec(any::<f64>(), 0..60)) {
        sound_or_refused(&maxima);
    }

    #[test]
    fn any_magnitudes_are_fitted_soundly_or_refused(
        maxima in prop::collection::vec(any::<f64>().prop_map(f64::abs), 20..60),
    ) {
        sound_or_refused(&maxima);
    }

    #[test]
    fn any_sizes_are_fitted_soundly_or_refused(
        parts in prop::collection::vec(0.0..1.0, 20..60),
        exponent in -1074..1024,
        shape in -0.9..1.2_f64,
        decimals in 0..6,
    ) {
        let tick = f64::powi(10.0, decimals);
        let maxima: Vec<f64> = parts
            .iter()
            .map(|part: &f64| 10.0 + 3.0 * f64::exp_m1(-shape * f64::ln(-part.ln())) / shape)
            .map(|maximum| (maximum * tick).round() / tick * f64::powi(2.0, exponent))
            .collect();
        sound_or_refused(&maxima);
    }

    #[test]
    fn ties_are_fitted_soundly_or_refused(maxima in prop::collection::vec(0_u8..40, 20..200)) {
        sound_or_refused(&maxima.into_iter().map(f64::from).collect::<Vec<_>>());
    }
}
