use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use preemptlab_analysis::{disturbed, measured, mixed, unsound};
use preemptlab_recording::Recording;
use preemptlab_report::View;
use preemptlab_stats::{Baseline, Comparison, Looks, Margin, MeasuredCell, Rule};

use crate::{
    args::{Format, RuleArgs},
    exit::{self, OrExit},
    output::Output,
};

/// Compare the configurations of recordings
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab compare runs/quick
  preemptlab compare runs/quick --baseline debian:6.12/full
  preemptlab compare runs/quick --format markdown")]
pub struct Compare {
    /// The recordings
    #[arg(required = true, value_name = "RUN")]
    pub recordings: Vec<PathBuf>,
    #[command(flatten)]
    pub rule: RuleArgs,
    /// Show every metric with its spread, not only the most telling ones
    #[arg(long)]
    pub all: bool,
    /// How to print it
    #[arg(long, default_value = "table")]
    pub format: Format,
}

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
    /// Opens recordings, and warns of what makes them less than comparable. What the options do not
    /// say is as it was when replicates were added with `run --until`.
    pub fn open(paths: &[PathBuf], args: &RuleArgs, output: &Output) -> exit::Result<Self> {
        let recordings = paths.iter().map(|path| Recording::open(path));
        let recordings = recordings.collect::<Result<Vec<_>, _>>()?;
        mixed::refuse(&recordings)?;
        for warning in mixed::warnings(&recordings) {
            output.warning(warning);
        }
        let borrowed: Vec<&Recording> = recordings.iter().collect();
        for note in disturbed::notes(&borrowed)? {
            output.note(note);
        }
        for note in unsound::notes(&borrowed)? {
            output.warning(note);
        }
        let until = recordings.iter().find_map(Recording::until);
        let baseline = args.baseline.as_ref().or(until.and_then(|until| until.baseline.as_ref()));
        let margin = until.and_then(|until| Margin::new(until.margin));
        Ok(Self {
            baseline: baseline.map(|text| text.parse()).transpose().or_exit(exit::UNUSABLE)?,
            margin: args.margin.or(margin).unwrap_or_default(),
            recordings,
        })
    }

    /// The comparison of what is finished.
    pub fn comparison(&self) -> exit::Result<Comparison> {
        comparison(&self.recordings(), self.baseline.as_ref(), self.margin)
    }

    /// The same, of cells that were read already.
    pub fn comparison_of(&self, cells: &[MeasuredCell]) -> exit::Result<Comparison> {
        related(cells, &self.recordings(), self.baseline.as_ref(), self.margin)
    }

    /// How they are compared.
    pub fn rule(&self) -> Rule<'_> {
        rule(&self.recordings(), self.baseline.as_ref(), self.margin)
    }

    /// The recordings.
    pub fn recordings(&self) -> Vec<&Recording> {
        self.recordings.iter().collect()
    }
}

/// The comparison of recordings, finished or not.
pub fn comparison(
    recordings: &[&Recording],
    baseline: Option<&Baseline>,
    margin: Margin,
) -> exit::Result<Comparison> {
    let cells = measured::cells(recordings)?;
    related(&cells, recordings, baseline, margin)
}

fn related(
    cells: &[MeasuredCell],
    recordings: &[&Recording],
    baseline: Option<&Baseline>,
    margin: Margin,
) -> exit::Result<Comparison> {
    preemptlab_stats::compare(cells, rule(recordings, baseline, margin)).or_exit(exit::UNUSABLE)
}

fn rule<'a>(recordings: &[&Recording], baseline: Option<&'a Baseline>, margin: Margin) -> Rule<'a> {
    let has_looks = recordings.iter().any(|recording| recording.until().is_some());
    Rule { baseline, margin, looks: if has_looks { Looks::Any } else { Looks::One } }
}
