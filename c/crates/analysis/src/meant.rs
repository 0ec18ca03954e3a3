//! Guesses of the path or the file that was probably meant.

use std::{fs, io::Read, path::Path};

use preemptlab_experiment::Experiment;
use preemptlab_model::nearest;
use preemptlab_recording::exists;
use preemptlab_scenario::Scenario;

/// Words for a file of no known kind.
const NO_FOLDER: &str = "it is a file, and a recording is a folder; `compare` and `recommend` also read \
                         histograms that cyclictest, rtla or oslat wrote";

/// Folder of recordings.
pub const RUNS: &str = "runs";

/// Folder of scenarios.
const SCENARIOS: &str = "scenarios";

/// Number of files that are read for one hint.
const TRIED_MAX: usize = 8;

/// Number of entries of a folder that are looked at: a hint is not worth more.
const ENTRIES_MAX: usize = 2_000;

/// Number of recordings that are listed.
const SHOWN: usize = 5;

/// Largest file that is read for a hint, in bytes; files that people write have some kilobytes.
const TEXT_BYTES_MAX: u64 = 1 << 20;

/// Says why there is no recording at a path, and which one was probably meant.
pub fn no_recording(path: &Path) -> String {
    let shown = path.display();
    if path.is_dir() {
        return match of_folder(path) {
            Some(hint) => format!("{shown} is not a recording: it has no recording.json; {hint}"),
            None => format!("{shown} is not a recording: it has no recording.json"),
        };
    }
    if path.exists() {
        let why = of_file(path).unwrap_or_else(|| NO_FOLDER.to_owned());
        return format!("{shown} is not a recording: {why}");
    }
    match near(path) {
        Some(near) => format!("there is no folder {shown}; did you mean {near}?"),
        None => format!("there is no folder {shown}"),
    }
}

/// Explains the kind of a file that is not an experiment, if it is a file of another kind.
pub fn no_experiment(text: &str, path: &Path) -> Option<String> {
    Scenario::parse(text).is_ok().then(|| {
        let shown = path.display();
        format!("{shown} is a scenario; play it with: preemptlab run {shown}")
    })
}

/// Explains the kind of a file that is not a scenario, if it is a file of another kind.
pub fn no_scenario(text: &str, path: &Path) -> Option<String> {
    Experiment::parse(text).is_ok().then(|| {
        let shown = path.display();
        format!("{shown} is an experiment; run it with: preemptlab run {shown}")
    })
}

/// Tells a scenario, which may have mistakes, from an experiment: it has threads, and no factors.
pub fn is_scenario(text: &str) -> bool {
    let has = |tables: &[&str]| {
        text.lines().any(|line| tables.iter().any(|table| line.trim_start().starts_with(table)))
    };
    !has(&["[factors", "[workload."]) && (has(&["[thread."]) || Scenario::parse(text).is_ok())
}

/// Kind of a command's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An experiment, or a recording to continue.
    Experiment,
    /// An argument of `run`: an experiment, a scenario, or a recording to continue.
    Run,
    /// A file of another kind.
    Other,
}

impl Kind {
    /// Returns whether a file is of this kind; one that cannot be read is of none.
    fn is(self, file: &Path) -> bool {
        let text = || {
            let bytes = preemptlab_files::read(file, TEXT_BYTES_MAX).ok()?;
            String::from_utf8(bytes).ok()
        };
        match self {
            // A mistake in an experiment is no reason to call it none.
            Self::Experiment => text().is_some_and(|text| Scenario::parse(&text).is_err()),
            Self::Run => text().is_some(),
            Self::Other => file.is_file(),
        }
    }
}

/// Finds the path that was probably meant with one that does not exist: its nearest sibling of that kind, a
/// recording of an experiment, or for `run` a scenario in the folder of scenarios.
pub fn file(path: &Path, kind: Kind) -> Option<String> {
    let recording = || near(path).filter(|_| kind != Kind::Other);
    if path.is_dir() {
        let with = path.with_added_extension("toml");
        return if kind.is(&with) { Some(with.display().to_string()) } else { recording() };
    }
    let folder = path.parent()?;
    let found = sibling(path, folder, kind).or_else(recording);
    found.or_else(|| match kind {
        Kind::Run => sibling(path, Path::new(SCENARIOS), kind),
        Kind::Experiment | Kind::Other => None,
    })
}

