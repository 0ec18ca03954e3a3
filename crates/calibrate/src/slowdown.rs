//! How many times slower virtual time is than the machine.

use preemptlab_protocol::prices::{Class, Price};

use crate::fit::{Costs, Observation};

/// Virtual time of a count, in nanoseconds: that of an instruction where none has a price.
const COUNT_NS: f64 = 2.0;

/// The least price of the class that most programs execute most, in 1/256 counts: rounded to whole
/// numbers, smaller ones would be off by more than 3 %.
const COMMON_PRICE_MIN: f64 = 16.0;

/// The largest slowdown of a profile.
const SLOWDOWN_MAX: u32 = 64;

/// Chooses the slowdown: the power of two with which a mean instruction of the benchmarks costs about one
/// count, so that time passes about as instructions do, and common prices lose little by rounding. Only a
/// power of two, so that two calibrations of a machine come to the same.
pub fn slowdown(observations: &[Observation<'_>], costs: &Costs) -> u32 {
    let mean_ns = |observation: &Observation<'_>| {
        (observation.machine_ns / observation.counts.iter().sum::<f64>()).ln()
    };
    let sum: f64 = observations.iter().map(mean_ns).sum();
    let instruction_ns = (sum / observations.len().max(1) as f64).exp();
    let nearest = (COUNT_NS / instruction_ns).log2().round().exp2();
    let common = price(costs[Class::UserPlain.index()], 1);
    let finest = (COMMON_PRICE_MIN / common).max(1.0).log2().ceil().exp2();
    (nearest.max(finest) as u32).clamp(1, SLOWDOWN_MAX)
}

/// Returns what a cost is in 1/256 counts, before it is rounded.
pub fn price(cost_ns: f64, slowdown: u32) -> f64 {
    cost_ns * f64::from(slowdown) / COUNT_NS * f64::from(Price::ONE.get())
}

/// Rounds a price to what a profile can hold.
pub fn rounded(price: f64) -> Price {
    let most = f64::from(Price::MAX.get());
    Price::try_from(price.round().clamp(1.0, most) as u32).unwrap_or(Price::MAX)
}
