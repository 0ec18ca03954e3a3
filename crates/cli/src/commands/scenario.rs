//! `preemptlab scenario`: textbook situations, played on real kernels and drawn.

mod document;
mod experiment;
mod page;
mod picture;
mod played;
mod words;

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use preemptlab_model::plain;
use preemptlab_report::{LanesPanel, lanes_svg};

use self::{
    experiment::{Batch, batches},
    played::{Column, State},
};
use crate::{
    args::{Scenario as Args, ScenarioFormat},
    boot_kernels::BootKernels,
    exit::{self, OrExit},
    lab,
    output::Output,
    session::Session,
    writable,
};

/// A scenario and the file that it is from.
pub struct Loaded {
    /// The file.
    pub path: PathBuf,
    /// What it says.
    pub scenario: preemptlab_scenario::Scenario,
}

/// A scenario with what came of it under each model.
pub struct Shown<'a> {
    /// The scenario.
    pub scenario: &'a preemptlab_scenario::Scenario,
    /// In the order of the command line.
    pub columns: Vec<Column>,
}

/// Plays scenarios under each model, draws what happened, and checks what was expected.
pub fn execute(args: &Args, store: Option<PathBuf>, output: &Output) -> exit::Result<ExitCode> {
    let loaded = load(&args.files)?;
    check_files(args)?;
    let mut shown: Vec<Option<Shown<'_>>> = loaded.iter().map(|_| None).collect();
    let mut next = None;
    let mut failure = None;
    for batch in batches(&loaded, args)? {
        let out = batch.out(args);
        match play(batch, &out, args, store.clone(), output) {
            Ok(played) => {
                next = next.or_else(|| played.iter().find_map(|(_, shown)| explain(shown, &out)));
                for (place, scenario) in played {
                    shown[place] = Some(scenario);
                }
            }
            Err(interrupted) if interrupted.code == exit::INTERRUPTED => return Err(interrupted),
            // A kernel without headers takes no module; scenarios that need none are played all the
            // same.
            Err(other) => failure = failure.or(Some(other)),
        }
    }
    let shown: Vec<Shown<'_>> = shown.into_iter().flatten().collect();
    if shown.is_empty()
        && let Some(failure) = failure
    {
        return Err(failure);
    }
    if let Some(path) = &args.svg {
        draw(&shown, path, output)?;
    }
    if let Some(path) = &args.html {
        write(path, page::page(&shown).as_bytes(), output)?;
    }
    let text = match args.format {
        ScenarioFormat::Text => words::text(&shown, output.terminal()),
        ScenarioFormat::Markdown => words::markdown(&shown),
        ScenarioFormat::Json => {
            let json = serde_json::to_string_pretty(&document::document(&shown));
            plain::json(&json.or_exit(exit::HOST)?).into_owned()
        }
    };
    output.data(&text)?;
    if let Some(next) = next {
        output.note(next);
    }
    if shown.iter().flat_map(|shown| &shown.columns).all(|column| column.played().is_none()) {
        output.note("nothing was played: no kernel here has such a model, or every cell failed");
    }
    match failure {
        Some(failure) => Err(failure),
        None => Ok(ExitCode::from(code(&shown))),
    }
}

/// Whether pictures go into one file, and not into a folder.
fn is_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "svg")
}

/// Refuses files that cannot be written, before anything is played in vain.
fn check_files(args: &Args) -> exit::Result<()> {
    if let Some(html) = &args.html {
        writable::check(html)?;
    }
    let Some(svg) = &args.svg else { return Ok(()) };
    if !is_file(svg) {
        return fs::create_dir_all(svg).map_err(|error| cannot(svg, error));
    }
    if args.files.len() > 1 {
        let message = "several scenarios need a folder for their pictures, not a file";
        return Err(exit::failure(exit::UNUSABLE, message));
    }
    writable::check(svg)
}

/// The command that opens a scenario in Perfetto, if it was played.
fn explain(Shown { scenario, columns }: &Shown<'_>, out: &Path) -> Option<String> {
    let column = columns.iter().rfind(|column| column.played().is_some())?;
    Some(format!(
        "next: preemptlab explain {} --cell '{} {} {}' --export perfetto --out trace.pftrace",
        out.display(),
        column.kernel,
        column.model.mode(),
        scenario.name()
    ))
}

/// Reads every file; a mistake is shown in its place.
fn load(files: &[PathBuf]) -> exit::Result<Vec<Loaded>> {
    let one = |path: &PathBuf| {
        let text = lab::read(path)?;
        let scenario = preemptlab_scenario::Scenario::parse(&text)
            .map_err(|error| lab::mistake(path, text, error.message, error.help, error.span))?;
        Ok(Loaded { path: path.clone(), scenario })
    };
    files.iter().map(one).collect()
}

/// What came of each scenario, with its place on the command line.
fn play<'a>(
    Batch { experiment, scenarios }: Batch<'a>,
    out: &Path,
    args: &Args,
    store: Option<PathBuf>,
    output: &Output,
) -> exit::Result<Vec<(usize, Shown<'a>)>> {
    let session = Session {
        experiment,
        folders: Default::default(),
        out,
        store,
        machines: &args.machines,
        packages: &args.packages,
        backend: preemptlab_model::BackendKind::Vm,
        // What was played before without a trace cannot be drawn.
        no_cache: true,
        retry_failed: true,
        trace: true,
    };
    session.open(output, |writer, _, execute| {
        execute(writer)?;
        let mut kernels = BootKernels::default();
        let mut shown = |(place, scenario)| {
            let columns = played::columns(writer.recording(), &mut kernels, scenario, args)?;
            Ok((place, Shown { scenario, columns }))
        };
        scenarios.into_iter().map(&mut shown).collect()
    })
}

/// Writes a picture per scenario: into the file if there is one scenario, else into the folder.
fn draw(shown: &[Shown<'_>], path: &Path, output: &Output) -> exit::Result<()> {
    for Shown { scenario, columns } in shown {
        let draw = |panels: &[LanesPanel<'_>]| lanes_svg(scenario.description(), panels);
        let Some(svg) = picture::drawn(columns, draw) else { continue };
        let name = format!("{}.svg", scenario.name());
        let file = if is_file(path) { path.to_owned() } else { path.join(name) };
        write(&file, svg.as_bytes(), output)?;
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8], output: &Output) -> exit::Result<()> {
    preemptlab_durable::replace(path, bytes).map_err(|error| cannot(path, error))?;
    output.note(format!("wrote {}", path.display()));
    Ok(())
}

fn cannot(path: &Path, error: io::Error) -> exit::Failure {
    exit::failure(exit::HOST, format!("cannot write {}: {error}", path.display()))
}

/// A kernel that disagrees is the answer no; a scenario that was not played is a failed cell.
fn code(shown: &[Shown<'_>]) -> u8 {
    let columns = || shown.iter().flat_map(|shown| &shown.columns);
    let is_met = |column: &Column| match &column.state {
        State::Played(played) => played.met() == played.checked.len(),
        _ => true,
    };
    let is_failed = |column: &Column| matches!(column.state, State::Failed { .. });
    if columns().any(is_failed) || columns().all(|column| column.played().is_none()) {
        exit::CELLS_FAILED
    } else if columns().all(is_met) {
        exit::OK
    } else {
        exit::NO
    }
}
