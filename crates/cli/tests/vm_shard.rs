//! Shards of a plan, executed by workers that have neither a mirror nor a network.

use std::process::Command;

use crate::common::{Desk, Finished, tree};

const SMALL: &str = r#"format = 1
name = "small"

[factors]
kernel = ["debian:6.12"]
preempt = ["none", "full"]

[replicates]
count = 1

[machine]
cost = "instructions"

[workload.processes]
kind = "cyclictest-hackbench"
window = "100ms"
"#;

/// Returns a command of a worker: without the user's store and, where the machine allows it, without a
/// network.
fn worker(desk: &Desk, arguments: &[&str]) -> Command {
    let inner = desk.lasting_command(arguments);
    let mut alone = Command::new("unshare");
    alone.args(["--map-root-user", "--net"]);
    let is_allowed = alone.arg("true").output().is_ok_and(|output| output.status.success());
    let mut command = match is_allowed {
        true => {
            let mut command = Command::new("unshare");
            command.args(["--map-root-user", "--net"]).arg(inner.get_program());
            command
        }
        false => Command::new(inner.get_program()),
    };
    command.args(inner.get_args()).current_dir(desk.path("")).env("NO_COLOR", "1");
    command.env_remove("PREEMPTLAB_STORE").env("XDG_CACHE_HOME", "/dev/null");
    command.env("TMPDIR", desk.path("tmp"));
    command
}

#[test]
fn shards_and_their_merge_have_the_bytes_of_one_machine() {
    let desk = Desk::new();
    desk.write("small.toml", SMALL);
    std::fs::create_dir(desk.path("tmp")).unwrap();
    let lasting =
        |arguments: &[&str]| Finished::new(desk.lasting_command(arguments).output().unwrap());
    let execute = |arguments: &[&str]| Finished::new(worker(&desk, arguments).output().unwrap());
    lasting(&["run", "small.toml", "--out", "one", "--no-cache"]).succeeds();

    let prepared = lasting(&["cluster", "prepare", "small.toml", "--out", "many"]);
    let said = prepared.succeeds().stderr.clone();
    assert!(said.contains("prepared 2 cells of 1 boot"), "{said}");
    assert_eq!(tree(&desk.path("many/cells")).len(), 0);

    // The first worker finds a store to make, and leaves it to the second, which removes it.
    execute(&["cluster", "work", "many", "1/2", "--jobs", "1"]).succeeds();
    let missing = desk.run(&["cluster", "merge", "many"]);
    assert_eq!(missing.code, 3, "{missing:?}");
    assert_eq!(missing.stdout.lines().count(), 1, "{missing:?}");
    assert_eq!(std::fs::read_dir(desk.path("tmp")).unwrap().count(), 1);
    let second = execute(&["cluster", "work", "many", "2/2", "--jobs", "1"]);
    assert!(second.succeeds().stderr.contains("1 cell completed, 0 failed"), "{second:?}");
    assert_eq!(std::fs::read_dir(desk.path("tmp")).unwrap().count(), 0);
    // A shard that is finished has nothing to do.
    let again = execute(&["cluster", "work", "many", "2/2"]);
    assert!(again.succeeds().stderr.contains("no cell left"), "{again:?}");

    desk.run(&["cluster", "merge", "many"]).succeeds();
    assert!(tree(&desk.path("many")) == tree(&desk.path("one")), "the recordings differ");
}
