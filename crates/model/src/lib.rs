//! The nouns of preemptlab: preemption modes, kernels, machines, cells, their outcomes and metrics.
//!
//! Nothing here does I/O. The types of a recording are defined here or in `preemptlab-protocol`,
//! and their version is [`RECORDING_FORMAT`].

mod arch;
mod backend;
mod cell;
mod cell_cost;
mod clocks;
mod conditions;
mod cost;
mod counted;
mod cpus;
mod digest;
mod distro;
mod flavour;
mod histogram;
mod kconfig;
mod kernel;
mod label;
mod machine;
mod measured;
mod metric;
mod metric_roles;
mod metric_words;
mod name;
pub mod number;
mod outcome;
mod package;
pub mod plain;
mod plan;
mod precaution;
mod preempt;
mod probe;
mod profile;
mod qemu;
mod results;
mod schema;
mod seal;
mod settable;
mod settings;
mod shard;
mod suggest;
mod symbols;
mod text;
mod topology;
mod units;
mod version;
mod wording;

pub use arch::{Arch, ParseArchError, Platform};
pub use backend::{BackendKind, ParseBackendError};
pub use cell::{CellId, CellInputs, Factors, SnapshotId, SnapshotInputs, TookTurns, of_machine};
pub use cell_cost::{CellCost, Checked, PricesOf};
pub use clocks::{Clocks, Lookahead, LookaheadError};
pub use conditions::Conditions;
pub use cost::{InstructionCost, InstructionCostError};
pub use counted::counted;
pub use cpus::{CpuList, CpuListError, Cpus, IsolatedCpus, without_flags};
pub use digest::{Digest, ParseDigestError};
pub use distro::Distro;
pub use flavour::Flavour;
pub use histogram::{Histogram, Ranked};
pub use kconfig::KernelConfig;
pub use kernel::{
    ConfigBase, Configured, Kernel, KernelRef, KernelSource, ParseKernelRefError, is_release,
};
pub use label::Label;
pub use machine::Machine;
pub use measured::{Instants, MeasuredCell, Section};
pub use metric::{Direction, Distribution, Metric, MetricClass, MetricName, Statistic, WakeupPart};
pub use metric_roles::Role;
pub use name::Name;
pub use outcome::{CellRecord, FailureCause, NoResult, Outcome};
pub use package::{Package, PackageName, PackageVersion};
pub use plan::{Plan, Planned, PlannedCell};
pub use precaution::Precaution;
pub use preempt::{ModeFile, ParseModeError, PreemptMode, is_rt};
pub use probe::{Declaration, Probe, ProbeProcess, WORKS_AFTER_NS, Woken};
pub use profile::{
    Check, Fit, GuestCpu, MachineText, PairError, Pricing, PricingRules, PricingRulesError,
    Profile, ProfileFormat, ProfileFormatError,
};
pub use qemu::QemuBuild;
pub use results::{
    FifoWakeups, MeasuredMachine, Prediction, Release, Replicates, Results, ResultsError,
    ResultsOf, WorkloadResults,
};
pub use seal::{BrokenSeal, seal, unseal};
pub use settable::{NotSettable, settable, sysctls};
pub use settings::{
    DebugfsPath, ParameterName, ParseSettingError, Setting, Settings, SysctlName, Value,
};
pub use shard::{ParseShardError, Shard};
pub use suggest::nearest;
pub use symbols::{SymbolValue, Symbols};
pub use text::ParseTextError;
pub use topology::{Caches, Sharing, Topology, TopologyError};
pub use units::{HOST_UNITS, ParseTimeError, VIRTUAL_UNITS, VirtualDuration, parse_ns, unit_ns};
pub use version::{kernel_order, series};
pub use wording::in_words_of_files;

/// The version of everything in a recording. A reader refuses a newer one.
pub const RECORDING_FORMAT: u32 = 3;

/// The oldest version that is read. Its files have no [`seal`].
pub const RECORDING_FORMAT_MIN: u32 = 2;
