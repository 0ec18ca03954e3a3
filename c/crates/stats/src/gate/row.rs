//! A metric at a place.

use preemptlab_model::Metric;

use super::{GatePlace, GateRow, scale::Scale};
use crate::{
    Interval, Margin, REPLICATES_MIN, Resolution, Verdict,
    student::{upper_quantile, upper_tail},
};

/// Largest probability of calling a metric within its margin that is worse by the whole of it.
const BETA: f64 = 0.05;

/// Values of a metric of both kernels at the same seeds.
pub struct Pairs {
    /// Metric, with one of its values.
    pub metric: Metric,
    /// The base's value and the new kernel's, by seed.
    pub values: Vec<(f64, f64)>,
    /// Number of seeds at which only one kernel has a value: nothing happened with the other.
    pub lacking: usize,
}

/// Judges a metric. `spent` is the share of its error rates that this look may spend, `alpha` the
/// probability of finding it worse where it is not, over all looks.
pub fn row(
    place: &GatePlace,
    pairs: &Pairs,
    margin: Margin,
    alpha: f64,
    spent: f64,
) -> Option<GateRow> {
    let Metric { name, unit, direction, resolution, .. } = &pairs.metric;
    let scale = Scale::new(margin, unit, *direction);
    let (base, new): (Vec<f64>, Vec<f64>) = pairs.values.iter().copied().unzip();
    let changes: Option<Vec<f64>> =
        pairs.values.iter().map(|(base, new)| scale.worse(*base, *new)).collect();
    let (base_mean, new_mean) = (mean(&base)?, mean(&new)?);
    let n = pairs.values.len();
    // Both kernels' values are known to a step.
    let step = scale.step(base_mean.abs().min(new_mean.abs()), *resolution);
    let judged = changes.as_deref().and_then(|changes| judge(changes, scale, step, alpha, spent));
    let (change, interval, p, verdict) = judged.unwrap_or_else(|| {
        let more = u32::try_from(REPLICATES_MIN.saturating_sub(n)).ok().filter(|more| *more > 0);
        let change = scale.worse(base_mean, new_mean).map_or(0.0, |worse| scale.change(worse));
        (change, None, 1.0, Verdict::Undecided { more })
    });
    let verdict = match pairs.lacking {
        0 => verdict,
        // The seeds at which something happened do not stand for all.
        _ => Verdict::Undecided { more: None },
    };
    Some(GateRow {
        place: place.clone(),
        metric: name.clone(),
        title: name.title(),
        unit: unit.clone(),
        better: *direction,
        base: base_mean,
        base_deviation: deviation(&base),
        new: new_mean,
        new_deviation: deviation(&new),
        change,
        interval,
        margin,
        pairs: n,
        p,
        verdict,
    })
}

/// Returns the change, its interval, its probability and the verdict; `None` for too few pairs.
fn judge(
    changes: &[f64],
    scale: Scale,
    step: f64,
    alpha: f64,
    spent: f64,
) -> Option<(f64, Option<Interval>, f64, Verdict)> {
    let n = changes.len();
    if n < REPLICATES_MIN {
        return None;
    }
    let (worse, margin) = (mean(changes)?, scale.margin());
    let degrees = n as f64 - 1.0;
    let error = deviation(changes) / (n as f64).sqrt();
    let reach = |probability: f64| upper_quantile(probability, degrees) * error;
    let [to_fail, to_pass] = [reach(alpha * spent), reach(BETA * spent)];
    let p = match error {
        0.0 if worse > 0.0 => 0.0,
        0.0 => 1.0,
        _ => upper_tail(worse / error, degrees),
    };
    let told = Resolution::new(step);
    let all = |reach: f64| Interval { low: worse - reach, high: worse + reach };
    let verdict = if worse + to_pass + step < margin {
        match told.shows(all(to_fail)) && worse + to_fail < 0.0 && worse <= -margin / 2.0 {
            true => Verdict::Better,
            false => Verdict::WithinMargin,
        }
    } else if told.shows(all(to_fail)) && worse - to_fail > 0.0 {
        Verdict::Worse
    } else if told.hides_all(all(to_pass.max(to_fail))) {
        Verdict::WithinResolution
    } else {
        Verdict::Undecided { more: more(n, worse, margin, to_fail, to_pass) }
    };
    let half = reach(0.025) + step;
    let ends = [scale.change(worse - half), scale.change(worse + half)];
    let interval = Interval { low: ends[0].min(ends[1]), high: ends[0].max(ends[1]) };
    Some((scale.change(worse), Some(interval), p, verdict))
}

/// Estimates how many more pairs decide it: a reach shrinks with the root of their number.
fn more(n: usize, worse: f64, margin: f64, to_fail: f64, to_pass: f64) -> Option<u32> {
    let wanted = |reach: f64, distance: f64| {
        (distance > 0.0).then(|| n as f64 * (reach / distance) * (reach / distance))
    };
    let least = [wanted(to_fail, worse), wanted(to_pass, margin - worse)];
    let least = least.into_iter().flatten().reduce(f64::min)?;
    let more = (least.ceil() - n as f64).max(1.0);
    more.is_finite().then(|| more.min(f64::from(u32::MAX)) as u32)
}

pub fn mean(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    mean.is_finite().then_some(mean)
}

/// Returns the standard deviation of a sample; zero for a single value.
pub fn deviation(values: &[f64]) -> f64 {
    let Some(mean) = mean(values).filter(|_| values.len() > 1) else { return 0.0 };
    if values.iter().all(|value| *value == values[0]) {
        // Equal values must not differ by rounding.
        return 0.0;
    }
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (squares / (values.len() as f64 - 1.0)).sqrt()
}
