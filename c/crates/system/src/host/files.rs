//! The kernel's files that several modules read. A file that cannot be read is `None`.

use std::{fs, path::Path};

/// Reads a file, without the blanks around it.
pub fn line(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

/// Reads the clock source in use.
pub fn clocksource(root: &Path) -> Option<String> {
    line(&root.join("sys/devices/system/clocksource/clocksource0/current_clocksource"))
}

/// Reads the list of modes, the active one in parentheses; only root can read it.
pub fn mode_file(root: &Path) -> Option<String> {
    fs::read_to_string(root.join("sys/kernel/debug/sched/preempt")).ok()
}

/// Writes a file of a made-up machine.
#[cfg(test)]
pub fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
