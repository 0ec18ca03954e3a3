//! `preemptlab explain`: the causes of late wakeups and responses, and the advice.

mod atlas;
mod census;
mod search;

use std::{
    io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, Subcommand};
use preemptlab_analysis::{
    Moment, WhatIf,
    explain::{
        Chosen, Confirmation, Explanation, Patched, Ranking, Responses, TraceForm, Zoom,
        check_probe, choose, client, export,
    },
};
use preemptlab_experiment::Recording;
use preemptlab_files::Replacement;
use preemptlab_lab::{Config, Tracing};
use preemptlab_model::MetricName;
use preemptlab_report::{
    Terminal, block_markdown, confirmation_terminal, explanation_svg, explanation_terminal,
    patched_terminal, ranking_table, responses_terminal,
};

use crate::{
    args::{Format, Machines, formats, written_path},
    exit, lab,
    output::Output,
    progress::Shown,
    writable,
};

/// Show what made the worst wakeups late, down to the function
#[derive(Args, Debug)]
#[command(
    subcommand_value_name = "WHAT",
    subcommand_help_heading = "What to explain [default: wakeup]",
    after_help = "\
Examples:
  preemptlab explain runs/quick
  preemptlab explain runs/quick --cell 'debian:6.18 none' --worst 3 --svg late.svg
  preemptlab explain runs/quick ranking
  preemptlab explain runs/postgres response --worst 3
  preemptlab explain runs/quick what-if preemptible=get_page_from_freelist cut=rcu_core_si:10us
  preemptlab explain runs/quick zoom 9118.023ms±20us --cell 4f2a
  preemptlab explain runs/quick trace --cell 4f2a --out trace.pftrace
  preemptlab explain runs/quick search --budget 40

A cell without a trace is executed again with one; its results stay the same.
`preemptlab explain RUN WHAT --help` lists the options of WHAT; they follow it."
)]
pub struct Explain {
    /// The recording
    #[arg(value_name = "RUN")]
    pub recording: PathBuf,
    #[command(flatten)]
    pub wakeup: WakeupArgs,
    /// The subject of the explanation
    #[command(subcommand)]
    pub what: Option<Subject>,
}

/// Subject of an explanation.
#[derive(Debug, Subcommand)]
pub enum Subject {
    Wakeup(WakeupArgs),
    Response(ResponseArgs),
    Ranking(RankingArgs),
    Atlas(atlas::AtlasArgs),
    Census(census::CensusArgs),
    Search(search::SearchArgs),
    Confirm(ConfirmArgs),
    WhatIf(WhatIfArgs),
    Zoom(ZoomArgs),
    Trace(TraceArgs),
}

/// A cell, and what executes it if it has no trace.
#[derive(Args, Debug)]
pub struct CellArgs {
    /// The cell: the beginning of its ID, or words of its name such as 'debian:6.12 none #1'
    /// [default: the one with the worst wakeup, or response]
    #[arg(long, value_name = "CELL")]
    pub cell: Option<String>,
    #[command(flatten)]
    pub machines: Machines,
}

impl CellArgs {
    /// Traces a cell that has no trace yet, and hands the executor of traced cells to `work`.
    fn traced<T>(
        &self,
        recording: &Recording,
        cell: &Chosen,
        config: &Config,
        output: &Output,
        work: impl FnOnce(&Tracing<'_>) -> exit::Result<T>,
    ) -> exit::Result<T> {
        let shown = Shown::new(output);
        let lab = &lab::here(config, Some(&self.machines), &shown);
        let tracing = Tracing { lab, recording };
        tracing.ensure(&[cell])?;
        work(&tracing)
    }
}

/// How to print what is drawn for a terminal.
#[derive(Args, Debug)]
pub struct DrawnArgs {
    /// How to print it
    #[arg(long, default_value = "table",
        value_parser = formats([Format::Table, Format::Json, Format::Markdown]))]
    pub format: Format,
}

/// Show the worst wakeups of a cell: where every nanosecond went
#[derive(Args, Debug)]
pub struct WakeupArgs {
    /// How many of its worst wakeups
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub worst: u16,
    /// Explain the fair probe instead of the real-time one
    #[arg(long)]
    pub fair: bool,
    /// Draw the timelines into an SVG file
    #[arg(long, value_name = "FILE", value_parser = written_path())]
    pub svg: Option<PathBuf>,
    #[command(flatten)]
    pub drawn: DrawnArgs,
    #[command(flatten)]
    pub of: CellArgs,
}

