use crate::tune::grub;

use crate::apply::{
    Applied, Contents, Error, Kind, Loader, Machine, Plan, Result, Transaction, generated,
    loader::entries,
    plan::{original, push, read, stripped},
};

/// Plans to revert settings: every file gets its bytes from before the first `apply`, in the
/// reverse of the order in which the files were written. A file that was generated again since,
/// because a kernel was installed or removed, is generated without the settings. Words are removed
/// from files that others changed. `force` discards changes of others in files that preemptlab
/// wrote as a whole.
///
/// # Errors
///
/// When such a file was changed, or grub-mkconfig fails.
pub fn revert(machine: &Machine, applied: &Applied, force: bool) -> Result<Plan> {
    let old = Some(applied);
    let mut changes = Vec::new();
    let mut notes = Vec::new();
    // Those that were installed since come first: none of the others depends on them.
    if let Ok(Loader::Entries { folder, .. }) = Loader::find(machine) {
        for (path, text) in entries(machine, &folder) {
            if !applied.files.iter().any(|kept| kept.path == path) {
                let text = stripped(&path, &text, &applied.settings.words());
                let to = read(machine, &path)?.map(|current| current.with(text));
                push(machine, &mut changes, &path, Kind::Words, to)?;
            }
        }
    }
    for kept in applied.files.iter().rev() {
        let to = match original(machine, old, &kept.path, kept.kind) {
            Err(Error::Changed { .. }) if force => kept.original.clone(),
            original => original?.0,
        };
        let current = read(machine, &kept.path)?;
        if kept.kind != Kind::Ours && current != kept.applied && current != kept.original {
            notes.push(match current {
                Some(_) => format!(
                    "{} was changed since it was applied: the settings are taken out of it.",
                    kept.path
                ),
                None => format!("{} is gone, and stays so.", kept.path),
            });
        }
        push(machine, &mut changes, &kept.path, kept.kind, to)?;
    }
    let same_kernel = machine.running().is_some_and(|running| running == applied.release);
    let run_time = applied.run_time.iter().filter(|_| same_kernel);
    let run_time = run_time.filter(|write| write.is_set(machine).unwrap_or(false));
    let mut remove = applied.folders.clone();
    remove.sort();
    remove.reverse();
    let transaction = Transaction {
        verb: "revert".to_owned(),
        changes,
        make: Vec::new(),
        remove,
        run_time: run_time.map(crate::apply::Write::reversed).collect(),
        outcome: None,
    };
    Ok(Plan { transaction, notes })
}

/// Generates the output of grub-mkconfig with the present drop-in.
pub(crate) fn regenerated(machine: &Machine, current: &Contents) -> Result<Contents> {
    let drop_in = read(machine, grub::PATH)?;
    let config = generated::config(machine, drop_in.as_ref().map(|it| it.bytes.as_slice()))?;
    Ok(current.with(config))
}
