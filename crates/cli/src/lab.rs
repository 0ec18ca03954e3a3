//! From the command line's options to a lab, and the messages while things are brought here.

use std::{
    cell::RefCell,
    io,
    ops::Range,
    path::{Path, PathBuf},
    sync::OnceLock,
    time::Duration,
};

use indicatif::{ProgressBar, ProgressStyle};
use preemptlab_analysis::meant;
use preemptlab_durable::OutFolder;
use preemptlab_experiment::{Derived, Experiment, Overrides, Recording};
use preemptlab_files::Folders;
use preemptlab_lab::{EmbedError, Preparation, Prepared};
use preemptlab_model::plain;
use preemptlab_provision::{Event, Options, Provision, Store};
use preemptlab_recording::Override;
use preemptlab_runner::{Cancel, RunError};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::{
    args::{Machines, Packages},
    children,
    exit::{self, OrExit},
    output::Output,
};

/// Opens the store that was named, or the user's own.
pub fn store(path: Option<PathBuf>) -> exit::Result<Store> {
    let path = match path {
        Some(path) => path,
        None => default_store()?,
    };
    let cancel = cancel()?;
    Ok(Store::open(path)?.until(cancel.flag()))
}

/// Returns the folder of the XDG Base Directory Specification.
fn default_store() -> exit::Result<PathBuf> {
    let folder =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
    let cache = cache
        .ok_or_else(|| exit::unusable("there is no home folder; name a store with --store"))?;
    // What is wrong with it is said where the store is opened.
    let _ = preemptlab_durable::create_folder(&cache);
    Ok(cache.join("preemptlab"))
}

/// Returns the folder of a recording or a search that the user did not name.
pub fn chosen(name: impl AsRef<Path>) -> OutFolder {
    OutFolder::chosen(".", Path::new(meant::RUNS).join(name))
}

/// Returns the options of packages as provision takes them.
pub fn options(packages: &Packages) -> Options {
    Options {
        mirror: packages.mirror.clone(),
        allow_expired: packages.allow_expired,
        refresh: packages.refresh,
        apt_config: std::env::var_os("APT_CONFIG").map(PathBuf::from),
    }
}

