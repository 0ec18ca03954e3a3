//! The profile that a calibration leaves.

use preemptlab_model::{Fit, GuestCpu, MachineText, Name, Profile, ProfileFormat};
use preemptlab_protocol::caches::Caches;

use crate::{Calibration, Stolen};

impl Calibration {
    /// Returns the profile of the machine, with its caches where they are known and the time that is stolen from it.
    pub fn profile(
        &self,
        name: Name,
        machine: MachineText,
        cpu: Option<GuestCpu>,
        caches: Option<Caches>,
        stolen: &Stolen,
    ) -> Profile {
        let fitted = self.errors(false);
        let held_out = self.errors(true);
        Profile {
            format: ProfileFormat,
            name,
            arch: self.arch,
            machine,
            cpu,
            check: None,
            caches,
            stolen: stolen.modelled(),
            fit: Some(Fit {
                benchmarks: fitted.benchmarks,
                error_percent_mean: fitted.mean_percent,
                error_percent_max: fitted.max_percent,
                held_out: held_out.benchmarks,
                held_out_error_percent_mean: held_out.mean_percent,
                held_out_error_percent_max: held_out.max_percent,
                undetermined: self.undetermined(),
            }),
            prices: self.prices.clone(),
        }
    }
}
