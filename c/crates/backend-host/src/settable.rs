//! The check that a job, which may come out of a stranger's recording, sets only allowed settings.

use preemptlab_model::{Setting, settable};
use preemptlab_protocol::{Job, Write};

use crate::{LiveError, reach::DEBUGFS};

const SYSCTLS: &str = "/proc/sys/";

/// Checks every file that a job writes to, whatever the name of the setting is.
///
/// # Errors
///
/// [`LiveError::NotSettable`] for the first file that may not be written.
pub fn check(job: &Job) -> Result<(), LiveError> {
    let mut writes = job.settings.iter().filter_map(|setting| setting.write.as_ref());
    writes.try_for_each(|write| {
        let refused = |reason: String| LiveError::NotSettable { file: write.file.clone(), reason };
        let setting = setting(write)
            .ok_or_else(|| refused("it is neither a sysctl nor a file of debugfs".to_owned()))?;
        settable(&setting).map_err(|error| refused(error.to_string()))
    })
}

/// Returns the setting that makes this write, if there is one.
fn setting(Write { file, text }: &Write) -> Option<Setting> {
    let setting: Setting = match (file.strip_prefix(SYSCTLS), file.strip_prefix(DEBUGFS)) {
        (Some(name), _) => format!("sysctl.{}={text}", name.replace('/', ".")).parse().ok()?,
        (_, Some(path)) => format!("{path}={text}").parse().ok()?,
        _ => return None,
    };
    // A name stands for one file, and no other path is taken for it.
    let written = file_of(&setting)?;
    (written == *file).then_some(setting)
}

/// Returns the file that a setting is written to.
fn file_of(setting: &Setting) -> Option<String> {
    match setting {
        Setting::Sysctl { name, .. } => {
            Some(format!("{SYSCTLS}{}", name.as_str().replace('.', "/")))
        }
        Setting::Debugfs { path, .. } => Some(format!("{DEBUGFS}{}", path.as_str())),
        Setting::Parameter { .. } | Setting::Lab(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(file: &str, text: &str) -> Result<(), LiveError> {
        let write = Write { file: file.to_owned(), text: text.to_owned() };
        let setting = preemptlab_protocol::Setting {
            name: "sysctl.kernel.task_delayacct=1".to_owned(),
            write: Some(write),
            evidence: vec![],
        };
        let job = Job {
            format: preemptlab_protocol::FORMAT,
            seed: 1,
            preempt: "full".to_owned(),
            hz: None,
            settings: vec![setting],
            skew_ns: None,
            limit_ns: 1,
            load_start: preemptlab_protocol::LoadStart { written_bytes_min: 0, settle_ns: 0 },
            load: vec![],
            probes: vec![],
        };
        check(&job)
    }

    #[test]
    fn only_what_is_listed_is_set() {
        for (file, text) in [
            ("/proc/sys/kernel/task_delayacct", "1"),
            ("/sys/kernel/debug/sched/base_slice_ns", "1500000"),
            ("/sys/kernel/debug/sched/features", "NO_HRTICK"),
        ] {
            checked(file, text).unwrap();
        }
        for (file, text) in [
            ("/proc/sys/kernel/core_pattern", "|/tmp/x"),
            ("/proc/sys/kernel/core_pattern", "1"),
            ("/proc/sys/kernel/modprobe", "/tmp/x"),
            ("/proc/sys/kernel/../kernel/task_delayacct", "1"),
            ("/proc/sys/kernel.task_delayacct", "1"),
            ("/proc/sys//kernel/task_delayacct", "1"),
            ("/proc/sysrq-trigger", "c"),
            ("/sys/kernel/debug/../../kernel/uevent_helper", "1"),
            ("/sys/kernel/debug/sched/preempt", "none"),
            ("/sys/fs/cgroup/release_agent", "1"),
            ("/etc/passwd", "1"),
            ("tmp/x", "1"),
        ] {
            assert!(checked(file, text).is_err(), "{file}");
        }
    }
}
