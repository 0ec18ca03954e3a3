use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, ValueEnum};
use preemptlab_analysis::{Keep, advice::advise, meant};
use preemptlab_report::{
    form, in_words, letter,
    page::{html, page_data},
    recommendation_in_words,
};

use crate::{
    apart,
    args::{QuestionArgs, RuleArgs, written_path},
    commands::compare,
    exit,
    output::Output,
};

/// Write a report that people look at: one HTML file, or Markdown
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab report runs/quick -o report.html
  preemptlab report runs/quick --require 'wakeup.max<=100us' --maximize throughput
  preemptlab report runs/quick --format markdown
  preemptlab report runs/quick --template page.md.j2 --out page.md

The page works from a disk, without a network.")]
pub struct Report {
    /// The recordings, and histograms of machines beside them
    #[arg(required = true, value_name = "RUN")]
    pub recordings: Vec<PathBuf>,
    #[command(flatten)]
    pub question: QuestionArgs,
    #[command(flatten)]
    pub rule: RuleArgs,
    /// How to write it
    #[arg(long, default_value = "html")]
    pub format: ReportFormat,
    /// Fill this template instead: text with places for numbers; docs/template.md describes them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "requirements", "maximize", "minimize", "among"])]
    pub template: Option<PathBuf>,
    /// The file to write to [default: report.html; Markdown goes to standard output]
    #[arg(long, short, value_name = "FILE", value_parser = written_path())]
    pub out: Option<PathBuf>,
}

/// Forms of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// One page that needs nothing else, with pictures
    Html,
    /// For a pull request or a mailing list
    Markdown,
}

/// The file of a page where `--out` names none.
const OUT: &str = "report.html";

/// The name and version of the program that makes pages.
const GENERATOR: &str = concat!("preemptlab ", env!("CARGO_PKG_VERSION"));

/// Writes a report of recordings.
pub fn execute(args: &Report, output: &Output) -> exit::Result<ExitCode> {
    let compared = compare::open(&args.recordings, Keep::Distributions, &args.rule, output)?;
    compared.check_recordings("a report")?;
    let comparison = compared.comparison()?;
    let said = match args.question.is_asked() {
        true => {
            let question = args.question.question();
            recommendation_in_words(&advise(&compared, &question, &[])?)
        }
        false => in_words(&comparison),
    };
    let data = page_data(&compared, &comparison, said, GENERATOR)?;
    let text = match (&args.template, args.format) {
        (Some(path), _) => {
            let template = preemptlab_lab::read(path, meant::Kind::Other)?;
            apart::fill(path, &form(template, &data, &comparison), &comparison)?
        }
        (None, ReportFormat::Html) => html(&data),
        (None, ReportFormat::Markdown) => letter(&data, &comparison),
    };
    let is_page = args.template.is_none() && matches!(args.format, ReportFormat::Html);
    let (out, written) = match &args.out {
        Some(out) => (out.as_path(), preemptlab_files::replace(out, text.as_bytes())),
        // The user did not name what may stand there.
        None if is_page => {
            (Path::new(OUT), preemptlab_files::renew(Path::new(OUT), text.as_bytes()))
        }
        None => return output.data(&text),
    };
    written.map_err(|error| exit::host(format!("cannot write {}: {error}", out.display())))?;
    output.note(format!("wrote {}", out.display()));
    Ok(ExitCode::from(exit::OK))
}
