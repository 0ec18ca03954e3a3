//! `run --command`: a command of a package instead of an experiment. The tests of its cells need virtual machines,
//! and those of its packages a mirror.

use std::fs;

use crate::common::{Desk, Finished, tree};

const XZ: &str = "xz --threads=1 --keep --stdout /usr/bin/xz";

/// Shell syntax is refused with the words to write instead, and nothing is left behind.
#[test]
fn shell_syntax_is_refused_with_what_to_write() {
    for (command, said) in [
        ("xz a | wc", "`|` joins commands in a shell"),
        ("xz a && xz b", "`&&` joins commands in a shell"),
        ("xz a; xz b", "`;` joins commands in a shell"),
        ("xz a > b", "`>` redirects in a shell"),
        ("xz $HOME/a", "`$HOME` is replaced by a shell"),
        ("xz \"$HOME/a\"", "`$HOME` is replaced by a shell"),
        ("xz *.txt", "`*` stands for names of files in a shell"),
        ("xz `ls`", "a backquote is replaced by a shell"),
        ("xz $(ls)", "`$(` is replaced by a shell"),
        ("xz ~/a", "`~` is replaced by a shell"),
    ] {
        let desk = Desk::new();
        desk.run(&["run", "--command", command, "--package", "xz-utils"]).fails(
            2,
            &[
                said,
                "no shell reads the command",
                "put '...' around it where the text itself is meant",
                "--command \"dash -c '...'\" --package dash",
                "docs/workload.md",
            ],
        );
        assert_eq!(tree(&desk.path(".")).len(), 0, "{command}");
    }
}

#[test]
fn what_is_no_command_is_refused() {
    for (command, said) in [
        ("", "it names no program"),
        ("   ", "it names no program"),
        ("xz 'a", "the quote ' is never closed"),
        ("xz \"a", "the quote \" is never closed"),
        ("xz \\", "nothing follows the last backslash"),
        ("./xz", "`./xz` is a relative path"),
        ("bin/xz --version", "write the name of a program of the package, such as xz"),
        ("LANG=C xz", "--command 'env LANG=C PROGRAM ...' --package coreutils"),
    ] {
        let desk = Desk::new();
        desk.run(&["run", "--command", command, "--package", "xz-utils"]).fails(2, &[said]);
        assert_eq!(tree(&desk.path(".")).len(), 0, "{command}");
    }
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    let desk = Desk::new();
    let example = "preemptlab run --command 'xz --version' --package xz-utils";
    for (arguments, said) in [
        (
            &["mine.toml", "--command", "xz", "--package", "xz-utils"][..],
            "'[FILE|RUN]...' cannot be used with",
        ),
        (&["--command", "xz"], "--package <PACKAGE>"),
        (&["--package", "xz-utils"], example),
        (&["mine.toml", "--package", "xz-utils"], "cannot be used with"),
        (&["mine.toml", "--window", "2s"], "cannot be used with"),
        (&["--command", "xz", "--package", "xz-utils", "--workload", "a"], "cannot be used with"),
        (&["--command", "xz", "--package", "xz-utils", "--shard", "1/2"], "cluster work RUN I/N"),
        (&["--command", "xz", "--package", "XZ!"], "`XZ!` is not the name of a Debian package"),
        (
            &["--command", "xz", "--package", "xz-utils", "--window", "250ms"],
            "whole number of seconds",
        ),
        (
            &["--command", "xz", "--package", "xz-utils", "--window", "0s"],
            "whole number of seconds",
        ),
        (&[], "<FILE|RUN>"),
    ] {
        desk.run(&[&["run"], arguments].concat()).fails(2, &[said]);
    }
}

fn run(desk: &Desk, arguments: &[&str]) -> Finished {
    let arguments = [&["run"], arguments].concat();
    Finished::new(desk.lasting_command(&arguments).output().unwrap())
}

