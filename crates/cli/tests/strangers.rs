//! Files of strangers: each is refused with a sentence, before anything is run or asked for in its
//! name, and nothing that they hold steers a terminal, a spreadsheet or a page.

use std::fs;

use crate::common::{self, Desk};
use crate::hostile::{self, Case, HOSTILE, canaries, failed_recording, recordings, texts};
use preemptlab_model::plain;

/// More than any refusal needs, in lines.
const LINES_MAX: usize = 14;

#[track_caller]
fn refused(case: &Case) {
    let desk = Desk::new();
    (case.files)(&desk);
    // Others may have a folder of that name.
    let had = desk.path("../x").exists();
    let (path, marker) = canaries(&desk);
    let mut command = desk.command(&case.command);
    let output = command.env("PATH", &path).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    let name = &case.name;
    assert_eq!(output.status.code(), Some(2), "{name}: {stdout}{stderr}");
    let ran = fs::read_to_string(&marker).unwrap_or_default();
    assert_eq!(ran, "", "{name}: commands were run");
    for said in [&stdout, &stderr] {
        let steers = said.chars().find(|char| plain::is_steering(*char) && *char != '\n');
        assert_eq!(steers, None, "{name}: {said:?}");
    }
    assert!(stdout.is_empty(), "{name}: {stdout}");
    assert!((1..=LINES_MAX).contains(&stderr.trim().lines().count()), "{name}: {stderr}");
    assert!(!stderr.contains("panicked"), "{name}: {stderr}");
    // A message may be broken into lines wherever there is a space.
    let words = stderr.replace('│', " ");
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in case.said {
        assert!(words.contains(text), "{name}: no `{text}` in:\n{stderr}");
    }
    let left = fs::read_dir(desk.path("runs")).map_or(0, |entries| entries.count());
    assert!(left == 0 && desk.path("../x").exists() == had, "{name}: it has a folder");
}

#[test]
fn a_hostile_experiment_is_refused() {
    texts().iter().for_each(refused);
}

#[test]
fn a_hostile_recording_is_refused() {
    recordings().iter().for_each(refused);
}

/// The canaries do sing: a command that is run is noticed.
#[test]
fn what_is_run_is_noticed() {
    let desk = Desk::new();
    let (path, marker) = canaries(&desk);
    std::process::Command::new("/usr/bin/env")
        .args(["apt-get", "update"])
        .env("PATH", path)
        .status()
        .unwrap();
    assert_eq!(fs::read_to_string(marker).unwrap(), "apt-get update\n");
}

/// Returns the start of a bzImage with this release (Documentation/arch/x86/boot.rst).
fn image(release: &str) -> Vec<u8> {
    let mut image = vec![0; 0x400];
    image[0x202..0x208].copy_from_slice(b"HdrS\x0f\x02");
    image[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
    image[0x300..0x300 + release.len()].copy_from_slice(release.as_bytes());
    image
}

#[test]
fn a_kernels_build_scripts_need_a_flag() {
    let desk = Desk::new();
    desk.write("own.toml", hostile::OWN_KERNEL);
    fs::write(desk.path("bzImage"), image("6.12.9")).unwrap();
    for more in [&[][..], &["-n"]] {
        let (path, marker) = canaries(&desk);
        let arguments = [&["run", "own.toml", "--allow-build-scripts"], more].concat();
        let output = desk.command(&arguments).env("PATH", path).output().unwrap();
        // Allowed, it continues and asks for QEMU, which needs apt.
        assert_eq!(output.status.code(), Some(4), "{output:?}");
        assert_ne!(fs::read_to_string(&marker).unwrap_or_default(), "");
        fs::remove_file(marker).unwrap();
    }
}

#[test]
fn what_a_guest_says_is_only_text() {
    let desk = Desk::new();
    failed_recording(&desk.path("run"));
    let said = |arguments: &[&str]| {
        let output = desk.command(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    };
    let is_harmless = |text: &str| !text.contains(|char| plain::is_steering(char) && char != '\n');
    for format in ["table", "csv", "markdown", "json"] {
        let text = said(&["compare", "run", "--format", format, "--all"]);
        assert!(text.contains("reboot") && is_harmless(&text), "{format}: {text:?}");
        match format {
            "csv" => assert!(!text.contains(",=reboot") && !text.contains("\"=reboot"), "{text}"),
            "markdown" => assert!(!text.contains("<img"), "{text}"),
            "json" => assert!(text.contains("\\u009b"), "{text}"),
            _ => {}
        }
    }
    said(&["compare", "run", "--out", "letter.md"]);
    let page = fs::read_to_string(desk.path("letter.md")).unwrap();
    assert!(is_harmless(&page) && !page.contains("<img") && !page.contains("http://"), "{page}");
    said(&["compare", "run", "--out", "page.html"]);
    assert!(!fs::read_to_string(desk.path("page.html")).unwrap().contains("<img src=x"));
    said(&["export", "run", "--out", "tables"]);
    let tables = common::tree(&desk.path("tables"));
    assert!(tables.iter().any(|(_, bytes)| String::from_utf8_lossy(bytes).contains("'=reboot")));
    for (name, bytes) in tables {
        let text = String::from_utf8(bytes).unwrap();
        assert!(is_harmless(&text) && !text.contains(",=reboot"), "{}: {text}", name.display());
    }
    // In colour only colours are added.
    let colored = said(&["compare", "run", "--color", "always"]);
    assert!(colored.contains("\x1b["));
    for part in colored.split('\x1b').skip(1) {
        let end = part.find('m').unwrap_or_else(|| panic!("{part:?}"));
        let is_style = |char: char| char.is_ascii_digit() || char == ';';
        assert!(part.starts_with('[') && part[1..end].chars().all(is_style), "{part:?}");
    }
    assert!(HOSTILE.contains('\x1b'));
}

#[test]
fn a_command_line_is_told_as_text() {
    let desk = Desk::new();
    let told = desk.run(&["compare", "--\u{1b}[2J"]);
    told.fails(2, &["unexpected argument"]);
    assert!(!told.stderr.contains('\u{1b}'), "{:?}", told.stderr);
    desk.run(&["compare", "a\u{9b}2J\u{202e}"]).fails(2, &["there is no folder"]);
}
