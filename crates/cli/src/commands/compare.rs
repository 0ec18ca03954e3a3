use std::{path::PathBuf, process::ExitCode};

use preemptlab_recording::Recording;
use preemptlab_report::View;
use preemptlab_stats::{Baseline, Comparison, Margin, Rule};

use crate::{
    args::{Compare, Format, RuleArgs},
    commands::run::recording_failure,
    exit::{self, OrExit},
    measured, mixed,
    output::Output,
};

/// Compares recordings.
pub fn execute(args: &Compare, output: &Output) -> exit::Result<ExitCode> {
    let compared = Compared::open(&args.recordings, &args.rule, output)?;
    let comparison = compared.comparison()?;
    let view = if args.all { View::Details } else { View::Overview };
    output.data(&match args.format {
        Format::Table => preemptlab_report::terminal(&comparison, view, output.terminal()),
        Format::Json => preemptlab_report::json(&comparison),
        Format::Csv => preemptlab_report::csv(&comparison),
        Format::Markdown => preemptlab_report::markdown(&comparison, view),
    })
}

/// Recordings that can be compared, and how.
pub struct Compared {
    pub recordings: Vec<Recording>,
    baseline: Option<Baseline>,
    margin: Margin,
}

impl Compared {
    /// Opens recordings, and warns of what makes them less than comparable.
    pub fn open(paths: &[PathBuf], args: &RuleArgs, output: &Output) -> exit::Result<Self> {
        let baseline =
            args.baseline.as_deref().map(str::parse).transpose().or_exit(exit::UNUSABLE)?;
        let recordings = paths.iter().map(|path| Recording::open(path));
        let recordings = recordings.collect::<Result<Vec<_>, _>>().map_err(recording_failure)?;
        mixed::refuse(&recordings)?;
        for warning in mixed::warnings(&recordings) {
            output.warning(warning);
        }
        Ok(Self { recordings, baseline, margin: args.margin })
    }

    /// The comparison of what is finished.
    pub fn comparison(&self) -> exit::Result<Comparison> {
        let recordings: Vec<&Recording> = self.recordings.iter().collect();
        let rule =
            Rule { baseline: self.baseline.as_ref(), margin: self.margin, ..Rule::default() };
        comparison(&recordings, rule)
    }
}

/// The comparison of recordings, finished or not.
pub fn comparison(recordings: &[&Recording], rule: Rule<'_>) -> exit::Result<Comparison> {
    let cells = measured::cells(recordings).map_err(recording_failure)?;
    preemptlab_stats::compare(&cells, rule).or_exit(exit::UNUSABLE)
}
