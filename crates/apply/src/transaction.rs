//! Changing several files and switches so that a process that is killed at any moment leaves the
//! old settings or the new ones to the next boot, and a journal by which it is put right.
//!
//! 1. The journal says what is to be changed, with the bytes of before and after.
//! 2. Every new file is on the disk under another name: from here on no space is needed.
//! 3. The running kernel is told; it refuses what it does not take.
//! 4. Each file takes its place, in the plan's order, and is on the disk before the next one is.
//! 5. The journal says what is applied.
//!
//! Whoever finds a journal with a pending change puts everything back before anything else.

use std::fs;

use crate::{
    Contents, Error, Journal, Kind, Machine, Result, Transaction, files, plan::read,
    revert::regenerated,
};

/// Executes a plan. Where it fails, what was there is put back.
///
/// # Errors
///
/// Why it failed, and whether putting back did.
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

/// Puts back what a killed process had begun, and returns the journal without it.
///
/// # Errors
///
/// When something cannot be written; it can be tried again.
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

/// Everything as it was before, whatever part of it was done. It can be done again.
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
    // Somebody has generated it since, with the drop-in of a change that was not finished.
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

/// One that has something of somebody else's in it stays.
fn remove_folders<'a>(machine: &Machine, folders: impl Iterator<Item = &'a String>) {
    for folder in folders {
        let _ = fs::remove_dir(machine.path(folder));
    }
}
