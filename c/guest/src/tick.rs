use alloc::format;

use preemptlab_protocol::Activity;

use crate::{
    clock::NS_PER_SEC,
    trouble::{Result, Trouble},
};

/// Checks that the kernel's clock ticked at a frequency: one tick may lie on either side of each
/// end of the window, and an idle CPU catches up late.
pub fn check(hz: u32, activity: &Activity, window_ns: u64) -> Result<()> {
    let Some(ticks) = activity.jiffies else { return Ok(()) };
    let expected = u128::from(window_ns) * u128::from(hz) / u128::from(NS_PER_SEC);
    let expected = expected.min(u64::MAX.into()) as u64;
    if ticks.abs_diff(expected) <= 2 + expected / 50 {
        return Ok(());
    }
    Err(Trouble::other(format!(
        "the kernel ticked {ticks} times in {window_ns} ns, not {expected} times as with HZ={hz}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_more_or_less_is_no_other_frequency() {
        let ticked = |jiffies| Activity { jiffies: Some(jiffies), ..Activity::default() };
        for ticks in [249, 250, 252] {
            check(250, &ticked(ticks), NS_PER_SEC).unwrap();
        }
        for ticks in [100, 300, 1000] {
            assert!(check(250, &ticked(ticks), NS_PER_SEC).is_err());
        }
        check(250, &Activity::default(), NS_PER_SEC).unwrap();
    }
}
