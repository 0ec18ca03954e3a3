use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use preemptlab_analysis::{Keep, advice::advise};
use preemptlab_lab::Config;

use crate::{
    args::{Format, QuestionArgs, RuleArgs, formats},
    compared, exit,
    output::Output,
};

/// Say which configuration to run, how sure that is, and how to put it into force
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab recommend runs/quick --require 'latency.worst<=100us' --maximize throughput
  preemptlab recommend runs/quick --require 'throughput>=95%' --minimize wakeup.other.p99
  preemptlab recommend runs/quick --among 'debian:7.3*' --require 'wakeup.max<=100us'

A limit on latency.worst or on the maximum of the real-time probe is held against the worst instant
of every replicate; samples alone can break it, and not show that it holds. One on omitted periods
is held against the largest value of all replicates, every other one against the median. % is of
the baseline's median.")]
pub struct Recommend {
    /// The recordings, and beside them histograms that cyclictest, rtla or oslat wrote on a machine
    #[arg(required = true, value_name = "RUN")]
    pub recordings: Vec<PathBuf>,
    #[command(flatten)]
    pub question: QuestionArgs,
    #[command(flatten)]
    pub rule: RuleArgs,
    /// How to print it
    #[arg(long, default_value = "table",
        value_parser = formats(FORMATS))]
    pub format: Format,
}

/// The formats of a recommendation.
const FORMATS: [Format; 5] =
    [Format::Table, Format::Brief, Format::Json, Format::Csv, Format::Markdown];

/// Recommends a configuration.
pub fn execute(args: &Recommend, config: &Config, output: &Output) -> exit::Result<ExitCode> {
    let compared = compared::open(&args.recordings, Keep::Metrics, &args.rule, config, output)?;
    let advice = advise(&compared, &args.question.question(), &[])?;
    let code = output.data(&match args.format {
        Format::Table => preemptlab_report::recommendation_terminal(&advice, output.terminal()),
        Format::Brief => preemptlab_report::recommendation_brief(&advice),
        Format::Json => preemptlab_report::recommendation_json(&advice),
        Format::Csv => preemptlab_report::recommendation_csv(&advice.recommendation),
        Format::Markdown => preemptlab_report::recommendation_markdown(&advice),
        other => return Err(other.is_not_written()),
    })?;
    Ok(match advice.recommendation.choice {
        Some(_) => code,
        None => ExitCode::from(exit::NO),
    })
}
