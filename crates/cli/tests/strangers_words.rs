//! Tests with a stranger's files: each string, number and file of a recording, of an experiment, of
//! a scenario and of a workload's folder is replaced by one of an attacker.
//!
//! Whatever the command makes of it, no command of the stranger's runs, nothing of theirs moves the
//! terminal's cursor, and the process stays within 500 MB and 10 s of CPU time.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use crate::common::Desk;
use crate::hostile;
use preemptlab_model::plain;
use serde_json::Value;

/// Words of a stranger. Each would leave a file named `canary`, if a program ran it or took it for
/// a path.
const WORDS: [&str; 8] = [
    "-oAPT::Update::Pre-Invoke::=touch canary",
    "$(touch canary)`touch canary`;touch canary|touch canary",
    "../../../canary",
    "/proc/self/cwd/canary",
    "\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31m\u{202e}txt\r",
    "=HYPERLINK(\"canary\")<img src=x onerror=alert(1)>|[x](javascript:alert(1))",
    "a\nExecStart=/bin/touch canary\0b",
    "",
];

/// Numbers of a stranger.
const NUMBERS: [&str; 6] =
    ["-1", "4294967296", "18446744073709551615", "1e308", "[[[[[[[[1]]]]]]]]", "{\"a\": null}"];

/// Mirror on the discard port of this machine, on which no program listens, so that an accepted
/// input ends there.
const NO_MIRROR: [&str; 2] = ["--set", "mirror=http://127.0.0.1:9/debian"];

/// Input, and the words that the command must print.
struct Case<'a> {
    name: String,
    arguments: &'a [&'a str],
    /// The exit codes that are right.
    codes: &'a [i32],
}

/// Runs a case at a desk, within the bounds, and checks the conditions of every case.
#[track_caller]
fn play(desk: &Desk, case: &Case) {
    let (said, ran) = hostile::bounded(desk, case.arguments);
    let name = &case.name;
    assert!(
        case.codes.contains(&said.code),
        "{name}: {}\n{}{}",
        said.code,
        said.stdout,
        said.stderr
    );
    assert!(said.code == 0 || said.stderr.trim().len() > 10, "{name}: no sentence");
    assert!(!said.stderr.contains("panicked"), "{name}: {}", said.stderr);
    for text in [&said.stdout, &said.stderr] {
        let steers = |c: char| c != '\n' && plain::is_steering(c);
        assert!(!text.contains(steers), "{name}: {}", text.escape_debug());
    }
    assert!(!has_canary(&desk.path(".")), "{name}: the canary was touched");
    // An accepted word asks apt, which is one of the canaries.
    assert!(ran.is_empty() || said.code == 4, "{name}: {ran}");
}

/// Returns whether a file of that name is beside the desk or below it.
fn has_canary(desk: &Path) -> bool {
    let above = desk.join("../canary");
    let mut folders = vec![desk.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.file_name() == "canary" {
                return true;
            }
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            }
        }
    }
    above.exists()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns a copy of the committed recording, and its cell's file.
fn recording(desk: &Desk) -> (PathBuf, PathBuf) {
    let check = root().join("studies/check");
    let run = desk.path("run");
    fs::create_dir_all(run.join("cells")).unwrap();
    fs::copy(check.join("recording.json"), run.join("recording.json")).unwrap();
    let cell = fs::read_dir(check.join("cells")).unwrap().next().unwrap().unwrap();
    let copy = run.join("cells").join(cell.file_name());
    fs::copy(cell.path(), &copy).unwrap();
    (run.join("recording.json"), copy)
}

/// Finds the JSON pointer of each leaf; of a list, those of the first element.
fn leaves(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                leaves(value, format!("{at}/{key}"), found);
            }
        }
        Value::Array(values) => {
            if let Some(first) = values.first() {
                leaves(first, format!("{at}/0"), found);
            }
        }
        _ => found.push(at),
    }
}

