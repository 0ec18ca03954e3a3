//! Traces of strangers: `explain`, its census and its search refuse impossible traces, within bounds of memory
//! and time, and nothing in a trace steers a terminal.

use std::{
    fs,
    io::{Seek, Write},
    path::Path,
};

use crate::common::{Desk, Finished};
use crate::hostile::bounded;
use preemptlab_analysis::explain::{Hunt, probed};
use preemptlab_experiment::Recording;
use preemptlab_protocol::trace::stream::{CPU, END, FIRST_EVENT, SITE, STACK, TASK};
use preemptlab_testkit::traced::Traced;
use preemptlab_trace::testing::{PROBE, Stream, busy_from, layout, task};
use serde_json::{Value, json};

/// The bytes before the first record.
const HEAD_BYTES: usize = 12;

/// Commands that read a trace.
const VIEWS: [&[&str]; 5] = [
    &["explain", "run", "--cell", "ID"],
    &["explain", "run", "what-if", "preemptible=do_nanosleep", "--cell", "ID"],
    &["explain", "run", "what-if", "cut=asm_exit:1us", "--cell", "ID"],
    &["explain", "run", "--cell", "ID", "--fair"],
    &["explain", "run", "census"],
];

fn desk() -> (Desk, Traced) {
    let desk = Desk::new();
    let traced = Traced::new(&desk.path("run"));
    (desk, traced)
}

fn numbers(numbers: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for mut number in numbers.iter().copied() {
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    }
    bytes
}

fn sound() -> Vec<u8> {
    busy_from(1, 20)
}

/// Returns a sound trace with records behind its head.
fn begun_with(records: &[u8]) -> Vec<u8> {
    let sound = sound();
    [&sound[..HEAD_BYTES], records, &sound[HEAD_BYTES..]].concat()
}

fn repeated(count: u64, record: impl Fn(u64) -> Vec<u8>) -> Vec<u8> {
    (0..count).flat_map(record).collect()
}

fn task_record(address: u64, pid: u64, comm: [u8; 16]) -> Vec<u8> {
    [numbers(&[TASK, address, pid, pid, 120]), comm.to_vec()].concat()
}

/// Traces, each with whether it must be refused.
fn traces() -> Vec<(String, Vec<u8>, bool)> {
    let whole = sound();
    let mut all = Vec::new();
    let mut add = |name: String, bytes: Vec<u8>, is_refused| all.push((name, bytes, is_refused));
    for part in 0..24 {
        let bytes = whole.len() * part / 24;
        add(format!("cut to {bytes} bytes"), whole[..bytes].to_vec(), true);
    }
    for format in [0, 1 << 15, 99, u32::MAX] {
        let mut bytes = whole.clone();
        bytes[8..12].copy_from_slice(&format.to_le_bytes());
        add(format!("format {format}"), bytes, true);
    }
    add("another magic".into(), [b"ELF\x7f....", &whole[8..]].concat(), true);
    add("a text".into(), b"#!/bin/sh\ntouch canary\n".to_vec(), true);
    add("bytes behind the end".into(), [&whole[..], &[9; 100]].concat(), true);
    add("an end at the beginning".into(), begun_with(&numbers(&[END, 0, 0])), true);
    add("an end that counts wrongly".into(), begun_with(&numbers(&[END, 0, u64::MAX])), true);
    add("an endless number".into(), begun_with(&[0xff; 64]), true);
    add("an event of no site".into(), begun_with(&numbers(&[FIRST_EVENT + 99, 1])), true);
    add("a site of no event".into(), begun_with(&numbers(&[u64::MAX, 1])), true);
    for kind in [98, u64::MAX] {
        add(format!("a site of kind {kind}"), begun_with(&numbers(&[SITE, kind, 1, 1])), true);
    }
    for cpu in [64, 1 << 20, u64::from(u32::MAX), u64::MAX] {
        add(format!("CPU {cpu}"), begun_with(&numbers(&[CPU, cpu])), cpu > 1 << 16);
    }
    for depth in [1 << 20, u64::MAX] {
        add(format!("a stack of {depth}"), begun_with(&numbers(&[STACK, depth])), true);
    }
    let deep = [numbers(&[STACK, 200_000]), repeated(200_000, |at| numbers(&[at]))].concat();
    add("a deep stack".into(), begun_with(&deep), true);
    let tasks =
        repeated(1 << 20, |at| task_record(0x1_0000 + at, at, *b"worker\0\0\0\0\0\0\0\0\0\0"));
    add("a million tasks".into(), begun_with(&tasks), false);
    let same = repeated(1 << 20, |at| task_record(0xa1, at, *b"worker\0\0\0\0\0\0\0\0\0\0"));
    add("one task a million times".into(), begun_with(&same), false);
    let sites = repeated(1 << 20, |at| numbers(&[SITE, 0, at, 0]));
    add("a million sites".into(), begun_with(&sites), false);
    for (name, comm) in [
        ("steers", *b"\x1b[2J\x1b]0;x\x07\r\n\0\0\0\0"),
        ("no UTF-8", [0xff; 16]),
        ("breaks lines", *b"::error::x\n\n=1;,"),
        ("no name", [0; 16]),
    ] {
        let record = task_record(0xa1, 70, comm);
        // The trace's own name for the task comes second.
        add(format!("a task's name: {name}"), begun_with(&record), false);
        let record = task_record(u64::MAX, u64::MAX, comm);
        add(format!("a task of extremes: {name}"), begun_with(&record), false);
    }
    for (name, moments) in [
        ("late", [u64::MAX - 9, u64::MAX - 1]),
        ("backwards", [1 << 60, 5]),
        ("around", [u64::MAX, 1]),
        ("half", [1 << 63, (1 << 63) + 1]),
    ] {
        for value in [0, 1, 1 << 63, u64::MAX] {
            let mut stream = Stream::new();
            stream.task(&task(0xa1, 70, 70, 120, "worker")).task(&task(0xa2, 72, 71, 9, PROBE));
            stream.on(0);
            let [from_ns, to_ns] = moments;
            stream
                .probe(from_ns, "__switch_to", &[0xa1, 0xa2])
                .probe(from_ns, "hrtimer_start_range_ns", &[0xb0, value, value, value, value])
                .probe(to_ns, "hrtimer_wakeup", &[0xb0, value, 0xa2, value, value, 1, value, value])
                .probe(to_ns, "try_to_wake_up", &[0xa2])
                .probe(to_ns, "__switch_to", &[0xa1, 0xa2]);
            add(format!("{name}, values of {value}"), stream.finish(), false);
        }
    }
    // A byte of each part is another one.
    for place in 0..48 {
        let mut bytes = whole.clone();
        let at = HEAD_BYTES + (bytes.len() - HEAD_BYTES) * place / 48;
        bytes[at] ^= 0xff;
        add(format!("byte {at} is inverted"), bytes, false);
    }
    all
}

