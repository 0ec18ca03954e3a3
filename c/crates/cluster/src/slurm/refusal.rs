//! Errors of Slurm's commands, and the next step after each.

use crate::command::{Kind, Known};

/// Texts of Slurm's errors (slurm_errno.c of Slurm 20 to 24), in small letters, and the next step. The
/// first that fits counts.
pub const KNOWN: &[Known] = &[
    (
        "configuration source",
        Kind::Refused,
        "this machine knows no Slurm cluster: log in to one that does",
    ),
    ("unable to contact slurm controller", Kind::Away, ""),
    ("temporarily unable", Kind::Away, ""),
    ("socket timed out", Kind::Away, ""),
    ("connection refused", Kind::Away, ""),
    ("connection timed out", Kind::Away, ""),
    ("connection reset", Kind::Away, ""),
    ("zero bytes were transmitted", Kind::Away, ""),
    ("unexpected message received", Kind::Away, ""),
    ("controller is in standby", Kind::Away, ""),
    (
        "partition",
        Kind::Unusable,
        "`sinfo -s` lists the partitions: choose one with \
        --engine-arg=--partition=NAME",
    ),
    (
        "submit limit",
        Kind::Refused,
        "wait until other jobs of yours have ended, or ask for fewer tasks with \
        --tasks N, and run the same command again",
    ),
    (
        "policy",
        Kind::Refused,
        "wait until other jobs of yours have ended, or ask for fewer tasks with \
        --tasks N, and run the same command again",
    ),
    (
        "too many",
        Kind::Refused,
        "wait until other jobs of yours have ended, or ask for fewer tasks with \
        --tasks N, and run the same command again",
    ),
    ("invalid account", Kind::Unusable, "choose an account with --engine-arg=--account=NAME"),
    ("invalid qos", Kind::Unusable, "choose a quality of service with --engine-arg=--qos=NAME"),
    ("job array", Kind::Unusable, "ask for fewer tasks with --tasks N"),
    ("memory", Kind::Unusable, "ask for what the machines have with --engine-arg=--mem=MEMORY"),
    (
        "time limit",
        Kind::Unusable,
        "ask for what the partition allows with --engine-arg=--time=TIME",
    ),
    ("node configuration", Kind::Unusable, "ask for what the machines have with --engine-arg"),
    ("unrecognized option", Kind::Unusable, "sbatch(1) lists what --engine-arg can be"),
    ("invalid option", Kind::Unusable, "sbatch(1) lists what --engine-arg can be"),
];

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;
    use crate::{
        command::{Answer, refused as refused_by},
        engine::EngineError,
    };

    fn refused(said: &str) -> EngineError {
        let status = std::process::ExitStatus::from_raw(256);
        refused_by(KNOWN, &Answer { program: "sbatch", status, said })
    }

    #[test]
    fn a_refusal_says_what_to_do_next() {
        let said = "sbatch: error: invalid partition specified: nope\nsbatch: error: Batch job submission \
            failed: Invalid partition name specified\n";
        let EngineError::Unusable(text) = refused(said) else { panic!() };
        assert_eq!(
            text,
            "sbatch: invalid partition specified: nope; Invalid partition name specified; `sinfo -s` \
             lists the partitions: choose one with --engine-arg=--partition=NAME"
        );
        let said = "sbatch: error: AssocMaxSubmitJobLimit\nsbatch: error: Batch job submission failed: Job \
            violates accounting/QOS policy (job submit limit, user's size and/or time limits)";
        let EngineError::Refused(text) = refused(said) else { panic!() };
        assert!(text.contains("fewer tasks with --tasks N"), "{text}");
        let said = "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect \
            failure)";
        assert!(matches!(refused(said), EngineError::Away(_)));
        let said =
            "sbatch: unrecognized option '--foo'\nTry \"sbatch --help\" for more information\n";
        assert!(matches!(refused(said), EngineError::Unusable(_)));
    }

    #[test]
    fn what_slurm_says_is_harmless_and_short() {
        let EngineError::Refused(text) = refused("\u{1b}[2Jx\u{202e}\n") else { panic!() };
        assert_eq!(text, "sbatch: [2Jx");
        let EngineError::Refused(text) = refused("") else { panic!() };
        assert!(text.contains("without a word"), "{text}");
        let EngineError::Refused(text) = refused(&"ä".repeat(100_000)) else { panic!() };
        assert!(text.chars().count() < 420, "{}", text.len());
    }
}
