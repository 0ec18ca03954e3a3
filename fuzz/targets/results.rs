//! The results of a machine or of virtual time, from anybody.

#![no_main]

use libfuzzer_sys::fuzz_target;
use preemptlab_stats::{Unrelated, fidelity};

fuzz_target!(|text: &str| {
    let results = match preemptlab_experiment::results(text) {
        Ok(results) => results,
        Err(error) => {
            assert!(text.get(error.span).is_some());
            return;
        }
    };
    // Results stand beside themselves as two of one name, or as a prediction without a machine.
    let refused = fidelity(&[results.clone(), results]).expect_err("they are not two");
    assert!(matches!(refused, Unrelated::NoMachine | Unrelated::Twice(_)));
});
