//! Words of strangers in each form of output: one line each, and no command to a CI, no formula, no markup.

use std::{fs, os::unix::fs::symlink, path::Path};

use crate::common::{Desk, Finished};
use preemptlab_experiment::Recording;
use preemptlab_model::{CellRecord, FailureCause, Outcome, RECORDING_FORMAT, plain};
use preemptlab_recording::CellFolder;
use preemptlab_testkit::recorded::{Cell, record};

const PLAN: &str = "preempt = [\"full\"]\n[replicates]\ncount = 2\n\
    [workload.load]\nkind = \"cyclictest-hackbench\"\nwindow = \"1s\"\n";

/// Names of parts and reasons of failures. A slash, which no name can hold, stands as `%`.
const WORDS: [&str; 44] = [
    "x\n::error::y",
    "x\n::set-output name=a::b",
    "::error file=a,line=1::y",
    "  ::warning::y",
    "\n\n::stop-commands::token",
    "x\r::error::y",
    "x\r\n::add-mask::y",
    "x\u{85}::error::y",
    "x\u{2028}::error::y",
    "x\u{2029}::error::y",
    "x\u{b}::error::y",
    "x\u{c}::error::y",
    "\u{a0}::error::y",
    "\u{feff}::error::y",
    "x ##[error]y",
    "x\n##[set-env name=PATH]y",
    "##vso[task.setvariable variable=a]b",
    "x\n##teamcity[buildStop comment='y']",
    "x\n\u{1b}[31m::error::y",
    "\u{1b}[2J\u{1b}]0;title\u{7}",
    "x\u{202e}y\u{2066}z",
    "x\u{200b}y\u{200f}",
    "=cmd|' /C calc'!A0",
    "x;=cmd|' /C calc'!A0",
    "x; =1+1;y",
    "x;;@SUM(A1)",
    "x;\t-2+3",
    "x;+1",
    "x\",=1+1,\"",
    "x\n=1+1",
    "x\r=1+1",
    "\"=1+1",
    "-1+1",
    "@SUM(A1)",
    "owner%repo#1",
    "#12",
    "GH-12 and gh-3",
    "@torvalds @org%team",
    "a@example.org",
    "<img src=x onerror=alert(1)>",
    "[a](http:%%b.example) ![c](d) https:%%e.example www.f.example",
    "a | b || c",
    "`code` ``more`` ~~~",
    "*a* __b__ ~~c~~ $d$",
];

/// Makes a recording whose cells failed for a reason.
fn failed(path: &Path, reason: &str) {
    record(path, PLAN, |_, _| Cell::Missing);
    let recording = Recording::open(path).unwrap();
    let cells = CellFolder::new(path.join("cells"));
    for inputs in recording.manifest().plan.executable() {
        let outcome =
            Outcome::Failed { cause: FailureCause::Panic, reason: reason.replace('%', "/") };
        let (inputs, id) = (inputs.clone(), inputs.id());
        let format = RECORDING_FORMAT;
        let console = vec![];
        let record = CellRecord { format, id, inputs, console, conditions: None, outcome };
        cells.put(&record).unwrap();
    }
}

fn run(desk: &Desk, arguments: &[&str]) -> Finished {
    let mut command = desk.command(arguments);
    let said = Finished::new(command.env("COLUMNS", "160").output().unwrap());
    assert!((0..=3).contains(&said.code), "{arguments:?}: {said:?}");
    for text in [&said.stdout, &said.stderr] {
        check_lines(text, arguments);
    }
    said
}

/// No line is a command, and nothing steers a terminal.
fn check_lines(text: &str, name: &[&str]) {
    for line in text.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}', '\u{b}', '\u{c}']) {
        let is_blank = |char: char| char.is_whitespace() || char == '\u{feff}';
        assert!(!line.trim_start_matches(is_blank).starts_with("::"), "{name:?}: {text}");
        for command in ["##[", "##vso[", "##teamcity["] {
            assert!(!line.contains(command), "{name:?}: {text}");
        }
    }
    let steers = text.chars().find(|char| plain::is_steering(*char) && *char != '\n');
    assert_eq!(steers, None, "{name:?}: {text:?}");
}

