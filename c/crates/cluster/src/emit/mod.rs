//! Scripts and manifests that execute a prepared recording's shards on engines that people have already.
//!
//! Each is a text that a person reads, changes and keeps. Values of the user are quoted for the language
//! that they stand in, and cannot be more than one line.

mod github;
mod kubernetes;
mod line;
mod parallel;
mod quote;
mod slurm;
mod ssh;
mod workers;

pub use github::{GITHUB_JOBS_MAX, TooManyJobs, github};
pub use kubernetes::{PlaceError, Pods, job_name, kubernetes, place};
pub use line::{Line, LineError};
pub use parallel::parallel;
pub use slurm::slurm;
pub use ssh::ssh;
pub use workers::Workers;
