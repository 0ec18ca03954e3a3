//! The available kernels, and the models that each of them offers.

use preemptlab_model::{KernelConfig, KernelRef};
use schemars::JsonSchema;
use serde::Serialize;

/// Options of kernels: symbol, name, letter in tables.
pub const OPTIONS: [(&str, &str, &str); 5] = [
    ("NO_HZ_FULL", "nohz_full", "F"),
    ("RCU_NOCB_CPU", "rcu_nocbs", "N"),
    ("RCU_LAZY", "rcu_lazy", "L"),
    ("RCU_BOOST", "rcu_boost", "B"),
    ("SCHED_AUTOGROUP", "autogroup", "A"),
];

/// Tracers of latency: symbol, name.
const TRACERS: [(&str, &str); 4] = [
    ("OSNOISE_TRACER", "osnoise"),
    ("TIMERLAT_TRACER", "timerlat"),
    ("IRQSOFF_TRACER", "irqsoff"),
    ("PREEMPT_TRACER", "preemptoff"),
];

/// A kernel that can be had.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OfferedKernel {
    /// Name of the newest kernel of its series.
    pub name: String,
    /// Name of exactly this kernel.
    pub exact_name: String,
    /// Version of its package.
    pub version: String,
    /// `uname -r`.
    pub release: String,
    /// Configuration, where it was read.
    pub config: Option<OfferedConfig>,
    /// Reason why the configuration was not read.
    pub reason: Option<String>,
}

/// Configuration of a kernel, as far as latency depends on it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OfferedConfig {
    /// Preemption modes.
    pub modes: Vec<&'static str>,
    /// Mode of a boot that names none.
    pub default_mode: Option<&'static str>,
    /// Whether the mode can be changed at run time.
    pub dynamic: bool,
    /// Whether the kernel has PREEMPT_RT.
    pub rt: bool,
    /// Frequency of the tick, in hertz.
    pub hz: Option<u32>,
    /// Names of the options that it has, of [`OPTIONS`].
    pub options: Vec<&'static str>,
    /// Names of its tracers of latency.
    pub tracers: Vec<&'static str>,
}

/// The kernels that can be had, as a document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Offers {
    /// Version of the document.
    pub format: u32,
    /// Kernels, the newest series first.
    pub kernels: Vec<OfferedKernel>,
}

impl OfferedKernel {
    /// Describes a kernel by the name of its series, its exact name, its version and its release, and,
    /// where that is looked at, by its configuration or why there is none.
    pub fn new(
        series: &KernelRef,
        exact: &KernelRef,
        version: &str,
        release: String,
        config: Option<&Result<KernelConfig, String>>,
    ) -> Self {
        Self {
            name: series.to_string(),
            exact_name: exact.to_string(),
            version: version.to_owned(),
            release,
            config: config.and_then(|config| config.as_ref().ok()).map(describe),
            reason: config.and_then(|config| config.as_ref().err()).cloned(),
        }
    }
}

impl Offers {
    /// Lists kernels.
    pub fn new(kernels: Vec<OfferedKernel>) -> Self {
        Self { format: 1, kernels }
    }
}

fn describe(config: &KernelConfig) -> OfferedConfig {
    let options = OPTIONS.iter().filter(|(symbol, ..)| config.is_builtin(symbol));
    let tracers = TRACERS.iter().filter(|(symbol, _)| config.is_builtin(symbol));
    OfferedConfig {
        modes: config.offered_modes().into_iter().map(|mode| mode.as_str()).collect(),
        default_mode: config.default_mode().map(|mode| mode.as_str()),
        dynamic: config.is_dynamic(),
        rt: config.is_rt(),
        hz: config.hz(),
        options: options.map(|(_, name, _)| *name).collect(),
        tracers: tracers.map(|(_, name)| *name).collect(),
    }
}
