//! The data of the pictures.

use preemptlab_model::{PreemptMode, plain};

/// The latencies of one configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyCurve {
    /// Kernel of the configuration, with its settings.
    pub kernel: String,
    /// Its mode.
    pub preempt: PreemptMode,
    /// Latencies in microseconds, ascending, with the share of instants that are later.
    pub later: Vec<(f64, f64)>,
    /// The worst instant, in microseconds.
    pub worst_us: f64,
}

/// The latencies of a workload's configurations.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyCurves {
    /// Workload, number of CPUs and machine.
    pub title: String,
    /// A curve for each configuration.
    pub curves: Vec<LatencyCurve>,
}

impl LatencyCurve {
    /// Returns the name of the configuration.
    pub(super) fn name(&self) -> String {
        plain::line(&format!("{} {}", self.kernel, self.preempt)).into_owned()
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    pub fn curves() -> LatencyCurves {
        let curve = |kernel: &str, preempt, factor: f64| LatencyCurve {
            kernel: kernel.to_owned(),
            preempt,
            later: vec![
                (1.0, 1.0),
                (2.0 * factor, 1e-2),
                (20.0 * factor, 1e-3),
                (90.0 * factor, 1e-5),
                (100.0 * factor, 0.0),
            ],
            worst_us: 95.0 * factor,
        };
        LatencyCurves {
            title: "memory <&> on 1 CPU".to_owned(),
            curves: vec![
                curve("debian:6.12", PreemptMode::None, 10.0),
                curve("debian:6.12", PreemptMode::Full, 1.0),
                curve("debian:7.3", PreemptMode::Lazy, 0.1),
            ],
        }
    }
}
