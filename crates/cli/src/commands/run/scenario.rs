//! Scenarios: textbook situations, played on real kernels and drawn.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use preemptlab_analysis::{
    boot_kernels::BootKernels,
    meant,
    scenario::{Batch, Loaded, Shown, Under, Verdict, batches, document, side_by_side},
};
use preemptlab_files::OutFolder;
use preemptlab_lab::{Execution, Lab, Mistake, Wanted, chosen, read};
use preemptlab_model::{Arch, BackendKind, KernelRef};
use preemptlab_report::{scenario_svg, scenarios_markdown, scenarios_page, scenarios_terminal};
use preemptlab_scenario::{Model, Scenario, ScenarioError};

use super::options::{Executor, Options};
use crate::{
    args::{DEFAULT_KERNEL, Form, Format, OverrideArgs, check_forms, refuse},
    exit,
    output::Output,
    writable,
};

/// The models where the user names none.
const MODELS: [Model; 4] = [Model::None, Model::Voluntary, Model::Full, Model::Rt];

/// Plays scenarios under each model, draws the course, and checks the expectations.
pub fn play(
    files: &[PathBuf],
    options: &Options,
    executor: Executor<'_>,
    lab: &Lab<'_>,
    output: &Output,
) -> exit::Result<ExitCode> {
    check(options, executor)?;
    let kernel = kernel(&options.overrides)?;
    let models = match &*options.overrides.preempt {
        [] => &MODELS,
        models => models,
    };
    let under = Under { kernel: &kernel, models };
    let loaded = load(files, options.overrides.guests.arch)?;
    check_forms(&options.forms)?;
    for Form { format, file } in &options.forms {
        check_file(*format, file.as_deref(), files.len())?;
    }
    let mut shown: Vec<Option<Shown<'_>>> = loaded.iter().map(|_| None).collect();
    let mut next = None;
    let mut failure = None;
    for batch in batches(&loaded, under, options.out.is_some())? {
        let out = match &options.out {
            Some(out) => OutFolder::named(out),
            None => chosen(batch.name()),
        };
        match play_batch(batch, &out, under, executor, lab) {
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
    for form in &options.forms {
        write(form, &shown, output)?;
    }
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

/// Refuses options that only experiments have.
fn check(options: &Options, executor: Executor<'_>) -> exit::Result<()> {
    let OverrideArgs { machine, workloads, replicates, seed, .. } = &options.overrides;
    let given = [
        (!options.until.is_empty(), "--until"),
        (options.baseline.is_some(), "--baseline"),
        (options.trace, "--trace"),
        (options.retry_failed, "--retry-failed"),
        (executor.no_cache, "--no-cache"),
        (!executor.backend.is_vm(), "--backend"),
        (!machine.is_empty(), "--machine"),
        (!workloads.is_empty(), "--workload"),
        (replicates.is_some(), "--replicates"),
        (seed.is_some(), "--seed"),
    ];
    refuse(&given, "a scenario is played once under each model, in virtual time, and always traced")
}

/// Returns the kernel that scenarios are played on.
fn kernel(overrides: &OverrideArgs) -> exit::Result<KernelRef> {
    match &*overrides.kernels {
        [] => DEFAULT_KERNEL.parse().map_err(exit::unusable),
        [level] if level.label.is_none() => Ok(level.kernel.clone()),
        _ => Err(exit::unusable(
            "scenarios are played on one kernel, without a label: --preempt names the models",
        )),
    }
}

/// Refuses a form that scenarios do not have, and a file that cannot be written, before anything is played.
fn check_file(format: Format, file: Option<&Path>, scenarios: usize) -> exit::Result<()> {
    match (format, file) {
        (Format::Csv, _) => Err(exit::unusable("lanes of threads are no table and have no CSV")),
        (Format::Svg | Format::Html, None) => Err(exit::unusable(format!(
            "pictures go to files: write --format {format}={}",
            if format == Format::Svg { "FOLDER" } else { "FILE" }
        ))),
        (_, None) => Ok(()),
        (Format::Svg, Some(folder)) if !is_file(folder) => {
            let cannot = |error| exit::host(writable::refusal(folder, &error));
            fs::create_dir_all(folder).map_err(cannot)
        }
        (Format::Svg, Some(_)) if scenarios > 1 => {
            Err(exit::unusable("several scenarios need a folder for their pictures, not a file"))
        }
        (_, Some(file)) => writable::check(file),
    }
}

/// Prints or writes the results in a form.
fn write(form: &Form, shown: &[Shown<'_>], output: &Output) -> exit::Result<()> {
    let plain = output.plain_terminal();
    let text = match (form.format, &form.file) {
        (Format::Svg, Some(path)) => return draw(shown, path, output),
        (Format::Json, None) => return output.json(&document(shown)).map(|_| ()),
        (Format::Json, Some(_)) => crate::output::json(&document(shown))?,
        (Format::Markdown, _) => scenarios_markdown(shown),
        (Format::Table, None) => scenarios_terminal(shown, output.terminal()),
        (Format::Table, Some(_)) => scenarios_terminal(shown, plain),
        (Format::Html, Some(_)) => scenarios_page(shown),
        (other, _) => return Err(other.is_not_written()),
    };
    match &form.file {
        Some(file) => writable::write(file, text.as_bytes(), output),
        None => output.data(&text).map(|_| ()),
    }
}

/// Reads every file with all of its variants, for guests of an architecture if one is named; a mistake is shown in its
/// place.
fn load(files: &[PathBuf], arch: Option<Arch>) -> exit::Result<Vec<Loaded>> {
    let one = |path: &PathBuf| {
        let text = read(path, meant::Kind::Run)?;
        let scenarios =
            Scenario::parse_variants(&text).map_err(|error| {
                match meant::no_scenario(&text, path) {
                    Some(other) => exit::unusable(other),
                    None => {
                        let ScenarioError { message, help, span, .. } = error;
                        let path = path.clone();
                        preemptlab_lab::Error::from(Mistake { path, text, message, help, span })
                            .into()
                    }
                }
            })?;
        let loaded = |scenario: Scenario| {
            let scenario = match arch {
                Some(arch) => scenario.on(arch),
                None => scenario,
            };
            Loaded { path: path.clone(), scenario }
        };
        Ok(scenarios.into_iter().map(loaded).collect::<Vec<_>>())
    };
    Ok(files.iter().map(one).collect::<exit::Result<Vec<_>>>()?.concat())
}

/// Returns the result of each scenario, with its place on the command line.
fn play_batch<'a>(
    Batch { experiment, scenarios }: Batch<'a>,
    out: &OutFolder,
    under: Under<'_>,
    executor: Executor<'_>,
    lab: &Lab<'_>,
) -> exit::Result<Vec<(usize, Shown<'a>)>> {
    let execution = Execution {
        engine: executor.on()?,
        wanted: Wanted { experiment, folders: Default::default(), overrides: Vec::new() },
        out,
        backend: BackendKind::Vm,
        // A scenario played before without a trace cannot be drawn.
        no_cache: true,
        retry_failed: true,
        trace: true,
    };
    let ran = preemptlab_lab::execute(lab, &execution)?;
    let recording = ran.writer.recording();
    let mut kernels = BootKernels::default();
    let shown = |(place, scenario)| {
        let shown = Shown::read(recording, &mut kernels, scenario, under)?;
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