/// Before a boot, and before anything is written.
#[test]
fn vm_a_program_that_no_package_has_is_said_before_a_boot() {
    let desk = Desk::new();
    for (command, package, said) in [
        ("xy --version", "xz-utils", "its programs are lzmainfo, unxz, xz, xzcat"),
        ("xzcta a", "xz-utils", "did you mean xzcat?"),
        ("/usr/bin/xy", "xz-utils", "no program `/usr/bin/xy` is in the package xz-utils"),
        ("/etc/passwd", "xz-utils", "no program `/etc/passwd`"),
        ("xz", "preemptlab-has-no-such", "the mirror offers no package `preemptlab-has-no-such`"),
    ] {
        run(&desk, &["--command", command, "--package", package]).fails(2, &[said]);
    }
    let long = format!("xz {}", "a".repeat(9000));
    run(&desk, &["--command", &long, "--package", "xz-utils"]).fails(2, &["of 8 KiB in all"]);
    let window = ["--command", "xz", "--package", "xz-utils", "--window", "3600s"];
    run(&desk, &window).fails(2, &["a command is repeated for at most 1770s"]);
    assert_eq!(tree(&desk.path(".")).len(), 0);
}

/// The files that a run writes make the same recording, byte for byte, wherever they are run.
#[test]
fn vm_a_command_is_measured_and_its_files_repeat_it() {
    let desk = Desk::new();
    let few = ["--preempt", "none", "--preempt", "full", "--replicates", "1", "--window", "1s"];
    let command = ["--command", XZ, "--package", "xz-utils", "--out", "first", "--baseline"];
    let first = run(&desk, &[&command[..], &["debian:6.12/none"], &few].concat());
    first.succeeds().says(&["throughput", "runs/s", "response", "FIFO wakeup", "full"]);
    for said in ["first.workload/", "`preemptlab run first.toml` repeats it"] {
        assert!(first.stderr.contains(said), "no {said} in {}", first.stderr);
    }

    let again = run(&desk, &["first.toml", "--no-cache", "--out", "again"]);
    again.succeeds();
    let (first, again) = (tree(&desk.path("first")), tree(&desk.path("again")));
    assert!(first.len() > 3, "{first:?}");
    assert!(first == again, "another recording was made");

    // The same command continues its recording; another one does not take its files.
    run(&desk, &[&command[..], &["debian:6.12/none"], &few].concat()).succeeds();
    let other = ["--command", "xz --version", "--package", "xz-utils", "--out", "first"];
    run(&desk, &other).fails(2, &["is there, and repeats something else", "--out"]);
}

fn once(desk: &Desk, command: &str, packages: &[&str]) -> Finished {
    let packages = packages.iter().flat_map(|package| ["--package", package]);
    let arguments = ["--command", command, "--preempt", "full", "--replicates", "1"];
    run(desk, &arguments.into_iter().chain(packages).collect::<Vec<_>>())
}

/// As the refusal of shell syntax advises.
#[test]
#[ignore = "takes long: a part of make nightly"]
fn vm_a_shell_of_a_package_runs_what_only_a_shell_can() {
    let desk = Desk::new();
    let command = "dash -c 'xz --keep --stdout /usr/bin/xz | xz --test - && exit 0'";
    once(&desk, command, &["dash", "xz-utils"]).succeeds().says(&["runs/s"]);
    // And of a variable.
    let command = "env XZ_OPT=-0 xz --keep --stdout /usr/bin/xz";
    once(&desk, command, &["coreutils", "xz-utils"]).succeeds();
}

#[test]
fn vm_runs_that_fail_never_end_or_are_short_say_so() {
    let desk = Desk::new();
    let failed = once(&desk, "xz --no-such-option", &["xz-utils"]);
    failed.fails(
        3,
        &["a run of the command ended with status 1", "xz: unrecognized option '--no-such-option'"],
    );
    let endless = once(&desk, "sleep 1000", &["coreutils"]);
    endless.succeeds().says(&["no events of response in 1 cell"]);
    endless.fails(0, &["in 1 of 1 cell no run of the command ended", "its throughput is 0"]);
    let short = once(&desk, "true", &["coreutils"]);
    short.fails(0, &["of which the start of a process is much"]);
    assert_eq!(fs::read_dir(desk.path("runs")).unwrap().count(), 3 * 3);
}