/// Puts a stream in the place of the cell's own; its findings stay.
fn put(traced: &Traced, stream: &[u8]) {
    let folder = traced.recording.traces();
    let findings = folder.findings(traced.id).unwrap().unwrap();
    let mut file = folder.scratch().unwrap();
    file.write_all(stream).unwrap();
    file.rewind().unwrap();
    folder.put(traced.id, &mut file, &findings).unwrap();
}

/// Views a recording. Returns the mistake.
fn viewed(
    desk: &Desk,
    traced: &Traced,
    name: &str,
    is_refused: bool,
    views: &[&[&str]],
) -> Vec<String> {
    let id = traced.id.to_string();
    let mut wrong = Vec::new();
    for view in views {
        let command: Vec<&str> =
            view.iter().map(|it| if *it == "ID" { id.as_str() } else { *it }).collect();
        let (said, ran) = bounded(desk, &command);
        if let Some(what) = wrong_in(&said, &ran, is_refused && !view.contains(&"census")) {
            wrong.push(format!("{name}: {}: {what}", view.join(" ")));
        }
    }
    wrong
}

fn wrong_in(said: &Finished, ran: &str, is_refused: bool) -> Option<String> {
    let Finished { code, stdout, stderr } = said;
    let steers = |c: char| c != '\n' && preemptlab_model::plain::is_steering(c);
    let short: String = stderr.chars().take(300).collect();
    if !(*code == 2 || *code == 0 && !is_refused) {
        Some(format!("exit code {code}: {short}"))
    } else if !ran.is_empty() {
        Some(format!("it ran {ran}"))
    } else if stderr.contains("panicked") {
        Some(format!("it panicked: {short}"))
    } else if *code == 2 && (stderr.trim().is_empty() || stderr.lines().count() > 14) {
        Some(format!("no short sentence: {short}"))
    } else if stdout.chars().chain(stderr.chars()).any(steers) {
        Some("it steers the terminal".to_owned())
    } else {
        None
    }
}

/// Begins a search in a recording, as `explain RUN search` does before it executes anything.
fn hunted(path: &Path) -> Result<(), String> {
    let recording = Recording::open(path).map_err(|error| error.to_string())?;
    let configurations = probed(&recording, Some("none")).map_err(|error| error.to_string())?;
    for cells in configurations {
        let cells = cells.into_iter().take(1).collect();
        let mut hunt = Hunt::new(&recording, cells).map_err(|error| error.to_string())?;
        let _ = hunt.next_execution();
    }
    Ok(())
}