/// Returns the JSON file with every leaf replaced by each value of a stranger.
fn replaced(whole: &Value) -> Vec<(String, Value)> {
    let mut pointers = Vec::new();
    leaves(whole, String::new(), &mut pointers);
    let mut found = Vec::new();
    for pointer in pointers {
        let is_text = whole.pointer(&pointer).unwrap().is_string();
        let words: Vec<Value> = match is_text {
            true => WORDS.iter().map(|word| Value::from(*word)).collect(),
            false => NUMBERS.iter().map(|text| serde_json::from_str(text).unwrap()).collect(),
        };
        for word in words {
            let mut changed = whole.clone();
            *changed.pointer_mut(&pointer).unwrap() = word.clone();
            if changed != *whole {
                let word: String = word.to_string().chars().take(40).collect();
                found.push((format!("{pointer} = {word}"), changed));
            }
        }
    }
    found
}

/// Every part of a recording but the experiment's description decides about the executed cells.
#[test]
fn a_recording_with_a_strangers_words_is_refused() {
    let desk = Desk::new();
    let (manifest, _) = recording(&desk);
    let whole: Value = serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    let cases = replaced(&whole);
    assert!(cases.len() > 200, "{}", cases.len());
    let verify = [&["verify", "run"][..], &NO_MIRROR].concat();
    for (name, changed) in cases {
        fs::write(&manifest, hostile::text(&changed)).unwrap();
        // Text for people may hold anything, and not every kernel tells its release.
        let is_free =
            name.starts_with("/experiment/description") || name == "/kernels/0/release = \"\"";
        let codes: &[i32] = if is_free { &[2, 4] } else { &[2] };
        play(&desk, &Case { name, arguments: &verify, codes });
    }
}

/// Commands that only print may print the words, harmlessly.
#[test]
fn a_recording_with_a_strangers_words_is_shown_without_harm() {
    let desk = Desk::new();
    let (manifest, cell) = recording(&desk);
    let forms: [&[&str]; 6] = [
        &["compare", "run", "--all"],
        &["compare", "run", "--format", "csv"],
        &["compare", "run", "--format", "markdown"],
        &["recommend", "run"],
        &["compare", "run", "--out", "letter.md"],
        &["export", "run", "--out", "tables"],
    ];
    let mut turn = 0;
    for file in [manifest, cell] {
        let bytes = fs::read(&file).unwrap();
        let whole: Value = serde_json::from_slice(&bytes).unwrap();
        for (name, changed) in replaced(&whole) {
            fs::write(&file, hostile::text(&changed)).unwrap();
            // Each form meets each kind of place, not each place.
            turn += 1;
            let arguments = forms[turn % forms.len()];
            let name = format!("{arguments:?} {name}");
            play(&desk, &Case { name, arguments, codes: &[0, 1, 2, 3] });
            let _ = fs::remove_dir_all(desk.path("tables"));
        }
        fs::write(&file, bytes).unwrap();
    }
}

const EXPERIMENT: &str = r#"format = 1
name = "NAME"
description = "NOTE"

[factors]
kernel = ["KERNEL"]
preempt = ["MODE"]
settings = ["SETTINGS"]

[machine]
cmdline = ["CMDLINE"]
modules = ["MODULES"]

[workload.WORKLOAD]
kind = "KIND"
"#;

/// Places of an experiment, with the text of a sound one.
const PLACES: [(&str, &str); 9] = [
    ("NAME", "small"),
    ("NOTE", "what for"),
    ("KERNEL", "debian:6.12"),
    ("MODE", "full"),
    ("SETTINGS", "threadirqs"),
    ("CMDLINE", "quiet"),
    ("MODULES", "loop"),
    ("WORKLOAD", "load"),
    ("KIND", "cyclictest-hackbench"),
];

/// Returns a word as a quoted string of TOML.
fn quoted(word: &str) -> String {
    let mut text = String::new();
    for c in word.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if c.is_control() => text.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => text.push(c),
        }
    }
    text
}