/// Every field that is not a number is quoted, and nothing in it begins a formula.
fn check_csv(text: &str, word: &str) {
    for line in text.lines() {
        let mut rest = line;
        loop {
            let field = match rest.strip_prefix('"') {
                Some(quoted) => {
                    let mut end = 0;
                    while let Some(at) = quoted[end..].find('"') {
                        end += at;
                        if !quoted[end..].starts_with("\"\"") {
                            break;
                        }
                        end += 2;
                    }
                    let (field, after) = quoted.split_at(end);
                    rest = &after[1..];
                    let formula = |part: &str| {
                        let part = part.trim_start_matches([' ', '"']);
                        part.starts_with(['=', '+', '-', '@']) && field.parse::<f64>().is_err()
                    };
                    assert!(!field.split(';').any(formula), "{word:?}: {line}");
                    field
                }
                None => {
                    let (field, after) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
                    let is_plain = matches!(field, "" | "true" | "false");
                    assert!(
                        is_plain || field.parse::<f64>().is_ok(),
                        "{word:?}: {field} in {line}"
                    );
                    rest = after;
                    field
                }
            };
            match rest.strip_prefix(',') {
                Some(more) => rest = more,
                None => {
                    assert_eq!(rest, "", "{word:?}: after {field} in {line}");
                    break;
                }
            }
        }
    }
}

/// No mention, reference, link, code or HTML is in the output of a word.
fn check_markdown(text: &str, word: &str) {
    let unescaped = text.replace("\\`", "").replace("\\[", "").replace("\\|", "");
    for markup in
        ["@", "<", "`code", "http:/", "https:/", "www.f", "#1", "GH-12", "gh-3", "[a]", "$d$"]
    {
        assert!(!unescaped.contains(markup), "{word:?}: {markup} in {text}");
    }
    for (at, _) in text.match_indices('#') {
        let entity = text[..at].ends_with('&');
        let heading = text[..at].trim_end_matches('#').ends_with('\n') || at == 0;
        assert!(entity || heading || text[..at].ends_with('#'), "{word:?}: {text}");
    }
}

#[test]
fn a_reason_is_one_line_in_every_form() {
    let desk = Desk::new();
    failed(&desk.path("sound"), "the guest hung");
    let lines = |text: &str| text.lines().count();
    let csv = lines(&run(&desk, &["compare", "sound", "--format", "csv"]).stdout);
    let markdown = lines(&run(&desk, &["compare", "sound", "--format", "markdown"]).stdout);
    for word in WORDS {
        let _ = fs::remove_dir_all(desk.path("run"));
        let _ = fs::remove_dir_all(desk.path("run-export"));
        failed(&desk.path("run"), word);
        run(&desk, &["compare", "run"]);
        run(&desk, &["compare", "run", "--format", "json"]);
        let said = run(&desk, &["compare", "run", "--format", "csv"]).stdout;
        assert_eq!(lines(&said), csv, "{word:?}: {said}");
        check_csv(&said, word);
        let said = run(&desk, &["compare", "run", "--format", "markdown"]).stdout;
        assert_eq!(lines(&said), markdown, "{word:?}: {said}");
        check_markdown(&said, word);
        run(&desk, &["compare", "run", "--out", "letter.md"]);
        run(&desk, &["recommend", "run"]);
        run(&desk, &["export", "run"]);
        for table in ["cells", "metrics", "histograms"] {
            let file = desk.path("run-export").join(format!("{table}.csv"));
            check_csv(&fs::read_to_string(file).unwrap(), word);
        }
    }
}

#[test]
fn a_part_is_named_in_one_line() {
    let desk = Desk::new();
    record(&desk.path("run"), PLAN, |_, _| Cell::Missing);
    fs::create_dir(desk.path("sound")).unwrap();
    let lines = |said: &Finished| said.stderr.lines().count();
    let sound = lines(&run(&desk, &["cluster", "merge", "run", "sound"]));
    for word in WORDS {
        let name = word.replace(['%', '/'], "-");
        // A path that begins with a dash would be an option.
        let path = format!("./{name}");
        fs::create_dir(desk.path(&path)).unwrap();
        let said = run(&desk, &["cluster", "merge", "run", &path]);
        assert_eq!(lines(&said), sound, "{word:?}: {}", said.stderr);
        // The same as a recording, which is no such thing, and as a link.
        for arguments in [&["compare", &path][..], &["cluster", "merge", &path], &["verify", &path]]
        {
            let said = run(&desk, arguments);
            assert_eq!(said.code, 2, "{said:?}");
        }
        fs::remove_dir(desk.path(&path)).unwrap();
        symlink("sound", desk.path(&path)).unwrap();
        run(&desk, &["cluster", "merge", "run", &path]);
        fs::remove_file(desk.path(&path)).unwrap();
    }
}
