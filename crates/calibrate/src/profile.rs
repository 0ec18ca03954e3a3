//! The file that a calibration leaves.

use preemptlab_model::{Arch, Name};
use preemptlab_protocol::prices::{Class, Prices};
use serde::Serialize;

use crate::{Calibration, Errors};

/// A profile of a machine, as TOML has it.
#[derive(Serialize)]
struct Document<'a> {
    format: u32,
    name: &'a Name,
    arch: Arch,
    machine: &'a str,
    slowdown: u32,
    fit: Fit,
    prices: &'a Prices,
}

#[derive(Serialize)]
struct Fit {
    benchmarks: u32,
    error_percent_mean: u32,
    error_percent_max: u32,
    held_out: u32,
    held_out_error_percent_mean: u32,
    held_out_error_percent_max: u32,
    undetermined: Vec<Class>,
}

impl Calibration {
    /// Writes the profile of the machine as TOML.
    pub fn profile(&self, name: &Name, machine: &str) -> String {
        let Errors { benchmarks, mean_percent, max_percent } = self.errors(false);
        let held_out = self.errors(true);
        let document = Document {
            format: 1,
            name,
            arch: Arch::Amd64,
            machine,
            slowdown: self.slowdown,
            fit: Fit {
                benchmarks,
                error_percent_mean: mean_percent,
                error_percent_max: max_percent,
                held_out: held_out.benchmarks,
                held_out_error_percent_mean: held_out.mean_percent,
                held_out_error_percent_max: held_out.max_percent,
                undetermined: self.undetermined(),
            },
            prices: &self.prices,
        };
        toml::to_string(&document).expect("a profile has a TOML form")
    }
}
