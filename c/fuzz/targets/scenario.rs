//! A scenario's TOML.

#![no_main]

use libfuzzer_sys::fuzz_target;
use preemptlab_scenario::Scenario;

fuzz_target!(|text: &str| {
    let Ok(variants) = Scenario::parse_variants(text) else { return };
    assert!(!variants.is_empty());
    for scenario in variants {
        let _ = (scenario.name(), scenario.description(), scenario.needs_module());
        assert!(scenario.cpus() > 0);
        let _ = (scenario.script(), scenario.expectations());
    }
});