/// Show the slowest response times of the load's own client: what ran while they waited
#[derive(Args, Debug)]
pub struct ResponseArgs {
    /// How many of its slowest requests
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub worst: u16,
    #[command(flatten)]
    pub drawn: DrawnArgs,
    #[command(flatten)]
    pub of: CellArgs,
}

/// Rank what keeps preemption and interrupts off, over all traced cells of each configuration
#[derive(Args, Debug)]
pub struct RankingArgs {
    /// Rank what the fair probe waited for
    #[arg(long)]
    pub fair: bool,
    /// How to print it
    #[arg(long, default_value = "table", value_parser = formats(Format::TABLES))]
    pub format: Format,
}

/// Move the probe's timer to the worst instant of the trace, execute, and compare
#[derive(Args, Debug)]
pub struct ConfirmArgs {
    #[command(flatten)]
    pub drawn: DrawnArgs,
    #[command(flatten)]
    pub of: CellArgs,
}

/// Compute what a patch would remove from the worst case
#[derive(Args, Debug)]
pub struct WhatIfArgs {
    /// A function preemptible, or its sections cut to a time such as cut=exit_mmap:10us; several at
    /// once are one patch
    #[arg(required = true, value_name = "preemptible=FUNCTION|cut=FUNCTION:TIME")]
    pub changes: Vec<WhatIf>,
    /// How many of the worst wakeups
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub worst: u16,
    #[command(flatten)]
    pub drawn: DrawnArgs,
    #[command(flatten)]
    pub of: CellArgs,
}

/// Show every call and return around a moment
#[derive(Args, Debug)]
pub struct ZoomArgs {
    /// The moment in virtual time, such as 9118.023ms±20us
    #[arg(value_name = "TIME[±WINDOW]")]
    pub moment: Moment,
    #[command(flatten)]
    pub of: CellArgs,
}

/// Write a cell's trace in another tool's form
#[derive(Args, Debug)]
pub struct TraceArgs {
    /// The form: perfetto, for ui.perfetto.dev, or ftrace, the text of /sys/kernel/tracing/trace
    #[arg(long, default_value = "perfetto",
        value_parser = formats([Format::Perfetto, Format::Ftrace]))]
    pub format: Format,
    /// The file to write to
    #[arg(long, short, value_name = "FILE", value_parser = written_path())]
    pub out: PathBuf,
    #[command(flatten)]
    pub of: CellArgs,
}

/// Explains the worst wakeups of a cell, or the subject that the user named.
pub fn execute(args: &Explain, config: &Config, output: &Output) -> exit::Result<ExitCode> {
    let recording = &Recording::open(&args.recording)?;
    match &args.what {
        None => explained(&args.wakeup, recording, config, output),
        Some(Subject::Wakeup(args)) => explained(args, recording, config, output),
        Some(Subject::Response(args)) => answered(args, recording, config, output),
        Some(Subject::Ranking(args)) => {
            let ranking = Ranking::new(recording, args.fair)?;
            output.print(&ranking_table(&ranking), args.format, &ranking)
        }
        Some(Subject::Atlas(args)) => atlas::execute(args, recording, output),
        Some(Subject::Census(args)) => census::execute(args, recording, output),
        Some(Subject::Search(args)) => search::execute(args, recording, config, output),
        Some(Subject::Confirm(args)) => confirmed(args, recording, config, output),
        Some(Subject::WhatIf(args)) => patched(args, recording, config, output),
        Some(Subject::Zoom(args)) => zoomed(args, recording, config, output),
        Some(Subject::Trace(args)) => exported(args, recording, config, output),
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
        Format::Table => output.data(&text(output.terminal())),
        other => Err(other.is_not_written()),
    }
}

/// Draws every call and return around a moment.
fn zoomed(
    args: &ZoomArgs,
    recording: &Recording,
    config: &Config,
    output: &Output,
) -> exit::Result<ExitCode> {
    let cell = choose(recording, args.of.cell.as_deref(), &MetricName::latest(false))?;
    args.of.traced(recording, &cell, config, output, |tracing| {
        let zoom = Zoom::new(recording, &cell, args.moment)?;
        let stream = tracing.execute(&cell.inputs, &zoom.program)?;
        output.data(&zoom.graph(stream)?)
    })
}

