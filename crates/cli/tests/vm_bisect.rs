//! Bisections of real kernels: a history of 32 commits on top of Debian's source package. It builds
//! some fifteen kernels, so only `make nightly` runs it. Kernels and cells stay in the store.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::common::{Desk, Finished};
use crate::source::{Change, HOT, Source};
use serde_json::Value;

const COMMITS: usize = 32;

/// Commits by number, from 1.
const SLOWER: usize = 11;
const SECTION: usize = 20;

/// 5 % of the 752 ns that a message takes with Debian's source and `lab`.
const SLOWER_NS: u64 = 38;

/// Returns the change of the commit of a number.
fn change(number: usize) -> (&'static str, Change) {
    match number {
        4 => ("a layout", Change::Layout { seed: 4 }),
        5 => ("does not build", Change::Broken),
        8 => ("does not boot", Change::Panics),
        SLOWER => ("a slower write()", Change::Slower { at: HOT[2], ns: SLOWER_NS }),
        16 => ("does not build either", Change::Broken),
        SECTION => ("200 us", Change::Section { at: HOT[0], ns: 200_000, every: 20_000 }),
        24 => ("hangs", Change::Hangs),
        6 | 9 | 17 | 25 => ("a repair", Change::Repaired),
        _ => {
            let files =
                ["kernel/exit.c", "kernel/fork.c", "fs/pipe.c", "mm/mmap.c", "lib/string.c"];
            let path = files[number % files.len()];
            ("a function", Change::Unused { path, name: format!("made_{number}") })
        }
    }
}

/// Makes the history, and returns its commits; the first is Debian's source.
fn history(source: &Source) -> Vec<String> {
    let mut commits = vec![source.base()];
    for number in 1..=COMMITS {
        let (what, change) = change(number);
        let subject = format!("commit {number}: {what}");
        commits.push(source.commit("made", &commits[number - 1], &subject, &change));
    }
    commits
}

/// Returns the command that searches the history.
fn bisect(desk: &Desk, source: &Source, commits: &[String], further: &[&str]) -> Command {
    let repository = source.path().to_str().unwrap();
    let range = format!("{}..{}", commits[0], commits[COMMITS]);
    let ends = ["bisect", &range, "--repo", repository];
    let mut command = desk.lasting_command(&[&ends[..], &["--format", "json"], further].concat());
    command.stderr(Stdio::inherit());
    command
}

/// Runs a search to its end, prints its cost, and returns the document.
fn searched(mut command: Command) -> Value {
    let started = Instant::now();
    let finished = Finished::new(command.output().unwrap());
    finished.succeeds();
    println!("{}\n{:.0} s", finished.stdout, started.elapsed().as_secs_f64());
    serde_json::from_str(&finished.stdout).unwrap()
}

#[test]
#[ignore = "builds some fifteen kernels: a part of make nightly"]
fn both_regressions_of_a_history_are_found() {
    let desk = Desk::new();
    let source = Source::open(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let commits = history(&source);

    // Killed once it has an answer, the search continues with that answer.
    let out = desk.path("section");
    let further = ["--cause", "unix_stream_sendmsg", "--out", out.to_str().unwrap()];
    let steps = || {
        let journal = fs::read(out.join("bisect.json")).unwrap_or_default();
        let journal: Value = serde_json::from_slice(&journal).unwrap_or_default();
        journal["steps"].as_array().map_or(0, Vec::len)
    };
    let mut child =
        bisect(&desk, &source, &commits, &further).stdout(Stdio::null()).spawn().unwrap();
    while steps() == 0 {
        assert!(child.try_wait().unwrap().is_none(), "it ended without an answer");
        std::thread::sleep(Duration::from_millis(100));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = steps();
    let found = searched(bisect(&desk, &source, &commits, &further));
    assert!(steps() > before);
    assert_eq!(found["mechanism"], "section unix_stream_sendmsg");
    assert_eq!(found["commit"]["id"], commits[SECTION]);
    assert_eq!(found["cure"]["revert"], "cures");
    assert!(found["worst"]["after"].as_str().unwrap().contains("unix_stream_sendmsg"));

    // Nothing is named: the search follows a metric or section that is certainly worse.
    let found = searched(bisect(&desk, &source, &commits, &["--out", "found"]));
    assert_eq!(found["mechanism"], "metric throughput");
    assert_eq!(found["commit"]["id"], commits[SLOWER]);
    // The section that remains costs the throughput less than the margin.
    assert_eq!(found["cure"]["revert"], "cures");
}
