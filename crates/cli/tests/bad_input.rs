//! Tests that bad input gets a clear error: the cause, and the next command.

mod common;

use std::{fs, os::unix::fs::PermissionsExt};

use common::Desk;

const SMALL: &str = r#"format = 1
name = "small"

[factors]
kernel = ["debian:6.12"]
preempt = ["none", "full"]

[workload.hackbench]
kind = "cyclictest-hackbench"
"#;

#[test]
fn a_misspelt_key_is_shown_in_its_line() {
    let desk = Desk::new();
    desk.write("bad.toml", &SMALL.replace("[factors]", "[factor]"));
    desk.run(&["run", "bad.toml"]).fails(2, &["bad.toml:4", "factor", "did you mean `factors`?"]);
}

/// The sentence names the key, its value and the values that are known.
#[test]
fn an_architecture_that_is_not_known_is_shown_in_its_line() {
    let desk = Desk::new();
    let known = "the known architectures are \"amd64\"";
    for arch in ["riscv64", "arm64"] {
        let key = format!("arch = \"{arch}\"");
        let said = format!("`{key}` is not known; {known}");
        desk.write(
            "bad.toml",
            &SMALL.replace("[workload", &format!("[machine]\n{key}\n\n[workload")),
        );
        desk.run(&["run", "-n", "bad.toml"]).fails(2, &["bad.toml:9", &said]);
        let scenario = format!(
            "format = 1\nname = \"x\"\n{key}\nend = \"1s\"\n[thread.a]\nsteps = [\"yield\"]\n"
        );
        desk.write("scenario.toml", &scenario);
        desk.run(&["run", "scenario.toml"]).fails(2, &["scenario.toml:3", &said]);
    }
}

/// A line break in an argument makes no line of the message.
#[test]
fn a_misspelt_command_is_shown_in_lines_of_their_own() {
    let desk = Desk::new();
    let said = "error: unrecognized subcommand 'compre'

  tip: some similar subcommands exist: 'recommend', 'compare'

Usage: preemptlab [OPTIONS] <COMMAND>

For more information, try '--help'.
";
    let finished = desk.run(&["compre", "runs/quick"]);
    finished.fails(2, &[]);
    assert_eq!(finished.stderr, said);
    let finished = desk.run(&["compre\nerror: something else"]);
    finished.fails(2, &["unrecognized subcommand 'compre error: something else'"]);
    assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
}

#[test]
fn a_misspelt_mode_is_shown_in_its_line() {
    let desk = Desk::new();
    desk.write("bad.toml", &SMALL.replace("\"full\"", "\"voluntery\""));
    desk.run(&["run", "-n", "bad.toml"]).fails(2, &["bad.toml:6", "did you mean `voluntary`?"]);
}

#[test]
fn a_kernel_that_is_none_is_shown_in_its_line() {
    let desk = Desk::new();
    desk.write("bad.toml", &SMALL.replace("debian:6.12", "6.12"));
    desk.run(&["run", "bad.toml"]).fails(2, &["bad.toml:5", "debian:"]);
}

/// Each part of a kernel's name is blamed for its own slip only.
#[test]
fn a_slip_in_the_parts_of_a_kernels_name_is_named() {
    let desk = Desk::new();
    for (kernel, said) in [
        ("source:6.12,config=lab+HZ_1000=m", "`+HZ_1000=m` would be a module"),
        ("source:6.12,config=lab+HZ_1000", "`+HZ_1000` has no value"),
        ("source:6.12+HZ_1000=y,config=lab", "its parts stand in this order"),
        ("source:6.12,config=PREEMPT", "the path of a file has a `/`"),
    ] {
        desk.write("bad.toml", &SMALL.replace("debian:6.12", kernel));
        let finished = desk.run(&["run", "-n", "bad.toml"]);
        finished.fails(2, &["bad.toml:5", said, "did you mean `source:6.12,config="]);
        assert!(!finished.stderr.contains("for example"), "{}", finished.stderr);
    }
}

/// A vmlinux in the place of a bzImage.
#[test]
fn a_file_that_is_no_bzimage_is_named() {
    let desk = Desk::new();
    desk.write("vmlinux", "\u{7f}ELF\u{2}\u{1}\u{1}");
    desk.write("bad.toml", &SMALL.replace("debian:6.12", "file:vmlinux"));
    for more in [&["-n"][..], &[]] {
        desk.run(&[&["run", "bad.toml"], more].concat()).fails(2, &["`vmlinux`"]);
    }
}

