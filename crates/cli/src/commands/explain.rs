//! `preemptlab explain`: why the worst wakeups were late.

use std::{
    io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, ValueEnum};
use preemptlab_analysis::{
    Moment, WhatIf,
    explain::{
        Chosen, Confirmation, Explanation, Patched, Ranking, Responses, TraceForm, Zoom,
        check_probe, choose, client, export,
    },
};
use preemptlab_experiment::Recording;
use preemptlab_files::Replacement;
use preemptlab_lab::Tracing;
use preemptlab_model::MetricName;
use preemptlab_report::{
    Terminal, block_markdown, confirmation_terminal, explanation_svg, explanation_terminal,
    patched_terminal, ranking_table, responses_terminal,
};

use crate::{
    args::{Format, Machines, Packages, written_path},
    exit, lab,
    output::Output,
    progress::Shown,
    writable,
};

/// Show what made the worst wakeups late, down to the function
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab explain runs/quick
  preemptlab explain runs/quick --cell 'debian:6.18 none' --worst 3 --svg late.svg
  preemptlab explain runs/quick --ranking
  preemptlab explain runs/postgres --response --worst 3
  preemptlab explain runs/quick --what-if preemptible=get_page_from_freelist --what-if cut=rcu_core_si:10us
  preemptlab explain runs/quick --cell 4f2a --zoom 9118.023ms±20us
  preemptlab explain runs/quick --cell 4f2a --export perfetto --out trace.pftrace

A cell that was not traced is executed again with a trace, which changes nothing about it.")]
pub struct Explain {
    /// The recording
    #[arg(value_name = "RUN")]
    pub recording: PathBuf,
    /// The cell: the beginning of its ID, or words of its name such as 'debian:6.12 none #1'
    /// [default: the one with the worst wakeup]
    #[arg(long, value_name = "CELL")]
    pub cell: Option<String>,
    /// How many of its worst wakeups, or of its slowest requests
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub worst: u16,
    /// Explain the fair probe instead of the real-time one
    #[arg(long)]
    pub fair: bool,
    /// Explain the slowest response times of the load's own client: what ran while they waited
    #[arg(long, conflicts_with_all = ["fair", "ranking", "zoom", "export", "confirm", "svg"])]
    pub response: bool,
    /// Rank what keeps preemption and interrupts off, over all traced cells of each configuration
    #[arg(long, conflicts_with_all = ["cell", "zoom", "export", "confirm"])]
    pub ranking: bool,
    /// Every call and return around a moment of virtual time, such as 9118.023ms±20us
    #[arg(long, value_name = "TIME[±WINDOW]", conflicts_with_all = ["export", "confirm", "svg"])]
    pub zoom: Option<Moment>,
    /// Move the probe's timer to the worst instant of the trace, execute, and compare
    #[arg(long, conflicts_with_all = ["export", "svg"])]
    pub confirm: bool,
    /// Compute what a patch would remove from the worst case: a function preemptible, or its sections cut
    /// to a time such as cut=exit_mmap:10us (repeat for several at once)
    #[arg(long, value_name = "preemptible=FUNCTION|cut=FUNCTION:TIME", conflicts_with_all = ["fair", "response", "ranking", "zoom", "confirm", "export", "svg"])]
    pub what_if: Vec<WhatIf>,
    /// Write the cell's trace in another tool's form
    #[arg(long, value_name = "FORM", requires = "out")]
    pub export: Option<Export>,
    /// The file to write to
    #[arg(long, value_name = "FILE", requires = "export", value_parser = written_path())]
    pub out: Option<PathBuf>,
    /// Draw the timelines into an SVG file
    #[arg(long, value_name = "FILE", value_parser = written_path())]
    pub svg: Option<PathBuf>,
    /// How to print it; csv is for --ranking alone
    #[arg(long, default_value = "table", conflicts_with = "export")]
    pub format: Format,
    #[command(flatten)]
    pub machines: Machines,
    #[command(flatten)]
    pub packages: Packages,
}

/// Forms of other tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Export {
    /// For ui.perfetto.dev
    Perfetto,
    /// The text of /sys/kernel/tracing/trace
    Ftrace,
}

impl From<Export> for TraceForm {
    fn from(form: Export) -> Self {
        match form {
            Export::Perfetto => Self::Perfetto,
            Export::Ftrace => Self::Ftrace,
        }
    }
}

/// Explains the worst wakeups of a cell, or prints the form that was asked for instead.
pub fn execute(args: &Explain, store: Option<PathBuf>, output: &Output) -> exit::Result<ExitCode> {
    check_format(args)?;
    let recording = Recording::open(&args.recording)?;
    if let Some(svg) = &args.svg {
        writable::check(svg)?;
    }
    if args.ranking {
        let ranking = Ranking::new(&recording, args.fair)?;
        return output.print(&ranking_table(&ranking), args.format, &ranking);
    }
    let latency =
        if args.response { MetricName::RESPONSE_MAX } else { MetricName::latest(args.fair) };
    let cell = choose(&recording, args.cell.as_deref(), &latency)?;
    let shown = Shown::new(output);
    let lab = lab::here(store, Some(&args.machines), &args.packages, &shown);
    let tracing = Tracing { lab: &lab, recording: &recording };
    match (args.zoom, args.export, &args.out) {
        (Some(moment), ..) => {
            tracing.ensure(&[&cell])?;
            let zoom = Zoom::new(&recording, &cell, moment)?;
            let stream = tracing.execute(&cell.inputs, &zoom.program)?;
            output.data(&zoom.graph(stream)?)
        }
        (None, Some(form), Some(out)) => exported(&tracing, &cell, (form, out), output),
        _ if args.confirm => confirmed(args, &tracing, &cell, output),
        _ if !args.what_if.is_empty() => patched(args, &tracing, &cell, output),
        _ if args.response => answered(args, &tracing, &cell, output),
        _ => explained(args, &tracing, &cell, output),
    }
}

