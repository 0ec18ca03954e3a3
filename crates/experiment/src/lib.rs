//! From an experiment's TOML text to the plan of its cells. Nothing here does I/O: facts from
//! outside (the kernel that a name stands for, the image) come in as [`Resolved`].

mod arch;
mod check;
mod definition;
mod derived;
mod error;
mod evidence;
mod example;
mod experiment;
mod foreseen;
mod level;
mod machine;
mod memory;
mod overrides;
mod plan;
mod profile;
mod recorded;
mod repeated;
mod results;

pub use definition::definition;
pub use derived::{Derived, NotOfExperiment};
pub use error::SpecError;
pub use evidence::{is_known_parameter, is_shown_by_cmdline_alone};
pub use experiment::{Experiment, FORMAT, Factors, Replicates};
pub use level::{KernelLevel, ParseKernelLevelError, split_label};
pub use machine::MachineSpec;
pub use overrides::Overrides;
pub use plan::{Resolved, configurations, plan, replicate};
pub use profile::{CostSource, INSTRUCTIONS, profile, shipped_profiles};
pub use recorded::{
    Manifest, PartWriter, Recording, RecordingWriter, add_replicates, manifest, manifest_on,
};
pub use repeated::{Repeated, RepeatedFiles};
pub use results::results;