/// Writes the trace of a cell in another tool's form.
fn exported(
    args: &TraceArgs,
    recording: &Recording,
    config: &Config,
    output: &Output,
) -> exit::Result<ExitCode> {
    let form = match args.format {
        Format::Perfetto => TraceForm::Perfetto,
        Format::Ftrace => TraceForm::Ftrace,
        other => return Err(other.is_not_written()),
    };
    let out: &Path = &args.out;
    let cell = choose(recording, args.of.cell.as_deref(), &MetricName::latest(false))?;
    // Before anything is executed.
    writable::check(out)?;
    let unwritable = |error: io::Error| writable::refusal(out, &error);
    let mut file = Replacement::begin(out).map_err(|error| exit::host(unwritable(error)))?;
    args.of.traced(recording, &cell, config, output, |_| {
        Ok(export(recording, &cell, form, file.file(), unwritable)?)
    })?;
    file.publish().map_err(|error| exit::host(unwritable(error)))?;
    output.note(format!("wrote {}", out.display()));
    if args.format == Format::Perfetto {
        output.note("open it at ui.perfetto.dev; times are virtual");
    }
    Ok(ExitCode::from(exit::OK))
}

/// Executes the cell with its timer moved to the worst instants.
fn confirmed(
    args: &ConfirmArgs,
    recording: &Recording,
    config: &Config,
    output: &Output,
) -> exit::Result<ExitCode> {
    let cell = choose(recording, args.of.cell.as_deref(), &MetricName::latest(false))?;
    let confirmation = args.of.traced(recording, &cell, config, output, |tracing| {
        let mut confirmation = Confirmation::new(recording, &cell)?;
        while let Some(program) = confirmation.next_program() {
            confirmation.take(tracing.execute(&cell.inputs, &program)?)?;
        }
        Ok(confirmation)
    })?;
    match args.drawn.format {
        Format::Json => output.json(confirmation.confirmed())?,
        format => drawn(|terminal| confirmation_terminal(&confirmation, terminal), format, output)?,
    };
    Ok(ExitCode::from(if confirmation.confirmed().confirmed { exit::OK } else { exit::NO }))
}

/// Shows how late wakeups would be with changes of the kernel.
fn patched(
    args: &WhatIfArgs,
    recording: &Recording,
    config: &Config,
    output: &Output,
) -> exit::Result<ExitCode> {
    let cell = choose(recording, args.of.cell.as_deref(), &MetricName::latest(false))?;
    // Before anything is executed.
    check_probe(recording, &cell, false)?;
    let patched = args.of.traced(recording, &cell, config, output, |_| {
        Ok(Patched::new(recording, &cell, &args.changes, args.worst.into())?)
    })?;
    match args.drawn.format {
        Format::Json => output.json(&patched.document()),
        format => drawn(|terminal| patched_terminal(&patched, terminal), format, output),
    }
}

/// Shows the work during the slowest requests.
fn answered(
    args: &ResponseArgs,
    recording: &Recording,
    config: &Config,
    output: &Output,
) -> exit::Result<ExitCode> {
    let cell = choose(recording, args.of.cell.as_deref(), &MetricName::RESPONSE_MAX)?;
    // Before anything is executed.
    client(recording, &cell)?;
    let responses = args.of.traced(recording, &cell, config, output, |_| {
        Ok(Responses::new(recording, &cell, args.worst.into())?)
    })?;
    if args.drawn.format == Format::Json {
        return output.json(&responses.document());
    }
    if let Some(next) = responses.next() {
        output.note(format!("next: {next}"));
    }
    drawn(|terminal| responses_terminal(&responses, terminal), args.drawn.format, output)
}

/// Shows the timelines of the worst wakeups.
fn explained(
    args: &WakeupArgs,
    recording: &Recording,
    config: &Config,
    output: &Output,
) -> exit::Result<ExitCode> {
    if let Some(svg) = &args.svg {
        writable::check(svg)?;
    }
    let cell = choose(recording, args.of.cell.as_deref(), &MetricName::latest(args.fair))?;
    // Before anything is executed.
    check_probe(recording, &cell, args.fair)?;
    let explanation = args.of.traced(recording, &cell, config, output, |tracing| {
        let mut explanation = Explanation::new(recording, &cell, args.fair, args.worst.into())?;
        if let Some(sibling) = explanation.sibling()? {
            tracing.ensure(&[&sibling])?;
            explanation.compare(sibling)?;
        }
        Ok(explanation)
    })?;
    if let Some(svg) = &args.svg {
        writable::write(svg, explanation_svg(&explanation).as_bytes(), output)?;
    }
    if args.drawn.format == Format::Json {
        return output.json(&explanation.document());
    }
    if let Some(next) = explanation.next() {
        output.note(format!("next: {next}"));
    }
    drawn(|terminal| explanation_terminal(&explanation, terminal), args.drawn.format, output)
}
