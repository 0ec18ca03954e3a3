//! `run --sensitivity`: an experiment under several costs of instructions, and which of its verdicts depend
//! on them.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use preemptlab_analysis::{available::unmeasured, mixed, unsound};
use preemptlab_experiment::{CostSource, Recording};
use preemptlab_report::View;
use preemptlab_runner::Summary;
use preemptlab_stats::Baseline;

use crate::{
    exit, finished,
    lab::{self, Wanted},
    output::Output,
};

/// Another cost of instructions.
#[derive(Args, Debug)]
pub struct SensitivityArgs {
    /// Execute the experiment under its own cost of instructions and under another, into FOLDER and
    /// FOLDER-PROFILE, and show which verdicts depend on it: the name or the file of a profile, or
    /// `instructions` [default: the profiles that preemptlab has and the experiment does not use]
    #[arg(long, value_name = "PROFILE", num_args = 0..=1, require_equals = true,
        conflicts_with_all = ["until", "shard", "prepare", "emit", "detach", "attach"])]
    pub sensitivity: Option<Option<String>>,
}

/// Returns the experiment under each cost, its own first, with the folders of the recordings.
pub fn variants(
    own: Wanted,
    named: Option<&str>,
    out: &Path,
) -> exit::Result<Vec<(Wanted, PathBuf)>> {
    let others = match named {
        Some(named) => vec![lab::cost(named)?],
        None => own.experiment.other_costs(),
    };
    let mut variants = Vec::new();
    for cost in others {
        let out = beside(out, &cost)?;
        let under = own.experiment.under_cost(cost, &own.overrides);
        let (experiment, overrides) = under.map_err(exit::unusable)?;
        let folders = own.folders.clone();
        variants.push((Wanted { experiment, folders, overrides }, out));
    }
    variants.insert(0, (own, out.to_owned()));
    Ok(variants)
}

/// Returns the folder of the recording under another cost.
fn beside(out: &Path, cost: &CostSource) -> exit::Result<PathBuf> {
    let Some(name) = out.file_name() else {
        return Err(exit::unusable(format!(
            "{} has no name that the folder beside it could begin with: name another with --out",
            out.display()
        )));
    };
    let mut name = name.to_owned();
    name.push(format!("-{}", cost.name()));
    Ok(out.with_file_name(name))
}

/// Shows what the recordings say beside each other.
pub fn compare(
    baseline: Option<&Baseline>,
    folders: &[PathBuf],
    summaries: &[Summary],
    output: &Output,
) -> exit::Result<ExitCode> {
    let recordings = folders.iter().map(|folder| Recording::open(folder));
    let recordings: Vec<Recording> = recordings.collect::<Result<_, _>>()?;
    for (recording, summary) in recordings.iter().zip(summaries) {
        finished::tell(summary, recording, output);
        if (summary.completed, summary.failed) == (0, 0) {
            return Err(unmeasured(recording).into());
        }
    }
    let borrowed: Vec<&Recording> = recordings.iter().collect();
    let builds = borrowed[1..].iter().filter_map(|other| mixed::other_builds(borrowed[0], other));
    for warning in builds.chain(unsound::notes(&borrowed)?) {
        output.warning(warning);
    }
    let comparison = finished::comparison(baseline, &borrowed)?;
    output.data(&preemptlab_report::terminal(&comparison, View::Overview, output.terminal()))?;
    if comparison.agreements.is_empty() {
        output.note(
            "no ratio was measured under two costs: it takes two configurations of a workload",
        );
    }
    let names: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
    output.note(format!("next: preemptlab compare {} --all", names.join(" ")));
    Ok(ExitCode::from(summaries.iter().map(finished::code).max().unwrap_or(exit::OK)))
}
