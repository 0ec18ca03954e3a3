//! A systemd service that sets the settings at run time, after every boot whose command line asks
//! for it.

use preemptlab_model::{Digest, Setting};

use crate::tune::Settings;

/// Kernel parameter that names the settings of a boot. The kernel ignores it, like every parameter
/// with a dot whose module does not exist (kernel/params.c).
const MARK: &str = "preemptlab.settings";

/// A file with nothing of others in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitFile {
    /// Absolute path of the file.
    pub path: String,
    /// Content of the file.
    pub content: String,
}

impl Settings {
    /// Returns the words for the kernel's command line: the parameters and, where settings are set
    /// at run time, the mark of the boot.
    pub fn words(&self) -> Vec<String> {
        let mark = (!self.run_time.is_empty()).then(|| mark(self));
        self.parameters.iter().cloned().chain(mark).collect()
    }
}

/// Returns the word of the kernel's command line that the service waits for.
pub fn mark(settings: &Settings) -> String {
    format!("{MARK}={}", name(settings))
}

/// Returns the service and the drop-in that starts it, in the order in which they are written.
///
/// The service does nothing unless the boot's command line holds [`mark`]. So the boot entry alone
/// decides: settings at run time come and go with the very boot that has the parameters, and files
/// that were written before the entry was, or remain after it, do nothing. A `w` line of
/// tmpfiles.d(5) would not do: nothing orders it after the mount of debugfs, nothing shows that it
/// failed, and it has no condition.
///
/// It is a drop-in of the target that wants it and not a link from `multi-user.target.wants`, since
/// a regular file can be replaced as a whole.
pub fn files(settings: &Settings) -> Vec<UnitFile> {
    if settings.run_time.is_empty() {
        return Vec::new();
    }
    let name = name(settings);
    // No shell reads any of it. Of the programs that every system has, shuf(1) is the one that
    // writes an argument to a file; a single argument has one order. The characters that
    // systemd.service(5) and systemd.unit(5) read in ways of their own (quotes, `\`, `$`, `%`, `;`)
    // are in none of it: see `Settings`.
    let writes = settings.run_time.iter().filter_map(Setting::write).map(|(path, value)| {
        format!("ExecStart=/usr/bin/shuf --echo --output={path} -- {value}\n")
    });
    let debugfs = settings.run_time.iter().any(|it| matches!(it, Setting::Debugfs { .. }));
    let mount = match debugfs {
        true => {
            "RequiresMountsFor=/sys/kernel/debug\nWants=sys-kernel-debug.mount\n\
                 After=sys-kernel-debug.mount\n"
        }
        false => "",
    };
    let service = format!(
        "# Written by preemptlab; `preemptlab system revert` removes it.\n\
         [Unit]\nDescription=Settings of preemptlab that have no kernel parameter\n\
         ConditionKernelCommandLine={}\nAfter=systemd-sysctl.service\n{mount}\n\
         [Service]\nType=oneshot\nRemainAfterExit=yes\n{}",
        mark(settings),
        writes.collect::<String>()
    );
    let wants = format!(
        "# Written by preemptlab; `preemptlab system revert` removes it.\n\
         [Unit]\nWants=preemptlab-{name}.service\n"
    );
    vec![
        UnitFile {
            path: format!("/etc/systemd/system/preemptlab-{name}.service"),
            content: service,
        },
        UnitFile {
            path: format!("/etc/systemd/system/multi-user.target.d/preemptlab-{name}.conf"),
            content: wants,
        },
    ]
}

/// Returns some digits of the digest of the settings at run time.
fn name(settings: &Settings) -> String {
    let text: String = settings.run_time.iter().map(|setting| format!("{setting}\n")).collect();
    Digest::of(text.as_bytes()).to_string().chars().take(8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_writes_what_is_set_at_run_time() {
        let settings = Settings {
            release: None,
            package: None,
            parameters: vec!["preempt=full".to_owned()],
            run_time: vec![
                "sched/base_slice_ns=3000000".parse().unwrap(),
                "sysctl.kernel.sched_rt_runtime_us=-1".parse().unwrap(),
            ],
        };
        let [service, wants] = files(&settings).try_into().unwrap();
        let mark = mark(&settings);
        assert!(service.content.contains(&format!("ConditionKernelCommandLine={mark}\n")));
        let lines: Vec<_> =
            service.content.lines().filter(|line| line.starts_with("ExecStart=")).collect();
        assert_eq!(
            lines,
            [
                "ExecStart=/usr/bin/shuf --echo --output=/sys/kernel/debug/sched/base_slice_ns \
                 -- 3000000",
                "ExecStart=/usr/bin/shuf --echo --output=/proc/sys/kernel/sched_rt_runtime_us -- -1",
            ]
        );
        let name = service.path.rsplit('/').next().unwrap();
        assert!(wants.content.ends_with(&format!("Wants={name}\n")));
        assert_eq!(settings.words(), ["preempt=full".to_owned(), mark]);
    }

    #[test]
    fn parameters_alone_need_no_service() {
        let settings = Settings {
            release: None,
            package: None,
            parameters: vec!["threadirqs".to_owned()],
            run_time: Vec::new(),
        };
        assert_eq!(files(&settings), []);
        assert_eq!(settings.words(), ["threadirqs"]);
    }
}