#[test]
fn traces_that_cannot_be_are_refused() {
    let (desk, traced) = desk();
    let mut wrong = viewed(&desk, &traced, "the sound one", false, &VIEWS[..3]);
    let traces = traces();
    for (name, stream, is_refused) in &traces {
        put(&traced, stream);
        wrong.extend(viewed(&desk, &traced, name, *is_refused, &VIEWS));
        if hunted(&traced.path).is_ok() && *is_refused {
            wrong.push(format!("{name}: the search takes it"));
        }
    }
    assert!(traces.len() > 100, "{}", traces.len());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_trace_that_unpacks_to_gigabytes_is_refused() {
    let (desk, traced) = desk();
    for byte in [0_u8, CPU as u8, 0xff] {
        // In parts, as a file of kilobytes may hold it.
        let head = sound()[..HEAD_BYTES].to_vec();
        let many = vec![byte; 1 << 20];
        let mut packed = zstd::Encoder::new(Vec::new(), 3).unwrap();
        packed.write_all(&head).unwrap();
        for _ in 0..1500 {
            packed.write_all(&many).unwrap();
        }
        fs::write(traced.file("trace"), packed.finish().unwrap()).unwrap();
        let wrong = viewed(&desk, &traced, &format!("bytes {byte}"), true, &VIEWS);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

/// Returns the paths of a document's numbers and strings, and of its lists.
fn places(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, it)| places(it, &format!("{path}/{name}"), found));
        }
        Value::Array(items) => {
            found.push(path.to_owned());
            let few = items.iter().enumerate().take(2);
            few.for_each(|(at, it)| places(it, &format!("{path}/{at}"), found));
        }
        Value::Number(_) | Value::String(_) => found.push(path.to_owned()),
        Value::Null | Value::Bool(_) => {}
    }
}

/// Returns the replacements of a value, each with a name.
fn instead(value: &Value) -> Vec<(&'static str, Value)> {
    match value {
        Value::Number(_) => vec![
            ("the largest number", json!(u64::MAX)),
            ("the smallest number", json!(i64::MIN)),
            ("a huge fraction", json!(1e308)),
            ("none", json!(0)),
        ],
        Value::String(_) => vec![
            ("an escape", json!("\u{1b}[2J")),
            ("a long string", json!("A".repeat(1 << 20))),
            ("nothing", json!("")),
        ],
        Value::Array(items) => {
            let many = items.first().map(|it| vec![it.clone(); 20_000]).unwrap_or_default();
            let backwards = items.iter().rev().cloned().collect::<Vec<_>>();
            vec![("many", json!(many)), ("backwards", json!(backwards)), ("no items", json!([]))]
        }
        _ => Vec::new(),
    }
}

fn changed(whole: &Value, cases_max: usize) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    places(whole, "", &mut found);
    let mut cases = Vec::new();
    for path in found {
        for (name, value) in instead(whole.pointer(&path).unwrap()) {
            let mut document = whole.clone();
            *document.pointer_mut(&path).unwrap() = value;
            cases.push((format!("{path} is {name}"), document));
        }
    }
    let step = cases.len().div_ceil(cases_max);
    cases.into_iter().step_by(step).collect()
}

fn packed(value: &Value) -> Vec<u8> {
    zstd::stream::encode_all(serde_json::to_vec(value).unwrap().as_slice(), 3).unwrap()
}

#[test]
fn findings_that_cannot_be_are_refused() {
    let (desk, traced) = desk();
    let folder = traced.recording.traces();
    let whole = serde_json::to_value(folder.findings(traced.id).unwrap().unwrap()).unwrap();
    let cases = changed(&whole, 200);
    assert!(cases.len() > 80, "{}", cases.len());
    let mut wrong = Vec::new();
    for (name, document) in cases {
        match serde_json::from_value(document.clone()) {
            Ok(findings) => folder.put_findings(traced.id, &findings).unwrap(),
            Err(_) => fs::write(traced.file("findings"), packed(&document)).unwrap(),
        }
        let views = [&["explain", "run", "ranking"][..], VIEWS[0], VIEWS[4]];
        wrong.extend(viewed(&desk, &traced, &name, false, &views));
        let _ = hunted(&traced.path);
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn layouts_that_cannot_be_are_refused() {
    let (desk, traced) = desk();
    let whole = serde_json::to_value(layout()).unwrap();
    let file = traced.layout();
    let folder = traced.recording.traces();
    let record = traced.recording.cell(traced.id).unwrap().unwrap();
    let mut wrong = Vec::new();
    for (name, document) in changed(&whole, 120) {
        fs::remove_file(&file).unwrap();
        match serde_json::from_value(document.clone()) {
            Ok(layout) => folder.put_layout(record.inputs.snapshot.id(), &layout).unwrap(),
            Err(_) => fs::write(&file, packed(&document)).unwrap(),
        }
        wrong.extend(viewed(&desk, &traced, &name, false, &[VIEWS[0], VIEWS[1], VIEWS[4]]));
        let _ = hunted(&traced.path);
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
