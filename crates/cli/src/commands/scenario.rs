//! `preemptlab scenario`: textbook situations, played on real kernels and drawn.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, ValueEnum};
use preemptlab_analysis::{
    boot_kernels::BootKernels,
    meant,
    scenario::{Batch, Loaded, Shown, Under, Verdict, batches, document, side_by_side},
};
use preemptlab_files::OutFolder;
use preemptlab_lab::{Execution, Lab, Mistake, Wanted, chosen, read};
use preemptlab_model::{BackendKind, KernelRef};
use preemptlab_report::{scenario_svg, scenarios_markdown, scenarios_page, scenarios_terminal};
use preemptlab_scenario::Model;

use crate::{
    args::{DEFAULT_KERNEL, Machines, Packages, written_path},
    elsewhere::ElsewhereArgs,
    exit, lab,
    output::Output,
    progress, writable,
};

/// Play textbook situations of preemption on real kernels, draw them, and check them
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab scenario scenarios/driver-demo.toml
  preemptlab scenario scenarios/lazy-tick.toml --kernel debian:7.2 --compare full,lazy,rt
  preemptlab scenario scenarios/*.toml --compare none,voluntary,full,rt --svg pictures

Exit code 1 means that a kernel disagrees with what a scenario expects. docs/scenario-format.md
describes the files.")]
pub struct Scenario {
    /// The scenarios, TOML files
    #[arg(required = true, value_name = "SCENARIO")]
    pub files: Vec<PathBuf>,
    /// The kernel; `rt` and `rt-lazy` take its -rt flavour
    #[arg(long, value_name = "KERNEL", default_value = DEFAULT_KERNEL)]
    pub kernel: KernelRef,
    /// The models to put under each other, the first of which the others are compared with
    #[arg(
        long,
        value_name = "MODELS",
        value_delimiter = ',',
        default_value = "none,voluntary,full,rt"
    )]
    pub compare: Vec<Model>,
    /// One model alone
    #[arg(long, value_name = "MODEL", conflicts_with = "compare")]
    pub preempt: Option<Model>,
    /// Write the pictures: one into a file that ends with .svg, several into a folder
    #[arg(long, value_name = "PATH", value_parser = written_path())]
    pub svg: Option<PathBuf>,
    /// Write pictures and tables as one HTML file
    #[arg(long, value_name = "FILE", value_parser = written_path())]
    pub html: Option<PathBuf>,
    /// What to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: ScenarioFormat,
    /// The recording's folder [default: runs/NAME-DIGEST]
    #[arg(long, value_name = "FOLDER", value_parser = written_path())]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub elsewhere: ElsewhereArgs,
    #[command(flatten)]
    pub machines: Machines,
    #[command(flatten)]
    pub packages: Packages,
}

impl Scenario {
    /// Returns the kernel and the models that were asked for.
    pub fn under(&self) -> Under<'_> {
        let models = self.preempt.as_ref().map_or(&*self.compare, std::slice::from_ref);
        Under { kernel: &self.kernel, models }
    }
}

/// Format of scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScenarioFormat {
    /// For a terminal
    Text,
    /// For a page
    Markdown,
    /// One document
    Json,
}

/// Plays scenarios under each model, draws what happened, and checks what was expected.
pub fn execute(args: &Scenario, store: Option<PathBuf>, output: &Output) -> exit::Result<ExitCode> {
    let loaded = load(&args.files)?;
    check_files(args)?;
    let watch = progress::Shown::new(output);
    let lab = lab::here(store, Some(&args.machines), &args.packages, &watch);
    let mut shown: Vec<Option<Shown<'_>>> = loaded.iter().map(|_| None).collect();
    let mut next = None;
    let mut failure = None;
    for batch in batches(&loaded, args.under(), args.out.is_some())? {
        let out = match &args.out {
            Some(out) => OutFolder::named(out),
            None => chosen(batch.name()),
        };
        match play(batch, &out, args, &lab) {
            Ok(played) => {
                next =
                    next.or_else(|| played.iter().find_map(|(_, shown)| shown.next(&out.path())));
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
    let shown = side_by_side(shown.into_iter().flatten().collect());
    if shown.is_empty()
        && let Some(failure) = failure
    {
        return Err(failure);
    }
    if let Some(path) = &args.svg {
        draw(&shown, path, output)?;
    }
    if let Some(path) = &args.html {
        writable::write(path, scenarios_page(&shown).as_bytes(), output)?;
    }
    match args.format {
        ScenarioFormat::Text => output.data(&scenarios_terminal(&shown, output.terminal()))?,
        ScenarioFormat::Markdown => output.data(&scenarios_markdown(&shown))?,
        ScenarioFormat::Json => output.json(&document(&shown))?,
    };
    if let Some(next) = next {
        output.note(format!("next: {next}"));
    }
    let verdict = Verdict::of(&shown);
    if verdict == Verdict::NothingPlayed {
        output.note("nothing was played: no kernel here has such a model, or every cell failed");
    }
    match (failure, verdict) {
        (Some(failure), _) => Err(failure),
        (None, Verdict::Met) => Ok(ExitCode::from(exit::OK)),
        (None, Verdict::NotMet) => Ok(ExitCode::from(exit::NO)),
        (None, Verdict::Failed | Verdict::NothingPlayed) => Ok(ExitCode::from(exit::CELLS_FAILED)),
    }
}

/// Returns whether pictures go into one file, and not into a folder.
fn is_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "svg")
}

/// Refuses files that cannot be written, before anything is played.
fn check_files(args: &Scenario) -> exit::Result<()> {
    if let Some(html) = &args.html {
        writable::check(html)?;
    }
    let Some(svg) = &args.svg else { return Ok(()) };
    if !is_file(svg) {
        let cannot = |error| exit::host(format!("cannot write {}: {error}", svg.display()));
        return fs::create_dir_all(svg).map_err(cannot);
    }
    if args.files.len() > 1 {
        let message = "several scenarios need a folder for their pictures, not a file";
        return Err(exit::unusable(message));
    }
    writable::check(svg)
}

/// Reads every file with all of its variants; a mistake is shown in its place.
fn load(files: &[PathBuf]) -> exit::Result<Vec<Loaded>> {
    let one = |path: &PathBuf| {
        let text = read(path, meant::Kind::Scenario)?;
        let scenarios = preemptlab_scenario::Scenario::parse_variants(&text).map_err(|error| {
            match meant::no_scenario(&text, path) {
                Some(other) => exit::unusable(other),
                None => {
                    let preemptlab_scenario::ScenarioError { message, help, span, .. } = error;
                    let path = path.clone();
                    preemptlab_lab::Error::from(Mistake { path, text, message, help, span }).into()
                }
            }
        })?;
        let loaded = |scenario| Loaded { path: path.clone(), scenario };
        Ok(scenarios.into_iter().map(loaded).collect::<Vec<_>>())
    };
    Ok(files.iter().map(one).collect::<exit::Result<Vec<_>>>()?.concat())
}

/// Returns the result of each scenario, with its place on the command line.
fn play<'a>(
    Batch { experiment, scenarios }: Batch<'a>,
    out: &OutFolder,
    args: &Scenario,
    lab: &Lab<'_>,
) -> exit::Result<Vec<(usize, Shown<'a>)>> {
    let execution = Execution {
        engine: args.elsewhere.on()?,
        wanted: Wanted { experiment, folders: Default::default(), overrides: Vec::new() },
        out,
        backend: BackendKind::Vm,
        // What was played before without a trace cannot be drawn.
        no_cache: true,
        retry_failed: true,
        trace: true,
    };
    let ran = preemptlab_lab::execute(lab, &execution)?;
    let recording = ran.writer.recording();
    let mut kernels = BootKernels::default();
    let shown = |(place, scenario)| {
        let shown = Shown::read(recording, &mut kernels, scenario, args.under())?;
        Ok((place, shown))
    };
    scenarios.into_iter().map(shown).collect()
}

/// Writes a picture per scenario: into the file if there is one scenario, else into the folder.
fn draw(shown: &[Shown<'_>], path: &Path, output: &Output) -> exit::Result<()> {
    for each in shown {
        let Some(svg) = scenario_svg(each) else { continue };
        let name = format!("{}.svg", each.scenario.family());
        let file = if is_file(path) { path.to_owned() } else { path.join(name) };
        writable::write(&file, svg.as_bytes(), output)?;
    }
    Ok(())
}
