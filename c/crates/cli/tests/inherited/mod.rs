//! The attributes of a started command, beside those that a login gives to its shell.

use std::{collections::BTreeMap, path::Path, process::Command};

/// Attributes of a process that a login started on Debian: the kernel's values for a first process
/// (init/init_task.c, include/asm-generic/resource.h), and systemd's for its sessions where they differ
/// (`DefaultLimitNOFILE`), as the program prints them.
const LOGIN: &[(&str, &str)] = &[
    ("slack", "50000"),
    ("slack_default", "50000"),
    ("policy", "0"),
    ("nice", "0"),
    ("ioprio", "0"),
    ("umask", "0022"),
    ("personality", "0"),
    ("securebits", "0"),
    ("pdeathsig", "0"),
    ("dumpable", "1"),
    ("no_new_privs", "0"),
    ("mempolicy", "0"),
    ("SigBlk", "0000000000000000"),
    ("SigIgn", "0000000000000000"),
    ("SigCgt", "0000000000000000"),
    ("oom_score_adj", "0"),
    ("limit_as", "-1 -1"),
    ("limit_core", "0 -1"),
    ("limit_cpu", "-1 -1"),
    ("limit_data", "-1 -1"),
    ("limit_fsize", "-1 -1"),
    ("limit_locks", "-1 -1"),
    ("limit_memlock", "8388608 8388608"),
    ("limit_msgqueue", "819200 819200"),
    ("limit_nice", "0 0"),
    ("limit_nofile", "1024 524288"),
    ("limit_rss", "-1 -1"),
    ("limit_rtprio", "0 0"),
    ("limit_rttime", "-1 -1"),
    ("limit_stack", "8388608 -1"),
    ("printed", "1"),
];

/// Compiles the program that prints its own attributes at its start.
pub fn compile(program: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inherited/inherited.c");
    let built = Command::new("gcc")
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-static", "-o"])
        .args([program, &source])
        .status();
    assert!(built.unwrap().success());
}

/// Returns the attributes of a command that differ from those of a login's process, by name.
pub fn differences(printed: &str) -> BTreeMap<String, String> {
    let lines: BTreeMap<&str, &str> = printed
        .lines()
        .filter_map(|line| line.split_once([' ', ':']))
        .map(|(name, value)| (name, value.trim()))
        .collect();
    LOGIN
        .iter()
        .map(|(name, value)| (name, *value, lines.get(name).copied().unwrap_or("absent")))
        .filter(|(_, expected, found)| expected != found)
        .map(|(name, _, found)| ((*name).to_owned(), found.to_owned()))
        .collect()
}
