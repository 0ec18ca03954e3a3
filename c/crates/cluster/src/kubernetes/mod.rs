//! Kubernetes: one Indexed Job a submission through `kubectl create`, `kubectl get job` rarely.
//!
//! Kubernetes itself gives the shard of a failed pod to another one, up to three times; a round submits the
//! whole plan again for shards that lack cells even then. The pods of finished shards end at once.

mod answers;
mod options;
mod refusal;
mod submit;

pub use options::{Options, OptionsError};
pub use submit::Kubernetes;