#[test]
fn an_experiment_with_a_strangers_words_is_refused() {
    let desk = Desk::new();
    let plan = [&["run", "-n", "bad.toml"][..], &NO_MIRROR].concat();
    let kernels = [
        "file:/dev/zero",
        "file:/dev/tty",
        "file:/proc/kmsg",
        "file:fifo",
        "file:.",
        "file:canary",
        "package:/dev/zero",
        "package:/dev/zero.deb",
        "package:canary.deb,../../etc/shadow.rpm",
        "source:6.12+LOCALVERSION=\"`touch canary`\"",
        "source:6.12+CC_VERSION_TEXT=\"$(touch canary)\"",
        "source:6.12+SYSTEM_TRUSTED_KEYS=/etc/shadow",
        "source:6.12+INITRAMFS_SOURCE=/etc",
        "source:6.12+EXTRA_FIRMWARE=\"../../canary\"",
        "source:6.12+HZ=$(touch${IFS}canary)",
        "source:6.12,config=/dev/zero",
        "source:6.12,config=./fifo",
        "source:6.12,config=canary",
        "source:6.12,config=lab+CC_VERSION_TEXT=\"$(touch canary)\"",
        "debian:6.12/../../canary",
        "debian:6.12*",
        "host:../../canary",
    ];
    let made = Command::new("mkfifo").arg(desk.path("fifo")).status().unwrap();
    assert!(made.success());
    for (place, _) in PLACES {
        let more: &[&str] = if place == "KERNEL" { &kernels } else { &[] };
        for word in WORDS.iter().chain(more) {
            let mut text = EXPERIMENT.to_owned();
            for (other, sound) in PLACES {
                let is_it = other == place;
                let key = if other == "WORKLOAD" && is_it {
                    format!("\"{}\"", quoted(word))
                } else {
                    quoted(word)
                };
                text = text.replace(other, if is_it { &key } else { sound });
            }
            desk.write("bad.toml", &text);
            // Text for people or the guest may hold anything; no setting is a sound setting.
            let is_free =
                matches!(place, "NOTE" | "CMDLINE") || (place == "SETTINGS" && word.is_empty());
            // Files are looked at after QEMU is found, for which apt is asked.
            let is_file = place == "KERNEL" && word.starts_with("file:");
            let codes: &[i32] = if is_free || is_file { &[2, 4] } else { &[2] };
            let name = format!("{place} = {word:?}");
            play(&desk, &Case { name, arguments: &plan, codes });
        }
    }
}

#[test]
fn an_experiment_without_bounds_is_refused() {
    let desk = Desk::new();
    let plan = [&["run", "-n", "bad.toml"][..], &NO_MIRROR].concat();
    let mut sound = EXPERIMENT.to_owned();
    for (place, word) in PLACES {
        sound = sound.replace(place, word);
    }
    let list = |what: &str, count: usize| vec![what; count].join(", ");
    let nested = |count: usize| format!("x = {}{}", "[".repeat(count), "]".repeat(count));
    let tables = |count: usize| format!("[{}]", vec!["a"; count].join("."));
    let cases = [
        ("replicates", format!("{sound}[replicates]\ncount = 4294967295\n")),
        ("negative replicates", format!("{sound}[replicates]\ncount = -1\n")),
        ("seed", format!("{sound}[replicates]\nseed = 99999999999999999999\n")),
        ("memory", sound.replace("[machine]", "[machine]\nmemory_mib = 4294967295")),
        ("shift", sound.replace("[machine]", "[machine]\nshift = 255")),
        ("cpus", sound.replace("[factors]", "[factors]\ncpus = [4096]")),
        (
            "cells",
            sound
                .replace("\"full\"", &list("\"full\"", 1_000))
                .replace("\"threadirqs\"", &list("\"threadirqs\"", 1_000))
                + "[replicates]\ncount = 10000\n",
        ),
        ("window", format!("{sound}window = \"99999999999999999999s\"\n")),
        ("window in hours", format!("{sound}window = \"1e300s\"\n")),
        ("interval", format!("{sound}interval_us = 0\n")),
        ("groups", format!("{sound}groups = 4294967295\n")),
        ("nested lists", format!("{sound}{}\n", nested(100_000))),
        ("nested tables", format!("{sound}{}\n", tables(100_000))),
        ("long line", format!("{sound}# {}\n", "x".repeat(64 << 20))),
        (
            "many keys",
            sound.clone() + &(0..500_000).map(|n| format!("k{n} = 1\n")).collect::<String>(),
        ),
        ("no text", "\0\u{1b}[2J\u{7f}".repeat(1_000)),
        ("nothing", String::new()),
    ];
    for (name, text) in cases {
        desk.write("bad.toml", &text);
        play(&desk, &Case { name: name.to_owned(), arguments: &plan, codes: &[2] });
    }
    fs::write(desk.path("bad.toml"), [0xff, 0xfe, 0x1b, b'[', b'2', b'J']).unwrap();
    play(&desk, &Case { name: "no UTF-8".to_owned(), arguments: &plan, codes: &[2] });
    fs::remove_file(desk.path("bad.toml")).unwrap();
    Command::new("mkfifo").arg(desk.path("bad.toml")).status().unwrap();
    for file in ["bad.toml", "/dev/zero", "/dev/full", "/proc/kmsg", ".", "/proc/self/mem"] {
        for verb in [&["run"][..], &["run", "-n"], &["cluster", "prepare"]] {
            let arguments = [verb, &[file], &NO_MIRROR].concat();
            play(
                &desk,
                &Case { name: format!("{verb:?} {file}"), arguments: &arguments, codes: &[2] },
            );
        }
    }
}

