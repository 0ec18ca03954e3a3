use std::path::Path;

use crate::tune::{Settings, entry, grub, unit};

use crate::apply::{
    Applied, Change, Contents, Error, Journal, Kept, Kind, Loader, Machine, Result, Transaction,
    Write, diff, generated, loader::entries, run_time,
};

/// Plan of a change to the machine.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Change of files and of the running kernel.
    pub transaction: Transaction,
    /// Notes on the change.
    pub notes: Vec<String>,
}

impl Plan {
    /// Returns whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.transaction.changes.is_empty() && self.transaction.run_time.is_empty()
    }

    /// Returns whether the settings, or a part of them, take effect at the next boot.
    pub fn needs_boot(&self) -> bool {
        self.transaction.changes.iter().any(|change| change.kind != Kind::Ours)
    }
}

/// Plans to apply settings, in the place of those that were applied before. A boot finds the old
/// settings or the new ones, because of the order of the files: first those are added that do
/// nothing by themselves, then those that boot are replaced, and those of the old settings are
/// removed last.
///
/// # Errors
///
/// When the settings cannot be put into force on this machine, or another program changed the
/// applied files.
pub fn apply(
    machine: &Machine,
    loader: &Loader,
    journal: &Journal,
    settings: &Settings,
) -> Result<Plan> {
    let old = journal.applied.as_ref();
    if !settings.run_time().is_empty() && !machine.path("/usr/lib/systemd/systemd").exists() {
        return Err(Error::Unsupported {
            reason: "without systemd nothing sets what has no kernel parameter after a boot".into(),
            instead: "`preemptlab system apply ... --emit script` prints what to execute then"
                .into(),
        });
    }
    let (writes, mut notes) = at_once(machine, settings)?;
    let now = old.map_or(Ok(false), |old| is_as_it_was(machine, old))?;
    // An earlier preemptlab may have written the services in another way.
    let same_units = |old: &&Applied| {
        let is_kept = |file: unit::UnitFile| {
            let kept = old.files.iter().find(|kept| kept.path == file.path);
            let applied = kept.and_then(|kept| kept.applied.as_ref());
            applied.is_some_and(|applied| applied.bytes == file.content.as_bytes())
        };
        unit::files(settings).into_iter().all(is_kept)
    };
    let same = old.filter(|old| now && old.settings == *settings).filter(same_units);
    let files = match same {
        // Nothing has happened since, so the same files would be generated.
        Some(old) => old.files.clone(),
        None => files(machine, loader, old, settings, &mut notes)?,
    };
    let mut changes = Vec::new();
    for kept in &files {
        push(machine, &mut changes, &kept.path, kept.kind, kept.applied.clone())?;
    }
    for kept in old.iter().flat_map(|old| old.files.iter().rev()) {
        if !files.iter().any(|it| it.path == kept.path) {
            let (original, _) = original(machine, old, &kept.path, kept.kind)?;
            push(machine, &mut changes, &kept.path, kept.kind, original)?;
        }
    }
    let (run_time, remembered) = run_time(machine, old, writes);
    let make = missing_folders(machine, &changes);
    let mut folders = old.map(|old| old.folders.clone()).unwrap_or_default();
    folders.extend(make.iter().filter(|it| !folders.contains(it)).cloned().collect::<Vec<_>>());
    let outcome = Applied {
        settings: settings.clone(),
        boot: machine.boot(),
        release: machine.running().unwrap_or_default(),
        files,
        folders,
        run_time: remembered,
    };
    let transaction = Transaction {
        verb: "apply".to_owned(),
        changes,
        make,
        remove: Vec::new(),
        run_time,
        outcome: Some(outcome),
    };
    Ok(Plan { transaction, notes })
}

