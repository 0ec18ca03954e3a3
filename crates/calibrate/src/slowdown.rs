//! How many times slower virtual time is than the machine.

use preemptlab_model::Slowdown;
use preemptlab_protocol::prices::{Class, Price};

use crate::fit::{Costs, Observation};

/// Virtual time of a count, in nanoseconds: that of an instruction where none has a price.
const COUNT_NS: f64 = 2.0;

/// The least price of the class that most programs execute most, in 1/256 counts: rounded to whole
/// numbers, smaller ones would be off by more than 3 %.
const COMMON_PRICE_MIN: f64 = 16.0;

/// The largest slowdown that is chosen; a machine that needs more is slower than any of these years.
const SLOWDOWN_MAX: f64 = 64.0;

/// Classes of which nearly all of the kernel's instructions are.
const KERNEL: [Class; 3] = [Class::KernelPlain, Class::KernelMemory, Class::KernelBranch];

/// Chooses the slowdown: the largest power of two with which a mean instruction of the kernel costs no more
/// than one count. Time then passes about as instructions do, where experiments spend most of theirs, and
/// common prices lose little by rounding. It is a power of two so that two calibrations of a machine come to
/// the same one.
pub fn slowdown(observations: &[Observation<'_>], costs: &Costs) -> Slowdown {
    let instructions = |observation: &Observation<'_>| observation.counts.iter().sum::<f64>();
    let of_kernel = |observation: &&Observation<'_>| {
        let kernel: f64 = KERNEL.iter().map(|class| observation.counts[class.index()]).sum();
        kernel > instructions(observation) / 2.0
    };
    let means: Vec<f64> = observations
        .iter()
        .filter(of_kernel)
        .map(|observation| (observation.machine_ns / instructions(observation)).ln())
        .collect();
    let instruction_ns = (means.iter().sum::<f64>() / means.len().max(1) as f64).exp();
    let largest = (COUNT_NS / instruction_ns).log2().floor().exp2();
    let common = COMMON_PRICE_MIN / (costs[Class::UserPlain.index()] * PRICE_PER_NS);
    let finest = common.log2().ceil().exp2();
    Slowdown::try_from(largest.max(finest).clamp(1.0, SLOWDOWN_MAX) as u32)
        .expect("it is within the bounds of a slowdown")
}

/// Price of a nanosecond of a machine that virtual time is as fast as.
const PRICE_PER_NS: f64 = Price::ONE.get() as f64 / COUNT_NS;

/// Returns the price of what costs so much on the machine, rounded to what a profile can hold.
pub fn price(cost_ns: f64, slowdown: Slowdown) -> Price {
    let price = cost_ns * f64::from(slowdown.get()) * PRICE_PER_NS;
    let bounded = price.round().clamp(1.0, f64::from(Price::MAX.get()));
    Price::try_from(bounded as u32).expect("it is within the bounds of a price")
}
