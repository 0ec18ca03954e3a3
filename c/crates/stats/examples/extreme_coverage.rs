//! The coverage of the 95 % interval of the level of 100 cells, and the share of refused fits: by
//! number of replicates, shape of the tail and step of rounding, as parts of the scale.
//!
//! `cargo run --release -p preemptlab-stats --example extreme_coverage [SAMPLES]`

#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;

use preemptlab_stats::{NoFit, fit};
use rand_distr::{Distribution, Gumbel};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

/// Far from zero, as latencies are.
const LOCATION: f64 = 100.0;
const BLOCKS: u32 = 100;

fn main() {
    let samples = std::env::args().nth(1).map_or(2000, |text| text.parse().expect("a number"));
    println!("{samples} samples a line; the level's interval misses it as all below or all above");
    for step in [0.0, 0.2, 1.0 / 3.0, 0.5, 0.6] {
        for n in [20, 30, 50, 100] {
            for shape in [-0.2, 0.0, 0.2] {
                println!(
                    "n {n:3} shape {shape:4.1} step {step:.2}: {}",
                    line(n, shape, step, samples)
                );
            }
        }
    }
}

fn line(n: usize, shape: f64, step: f64, samples: usize) -> String {
    let value = |variate: f64| match shape {
        0.0 => LOCATION + variate,
        _ => LOCATION + f64::exp_m1(shape * variate) / shape,
    };
    let level = value(-f64::ln(-f64::ln_1p(-1.0 / f64::from(BLOCKS))));
    let gumbel = Gumbel::new(0.0, 1.0).expect("a positive scale");
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let (mut below, mut above, mut widths) = (0, 0, Vec::new());
    let mut refused = BTreeMap::new();
    for _ in 0..samples {
        let mut sample: Vec<f64> = (0..n).map(|_| value(gumbel.sample(&mut random))).collect();
        if step > 0.0 {
            sample.iter_mut().for_each(|value| *value = (*value / step).round() * step);
        }
        match fit(&sample).map(|fit| fit.level(BLOCKS)) {
            Ok(Ok(found)) => {
                below += usize::from(found.interval.high < level);
                above += usize::from(found.interval.low > level);
                widths.push(found.interval.high - found.interval.low);
            }
            Ok(Err(_)) => *refused.entry("no level").or_insert(0) += 1,
            Err(reason) => *refused.entry(name(&reason)).or_insert(0) += 1,
        }
    }
    widths.sort_unstable_by(f64::total_cmp);
    let Some(width) = widths.get(widths.len() / 2) else { return "all refused".to_owned() };
    let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole as f64;
    let fits = widths.len();
    let refused: String = refused
        .iter()
        .map(|(reason, count)| format!(", {reason} {:.1} %", percent(*count, samples)))
        .collect();
    format!(
        "covers {:5.1} % (below {:4.1}, above {:4.1}), median width {width:5.1}; refused {:.1} %{refused}",
        percent(fits - below - above, fits),
        percent(below, fits),
        percent(above, fits),
        percent(samples - fits, samples),
    )
}

fn name(reason: &NoFit) -> &'static str {
    match reason {
        NoFit::NotALatency { .. } | NoFit::TooFew { .. } | NoFit::AllEqual { .. } => "input",
        NoFit::TooCoarse { .. } => "coarse",
        NoFit::NoMaximum => "no maximum",
        NoFit::TailTooShort { .. } => "short tail",
        NoFit::TailTooHeavy { .. } => "heavy tail",
        NoFit::Misfit { .. } => "misfit",
        NoFit::NoInterval => "no interval",
    }
}
