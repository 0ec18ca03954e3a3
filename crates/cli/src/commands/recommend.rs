use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use preemptlab_analysis::{
    Error,
    advice::{advice, refuse_mixed_time},
    measured,
};

use crate::{
    args::{Format, QuestionArgs, RuleArgs},
    commands::compare,
    exit,
    output::Output,
};

/// Say which configuration to run, how sure that is, and how to put it into force
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab recommend runs/quick --require 'wakeup.max<=100us' --maximize throughput
  preemptlab recommend runs/quick --require 'throughput>=95%' --minimize wakeup.other.p99

A limit on a maximum, on wakeup.bound or on omitted periods is held against the largest value of
all replicates, every other one against the median. % is of the baseline's median.")]
pub struct Recommend {
    /// The recordings
    #[arg(required = true, value_name = "RUN")]
    pub recordings: Vec<PathBuf>,
    #[command(flatten)]
    pub question: QuestionArgs,
    #[command(flatten)]
    pub rule: RuleArgs,
    /// How to print it
    #[arg(long, default_value = "table")]
    pub format: Format,
}

/// Recommends a configuration.
pub fn execute(args: &Recommend, output: &Output) -> exit::Result<ExitCode> {
    let compared = compare::open(&args.recordings, &args.rule, output)?;
    refuse_mixed_time(&compared.recordings())?;
    let cells = measured::cells(&compared.recordings())?;
    let rule = compared.rule();
    let question = args.question.question();
    let recommendation =
        preemptlab_stats::recommend(&cells, rule, &question).map_err(Error::from)?;
    let advice = advice(&recommendation, &compared.recordings(), rule, &[]);
    let code = output.data(&match args.format {
        Format::Table => preemptlab_report::recommendation_terminal(&advice, output.terminal()),
        Format::Json => preemptlab_report::recommendation_json(&advice),
        Format::Csv => preemptlab_report::recommendation_csv(&recommendation),
        Format::Markdown => preemptlab_report::recommendation_markdown(&advice),
    })?;
    Ok(match recommendation.choice {
        Some(_) => code,
        None => ExitCode::from(exit::NO),
    })
}
