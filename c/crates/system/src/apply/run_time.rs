use std::{fs, io};

use crate::tune::Settings;
use preemptlab_model::{ModeFile, Setting};
use serde::{Deserialize, Serialize};

use crate::apply::{Error, Machine, Result};

/// debugfs `sched/preempt` and `sched/features`.
const MODE: &str = "/sys/kernel/debug/sched/preempt";
const FEATURES: &str = "/sys/kernel/debug/sched/features";

/// A file of the kernel that is written to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    /// The setting that it is for, as the user gave it.
    pub setting: String,
    /// Path of the file.
    pub path: String,
    /// New value.
    pub value: String,
    /// The value that reverts it.
    pub back: String,
}

impl Write {
    /// Returns whether both write to the same switch; the file of features holds many.
    pub(crate) fn same_switch(&self, other: &Self) -> bool {
        let feature = |value: &str| value.strip_prefix("NO_").unwrap_or(value).to_owned();
        self.path == other.path
            && (self.path != FEATURES || feature(&self.value) == feature(&other.value))
    }

    /// Returns the write that takes this one back.
    pub(crate) fn reversed(&self) -> Self {
        Self { value: self.back.clone(), back: self.value.clone(), ..self.clone() }
    }

    /// Returns whether the kernel has the value already.
    pub(crate) fn is_set(&self, machine: &Machine) -> io::Result<bool> {
        let now = state(machine, &self.path, &self.value)?;
        Ok(words(&now).eq(words(&self.value)))
    }

    /// Writes it.
    pub(crate) fn execute(&self, machine: &Machine) -> Result<()> {
        // The kernel takes or refuses the whole value at once.
        fs::write(machine.path(&self.path), &self.value).map_err(|error| Error::RunTime {
            setting: self.setting.clone(),
            reason: format!("{} refuses `{}`: {error}", self.path, self.value),
        })
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
}

/// Reads the present value of a kernel's file, in the words that could be written to it.
pub(crate) fn state(machine: &Machine, path: &str, value: &str) -> io::Result<String> {
    let text = machine.line(path)?;
    Ok(match path {
        MODE => {
            let active = ModeFile::parse(&text).active;
            active.map(|mode| mode.to_string()).unwrap_or_default()
        }
        FEATURES => {
            let feature = value.strip_prefix("NO_").unwrap_or(value);
            let is_it = |word: &&str| word.strip_prefix("NO_").unwrap_or(word) == feature;
            words(&text).find(is_it).unwrap_or_default().to_owned()
        }
        _ => text,
    })
}

/// Returns the writes that the settings ask of the running kernel, with the present values, and
/// notes.
///
/// # Errors
///
/// When the kernel has no such switch, or does not let it be read.
pub(crate) fn wanted(machine: &Machine, settings: &Settings) -> Result<(Vec<Write>, Vec<String>)> {
    let mut notes = Vec::new();
    let mut writes = Vec::new();
    let mode = settings.parameters().iter().find_map(|word| word.strip_prefix("preempt="));
    if let Some(mode) = mode {
        let setting = format!("preempt={mode}");
        match state(machine, MODE, mode) {
            Ok(active) if !active.is_empty() => writes.push(Write {
                setting,
                path: MODE.to_owned(),
                value: mode.to_owned(),
                back: active,
            }),
            _ => notes.push(format!(
                "{setting} holds from the next boot on: {}.",
                obstacle(machine, MODE)
            )),
        }
    }
    for setting in settings.run_time() {
        let Some((path, value)) = setting.write() else { continue };
        let refused = |reason: String| Error::RunTime { setting: setting.to_string(), reason };
        let back = match state(machine, &path, value) {
            Ok(now) if path == FEATURES && now.is_empty() => {
                return Err(refused("the kernel has no such feature".to_owned()));
            }
            Ok(now) => now,
            Err(error) => {
                let reason = match setting {
                    Setting::Sysctl { .. } if error.kind() == io::ErrorKind::NotFound => {
                        "the kernel has no such sysctl".to_owned()
                    }
                    Setting::Sysctl { .. } => error.to_string(),
                    _ => obstacle(machine, &path),
                };
                return Err(refused(reason));
            }
        };
        writes.push(Write { setting: setting.to_string(), path, value: value.to_owned(), back });
    }
    Ok((writes, notes))
}

/// Returns the reason why a file of debugfs cannot be read.
pub(crate) fn obstacle(machine: &Machine, path: &str) -> String {
    let lockdown = machine.line("/sys/kernel/security/lockdown").unwrap_or_default();
    let is_mounted = machine.path("/sys/kernel/debug/sched").exists();
    if lockdown.contains("[integrity]") || lockdown.contains("[confidentiality]") {
        "the kernel is locked down, which closes debugfs".to_owned()
    } else if !is_mounted {
        "debugfs is not there; `mount -t debugfs debugfs /sys/kernel/debug` mounts it".to_owned()
    } else {
        match machine.line(path) {
            Err(error) => format!("{path}: {error}"),
            Ok(_) => format!("{path} says nothing"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::tune::Wanted;

    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn settings(parameters: &[&str], run_time: &[&str]) -> Settings {
        let words: Vec<String> = parameters.iter().map(|it| (*it).to_owned()).collect();
        let wanted = Wanted {
            kernel: None,
            preempt: None,
            cmdline: &words,
            settings: &run_time.join(" ").parse().unwrap(),
            allowed: &[],
        };
        Settings::new(&wanted).settings
    }

    #[test]
    fn the_kernel_is_asked_and_told() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::at(folder.path());
        write(folder.path(), MODE, "none (voluntary) full\n");
        write(folder.path(), FEATURES, "PLACE_LAG NO_HRTICK\n");
        write(folder.path(), "/proc/sys/kernel/sched_rt_runtime_us", "950000\n");
        let settings = settings(
            &["preempt=full"],
            &["sched/features=HRTICK", "sysctl.kernel.sched_rt_runtime_us=-1"],
        );
        let (writes, notes) = wanted(&machine, &settings).unwrap();
        assert_eq!(notes, [] as [String; 0]);
        let backs: Vec<_> = writes.iter().map(|write| write.back.as_str()).collect();
        assert_eq!(backs, ["voluntary", "NO_HRTICK", "950000"]);
        assert!(writes.iter().all(|write| !write.is_set(&machine).unwrap()));
        writes[2].execute(&machine).unwrap();
        assert!(writes[2].is_set(&machine).unwrap());
        writes[2].reversed().execute(&machine).unwrap();
        assert_eq!(machine.line(&writes[2].path).unwrap(), "950000");
    }

    #[test]
    fn what_the_kernel_has_not_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::at(folder.path());
        let says =
            |setting: &str| wanted(&machine, &settings(&[], &[setting])).unwrap_err().to_string();
        assert!(says("sysctl.kernel.timer_migration=1").contains("no such sysctl"));
        assert!(says("sched/base_slice_ns=1").contains("mount -t debugfs"));
        let (writes, notes) = wanted(&machine, &settings(&["preempt=full"], &[])).unwrap();
        assert_eq!(writes, []);
        assert!(notes[0].contains("next boot"));
        write(folder.path(), "/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
        assert!(says("sched/base_slice_ns=1").contains("locked down"));
    }
}
