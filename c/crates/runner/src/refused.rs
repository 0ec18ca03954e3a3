//! Settings that a guest's kernel refused: the meaning of an error of errno(3) for the setting.

use preemptlab_experiment::is_known_parameter;
use preemptlab_protocol::{Failure, Job, Refusal, Setting};

/// Returns the meaning of an error of errno(3) for a setting, by its number on Linux.
fn meaning(errno: i32) -> Option<&'static str> {
    Some(match errno {
        libc::EACCES | libc::EROFS => "the file is there to be read only",
        libc::EBUSY => "the kernel's present state does not allow it",
        libc::EINVAL => "the kernel does not take this value",
        libc::ENODEV | libc::ENXIO => "this machine lacks what it would act on",
        libc::EOPNOTSUPP | ENOTSUPP => "this kernel, or this machine, does not support it",
        libc::EPERM => "the kernel lets nobody change it",
        libc::ERANGE => "the value is outside of the range that the kernel takes",
        _ => return None,
    })
}

/// The kernel's own error for unsupported operations (include/linux/errno.h).
const ENOTSUPP: i32 = 524;

/// Returns the kernel's refusal of one of the job's settings; `None` for every other failure. Only a
/// write of this job counts.
pub(crate) fn refusal(job: &Job, failure: &Failure) -> Option<String> {
    let Refusal { setting, file, text, errno } = failure.refusal.as_ref()?;
    let is_it = |of: &&Setting| {
        of.name == *setting
            && of.write.as_ref().is_some_and(|write| (&write.file, &write.text) == (file, text))
    };
    job.settings.iter().find(is_it)?;
    let meaning = here(file, *errno).or_else(|| meaning(*errno))?;
    Some(format!("{}: {meaning}", failure.reason))
}

/// Returns the meaning of an error for one file.
fn here(file: &str, errno: i32) -> Option<&'static str> {
    match errno {
        // `dl_server_apply_params`, kernel/sched/deadline.c.
        libc::EBUSY if file.contains("/sched/fair_server/") => Some(
            "the bandwidth for deadline tasks has no room for the server of this CPU, as of one that \
             isolcpus= takes out of the scheduler's domains",
        ),
        // `sched_dl_global_validate`, kernel/sched/deadline.c.
        libc::EBUSY if file.contains("/sched_rt_") => {
            Some("deadline tasks and servers have reserved more than that")
        }
        _ => None,
    }
}

/// Returns a reason of the guest in better words, where the guest cannot tell a name that the kernel
/// does not know from a value that the kernel refused: both are handed on to init
/// (`unknown_bootoption`, init/main.c).
pub(crate) fn told_apart(reason: String) -> String {
    let word = reason.strip_prefix("this kernel does not know the parameter ");
    match word.and_then(|word| Some((word, word.split_once('=')?.0))) {
        Some((word, name)) if is_known_parameter(name) => format!(
            "this kernel did not take {word}: Linux has the parameter {name}, and this kernel refuses \
             the value or is built without what it needs"
        ),
        _ => reason,
    }
}

#[cfg(test)]
mod tests {
    use preemptlab_protocol::{FORMAT, FailureKind, LoadStart, Stage, Write};

    use super::*;

    const NAME: &str = "sched/fair_server/cpu1/runtime=0";
    const FILE: &str = "/sys/kernel/debug/sched/fair_server/cpu1/runtime";

    fn job() -> Job {
        Job {
            format: FORMAT,
            seed: 1,
            preempt: "full".to_owned(),
            hz: None,
            settings: vec![Setting {
                name: NAME.to_owned(),
                write: Some(Write { file: FILE.to_owned(), text: "0".to_owned() }),
                evidence: Vec::new(),
            }],
            skew_ns: None,
            limit_ns: 1,
            load_start: LoadStart { written_bytes_min: 0, settle_ns: 0 },
            load: Vec::new(),
            probes: Vec::new(),
        }
    }

    fn of(setting: &str, file: &str, errno: i32) -> Option<String> {
        let refusal = Refusal {
            setting: setting.to_owned(),
            file: file.to_owned(),
            text: "0".to_owned(),
            errno,
        };
        let failure = Failure {
            stage: Stage::Setup,
            kind: FailureKind::Unavailable,
            reason: format!("this kernel refuses the setting {setting}"),
            system: None,
            commands: Vec::new(),
            refusal: Some(refusal),
        };
        refused(&failure)
    }

    fn refused(failure: &Failure) -> Option<String> {
        refusal(&job(), failure)
    }

    #[test]
    fn the_kernels_refusal_has_its_meaning() {
        let said = |errno| of(NAME, FILE, errno);
        let busy = said(libc::EBUSY).unwrap();
        assert!(busy.starts_with("this kernel refuses the setting sched/fair_server"), "{busy}");
        assert!(busy.contains("isolcpus="), "{busy}");
        for errno in [libc::EPERM, libc::ERANGE, libc::EOPNOTSUPP, ENOTSUPP, libc::EINVAL] {
            assert!(said(errno).unwrap().contains(": "));
        }
        for errno in [libc::EIO, libc::ENOSPC, libc::ENOMEM, 0, -1] {
            assert_eq!(said(errno), None, "{errno}");
        }
    }

    #[test]
    fn no_other_failure_is_a_refusal() {
        assert_eq!(of("x", FILE, libc::EBUSY), None);
        assert_eq!(of(NAME, "/proc/x", libc::EBUSY), None);
        let failure = Failure {
            stage: Stage::Setup,
            kind: FailureKind::Other,
            reason: "cannot mount /proc: EBUSY".to_owned(),
            system: None,
            commands: Vec::new(),
            refusal: None,
        };
        assert_eq!(refused(&failure), None);
    }

    #[test]
    fn a_refused_value_is_told_from_an_unknown_name() {
        let of = |word: &str| told_apart(format!("this kernel does not know the parameter {word}"));
        assert!(of("nohz=maybe").contains("Linux has the parameter nohz, and this kernel refuses"));
        assert_eq!(of("quirk=1"), "this kernel does not know the parameter quirk=1");
        assert_eq!(told_apart("other".to_owned()), "other");
    }
}