#[test]
fn a_tree_that_is_no_kernel_and_a_revision_that_is_not_there_are_refused() {
    let desk = Desk::new();
    let run = |kernel: &str| desk.run(&["run", "small.toml", "--kernel", kernel]);
    desk.write("small.toml", SMALL);
    // The mistake is found before any download and any build.
    fs::create_dir_all(desk.path("linux/kernel/sched")).unwrap();
    run("tree:linux").fails(2, &["`linux` is no kernel source: it has no Makefile"]);
    run("tree:nowhere").fails(2, &["`nowhere` cannot be read: No such file"]);
    run("git:linux@HEAD").fails(2, &["`linux` is no git repository"]);
    desk.write("linux/Makefile", "all:\n\ttouch canary\n");
    desk.write("linux/Kconfig", "");
    desk.write("linux/kernel/sched/core.c", "");
    run("tree:linux").fails(2, &["it has no Makefile with a kernel's version"]);
    desk.write("linux/Makefile", "VERSION = 6\nPATCHLEVEL = 12\n$(shell touch canary)\n");
    run("tree:linux,clean").fails(2, &["nothing can say that it is clean"]);
    run("tree:linux,config=./none").fails(2, &["`./none` cannot be read"]);
    run("tree:linux,confg=lab").fails(2, &["did you mean `tree:linux,config=lab`?"]);
    run("tree:linux+HZ_1000=m").fails(2, &["`+HZ_1000=m` would be a module"]);
    run("source:6.12,config=./none").fails(2, &["`./none` cannot be read"]);
    run("source:6.12,confg=lab").fails(2, &["did you mean `source:6.12,config=lab`?"]);
    run("source:6.12-rt,config=lab").fails(2, &["config=lab+EXPERT=y+PREEMPT_RT=y"]);
    run("debian:6.12,config=lab").fails(2, &["did you mean `source:6.12,config=lab`?"]);
    run("tree:linux,nodif").fails(2, &["did you mean `tree:linux,nodiff`?"]);
    run("git:linux@HEAD,nodiff").fails(2, &["a revision has no difference"]);
    run("elsewhere").fails(2, &["`tree:`", "`git:`"]);
    assert!(!desk.path("canary").exists() && !desk.path("linux/canary").exists());
    assert_eq!(fs::read_dir(desk.path("linux")).unwrap().count(), 3);
}

#[test]
fn a_missing_experiment_is_named() {
    Desk::new().run(&["run", "nowhere.toml"]).fails(2, &["cannot read nowhere.toml"]);
}

#[test]
fn a_mirror_that_is_down_is_named() {
    let desk = Desk::new();
    desk.write("small.toml", SMALL);
    // Nothing listens on the discard port of this machine.
    desk.run(&["run", "small.toml", "--set", "mirror=http://127.0.0.1:9/debian"])
        .fails(4, &["127.0.0.1:9"]);
}

#[test]
fn a_store_that_cannot_be_is_named() {
    let desk = Desk::new();
    desk.write("small.toml", SMALL);
    desk.write("file", "");
    desk.run(&["run", "small.toml", "--store", "file"]).fails(4, &["the store cannot be"]);
}

#[test]
fn a_qemu_that_is_too_old_is_refused() {
    let desk = Desk::new();
    desk.write("small.toml", SMALL);
    let qemu = desk
        .write("qemu", "#!/bin/sh\necho 'QEMU emulator version 7.2.19 (Debian 1:7.2+dfsg-7)'\n");
    fs::set_permissions(&qemu, fs::Permissions::from_mode(0o755)).unwrap();
    desk.run(&["run", "small.toml", "--set", "qemu=qemu"]).fails(4, &["too old", "7.2.19", "10.0"]);
}