/// Refuses a format that the view does not have, before anything is executed.
fn check_format(args: &Explain) -> exit::Result<()> {
    let is_graph = args.zoom.is_some();
    match args.format {
        Format::Table => Ok(()),
        _ if is_graph => Err(exit::unusable(
            "--zoom draws a graph of calls for a terminal and has no other form: leave --format out, or \
             use --export",
        )),
        Format::Csv if !args.ranking => Err(exit::unusable(
            "a timeline is no table and has no CSV: --format json holds every part of it, and --ranking \
             is a table",
        )),
        Format::Json | Format::Csv | Format::Markdown => Ok(()),
    }
}

/// Prints a view as it is drawn for a terminal; in Markdown as a block of text.
fn drawn(
    text: impl FnOnce(Terminal) -> String,
    format: Format,
    output: &Output,
) -> exit::Result<ExitCode> {
    match format {
        Format::Markdown => {
            let plain = Terminal { color: false, ..output.terminal() };
            output.data(&block_markdown(&text(plain)))
        }
        Format::Table | Format::Json | Format::Csv => output.data(&text(output.terminal())),
    }
}

/// Writes the trace of a cell in another tool's form.
fn exported(
    tracing: &Tracing<'_>,
    cell: &Chosen,
    (form, out): (Export, &Path),
    output: &Output,
) -> exit::Result<ExitCode> {
    // Before anything is executed.
    writable::check(out)?;
    let unwritable = |error: io::Error| writable::refusal(out, &error);
    let mut file = Replacement::begin(out).map_err(|error| exit::host(unwritable(error)))?;
    tracing.ensure(&[cell])?;
    export(tracing.recording, cell, form.into(), file.file(), unwritable)?;
    file.publish().map_err(|error| exit::host(unwritable(error)))?;
    output.note(format!("wrote {}", out.display()));
    if form == Export::Perfetto {
        output.note("open it at ui.perfetto.dev; times are virtual");
    }
    Ok(ExitCode::from(exit::OK))
}

/// Executes the cell with its timer moved to the worst instants.
fn confirmed(
    args: &Explain,
    tracing: &Tracing<'_>,
    cell: &Chosen,
    output: &Output,
) -> exit::Result<ExitCode> {
    let recording = tracing.recording;
    tracing.ensure(&[cell])?;
    let mut confirmation = Confirmation::new(recording, cell)?;
    while let Some(program) = confirmation.next_program() {
        confirmation.take(tracing.execute(&cell.inputs, &program)?)?;
    }
    match args.format {
        Format::Json => output.json(confirmation.confirmed())?,
        format => drawn(|terminal| confirmation_terminal(&confirmation, terminal), format, output)?,
    };
    Ok(ExitCode::from(if confirmation.confirmed().confirmed { exit::OK } else { exit::NO }))
}

/// Shows how late wakeups would be with changes of the kernel.
fn patched(
    args: &Explain,
    tracing: &Tracing<'_>,
    cell: &Chosen,
    output: &Output,
) -> exit::Result<ExitCode> {
    let recording = tracing.recording;
    // Before anything is executed.
    check_probe(recording, cell, false)?;
    tracing.ensure(&[cell])?;
    let patched = Patched::new(recording, cell, &args.what_if, args.worst.into())?;
    match args.format {
        Format::Json => output.json(&patched.document()),
        format => drawn(|terminal| patched_terminal(&patched, terminal), format, output),
    }
}

/// Shows what ran during the slowest requests.
fn answered(
    args: &Explain,
    tracing: &Tracing<'_>,
    cell: &Chosen,
    output: &Output,
) -> exit::Result<ExitCode> {
    let recording = tracing.recording;
    // Before anything is executed.
    client(recording, cell)?;
    tracing.ensure(&[cell])?;
    let responses = Responses::new(recording, cell, args.worst.into())?;
    if args.format == Format::Json {
        return output.json(&responses.document());
    }
    if let Some(next) = responses.next() {
        output.note(format!("next: {next}"));
    }
    drawn(|terminal| responses_terminal(&responses, terminal), args.format, output)
}

/// Shows the timelines of the worst wakeups.
fn explained(
    args: &Explain,
    tracing: &Tracing<'_>,
    cell: &Chosen,
    output: &Output,
) -> exit::Result<ExitCode> {
    let recording = tracing.recording;
    // Before anything is executed.
    check_probe(recording, cell, args.fair)?;
    tracing.ensure(&[cell])?;
    let mut explanation = Explanation::new(recording, cell, args.fair, args.worst.into())?;
    if let Some(sibling) = explanation.sibling()? {
        tracing.ensure(&[&sibling])?;
        explanation.compare(sibling)?;
    }
    if let Some(svg) = &args.svg {
        writable::write(svg, explanation_svg(&explanation).as_bytes(), output)?;
    }
    if args.format == Format::Json {
        return output.json(&explanation.document());
    }
    if let Some(next) = explanation.next() {
        output.note(format!("next: {next}"));
    }
    drawn(|terminal| explanation_terminal(&explanation, terminal), args.format, output)
}
