//! Slurm: one `sbatch --array` a submission, `squeue` rarely, never `sacct`.
//!
//! The commands are Slurm's own (sbatch(1), squeue(1), scancel(1), scontrol(1), sinfo(1)); their
//! arguments are never read by a shell.

mod answers;
mod arguments;
mod refusal;
mod script;
mod submit;

pub use arguments::{Arguments, ArgumentsError};
pub use submit::Slurm;