/// Finds the file in a folder whose name is nearest to that of a path.
fn sibling(path: &Path, folder: &Path, kind: Kind) -> Option<String> {
    let extension = path.extension().unwrap_or("toml".as_ref());
    let name = path.with_extension("").file_name()?.to_str()?.to_owned();
    let mut stems: Vec<String> = names(folder)
        .into_iter()
        .filter(|entry| Path::new(entry).extension() == Some(extension))
        .filter_map(|entry| Some(Path::new(&entry).file_stem()?.to_str()?.to_owned()))
        .collect();
    stems.sort_unstable();
    for _ in 0..TRIED_MAX {
        let stem = nearest(&name, stems.iter().map(String::as_str))?.to_owned();
        let file = folder.join(&stem).with_added_extension(extension);
        if kind.is(&file) {
            return Some(file.display().to_string());
        }
        stems.retain(|other| *other != stem);
    }
    None
}

/// Names the recordings in a folder, or the one that a folder is a part of.
fn of_folder(path: &Path) -> Option<String> {
    if let Some(of) = path.parent().filter(|parent| exists(parent)) {
        return Some(format!("did you mean {}?", of.display()));
    }
    let mut inside = recordings(path);
    if inside.is_empty() {
        return same_name(path).map(|of| format!("did you mean {of}?"));
    }
    let more = if inside.len() > SHOWN { ", ..." } else { "" };
    inside.truncate(SHOWN);
    Some(format!("it holds {}{more}", inside.join(", ")))
}

/// Describes the kind of a file, with the place of its recording.
fn of_file(path: &Path) -> Option<String> {
    if let Some(of) = path.ancestors().skip(1).take(2).find(|folder| exists(folder)) {
        return Some(format!("it is a part of one; did you mean {}?", of.display()));
    }
    if is_packed(path) {
        let path = path.display();
        return Some(format!(
            "it is packed; `preemptlab verify {path}` checks a capsule, and `tar --zstd -xf {path} recording` takes the \
             recording out of it"
        ));
    }
    let bytes = preemptlab_files::read(path, TEXT_BYTES_MAX).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    if let Ok(experiment) = Experiment::parse(&text) {
        let recording = Path::new(RUNS).join(experiment.name.as_str());
        let has_run = exists(&recording);
        let (recording, path) = (recording.display(), path.display());
        return Some(match has_run {
            true => format!("it is an experiment; its recording is {recording}"),
            false => format!(
                "it is an experiment; its recording will be {recording}: preemptlab run {path}"
            ),
        });
    }
    let scenario = no_experiment(&text, path)?;
    let of = Scenario::parse(&text).ok()?;
    let prefix = Path::new(RUNS).join(format!("{}-", of.name())).display().to_string();
    let played = recordings(Path::new(RUNS)).into_iter().find(|name| name.starts_with(&prefix));
    Some(match played {
        Some(recording) => format!("it is a scenario; its recording is {recording}"),
        None => scenario.replacen(&format!("{} is", path.display()), "it is", 1),
    })
}

/// Returns whether a file begins as a frame of zstd does (RFC 8878, 3.1.1), as capsules do.
fn is_packed(path: &Path) -> bool {
    let mut begin = [0; 4];
    let read = preemptlab_files::open(path).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && begin == 0xfd2f_b528_u32.to_le_bytes()
}

/// Finds the recording nearest to a path that does not exist.
fn near(path: &Path) -> Option<String> {
    if let Some(same) = same_name(path) {
        return Some(same);
    }
    let name = path.file_name()?.to_str()?;
    // Its siblings, and the entries of the folder of recordings.
    [path.parent()?, Path::new(RUNS)].into_iter().find_map(|folder| {
        let paths = recordings(folder);
        let names = || paths.iter().filter_map(|path| Path::new(path).file_name()?.to_str());
        let found = nearest(name, names())?;
        Some(folder.join(found).display().to_string())
    })
}

/// Finds the recording in `runs/` with the name of a path, or of the experiment's file.
fn same_name(path: &Path) -> Option<String> {
    let stem = if path.extension().is_some_and(|it| it == "toml") {
        path.file_stem()
    } else {
        path.file_name()
    };
    let recording = Path::new(RUNS).join(stem?);
    (recording != path && exists(&recording)).then(|| recording.display().to_string())
}

/// Returns the paths of the recordings in a folder, in order.
fn recordings(folder: &Path) -> Vec<String> {
    let paths = names(folder).into_iter().map(|name| folder.join(name));
    let recordings = paths.filter(|path| exists(path));
    let mut paths: Vec<String> = recordings.map(|path| path.display().to_string()).collect();
    paths.sort_unstable();
    paths
}

/// Returns the names of a folder's entries.
fn names(folder: &Path) -> Vec<String> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let entries = entries.filter_map(Result::ok).take(ENTRIES_MAX);
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}