/// Returns whether every file has the content that was applied.
fn is_as_it_was(machine: &Machine, old: &Applied) -> Result<bool> {
    for kept in &old.files {
        if read(machine, &kept.path)? != kept.applied {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the writes to the running kernel, if the settings are for it, and notes.
fn at_once(machine: &Machine, settings: &Settings) -> Result<(Vec<Write>, Vec<String>)> {
    let Some(running) = machine.running() else {
        return Ok((Vec::new(), Vec::new()));
    };
    if settings.release().is_some_and(|release| release != running) {
        let note =
            "The settings are for another kernel than the one that runs: nothing is set now.";
        return Ok((Vec::new(), vec![note.to_owned()]));
    }
    run_time::wanted(machine, settings)
}

/// Returns the files with their new content, in the order in which they are written.
fn files(
    machine: &Machine,
    loader: &Loader,
    old: Option<&Applied>,
    settings: &Settings,
    notes: &mut Vec<String>,
) -> Result<Vec<Kept>> {
    let mut files = Files { machine, old, files: Vec::new() };
    for unit::UnitFile { path, content } in unit::files(settings) {
        files.ours(&path, content)?;
    }
    let (words, release) = (settings.words(), settings.release());
    match loader {
        Loader::Grub { config } => files.of_grub(config, &words, release)?,
        Loader::Entries { folder, .. } => {
            if !files.of_entries(folder, &words, release)? {
                notes.push(format!(
                    "There is no {CMDLINE}: kernel-install gives a new kernel the running kernel's \
                     parameters."
                ));
            }
        }
    }
    Ok(files.files)
}

/// The parameters that kernel-install gives a new kernel.
const CMDLINE: &str = "/etc/kernel/cmdline";

/// Files as they are to be.
struct Files<'a> {
    machine: &'a Machine,
    old: Option<&'a Applied>,
    files: Vec<Kept>,
}

impl Files<'_> {
    fn push(&mut self, path: &str, kind: Kind, original: Option<Contents>, applied: Contents) {
        let (path, applied) = (path.to_owned(), Some(applied));
        self.files.push(Kept { path, kind, original, applied });
    }

    /// Adds a file that only preemptlab writes.
    fn ours(&mut self, path: &str, text: String) -> Result<()> {
        let (original, _) = original(self.machine, self.old, path, Kind::Ours)?;
        let applied = match &original {
            Some(original) => original.with(text),
            None => self.machine.new_file(text),
        };
        self.push(path, Kind::Ours, original, applied);
        Ok(())
    }

    /// Adds words to the line of a file; `false` where there is no such file.
    fn with_words(
        &mut self,
        path: &str,
        words: &[String],
        with: fn(&str, &[String]) -> String,
    ) -> Result<bool> {
        let (original, _) = original(self.machine, self.old, path, Kind::Words)?;
        let Some(original) = original else { return Ok(false) };
        let applied = original.with(with(&original.text(), words));
        self.push(path, Kind::Words, Some(original), applied);
        Ok(true)
    }

    /// Adds GRUB's drop-in and the configuration that is generated with it.
    fn of_grub(&mut self, config: &str, words: &[String], release: Option<&str>) -> Result<()> {
        let drop_in = grub::drop_in(words, release);
        self.ours(grub::PATH, drop_in.clone())?;
        self.machine.is_writable("/boot/grub")?;
        let generated = generated::config(self.machine, Some(drop_in.as_bytes()))?;
        generated::check(&generated, words, release)?;
        let (original, current) = original(self.machine, self.old, config, Kind::Generated)?;
        let Some(current) = current else {
            let reason = format!("{config} is gone; `update-grub` writes it");
            return Err(Error::NotTaken(reason));
        };
        self.push(config, Kind::Generated, original, current.with(generated));
        Ok(())
    }

    /// Adds the boot loader's entries of a kernel, or of all, and the file that makes that kernel
    /// the default. Returns whether new kernels get the parameters, too.
    fn of_entries(
        &mut self,
        folder: &str,
        words: &[String],
        release: Option<&str>,
    ) -> Result<bool> {
        self.machine.is_writable(folder)?;
        let is_for_new = self.with_words(CMDLINE, words, entry::cmdline_with)?;
        let all = entries(self.machine, folder);
        let booted = |text: &str| release.is_none_or(|release| entry::boots(text, release));
        for (path, _) in all.iter().filter(|(_, text)| booted(text)) {
            self.with_words(path, words, entry::with)?;
        }
        let Some(release) = release else { return Ok(is_for_new) };
        // The entry is whole before it becomes the default.
        let path = format!("{folder}/loader.conf");
        let (original, _) = original(self.machine, self.old, &path, Kind::Ours)?;
        let file = original.clone().unwrap_or_else(|| self.machine.new_file(""));
        let name = all.iter().find(|(_, text)| entry::boots(text, release));
        let name = name.and_then(|(path, _)| Path::new(path).file_name()?.to_str());
        let pattern = name.unwrap_or_default();
        let applied = file.with(entry::with_default(&file.text(), pattern));
        self.push(&path, Kind::Ours, original, applied);
        Ok(is_for_new)
    }
}

/// Returns a file's content before anything was applied, and its present content.
pub(crate) fn original(
    machine: &Machine,
    old: Option<&Applied>,
    path: &str,
    kind: Kind,
) -> Result<(Option<Contents>, Option<Contents>)> {
    let current = read(machine, path)?;
    let kept = old.and_then(|old| old.files.iter().find(|kept| kept.path == path));
    let words = || old.map(|old| old.settings.words()).unwrap_or_default();
    let original = match (kept, kind, &current) {
        (Some(kept), ..) if kept.applied == current => kept.original.clone(),
        // An entry of a kernel that was installed since has the words of the settings that were
        // applied then.
        (_, Kind::Words, Some(current)) if old.is_some() => {
            Some(current.with(stripped(path, &current.text(), &words())))
        }
        (None, ..) => current.clone(),
        (Some(kept), Kind::Ours, Some(_)) if kept.original != current => {
            let diff = diff::unified(&Change {
                path: path.to_owned(),
                kind,
                from: kept.applied.clone(),
                to: current,
            });
            return Err(Error::Changed { path: path.to_owned(), diff });
        }
        // A kernel was installed or removed since, so the original content is out of date.
        (Some(_), Kind::Generated, Some(current)) => {
            let drop_in = old.and_then(|old| old.files.iter().find(|it| it.path == grub::PATH));
            let drop_in = drop_in.and_then(|kept| kept.original.as_ref());
            let config = generated::config(machine, drop_in.map(|it| it.bytes.as_slice()))?;
            Some(current.with(config))
        }
        (Some(_), _, current) => current.clone(),
    };
    Ok((original, current))
}

/// Returns a file without the words that were put into it.
pub(crate) fn stripped(path: &str, text: &str, words: &[String]) -> String {
    match path.ends_with("/cmdline") {
        true => entry::cmdline_without(text, words),
        false => entry::without(text, words),
    }
}

pub(crate) fn read(machine: &Machine, path: &str) -> Result<Option<Contents>> {
    Contents::read(&machine.path(path)).map_err(Error::file(path))
}

/// Adds the change that gives a file its new content, if it differs.
pub(crate) fn push(
    machine: &Machine,
    changes: &mut Vec<Change>,
    path: &str,
    kind: Kind,
    to: Option<Contents>,
) -> Result<()> {
    let from = read(machine, path)?;
    if from != to {
        changes.push(Change { path: path.to_owned(), kind, from, to });
    }
    Ok(())
}

/// Returns the writes that are due now, and those that the journal remembers, which hold the value
/// before the first of several applies.
fn run_time(
    machine: &Machine,
    old: Option<&Applied>,
    wanted: Vec<Write>,
) -> (Vec<Write>, Vec<Write>) {
    let before = old.map(|old| old.run_time.as_slice()).unwrap_or_default();
    let is_set = |write: &Write| write.is_set(machine).unwrap_or(false);
    let mut now: Vec<Write> = wanted.iter().filter(|write| !is_set(write)).cloned().collect();
    for write in before {
        let goes_on = wanted.iter().any(|it| it.same_switch(write));
        if !goes_on && is_set(write) {
            now.push(write.reversed());
        }
    }
    let remembered = wanted.into_iter().map(|write| {
        let first = before.iter().find(|it| it.same_switch(&write));
        let back = first.map_or_else(|| write.back.clone(), |first| first.back.clone());
        Write { back, ..write }
    });
    (now, remembered.filter(|write| write.back != write.value).collect())
}

/// Returns the missing folders of new files, the outermost first.
fn missing_folders(machine: &Machine, changes: &[Change]) -> Vec<String> {
    let mut missing: Vec<String> = Vec::new();
    for change in changes.iter().filter(|change| change.to.is_some()) {
        let folders = Path::new(&change.path).ancestors().skip(1);
        for folder in folders.filter_map(Path::to_str) {
            if !machine.path(folder).exists() && !missing.iter().any(|it| it == folder) {
                missing.push(folder.to_owned());
            }
        }
    }
    missing.sort();
    missing
}
