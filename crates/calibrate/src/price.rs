//! Prices as profiles hold them.

use preemptlab_protocol::prices::Price;

/// Price of a nanosecond of the machine: a count of virtual time is one, and [`Price::ONE`] is a count.
pub const PRICE_PER_NS: f64 = Price::ONE.get() as f64;

/// Returns the price of a cost on the machine, rounded to the precision of a profile.
pub fn price(cost_ns: f64) -> Price {
    let bounded = (cost_ns * PRICE_PER_NS).round().clamp(1.0, f64::from(Price::MAX.get()));
    Price::try_from(bounded as u32).expect("it is within the bounds of a price")
}
