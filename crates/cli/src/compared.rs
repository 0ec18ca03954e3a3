//! Recordings that are read to be compared.

use std::path::PathBuf;

use preemptlab_analysis::{Compared, Keep};

use crate::{args::RuleArgs, exit, output::Output};

/// Reads recordings, and prints everything that makes them less comparable.
pub fn open(
    paths: &[PathBuf],
    keep: Keep,
    args: &RuleArgs,
    output: &Output,
) -> exit::Result<Compared> {
    let (compared, notices) = Compared::open(paths, keep, args.baseline.as_deref(), &args.margins)?;
    output.notices(notices);
    Ok(compared)
}
