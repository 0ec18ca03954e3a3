//! Changes several files and settings in one transaction. A process that is killed at any moment
//! leaves the old settings or the new ones to the next boot, and a journal of the unfinished
//! change.
//!
//! 1. The journal gets the change, with the bytes of before and after.
//! 2. Every new file is written to the disk under another name: the next steps need no more space.
//! 3. The running kernel gets its settings; it may refuse a value.
//! 4. Each file gets its name, in the plan's order, and is on the disk before the next one.
//! 5. The journal gets the applied settings.
//!
//! A process that finds a journal with an unfinished change undoes it first.

use std::fs;

use crate::apply::{
    Contents, Error, Journal, Kind, Machine, Result, Transaction, files, plan::read,
    revert::regenerated,
};

/// Executes a plan. If a step fails, restores the old files and settings.
///
/// # Errors
///
/// The cause of the failure, and whether the restoration failed, too.
pub fn commit(machine: &Machine, journal: &Journal, transaction: &Transaction) -> Result<()> {
    for change in &transaction.changes {
        if read(machine, &change.path)? != change.from {
            let reason = format!("{} was changed meanwhile; try again", change.path);
            return Err(Error::NotTaken(reason));
        }
    }
    journal.with(journal.applied.clone(), Some(transaction.clone())).store(machine)?;
    let done = journal.with(transaction.outcome.clone(), None);
    let executed = done.stage(machine).and_then(|()| execute(machine, transaction));
    if let Err(failure) = executed {
        let put_back = undo(machine, transaction).and_then(|()| journal.store(machine));
        return Err(match put_back {
            Ok(()) => failure,
            Err(again) => Error::Unfinished { failure: failure.into(), again: again.into() },
        });
    }
    done.publish(machine)
}

/// Undoes the unfinished change of a killed process, and returns the journal without it.
///
/// # Errors
///
/// When a file cannot be written; the function can be called again.
pub fn roll_back(machine: &Machine, journal: &Journal) -> Result<Journal> {
    if let Some(transaction) = &journal.pending {
        undo(machine, transaction)?;
    }
    let journal = journal.with(journal.applied.clone(), None);
    journal.store(machine)?;
    Ok(journal)
}

fn execute(machine: &Machine, transaction: &Transaction) -> Result<()> {
    for folder in &transaction.make {
        let folder = machine.path(folder);
        match fs::create_dir(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            other => other.map_err(Error::file(&folder))?,
        }
        files::sync_folder(&folder).map_err(Error::file(&folder))?;
    }
    for change in &transaction.changes {
        if let Some(to) = &change.to {
            files::stage(&machine.path(&change.path), to).map_err(Error::file(&change.path))?;
        }
    }
    for write in &transaction.run_time {
        write.execute(machine)?;
    }
    for change in &transaction.changes {
        let path = machine.path(&change.path);
        let done = match &change.to {
            Some(_) => files::publish(&path),
            None => files::remove(&path),
        };
        done.map_err(Error::file(&change.path))?;
    }
    remove_folders(machine, transaction.remove.iter());
    Ok(())
}

/// Restores everything, whatever part of the change was done. Can be repeated.
fn undo(machine: &Machine, transaction: &Transaction) -> Result<()> {
    for write in transaction.run_time.iter().rev() {
        // Another kernel may run now, which has no such file.
        if write.is_set(machine).unwrap_or(false) {
            write.reversed().execute(machine)?;
        }
    }
    let mut generated = Vec::new();
    for change in transaction.changes.iter().rev() {
        let path = machine.path(&change.path);
        files::discard(&path).map_err(Error::file(&change.path))?;
        let current = read(machine, &change.path)?;
        if current == change.to {
            put(machine, &change.path, change.from.as_ref())?;
        } else if current != change.from && change.kind == Kind::Generated {
            generated.extend(current.map(|current| (&change.path, current)));
        }
    }
    // Another program has generated it since, with the drop-in of a change that was not finished.
    for (path, current) in generated {
        put(machine, path, Some(&regenerated(machine, &current)?))?;
    }
    remove_folders(machine, transaction.make.iter().rev());
    Ok(())
}

fn put(machine: &Machine, path: &str, contents: Option<&Contents>) -> Result<()> {
    let file = machine.path(path);
    if let (Some(_), Some(folder)) = (contents, file.parent()) {
        fs::create_dir_all(folder).map_err(Error::file(folder))?;
    }
    files::set(&file, contents).map_err(Error::file(path))
}

/// Keeps a folder that holds other files.
fn remove_folders<'a>(machine: &Machine, folders: impl Iterator<Item = &'a String>) {
    for folder in folders {
        let _ = fs::remove_dir(machine.path(folder));
    }
}
