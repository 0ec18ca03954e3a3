//! Settings that a guest's kernel refused: what an error of errno(3) means for the setting.

use preemptlab_experiment::is_known_parameter;
use preemptlab_protocol::{Failure, FailureKind, Job, Stage};

/// Errors by which a kernel says that a setting cannot be had here, as the guest names them: by name,
/// or by number where it has no name for it.
const REFUSALS: [(&str, &str); 13] = [
    ("EACCES", "the file is there to be read only"),
    ("EBUSY", "the kernel's present state does not allow it"),
    ("EINVAL", "the kernel does not take this value"),
    ("ENODEV", "this machine lacks what it would act on"),
    ("ENXIO", "this machine lacks what it would act on"),
    ("EOPNOTSUPP", NOT_SUPPORTED),
    ("EPERM", "the kernel lets nobody change it"),
    ("ERANGE", OUT_OF_RANGE),
    ("EROFS", "the file is there to be read only"),
    ("error 30", "the file is there to be read only"),
    ("error 34", OUT_OF_RANGE),
    ("error 95", NOT_SUPPORTED),
    // ENOTSUPP, which is the kernel's own (include/linux/errno.h).
    ("error 524", NOT_SUPPORTED),
];

const NOT_SUPPORTED: &str = "this kernel, or this machine, does not support it";
const OUT_OF_RANGE: &str = "the value is outside of the range that the kernel takes";

/// Returns the kernel's refusal of one of the job's settings; `None` for every other failure. Only the
/// guest's own words about a write of this job count.
pub(crate) fn refusal(job: &Job, failure: &Failure) -> Option<String> {
    if failure.stage != Stage::Setup || failure.kind != FailureKind::Other {
        return None;
    }
    job.settings.iter().find_map(|setting| {
        let (name, file) = (&setting.name, &setting.write.as_ref()?.file);
        let error = failure.reason.strip_prefix(&format!("cannot set {name} in {file}: "))?;
        let (_, meaning) = REFUSALS.iter().find(|(it, _)| *it == error)?;
        let meaning = here(file, error).unwrap_or(meaning);
        Some(format!("this kernel refuses the setting {name} ({file}: {error}): {meaning}"))
    })
}

/// Returns what an error means for one file.
fn here(file: &str, error: &str) -> Option<&'static str> {
    match error {
        // `dl_server_apply_params`, kernel/sched/deadline.c.
        "EBUSY" if file.contains("/sched/fair_server/") => Some(
            "the bandwidth for deadline tasks has no room for the server of this CPU, as of one that \
             isolcpus= takes out of the scheduler's domains",
        ),
        // `sched_dl_global_validate`, kernel/sched/deadline.c.
        "EBUSY" if file.contains("/sched_rt_") => {
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
    use preemptlab_protocol::{FORMAT, LoadStart, Setting, Write};

    use super::*;

    const FILE: &str = "/sys/kernel/debug/sched/fair_server/cpu1/runtime";

    fn job() -> Job {
        Job {
            format: FORMAT,
            seed: 1,
            preempt: "full".to_owned(),
            hz: None,
            settings: vec![Setting {
                name: "sched/fair_server/cpu1/runtime=0".to_owned(),
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

    fn of(stage: Stage, reason: &str) -> Option<String> {
        let failure = Failure {
            stage,
            kind: FailureKind::Other,
            reason: reason.to_owned(),
            system: None,
            commands: Vec::new(),
        };
        refusal(&job(), &failure)
    }

    #[test]
    fn the_kernels_refusal_has_its_meaning() {
        let said = |error: &str| {
            let reason = format!("cannot set sched/fair_server/cpu1/runtime=0 in {FILE}: {error}");
            of(Stage::Setup, &reason)
        };
        let busy = said("EBUSY").unwrap();
        assert!(busy.starts_with("this kernel refuses the setting sched/fair_server"), "{busy}");
        assert!(busy.contains("EBUSY") && busy.contains("isolcpus="), "{busy}");
        for error in ["EPERM", "ERANGE", "error 34", "EOPNOTSUPP", "error 95", "error 524"] {
            assert!(said(error).unwrap().contains(error));
        }
        for error in ["EIO", "ENOSPC", "ENOMEM", "error 12", "EBUSY and more", ""] {
            assert_eq!(said(error), None, "{error}");
        }
    }

    #[test]
    fn no_other_failure_is_a_refusal() {
        let of_this = format!("cannot set sched/fair_server/cpu1/runtime=0 in {FILE}: EBUSY");
        assert!(of(Stage::Setup, &of_this).is_some());
        assert_eq!(of(Stage::Window, &of_this), None);
        assert_eq!(of(Stage::Setup, "cannot set x in /proc/x: EBUSY"), None);
        assert_eq!(of(Stage::Setup, "cannot mount /proc: EBUSY"), None);
    }

    #[test]
    fn a_refused_value_is_told_from_an_unknown_name() {
        let of = |word: &str| told_apart(format!("this kernel does not know the parameter {word}"));
        assert!(of("nohz=maybe").contains("Linux has the parameter nohz, and this kernel refuses"));
        assert_eq!(of("quirk=1"), "this kernel does not know the parameter quirk=1");
        assert_eq!(told_apart("other".to_owned()), "other");
    }
}