#[test]
fn a_scenario_with_a_strangers_words_is_refused() {
    let desk = Desk::new();
    let sound = fs::read_to_string(root().join("scenarios/priority-inversion.toml")).unwrap();
    let play_it = [&["run", "bad.toml"][..], &NO_MIRROR].concat();
    let mut count = 0;
    // Each quoted word of the file in its turn.
    let quotes: Vec<_> = sound.match_indices('"').map(|(at, _)| at).collect();
    for pair in quotes.chunks_exact(2) {
        for word in WORDS {
            let text = format!("{}\"{}{}", &sound[..pair[0]], quoted(word), &sound[pair[1]..]);
            desk.write("bad.toml", &text);
            let name = format!("{} = {word:?}", &sound[pair[0]..=pair[1]]);
            play(&desk, &Case { name, arguments: &play_it, codes: &[2, 4] });
            count += 1;
        }
    }
    assert!(count > 50, "{count}");
}

/// Writes a workload's folder whose definition is sound.
fn workload(desk: &Desk) -> PathBuf {
    let folder = desk.path("load");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    let example = root().join("examples/redis");
    for entry in fs::read_dir(example).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
        }
    }
    folder
}

#[test]
fn a_workloads_folder_of_a_stranger_is_refused() {
    let desk = Desk::new();
    let text = "format = 1\nname = \"mine\"\n[factors]\nkernel = [\"debian:6.12\"]\n\
                preempt = [\"full\"]\n[workload.mine]\nkind = \"folder\"\npath = \"load\"\n";
    desk.write("mine.toml", text);
    let plan = [&["run", "-n", "mine.toml"][..], &NO_MIRROR].concat();
    type Change = (&'static str, fn(&Path));
    let changes: [Change; 8] = [
        ("a link to a file of the machine", |folder| {
            symlink("/etc/shadow", folder.join("data")).unwrap();
        }),
        ("a link upwards", |folder| symlink("../../..", folder.join("up")).unwrap()),
        ("a link to itself", |folder| symlink("loop", folder.join("loop")).unwrap()),
        ("a pipe", |folder| {
            Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap();
        }),
        ("an endless device", |folder| symlink("/dev/zero", folder.join("zero")).unwrap()),
        ("a file without end", |folder| {
            fs::File::create(folder.join("huge")).unwrap().set_len(1 << 40).unwrap();
        }),
        ("a definition without end", |folder| {
            let file =
                fs::OpenOptions::new().write(true).open(folder.join("workload.toml")).unwrap();
            file.set_len(1 << 40).unwrap();
        }),
        ("no definition", |folder| fs::remove_file(folder.join("workload.toml")).unwrap()),
    ];
    for (name, change) in changes {
        change(&workload(&desk));
        // A link that stays in the folder is a file like any other, for the guest.
        let codes: &[i32] = if name == "a link to itself" { &[2, 4] } else { &[2] };
        play(&desk, &Case { name: name.to_owned(), arguments: &plan, codes });
    }
    let definition = fs::read_to_string(workload(&desk).join("workload.toml")).unwrap();
    let quotes: Vec<_> = definition.match_indices('"').map(|(at, _)| at).collect();
    for pair in quotes.chunks_exact(2).step_by(2) {
        for word in WORDS {
            let text =
                format!("{}\"{}{}", &definition[..pair[0]], quoted(word), &definition[pair[1]..]);
            fs::write(desk.path("load/workload.toml"), text).unwrap();
            let name = format!("{} = {word:?}", &definition[pair[0]..=pair[1]]);
            // Arguments and environment are the guest's, and may be anything.
            play(&desk, &Case { name, arguments: &plan, codes: &[2, 4] });
        }
    }
}
