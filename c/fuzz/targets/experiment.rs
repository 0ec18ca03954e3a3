//! An experiment's TOML.

#![no_main]

use libfuzzer_sys::fuzz_target;
use preemptlab_experiment::Experiment;

fuzz_target!(|text: &str| {
    let experiment = match Experiment::parse(text) {
        Ok(experiment) => experiment,
        Err(error) => {
            assert!(text.get(error.span).is_some());
            return;
        }
    };
    for workload in experiment.workload.values() {
        let guest = experiment.machine.arch;
        let _ = (workload.packages(guest), workload.assumed_packages(), workload.prepare(guest));
        let _ = workload.virtual_time_estimate();
    }
    // A recording keeps it as JSON.
    let json = serde_json::to_vec(&experiment).expect("it has a JSON form");
    if let Ok(again) = serde_json::from_slice::<Experiment>(&json) {
        assert_eq!(again, experiment);
    }
});