#[test]
fn a_qemu_without_plugins_is_refused() {
    let desk = Desk::new();
    desk.write("small.toml", SMALL);
    let qemu = desk.write(
        "qemu",
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 'QEMU emulator version 10.0.2' && exit\n\
         [ \"$1\" = --help ] && echo 'usage: qemu' && exit\nexit 1\n",
    );
    fs::set_permissions(&qemu, fs::Permissions::from_mode(0o755)).unwrap();
    desk.run(&["run", "small.toml", "--set", "qemu=qemu"]).fails(4, &["plugins"]);
}

#[test]
fn what_a_machine_may_not_be_told_is_refused_before_anything_runs() {
    let desk = Desk::new();
    for (setting, said) in [
        ("sysctl.kernel.core_pattern=x", "kernel.core_pattern is not among the sysctls"),
        ("sysctl.kernel.modprobe=x", "kernel.modprobe"),
        ("sysctl.kernel.sched_rt_runtime_us=x", "its value is a number"),
        ("tracing/tracing_on=1", "tracing/tracing_on is not among the files of debugfs"),
    ] {
        let settings = format!("[factors]\nsettings = [\"{setting}\"]");
        desk.write("bad.toml", &SMALL.replace("[factors]", &settings));
        desk.run(&["run", "bad.toml", "--backend", "host"]).fails(2, &[said]);
    }
}

#[test]
fn what_is_no_recording_is_refused() {
    let desk = Desk::new();
    desk.run(&["compare", "nowhere"]).fails(2, &["there is no folder nowhere"]);
    fs::create_dir(desk.path("empty")).unwrap();
    desk.run(&["compare", "empty"]).fails(2, &["empty is not a recording"]);
}

/// The verbs that read recordings, each with a place for one.
const READERS: [&[&str]; 8] = [
    &["compare"],
    &["compare", "-o", "page.html"],
    &["compare", "--by", "kernel"],
    &["explain"],
    &["recommend"],
    &["export"],
    &["verify"],
    &["system", "apply", "--yes", "--from"],
];

/// Returns a desk with `move.toml`, `play.toml` and two recordings, of which only the presence
/// matters.
fn desk_of_runs() -> Desk {
    let desk = Desk::new();
    desk.write("move.toml", &SMALL.replace("small", "move"));
    desk.write("new.toml", &SMALL.replace("small", "new"));
    let scenario = "format = 1\nname = \"play\"\ndescription = \"d\"\nend = \"50ms\"\n\
                    [thread.a]\nsteps = [{ busy = \"1ms\" }]\n";
    desk.write("play.toml", scenario);
    for folder in ["runs/move", "runs/play-c0ffee", "fine"] {
        fs::create_dir_all(desk.path(folder).join("cells")).unwrap();
        desk.write(&format!("{folder}/recording.json"), "{}");
    }
    desk
}

#[test]
fn a_path_that_is_no_recording_is_told_from_the_one_that_was_meant() {
    let desk = desk_of_runs();
    for (path, said) in [
        ("move.toml", "it is an experiment; its recording is runs/move"),
        ("new.toml", "its recording will be runs/new: preemptlab run new.toml"),
        ("play.toml", "it is a scenario; its recording is runs/play-c0ffee"),
        ("mvoe", "there is no folder mvoe; did you mean runs/move?"),
        ("move", "there is no folder move; did you mean runs/move?"),
        ("runs/mvoe", "did you mean runs/move?"),
        ("rnus/move", "did you mean runs/move?"),
        ("fien", "did you mean fine?"),
        ("./fien", "did you mean ./fine?"),
        ("fine/cells", "did you mean fine?"),
        ("runs/move/recording.json", "did you mean runs/move?"),
        ("runs", "it holds runs/move, runs/play-c0ffee"),
        ("nothing/like/it", "there is no folder nothing/like/it"),
    ] {
        for verb in READERS {
            let finished = desk.run(&[verb, &[path]].concat());
            finished.fails(2, &[said]);
        }
    }
}

#[test]
fn a_suggestion_is_of_the_kind_that_the_command_reads() {
    let desk = desk_of_runs();
    fs::create_dir(desk.path("scenarios")).unwrap();
    fs::copy(desk.path("play.toml"), desk.path("scenarios/late.toml")).unwrap();
    for (path, hint) in [
        ("nothing/of-that-kind.toml", None),
        ("mvoe.toml", Some("did you mean move.toml?")),
        ("paly.toml", Some("did you mean play.toml?")),
        ("laet.toml", Some("did you mean")),
        ("scenarios/lat.toml", Some("did you mean scenarios/late.toml?")),
    ] {
        let finished = desk.run(&["run", path]);
        finished.fails(2, &[hint.unwrap_or("cannot read")]);
        assert_eq!(finished.stderr.contains("did you mean"), hint.is_some(), "{}", finished.stderr);
    }
    // A scenario is not suggested for an experiment.
    desk.write(
        "movie.toml",
        "format = 1\nname = \"play\"\ndescription = \"d\"\nend = \"50ms\"\n\
        [thread.a]\nsteps = [{ busy = \"1ms\" }]\n",
    );
    desk.run(&["cluster", "prepare", "mvie.toml"]).fails(2, &["did you mean move.toml?"]);
}

#[test]
fn a_path_to_write_to_is_not_standard_output() {
    let desk = desk_of_runs();
    let recording = format!("{}/../../studies/check", env!("CARGO_MANIFEST_DIR"));
    let recording = recording.as_str();
    for arguments in [
        &["export", recording, "--out", "-"][..],
        &["compare", recording, "-o", "-"],
        &["compare", recording, "--template", "x", "--out", "-"],
        &["explain", recording, "--svg", "-"],
        &["explain", recording, "trace", "--out", "-"],
        &["run", "move.toml", "--out", "-"],
        &["gate", "debian:6.12", "debian:7.2", "--out", "-"],
        &["cluster", "prepare", "move.toml", "--out", "-"],
        &["system", "calibrate", "--out", "-"],
    ] {
        let finished = desk.run(arguments);
        finished.fails(2, &["`-` is not taken for standard output"]);
        assert!(!desk.path("-").exists(), "{arguments:?}");
    }
}

#[test]
fn a_file_that_is_missing_or_of_another_kind_is_told_from_the_one_that_was_meant() {
    let desk = desk_of_runs();
    for (arguments, said) in [
        (&["run", "mvoe.toml"][..], "did you mean move.toml?"),
        (&["run", "-n", "./mvoe.toml"], "did you mean ./move.toml?"),
        (&["run", "moev"], "did you mean move.toml?"),
        (&["run", "-n", "runs"], "cannot read runs"),
        (&["run", "paly.toml"], "did you mean play.toml?"),
        (&["cluster", "prepare", "play.toml"], "play it with: preemptlab run play.toml"),
        (&["run", "play.toml", "move.toml"], "run it with: preemptlab run move.toml"),
        (&["run", "move.toml", "play.toml"], "play.toml is one too many"),
    ] {
        desk.run(arguments).fails(2, &[said]);
    }
}

#[test]
fn names_of_files_in_hints_steer_no_terminal() {
    let desk = Desk::new();
    fs::create_dir_all(desk.path("runs/mo\u{1b}[2Jve")).unwrap();
    desk.write("runs/mo\u{1b}[2Jve/recording.json", "{}");
    let finished = desk.run(&["compare", "mo[2Jve"]);
    finished.fails(2, &["did you mean runs/mo [2Jve?"]);
    assert!(!finished.stderr.contains('\u{1b}'), "{:?}", finished.stderr);
}

#[test]
fn a_value_that_is_missing_comes_with_an_example() {
    let desk = Desk::new();
    desk.run(&["compare"]).fails(2, &["for example: preemptlab compare runs/quick"]);
    desk.run(&["run", "x.toml", "--jobs"]).fails(2, &["run studies/quick.toml --jobs 2"]);
    desk.write("bad.toml", &SMALL.replace("preempt = [\"none\", \"full\"]\n", ""));
    desk.run(&["run", "-n", "bad.toml"])
        .fails(2, &["bad.toml:4", "preempt = [\"none\", \"full\"]"]);
    desk.write("bad.toml", &SMALL.replace("none", "rt"));
    desk.run(&["run", "-n", "bad.toml"])
        .fails(2, &["bad.toml:6", "rt is a kernel flavour: kernel = [\"debian:6.12-rt\"]"]);
}

#[test]
fn a_recording_of_a_newer_format_is_refused() {
    let desk = Desk::new();
    fs::create_dir(desk.path("new")).unwrap();
    desk.write("new/recording.json", r#"{"format": 99, "future": true}"#);
    desk.run(&["compare", "new"]).fails(2, &["format 99", "use the newer one"]);
}

#[test]
fn a_damaged_recording_is_refused() {
    let desk = Desk::new();
    fs::create_dir(desk.path("bad")).unwrap();
    desk.write("bad/recording.json", r#"{"format": 2, "experiment": "#);
    desk.run(&["verify", "bad", "--against", "bad"]).fails(2, &["cannot be read"]);
}

#[test]
fn an_unknown_verb_is_a_usage_error() {
    Desk::new().run(&["runn"]).fails(2, &["unrecognized subcommand", "run"]);
}

#[test]
fn completions_and_man_pages_come_from_the_same_definitions() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish"] {
        let finished = desk.run(&["util", "completions", shell]);
        assert!(finished.succeeds().stdout.contains("no-cache"), "{shell}");
    }
    let finished = desk.run(&["util", "man", "man"]);
    assert!(finished.succeeds().stdout.contains("man/preemptlab-run.1"));
    let page = fs::read_to_string(desk.path("man/preemptlab-run.1")).unwrap();
    assert!(page.contains("retry\\-failed"));
}

#[test]
fn what_is_no_scenario_is_refused_in_its_place() {
    let desk = Desk::new();
    let scenario = |steps: &str| {
        format!(
            "format = 1\nname = \"x\"\ndescription = \"d\"\nend = \"50ms\"\n[thread.a]\n\
             steps = [{steps}]\n"
        )
    };
    for (steps, message) in [
        ("{ busi = \"1ms\" }", "busy"),
        ("{ call = [{ preempt_off = [{ sleep = \"1ms\" }] }] }", "sleep"),
        ("{ sleep_until = \"2s\" }", "end"),
    ] {
        desk.write("x.toml", &scenario(steps));
        desk.run(&["run", "x.toml"]).fails(2, &["x.toml:6", message]);
    }
    desk.run(&["run", "missing.toml"]).fails(2, &["missing.toml"]);
    desk.write("x.toml", &scenario("{ busy = \"1ms\" }"));
    desk.run(&["run", "x.toml", "x.toml"]).fails(2, &["another scenario `x`"]);
    desk.run(&["run", "x.toml", "--preempt", "fulll"]).fails(2, &["did you mean `full`?"]);
}
