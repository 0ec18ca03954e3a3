use std::{fmt::Write, path::Path, process::ExitCode};

use preemptlab_model::plain::{self, markdown as shown};
use preemptlab_report::{Facts, InWords, View, in_words, markdown, recommendation_in_words};
use preemptlab_report_html::{Package, PageData, Verdict};
use preemptlab_stats::Comparison;

use crate::{
    args::{QuestionArgs, Report, ReportFormat},
    commands::{compare::Compared, recommend},
    exit::{self, OrExit},
    lab,
    output::Output,
    page::{self, Gathered},
    session::recording_failure,
};

/// Where a page goes when nothing is said.
const OUT: &str = "report.html";

/// Writes a report of recordings.
pub fn execute(args: &Report, output: &Output) -> exit::Result<ExitCode> {
    let compared = Compared::open(&args.recordings, &args.rule, output)?;
    let gathered = Gathered::new(compared.recordings()).map_err(recording_failure)?;
    let comparison = compared.comparison_of(&gathered.cells)?;
    let InWords { headline, points } = match is_asked(&args.question) {
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
    preemptlab_durable::replace(out, text.as_bytes()).map_err(|error| {
        exit::failure(exit::HOST, format!("cannot write {}: {error}", out.display()))
    })?;
    output.note(format!("wrote {}", out.display()));
    Ok(ExitCode::from(exit::OK))
}

fn is_asked(question: &QuestionArgs) -> bool {
    let QuestionArgs { requirements, maximize, minimize } = question;
    !requirements.is_empty() || maximize.is_some() || minimize.is_some()
}

/// The answer to a question, which then stands first.
fn recommended(
    question: &QuestionArgs,
    compared: &Compared,
    gathered: &Gathered<'_>,
) -> exit::Result<InWords> {
    recommend::refuse_mixed_time(&compared.recordings())?;
    let (question, rule) = (recommend::question(question), compared.rule());
    let recommendation = preemptlab_stats::recommend(&gathered.cells, rule, &question);
    let recommendation = recommendation.or_exit(exit::UNUSABLE)?;
    let advice = recommend::advice(&recommendation, &compared.recordings(), rule, &[]);
    Ok(recommendation_in_words(&advice))
}

/// A template with the comparison's numbers.
fn filled(path: &Path, data: &PageData, comparison: &Comparison) -> exit::Result<String> {
    let unusable = |reason: String| exit::failure(exit::UNUSABLE, reason);
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
