//! Recordings with traces may come from strangers: bad ones get a clear error.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use crate::common::{Desk, Finished, tree};
use preemptlab_model::{Digest, Planned, QemuBuild};
use preemptlab_testkit::traced::{Traced, untraced};
use preemptlab_trace::{Findings, Kernel, Layout, testing};

/// Returns a desk with a recording in the folder `run`.
fn desk() -> (Desk, Traced) {
    let desk = Desk::new();
    let traced = Traced::new(&desk.path("run"));
    (desk, traced)
}

fn explain(desk: &Desk, arguments: &[&str]) -> Finished {
    desk.run(&[&["explain", "run"], arguments].concat())
}

/// Explains the cell with the trace.
fn explain_it(desk: &Desk, traced: &Traced, arguments: &[&str]) -> Finished {
    let id = traced.id.to_string();
    explain(desk, &[arguments, &["--cell", id.as_str()]].concat())
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

const AGAIN: &str = "remove it and run the same command again";

#[test]
fn a_sound_recording_is_explained() {
    let (desk, traced) = desk();
    let before = tree(&traced.path);
    let said = explain_it(&desk, &traced, &[]);
    assert!(said.succeeds().stdout.contains("the worst of 20 wakeups"), "{}", said.stdout);
    explain(&desk, &["ranking"]).succeeds();
    for form in ["perfetto", "ftrace"] {
        explain_it(&desk, &traced, &["trace", "--format", form, "--out", form]).succeeds();
        assert!(fs::metadata(desk.path(form)).unwrap().len() > 1000);
    }
    assert!(before == tree(&traced.path), "explaining has changed the recording");
}

#[test]
fn a_format_of_a_view_is_written() {
    let (desk, traced) = desk();
    let ranking = explain(&desk, &["ranking", "--format", "csv"]).succeeds().stdout.clone();
    assert!(ranking.lines().next().unwrap().matches(',').count() > 3, "{ranking}");
    let markdown = explain(&desk, &["ranking", "--format", "markdown"]).succeeds().stdout.clone();
    assert!(markdown.contains("| ---"), "{markdown}");
    let drawn = explain_it(&desk, &traced, &[]).stdout;
    let block = explain_it(&desk, &traced, &["--format", "markdown"]).succeeds().stdout.clone();
    assert_eq!(block, format!("```\n{drawn}```\n"));
}

#[test]
fn the_atlas_is_written_as_a_page() {
    let (desk, _) = desk();
    explain(&desk, &["atlas", "-o", "atlas.html"]).succeeds();
    let page = fs::read_to_string(desk.path("atlas.html")).unwrap();
    for part in ["<!DOCTYPE html>", "do_nanosleep", r#"id="details""#, "default-src 'none'"] {
        assert!(page.contains(part), "{part}");
    }
    let refused = explain(&desk, &["atlas", "--out", "atlas.md"]);
    refused.fails(2, &["atlas.md does not end in .html"]);
    assert!(!explain(&desk, &["atlas", "-o", "a.html", "--format", "csv"]).stderr.is_empty());
    assert!(!desk.path("atlas.md").exists() && !desk.path("a.html").exists());
}

#[test]
fn a_truncated_trace_is_named() {
    let (desk, traced) = desk();
    let file = traced.file("trace");
    change(&file, |bytes| bytes.truncate(bytes.len() / 2));
    let before = tree(&traced.path);
    let name = file.file_name().unwrap().to_str().unwrap();
    for arguments in [&[][..], &["trace", "--format", "ftrace", "--out", "text"]] {
        explain_it(&desk, &traced, arguments).fails(2, &[name, "it is cut off or damaged", AGAIN]);
    }
    assert!(before == tree(&traced.path));
    assert!(!desk.path("text").exists(), "half an export is left");
}

#[test]
fn flipped_bits_are_noticed() {
    let (desk, traced) = desk();
    for kind in ["trace", "findings", "layout"] {
        let file = if kind == "layout" { traced.layout() } else { traced.file(kind) };
        let sound = fs::read(&file).unwrap();
        for part in [2, 4] {
            let mut bytes = sound.clone();
            let place = bytes.len() - bytes.len() / part;
            bytes[place] ^= 0x10;
            fs::write(&file, bytes).unwrap();
            let name = file.file_name().unwrap().to_str().unwrap();
            explain_it(&desk, &traced, &[]).fails(2, &[name, AGAIN]);
        }
        fs::write(&file, sound).unwrap();
    }
    explain_it(&desk, &traced, &[]).succeeds();
}

#[test]
fn a_trace_of_another_cell_is_noticed() {
    let (desk, traced) = desk();
    let others = fs::read_dir(traced.path.join("traces")).unwrap();
    let mut others = others.map(|entry| entry.unwrap().path());
    let own = traced.file("trace");
    let other = others.find(|path| path.to_str().unwrap().ends_with(".trace.zst") && *path != own);
    fs::copy(other.unwrap(), &own).unwrap();
    explain_it(&desk, &traced, &[]).fails(2, &["it calls itself `preemptlab trace", AGAIN]);
}

#[test]
fn findings_of_a_newer_format_are_called_newer() {
    let (desk, traced) = desk();
    let text = br#"{"format": 99, "future": true}"#;
    fs::write(traced.file("findings"), packed(text)).unwrap();
    let newer = ["findings.zst has format 99", "use the newer one"];
    explain_it(&desk, &traced, &[]).fails(2, &newer);
    explain(&desk, &["ranking"]).fails(2, &newer);
}

#[test]
fn findings_that_cannot_be_are_damaged() {
    let (desk, traced) = desk();
    let findings: Findings = traced.recording.traces().findings(traced.id).unwrap().unwrap();
    let text = serde_json::to_string(&findings).unwrap();
    for (what, instead) in
        [("\"end_ns\":", "\"end_ns\":1844674407370955161"), ("do_nanosleep", "\\u001b[2J")]
    {
        let bad = text.replacen(what, instead, 1);
        assert_ne!(bad, text);
        fs::write(traced.file("findings"), packed(bad.as_bytes())).unwrap();
        explain_it(&desk, &traced, &[]).fails(2, &["findings.zst cannot be read", AGAIN]);
    }
}

#[test]
fn a_layout_of_a_newer_format_is_called_newer() {
    let (desk, traced) = desk();
    fs::write(traced.layout(), packed(br#"{"format": 7}"#)).unwrap();
    explain_it(&desk, &traced, &[]).fails(2, &["layout.zst has format 7", "use the newer one"]);
}

#[test]
fn a_layout_that_does_not_fit_its_trace_is_noticed() {
    let desk = Desk::new();
    let mut layout: Layout = testing::layout();
    layout.program.probes.iter_mut().for_each(|probe| probe.address += 16);
    assert!(Kernel::new(testing::ARCH, layout.clone()).is_ok());
    let traced = Traced::with(&desk.path("run"), layout);
    explain_it(&desk, &traced, &[]).fails(2, &["belongs to another program of probes", AGAIN]);
}

#[test]
fn a_layout_that_would_change_the_guest_is_refused() {
    let desk = Desk::new();
    let text = serde_json::to_string(&testing::layout()).unwrap();
    let inject = r#""inject":[{"cpu":0,"at_ns":1,"expected":[0,0],"writes":[],"message_address":0,"message":0}]"#;
    let layout = serde_json::from_str(&text.replace(r#""inject":[]"#, inject)).unwrap();
    let traced = Traced::with(&desk.path("run"), layout);
    explain_it(&desk, &traced, &[]).fails(2, &["a program of probes that is none", AGAIN]);
}

#[test]
fn a_request_that_cannot_be_answered_is_refused() {
    desk().0.replays("explain");
}

#[test]
fn a_name_of_several_replicates_means_the_worst() {
    let (desk, traced) = desk();
    // Which here is the first.
    let said = explain(&desk, &["--cell", "none"]);
    assert!(said.succeeds().stdout.contains(&traced.id.to_string()[..8]));
}

#[test]
fn a_change_is_weighed_and_not_executed() {
    let (desk, traced) = desk();
    let change = ["what-if", "preemptible=do_nanosleep", "cut=asm_exit:1us"];
    explain_it(&desk, &traced, &change).succeeds().says(&["nothing was executed"]);
}

/// Root and a user get another cause.
#[test]
fn an_output_file_in_proc_cannot_be_written() {
    let (desk, traced) = desk();
    explain_it(&desk, &traced, &["trace", "--format", "ftrace", "--out", "/proc/nothing"])
        .fails(4, &["cannot write", "/proc/nothing"]);
}

#[test]
fn an_export_that_fails_leaves_the_file_that_was_there() {
    let (desk, traced) = desk();
    desk.write("text", "precious");
    change(&traced.file("trace"), |bytes| bytes.truncate(bytes.len() - 8));
    explain_it(&desk, &traced, &["trace", "--format", "ftrace", "--out", "text"])
        .fails(2, &[AGAIN]);
    assert_eq!(fs::read_to_string(desk.path("text")).unwrap(), "precious");
}

#[test]
fn a_recording_that_cannot_be_written_to_is_to_be_copied() {
    let desk = Desk::new();
    let run = desk.path("run");
    untraced(&run, |_| {});
    fs::set_permissions(&run, fs::Permissions::from_mode(0o555)).unwrap();
    let before = tree(&run);
    let command = desk.command(&["explain", "run", "--cell", "none"]);
    let finished = Finished::new(as_anyone(&command).output().unwrap());
    fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
    finished.fails(4, &["run cannot be written to", "cp -r run COPY", "explain the copy"]);
    assert!(before == tree(&run));
}

/// Returns the command without root's right to write where no user may.
fn as_anyone(command: &Command) -> Command {
    if !rustix::process::geteuid().is_root() {
        let mut same = Command::new(command.get_program());
        same.args(command.get_args());
        return with_surroundings(same, command);
    }
    let mut without = Command::new("setpriv");
    without.args(["--inh-caps=-all", "--bounding-set=-dac_override,-dac_read_search"]);
    without.arg(command.get_program()).args(command.get_args());
    with_surroundings(without, command)
}

fn with_surroundings(mut other: Command, command: &Command) -> Command {
    for (name, value) in command.get_envs() {
        other.env(name, value.unwrap());
    }
    other.current_dir(command.get_current_dir().unwrap());
    other
}

#[test]
fn a_qemu_that_cannot_trace_or_is_another_one_is_refused() {
    let desk = Desk::new();
    untraced(&desk.path("run"), |_| {});
    let qemu = |version: &str, help: &str| {
        fake_qemu(&desk, version, help);
        explain(&desk, &["--cell", "none", "--set", "qemu=qemu"])
    };
    qemu("7.2.19", "-plugin").fails(4, &["too old: QEMU emulator version 7.2.19", "10.0 or newer"]);
    qemu("10.0.2", "usage").fails(4, &["built without TCG plugins", "--enable-plugins"]);
    qemu("10.0.2", "-plugin [file=]<file>").fails(
        2,
        &[
            "made with QEMU QEMU emulator version 10.0.13",
            "this is QEMU emulator version 10.0.2",
            "--set qemu=PATH",
        ],
    );
}

#[test]
fn a_kernel_that_cannot_be_had_any_more_is_named() {
    let desk = Desk::new();
    let script = fake_qemu(&desk, "10.0.2", "-plugin [file=]<file>");
    untraced(&desk.path("run"), |manifest| {
        let version = "QEMU emulator version 10.0.2".to_owned();
        let build = QemuBuild { version, digest: Digest::of(script.as_bytes()) };
        for cell in &mut manifest.plan.cells {
            if let Planned::Execute(inputs) = &mut cell.planned {
                inputs.snapshot.qemu = Some(build.clone());
            }
        }
        manifest.qemu.as_mut().unwrap().build = build;
    });
    // Nothing listens on the discard port of this machine.
    let config = ["--set", "qemu=qemu", "--set", "mirror=http://127.0.0.1:9/debian"];
    explain(&desk, &[&["--cell", "none"][..], &config].concat()).fails(
        4,
        &[
            "debian:6.12.107+deb13 as 6.12.107+deb13-amd64",
            "cannot be had any more",
            "--set mirror=URL",
        ],
    );
}

/// Makes a program that says of itself that it is QEMU. Returns its text.
fn fake_qemu(desk: &Desk, version: &str, help: &str) -> String {
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 'QEMU emulator version {version}' && exit\n\
         [ \"$1\" = --help ] && echo '{help}' && exit\nexit 1\n"
    );
    let path = desk.write("qemu", &script);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    script
}

#[test]
fn a_probe_that_is_not_there_is_named_before_anything_is_executed() {
    let desk = Desk::new();
    untraced(&desk.path("run"), |manifest| {
        for cell in &mut manifest.plan.cells {
            if let Planned::Execute(inputs) = &mut cell.planned {
                inputs.job.probes.clear();
            }
        }
    });
    for arguments in [&["--cell", "none"][..], &["--cell", "none", "--fair"]] {
        explain(&desk, arguments)
            .fails(2, &["processes has no probe", "another workload", "--cell"]);
    }
    assert!(!desk.path("run/traces").exists());
}

#[test]
fn a_recording_without_a_trace_is_told_how_to_get_one() {
    let desk = Desk::new();
    untraced(&desk.path("run"), |_| {});
    explain(&desk, &["ranking"]).fails(2, &["--trace", "preemptlab explain run"]);
}

/// Returns a compressed file without a label.
fn packed(content: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(content, 3).unwrap()
}
