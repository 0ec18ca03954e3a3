//! Refusals of `cluster prepare` and `cluster work` before anything is executed.

use std::{fs, path::Path};

use crate::common::{Desk, Finished};

/// Variables that name a shard, which a CI may set for its own jobs.
const VARIABLES: [&str; 7] = [
    "SLURM_ARRAY_TASK_ID",
    "JOB_COMPLETION_INDEX",
    "CI_NODE_INDEX",
    "CIRCLE_NODE_INDEX",
    "BUILDKITE_PARALLEL_JOB",
    "SYSTEM_JOBPOSITIONINPHASE",
    "SEMAPHORE_JOB_INDEX",
];

/// Returns a desk with a recording, `check`, whose cells are missing.
fn desk() -> Desk {
    let desk = Desk::new();
    let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/check");
    fs::create_dir(desk.path("check")).unwrap();
    fs::copy(check.join("recording.json"), desk.path("check/recording.json")).unwrap();
    desk.write("check.toml", "format = 1\nname = \"check\"\n");
    desk
}

fn run(desk: &Desk, arguments: &[&str], variables: &[(&str, &str)]) -> Finished {
    let mut command = desk.command(&[&["cluster", "work"], arguments].concat());
    for name in VARIABLES {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied());
    Finished::new(command.output().unwrap())
}

#[track_caller]
fn refused(desk: &Desk, arguments: &[&str], says: &str) {
    run(desk, arguments, &[]).fails(2, &[says]);
}

#[test]
fn what_is_no_shard_is_refused() {
    let desk = desk();
    for shard in ["0/3", "4/3", "1/0", "x", "3", "auto/0", "auto/x", "1/100001"] {
        refused(&desk, &["check", shard], "is no shard");
    }
    for twice in ["0%", "101%", "1", "x%"] {
        refused(&desk, &["check", "1/2", "--twice", twice], "is no share");
    }
    refused(&desk, &["check", "auto"], "write INDEX/COUNT");
    let set = [("JOB_COMPLETION_INDEX", "0")];
    run(&desk, &["check", "auto"], &set).fails(2, &["write auto/COUNT"]);
}

#[test]
fn a_shard_needs_a_prepared_recording() {
    let desk = desk();
    refused(&desk, &["check.toml", "1/1"], "check");
    refused(&desk, &["absent", "1/1"], "absent");
    refused(&desk, &["check", "1/1"], "there is no seed");
    // It is executed as its recording was prepared.
    for option in ["--replicates=9", "--backend=host", "--seed=3"] {
        refused(&desk, &["check", "1/1", option], "unexpected argument");
    }
    fs::write(desk.path("check.shards/seed.tar.zst"), "no seed").unwrap();
    refused(&desk, &["check", "1/1"], "is damaged");
    // The recording is only read.
    assert_eq!(fs::read_dir(desk.path("check")).unwrap().count(), 1);

    // A folder of something else is not a part.
    fs::create_dir(desk.path("thesis")).unwrap();
    desk.write("thesis/thesis.tex", "");
    refused(&desk, &["check", "1/1", "--out", "thesis"], "not empty");
    // Nor is the part of another shard.
    refused(&desk, &["check", "2/2", "--out", "check.shards/parts/1-of-1"], "another shard");
}
