use std::{
    fmt::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, ValueEnum};
use preemptlab_analysis::advice;
use preemptlab_model::plain::{self, markdown as shown};
use preemptlab_report::{Facts, InWords, View, in_words, markdown, recommendation_in_words};
use preemptlab_report_html::{Package, PageData, Verdict};
use preemptlab_stats::Comparison;

use crate::{
    args::{QuestionArgs, RuleArgs},
    commands::compare::Compared,
    exit::{self, OrExit},
    lab,
    output::Output,
    page::{self, Gathered},
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
    /// The recordings
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
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "requirements", "maximize", "minimize"])]
    pub template: Option<PathBuf>,
    /// The file to write to [default: report.html; Markdown goes to standard output]
    #[arg(long, short, value_name = "FILE")]
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

/// Where a page goes when nothing is said.
const OUT: &str = "report.html";

/// Writes a report of recordings.
pub fn execute(args: &Report, output: &Output) -> exit::Result<ExitCode> {
    let compared = Compared::open(&args.recordings, &args.rule, output)?;
    let gathered = Gathered::new(compared.recordings())?;
    let comparison = compared.comparison_of(&gathered.cells)?;
    let InWords { headline, points } = match args.question.is_asked() {
        true => recommended(&args.question, &compared, &gathered)?,
        false => in_words(&comparison),
    };
    let data = page::data(gathered, &comparison, Verdict { headline, points })?;
    let text = match (&args.template, args.format) {
        (Some(template), _) => filled(template, &data, &comparison)?,
        (None, ReportFormat::Html) => preemptlab_report_html::html(&data),
        (None, ReportFormat::Markdown) => letter(&data, &comparison),
    };
    let is_page = args.template.is_none() && matches!(args.format, ReportFormat::Html);
    let out = match &args.out {
        Some(out) => out.as_path(),
        None if is_page => Path::new(OUT),
        None => return output.data(&text),
    };
    preemptlab_durable::replace(out, text.as_bytes())
        .map_err(|error| exit::host(format!("cannot write {}: {error}", out.display())))?;
    output.note(format!("wrote {}", out.display()));
    Ok(ExitCode::from(exit::OK))
}

/// The answer to a question, which then stands first.
fn recommended(
    question: &QuestionArgs,
    compared: &Compared,
    gathered: &Gathered<'_>,
) -> exit::Result<InWords> {
    advice::refuse_mixed_time(&compared.recordings())?;
    let (question, rule) = (question.question(), compared.rule());
    let recommendation = preemptlab_stats::recommend(&gathered.cells, rule, &question);
    let recommendation = recommendation.or_exit(exit::UNUSABLE)?;
    let advice = advice::advice(&recommendation, &compared.recordings(), rule, &[]);
    Ok(recommendation_in_words(&advice))
}

/// A template with the comparison's numbers.
fn filled(path: &Path, data: &PageData, comparison: &Comparison) -> exit::Result<String> {
    let unusable = |reason: String| exit::unusable(reason);
    let template = lab::read(path)?;
    let facts = Facts { experiment: shown(&data.title), measured: measured(data, comparison) };
    preemptlab_report::fill(&template, comparison, &facts)
        .map_err(|error| unusable(format!("{}, {error}", path.display())))
}

/// What a reviewer wants to see: the verdict, the table, and how it was measured.
fn letter(data: &PageData, comparison: &Comparison) -> String {
    let mut text = format!("## {}\n\n{}\n\n", shown(&data.title), shown(&data.verdict.headline));
    for point in &data.verdict.points {
        let _ = writeln!(text, "- {}", shown(point));
    }
    let _ = writeln!(text, "\n{}", markdown(comparison, View::Overview));
    let _ = writeln!(text, "### How it was measured\n\n{}", measured(data, comparison));
    text
}

/// What was used.
fn measured(data: &PageData, comparison: &Comparison) -> String {
    let mut text = format!("{}:\n\n", data.generator);
    for kernel in &data.kernels {
        let packages = versions(&kernel.packages);
        let _ = writeln!(text, "- {}: {}{packages}", shown(&kernel.name), shown(&kernel.release));
    }
    for qemu in &data.qemu {
        let _ = writeln!(text, "- QEMU {}, build {:.12}", shown(&qemu.version), qemu.digest);
    }
    for line in &data.command_lines {
        let _ = writeln!(text, "- kernel command line: `{}`", plain::line(line).replace('`', "'"));
    }
    // No other kind of time says the same again.
    if comparison.groups.iter().all(|group| group.backend.is_vm()) {
        text += "\nThe same packages give the same bytes on any machine: `preemptlab verify RUN` \
                 checks it.";
    }
    text
}

fn versions(packages: &[Package]) -> String {
    let versions: Vec<String> = packages
        .iter()
        .map(|package| format!("{} {}", shown(&package.name), shown(&package.version)))
        .collect();
    if versions.is_empty() { String::new() } else { format!(" ({})", versions.join(", ")) }
}
