//! Tests against the numbers of NumPy and SciPy, to 1e-9; `reference/comparison.py` makes theirs.

use std::collections::BTreeMap;

use preemptlab_model::Histogram;
use preemptlab_stats::{Interval, MedianBootstrap, adjust};
use serde::Deserialize;

#[derive(Deserialize)]
struct Reference {
    samples: BTreeMap<String, Sample>,
    pairs: BTreeMap<String, Pair>,
    ranks: Vec<u32>,
    p_values: Vec<f64>,
    adjusted: Vec<f64>,
}

#[derive(Deserialize)]
struct Sample {
    values: Vec<f64>,
    interval: [f64; 2],
    quantiles: Vec<f64>,
}

#[derive(Deserialize)]
struct Pair {
    ratio_interval: [f64; 2],
    probability_below: f64,
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("reference/comparison.json")).unwrap()
}

#[track_caller]
fn agrees(own: f64, theirs: f64, what: &str) {
    let scale = theirs.abs().max(1e-3);
    assert!((own - theirs).abs() <= 1e-9 * scale, "{what}: {own} and {theirs}");
}

#[test]
fn intervals_agree() {
    let Reference { samples, pairs, .. } = reference();
    let of = |name: &str| MedianBootstrap::new(&samples[name].values).unwrap();
    for (name, sample) in &samples {
        let Interval { low, high } = of(name).interval();
        agrees(low, sample.interval[0], name);
        agrees(high, sample.interval[1], name);
    }
    for (names, pair) in &pairs {
        let (one, other) = names.split_once('/').unwrap();
        let Interval { low, high } = of(one).ratio_interval(&of(other)).unwrap();
        agrees(low, pair.ratio_interval[0], names);
        agrees(high, pair.ratio_interval[1], names);
        agrees(of(one).probability_below(&of(other)), pair.probability_below, names);
    }
}

#[test]
fn adjusted_p_values_agree() {
    let Reference { p_values, adjusted, .. } = reference();
    for (own, theirs) in adjust(&p_values).into_iter().zip(adjusted) {
        agrees(own, theirs, "p");
    }
}

#[test]
fn quantiles_agree() {
    let Reference { samples, ranks, .. } = reference();
    for (name, sample) in samples {
        // A histogram holds whole numbers.
        let values = || sample.values.iter().map(|value| (value * 1e4).round() as u64);
        let histogram = Histogram::new(values().map(|value| (value, 1)));
        for (rank, theirs) in ranks.iter().zip(sample.quantiles) {
            agrees(histogram.quantile(*rank * 100).unwrap() as f64 / 1e4, theirs, &name);
        }
    }
}
