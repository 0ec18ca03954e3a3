//! A profile's TOML: a machine's prices, from anybody.

#![no_main]

use libfuzzer_sys::fuzz_target;
use preemptlab_model::Profile;
use preemptlab_protocol::prices::{Class, Price};

fuzz_target!(|text: &str| {
    let profile = match preemptlab_experiment::profile(text) {
        Ok(profile) => profile,
        Err(error) => {
            assert!(text.get(error.span).is_some());
            return;
        }
    };
    // A price of 0 would stop time, and one beyond the largest overflow a block's sum.
    for class in Class::ALL {
        assert!((1..=Price::MAX.get()).contains(&profile.prices.of(*class).get()));
    }
    // A recording keeps it as JSON.
    let json = serde_json::to_vec(&profile).expect("it has a JSON form");
    assert_eq!(serde_json::from_slice::<Profile>(&json).ok(), Some(profile));
});
