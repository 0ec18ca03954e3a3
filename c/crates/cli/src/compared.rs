//! Recordings that are read to be compared.

use std::path::PathBuf;

use preemptlab_analysis::{Compared, GivenRule, Keep};
use preemptlab_lab::Config;

use crate::{args::RuleArgs, exit, output::Output};

/// Reads recordings, and prints everything that makes them less comparable.
pub fn open(
    paths: &[PathBuf],
    keep: Keep,
    args: &RuleArgs,
    config: &Config,
    output: &Output,
) -> exit::Result<Compared> {
    let given = GivenRule {
        baseline: args.baseline.as_deref(),
        margins: &args.margins,
        margins_usual: config.margins(),
    };
    let (compared, notices) = Compared::open(paths, keep, given)?;
    output.notices(notices);
    Ok(compared)
}