/// Calls `work` with a provision whose events are shown. A signal ends it, and the programs that are
/// at work.
pub fn with_provision<T>(
    store: Store,
    packages: &Packages,
    output: &Output,
    work: impl FnOnce(Provision<'_>) -> exit::Result<T>,
) -> exit::Result<T> {
    with_spinner(&Spinner::new(*output), store, packages, work)
}

/// Runs work that needs packages, under a spinner of the caller's.
pub fn with_spinner<T>(
    spinner: &Spinner,
    store: Store,
    packages: &Packages,
    work: impl FnOnce(Provision<'_>) -> exit::Result<T>,
) -> exit::Result<T> {
    let cancel = cancel()?;
    let on_event = |event: Event| spinner.on_event(event);
    let work = || work(Provision::new(store, options(packages), &on_event));
    let result = children::ended_when(|| cancel.is_cancelled(), work);
    spinner.finish();
    if result.is_err() && !cancel.is_cancelled() {
        // Of a signal to several processes another one may hear first.
        std::thread::sleep(SIGNAL_LAG);
    }
    if cancel.is_cancelled() { Err(interrupted()) } else { result }
}

/// Brings everything here that the cells of a recording need, exactly as they had it.
pub fn pinned(
    recording: Derived<'_>,
    store: Option<PathBuf>,
    packages: &Packages,
    machines: &Machines,
    output: &Output,
) -> exit::Result<Prepared> {
    let store = self::store(store)?;
    let folders = recording.folders()?;
    with_provision(store, packages, output, |provision| {
        let provision = provision.with_build_scripts(machines.allow_build_scripts);
        let lab = Preparation::new(provision, machines.qemu.clone()).with_folders(&folders);
        lab.pin(recording).map_err(exit::Failure::from)
    })
}

/// Fills a worker's store out of a recording's seed.
pub fn from_seed(
    recording: Derived<'_>,
    seed: &Path,
    store: &Store,
    output: &Output,
) -> exit::Result<Prepared> {
    let spinner = Spinner::new(*output);
    let on_event = |event: Event| spinner.on_event(event);
    let prepared = preemptlab_lab::from_seed(recording, seed, store, &on_event);
    spinner.finish();
    Ok(prepared?)
}

/// Longest time by which a signal may reach this process later than its child.
const SIGNAL_LAG: Duration = Duration::from_millis(50);

fn interrupted() -> exit::Failure {
    exit::failure(exit::INTERRUPTED, RunError::Cancelled)
}

/// Reads a file of a kind that the user names.
pub fn read(path: &Path, kind: meant::Kind) -> exit::Result<String> {
    /// Experiments and scenarios have some kilobytes.
    const TEXT_BYTES_MAX: u64 = 1 << 20;
    let text = preemptlab_durable::read(path, TEXT_BYTES_MAX).and_then(|bytes| {
        String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    });
    text.map_err(|error| {
        let kinds = [io::ErrorKind::NotFound, io::ErrorKind::IsADirectory];
        let near = kinds.contains(&error.kind()).then(|| meant::file(path, kind)).flatten();
        let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        exit::unusable(format!("cannot read {}: {error}{hint}", path.display()))
    })
}

/// An experiment as it is to be run.
pub struct Wanted {
    /// The experiment.
    pub experiment: Experiment,
    /// The folders of its workloads.
    pub folders: Folders,
    /// Values that differ from those of the file.
    pub overrides: Vec<Override>,
}

/// Reads an experiment, puts values in the place of what it says, and reads the folders of its
/// workloads; a mistake is shown in its place.
pub fn experiment(path: &Path, overrides: &Overrides) -> exit::Result<Wanted> {
    parsed(read(path, meant::Kind::Experiment)?, path, overrides)
}

/// Does the same with the text of an experiment.
pub fn parsed(text: String, path: &Path, overrides: &Overrides) -> exit::Result<Wanted> {
    let mut experiment = match Experiment::parse(&text) {
        Ok(experiment) => experiment,
        Err(error) => {
            return Err(match meant::no_experiment(&text, path) {
                Some(other) => exit::unusable(other),
                None => mistake(path, text, error.message, error.help, error.span),
            });
        }
    };
    let overrides = overrides.apply(&mut experiment).map_err(exit::unusable)?;
    let base = path.parent().unwrap_or(Path::new(""));
    let embedded = preemptlab_lab::embed(experiment, base);
    let (experiment, folders) = embedded.map_err(not_embedded)?;
    Ok(Wanted { experiment, folders, overrides })
}

fn not_embedded(error: EmbedError) -> exit::Failure {
    match error {
        EmbedError::Definition { path, text, error } => {
            mistake(&path, text, error.message, error.help, error.span)
        }
        error => exit::unusable(error),
    }
}

/// Returns the experiment of a recording, to go on with it.
pub fn recorded_experiment(path: &Path, overrides: &Overrides) -> exit::Result<Wanted> {
    let recording = Recording::open(path)?;
    if *overrides != Overrides::default() {
        return Err(exit::unusable(format!(
            "{} is a recording, which goes on as it was begun: name the experiment's file to run it \
             with other values",
            path.display()
        )));
    }
    let manifest = recording.manifest();
    let (experiment, overrides) = (manifest.experiment.clone(), manifest.overrides.clone());
    Ok(Wanted { experiment, folders: recording.folders()?, overrides })
}

/// Returns the error of a mistake in a file, which shows its place.
pub fn mistake(
    path: &Path,
    text: String,
    message: String,
    help: Option<String>,
    span: Range<usize>,
) -> exit::Failure {
    // Places in the text stay places.
    let shown = |text: &str| plain::lines(text).into_owned();
    let (text, message, help) =
        (plain::lines_in_place(&text), shown(&message), help.as_deref().map(shown));
    let label = miette::LabeledSpan::at(span, "here");
    let mut diagnostic = miette::MietteDiagnostic::new(message).with_label(label);
    if let Some(help) = help {
        diagnostic = diagnostic.with_help(help);
    }
    let source = miette::NamedSource::new(shown(&path.display().to_string()), text);
    let report = miette::Report::new(diagnostic).with_source_code(source);
    exit::Failure { code: exit::UNUSABLE, report }
}

/// Returns the flag that the first interrupt sets; a second one ends the process at once. There is
/// one flag for the whole process.
pub fn cancel() -> exit::Result<Cancel> {
    static CANCEL: OnceLock<Cancel> = OnceLock::new();
    if let Some(cancel) = CANCEL.get() {
        return Ok(cancel.clone());
    }
    let cancel = CANCEL.get_or_init(Cancel::default).clone();
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register_conditional_shutdown(
            signal,
            exit::INTERRUPTED.into(),
            cancel.flag(),
        )
        .and_then(|_| signal_hook::flag::register(signal, cancel.flag()))
        .or_exit(exit::HOST)?;
    }
    Ok(cancel)
}

/// Returns the number of virtual machines at a time: the given one, or one a CPU.
pub fn jobs(asked: Option<u16>) -> usize {
    asked.map_or_else(
        || std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        usize::from,
    )
}

/// One line that tells what is being brought here, on a terminal below what is known already.
pub struct Spinner {
    bar: ProgressBar,
    output: Output,
    said: RefCell<String>,
}

impl Spinner {
    /// Begins to spin.
    pub fn new(output: Output) -> Self {
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{prefix}{spinner} {msg}").expect("it is valid");
        bar.set_style(style);
        bar.set_message("looking for kernels and packages");
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, output, said: RefCell::default() }
    }

    /// Returns whether the spinner is on a terminal.
    pub fn is_seen(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// Shows lines above it until it ends.
    pub fn set_above(&self, lines: &str) {
        self.bar.set_prefix(format!("{}\n", plain::lines(lines.trim_end())));
    }

    fn on_event(&self, event: Event) {
        let text = match event {
            Event::Waiting => "waiting for another preemptlab to be done with the store".to_owned(),
            Event::Refreshing => "refreshing the package lists".to_owned(),
            Event::Downloading { what, bytes, bytes_total } => {
                let megabytes = |bytes: u64| bytes as f64 / 1e6;
                let line = format!("downloading {what}");
                self.show(&format!(
                    "{line} ({:.1} of {:.1} MB)",
                    megabytes(bytes),
                    megabytes(bytes_total)
                ));
                self.say_once(line);
                return;
            }
            Event::Packing { what } => {
                self.show(&format!("packing {what}"));
                return;
            }
            Event::Unpacking { what } => format!("unpacking {what}"),
            Event::Copying { what } => format!("copying the source of {what}"),
            Event::RunningScripts { what } => {
                let line =
                    format!("running the Makefile and the scripts of {what}, with your rights");
                self.show(&line);
                self.bar.suspend(|| self.output.note(&line));
                return;
            }
            Event::Building { what } => format!("building {what}"),
            Event::Compiling { what, steps, steps_expected } => {
                let line = format!("building {what}");
                self.show(&format!("{line} (file {steps} of about {steps_expected})"));
                // The estimate is one, so a build that goes on is never said to be done.
                let tenths = (steps * 10 / steps_expected.max(1)).min(9);
                self.say_once(match tenths {
                    0 => line,
                    tenths => format!("{line}, about {tenths}0 %"),
                });
                return;
            }
            Event::Warning(text) => {
                self.bar.suspend(|| self.output.warning(text));
                return;
            }
        };
        self.show(&text);
        self.say_once(text);
    }

    fn show(&self, text: &str) {
        self.bar.set_message(plain::line(text).into_owned());
    }

    /// Prints a line for each step where no bar can be drawn.
    fn say_once(&self, text: String) {
        if self.bar.is_hidden() && *self.said.borrow() != text {
            self.output.note(&text);
            self.said.replace(text);
        }
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
