//! The corpus: files that try to run a program, to write somewhere, or to steer a terminal or a
//! page. A case is a line of a table.

pub mod tar;
pub mod trees;

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use preemptlab_experiment::{Experiment, Manifest, Recording, RecordingWriter};
use preemptlab_model::{CellRecord, FailureCause, Outcome, RECORDING_FORMAT};
use serde_json::{Value, json};

use crate::common::{Desk, Finished};

/// Runs a command at a desk with canaries in its `PATH`, within 500 MB of memory of its own and 60 s of
/// CPU time, a quarter of which an unoptimised one needs, and returns its output and the canaries that
/// sang. One that waits without end is killed: then it has no exit code.
pub fn bounded(desk: &Desk, arguments: &[&str]) -> (Finished, String) {
    let whole = desk.command(arguments);
    let (canaries, marker) = canaries(desk);
    // Memory in KiB, and CPU time in seconds (ulimit of POSIX's sh). Of the user's own programs none is
    // found by a name without a path.
    let script = "ulimit -d 500000; ulimit -t 60; exec /usr/bin/timeout -s KILL 300 \"$@\"";
    let output = Command::new("/bin/sh")
        .args(["-c", script, "sh"])
        .arg(whole.get_program())
        .args(whole.get_args())
        .current_dir(whole.get_current_dir().unwrap())
        .envs(whole.get_envs().filter_map(|(key, value)| Some((key, value?))))
        .env("PATH", canaries)
        .output()
        .unwrap();
    let ran = fs::read_to_string(&marker).unwrap_or_default();
    let _ = fs::remove_file(marker);
    let said = Finished {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    };
    (said, ran)
}

/// Runs a command that must be refused: with exit code 2, a sentence with these words, nothing that
/// steers a terminal, and no command run. Returns the mistake.
pub fn not_refused(desk: &Desk, name: &str, arguments: &[&str], words: &[&str]) -> Option<String> {
    let (said, ran) = bounded(desk, arguments);
    let text = said.stderr.replace('│', " ");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let steers = |c: char| c != '\n' && preemptlab_model::plain::is_steering(c);
    let wrong = if said.code != 2 {
        format!("exit code {}", said.code)
    } else if !ran.is_empty() {
        format!("it ran {ran}")
    } else if said.stderr.contains("panicked") && !name.starts_with("panic") {
        "it panicked".to_owned()
    } else if said.stderr.contains(steers) || said.stderr.len() > 4_000 {
        "its words steer a terminal, or have no end".to_owned()
    } else {
        let word = words.iter().find(|word| !text.contains(**word))?;
        format!("it does not say `{word}`")
    };
    Some(format!("{name}: {wrong}: {:.600}{:.600}", said.stdout, said.stderr))
}

/// File or folder of a stranger, with the words of its message. Every case ends with exit code 2.
pub struct Case {
    /// Attempt of the stranger.
    pub name: String,
    /// Function that makes the files.
    pub files: Box<dyn Fn(&Desk)>,
    /// The command that meets them.
    pub command: Vec<&'static str>,
    /// Words of the message.
    pub said: &'static [&'static str],
}

/// Steers a terminal in several ways, is a formula, and is an image in HTML and in Markdown.
pub const HOSTILE: &str = "=reboot() \u{1b}[2J\u{9b}2J\u{1b}]0;x\u{7}\u{202e}\r\u{8}\u{7f}\
                           <img src=x onerror=alert(1)> ![x](http://evil.invalid/x) \u{e0041}";

/// An experiment on a user's own kernel, which needs modules built.
pub const OWN_KERNEL: &str = "format = 1\nname = \"own\"\n[factors]\n\
    kernel = [\"file:bzImage,modules=/tmp/strange\"]\npreempt = [\"full\"]\n\
    [machine]\nmodules = [\"preemptlab-hold\"]\n[workload.w]\nkind = \"cyclictest-hackbench\"\n";

const SMALL: &str = "format = 1\nname = \"small\"\n[factors]\nkernel = [\"debian:6.12\"]\n\
    preempt = [\"full\"]\n[workload.w]\nkind = \"cyclictest-hackbench\"\n";

/// Programs of the machine that something could be tempted to run.
const PROGRAMS: [&str; 14] = [
    "apt-cache",
    "apt-config",
    "apt-get",
    "bash",
    "cc",
    "dpkg",
    "dpkg-deb",
    "env",
    "gcc",
    "id",
    "make",
    "qemu-system-x86_64",
    "sh",
    "x",
];

/// Makes a `PATH` on which every program only notes that it was run, and returns it with the file
/// of notes.
pub fn canaries(desk: &Desk) -> (OsString, PathBuf) {
    let (folder, marker) = (desk.path("canaries"), desk.path("canaries.ran"));
    fs::create_dir_all(&folder).unwrap();
    for program in PROGRAMS {
        let path = folder.join(program);
        let script =
            format!("#!/bin/sh\necho \"${{0##*/}}\" \"$@\" >> '{}'\nexit 1\n", marker.display());
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    (folder.into_os_string(), marker)
}

/// Experiments, in each of which one text is another one.
pub fn texts() -> Vec<Case> {
    let table: [(&str, &str, &str, &[&str]); 19] = [
        ("name is a path", "\"small\"", r#""../../x""#, &["`../../x` is not a name"]),
        ("name is absolute", "\"small\"", r#""/tmp/x""#, &["is not a name"]),
        ("name is an option", "\"small\"", r#""-rf""#, &["is not a name"]),
        ("name is hidden", "\"small\"", r#"".ssh""#, &["is not a name"]),
        ("name steers", "\"small\"", r#""a\u001b[2J""#, &["is not a name"]),
        ("name turns", "\"small\"", r#""a\u202eb""#, &["is not a name"]),
        ("name has no end", "\"small\"", "\"a\u{9b}2J", &["bad.toml:2"]),
        ("key steers", "name =", "\"n\\u001b[2J\" = 1\nname =", &["unknown field"]),
        ("line steers", "name =", "x\u{9b}31m\u{202e}y = 1\nname =", &[]),
        ("workload is a path", "[workload.w]", r#"[workload."../x"]"#, &["is not a name"]),
        ("workload steers", "[workload.w]", r#"[workload."\u001b[2J"]"#, &["is not a name"]),
        ("kernel runs a shell", "debian:6.12", r#"source:6.12+LOCALVERSION=\"`x`\""#, &["a text"]),
        ("kernel runs make", "debian:6.12", r#"source:6.12+CMDLINE=\"$(shell x)\""#, &["a text"]),
        (
            "kernel has a file",
            "debian:6.12",
            r#"source:6.12+INITRAMFS_SOURCE=\"/etc\""#,
            &["only CMDLINE"],
        ),
        (
            "kernel has a new file",
            "debian:6.12",
            r#"source:6.12+SOME_NEW_FILE=\"/etc\""#,
            &["only CMDLINE"],
        ),
        ("kernel is an option", "debian:6.12", "debian:-oDebug=1", &["names no kernel"]),
        ("kernel steers", "debian:6.12", r#"file:/x\u001b[2J"#, &["cannot be shown"]),
        (
            "module is a path",
            "[workload.w]",
            "[machine]\nmodules = [\"../../x\"]\n[workload.w]",
            &["name of a kernel module"],
        ),
        (
            "kernel parameters",
            "[workload.w]",
            "[machine]\ncmdline = [\"a b\"]\n[workload.w]",
            &["not one kernel parameter"],
        ),
    ];
    let mut cases = Vec::new();
    for (name, from, to, said) in table {
        assert!(SMALL.contains(from), "{name}");
        for command in [&["run"][..], &["run", "-n"]] {
            cases.push(Case {
                name: format!("{command:?}: {name}"),
                files: Box::new(move |desk| {
                    desk.write("bad.toml", &SMALL.replacen(from, to, 1));
                }),
                command: [command, &["bad.toml"]].concat(),
                said,
            });
        }
    }
    for command in [&["run"][..], &["run", "-n"]] {
        cases.push(Case {
            name: format!("{command:?}: build scripts"),
            files: Box::new(|desk| drop(desk.write("bad.toml", OWN_KERNEL))),
            command: [command, &["bad.toml"]].concat(),
            said: &["/tmp/strange/build", "--allow-build-scripts"],
        });
    }
    for package in ["-oDir::State::status=/x", "dash-", "dash/sid", "dash=1", "da*", "./x.deb"] {
        cases.push(Case {
            name: format!("a folder's package is {package}"),
            files: Box::new(move |desk| {
                let text = SMALL.replace("\"cyclictest-hackbench\"", "\"folder\"\npath = \"mine\"");
                desk.write("bad.toml", &text);
                fs::create_dir(desk.path("mine")).unwrap();
                let text =
                    format!("format = 1\npackages = [\"{package}\"]\ncyclictest = \"both\"\n");
                desk.write("mine/workload.toml", &text);
            }),
            command: vec!["run", "bad.toml"],
            said: &["is not the name of a Debian package"],
        });
    }
    cases
}

/// Returns changes of the committed recording: the path, the new value, and the words of the
/// message.
fn changes() -> Vec<(&'static str, Value, &'static [&'static str])> {
    const NAME: &[&str] = &["recording.json", "is not the name of a Debian package"];
    const VERSION: &[&str] = &["recording.json", "is not the version of a Debian package"];
    vec![
        ("/qemu/packages/0/name", json!("-oDir::State::status=/x"), NAME),
        ("/qemu/packages/0/name", json!("-oAPT::Compressor::x::Binary=/bin/sh"), NAME),
        ("/qemu/packages/0/name", json!("--help"), NAME),
        ("/qemu/packages/0/name", json!("adduser-"), NAME),
        ("/qemu/packages/0/name", json!("./evil.deb"), NAME),
        ("/qemu/packages/0/name", json!("../../evil"), NAME),
        ("/qemu/packages/0/name", json!("a*"), NAME),
        ("/qemu/packages/0/name", json!("a\u{1b}[2J"), NAME),
        ("/qemu/packages/0/name", json!(""), NAME),
        ("/qemu/packages/0/version", json!("1/../../x"), VERSION),
        ("/qemu/packages/0/version", json!("1 -oX=1"), VERSION),
        ("/qemu/packages/0/version", json!("$(x)"), VERSION),
        ("/kernels/0/packages/0/name", json!("-oDebug=1"), NAME),
        ("/kernels/0/packages/0/version", json!("`x`"), VERSION),
        ("/images/0/packages/0/name", json!("x;y"), NAME),
        ("/images/0/packages/0/version", json!("1\n2"), VERSION),
        ("/images/0/packages/0/sha256", json!("../../../etc/passwd"), &["is not a SHA-256"]),
        ("/kernels/0/image_sha256", json!("../x"), &["is not a SHA-256"]),
        ("/kernels/0/name", json!("file:/etc/shadow"), &["the experiment has no kernel"]),
        ("/kernels/0/name", json!("debian:6.12/../x"), &["names no kernel"]),
        ("/images/0/workload", json!("../../x"), &["needs no image"]),
        ("/images", json!([]), &["is missing"]),
        ("/kernels", json!([]), &["is not what its experiment comes to"]),
        ("/experiment/name", json!("../../x"), &["is not a name"]),
        ("/experiment/machine/memory_mib", json!(4_000_000), &["the memory must be"]),
        ("/experiment/machine/shift", json!(60), &["the shift must be"]),
        ("/experiment/machine/modules", json!(["../x"]), &["name of a kernel module"]),
        ("/experiment/machine/cmdline", json!(["init=/x"]), &["snapshot.cmdline"]),
        ("/experiment/factors/cpus", json!([9]), &["the number of CPUs"]),
        ("/experiment/replicates/count", json!(2), &["another number of cells"]),
        ("/experiment/replicates/seed", json!(2), &["is not that of the experiment, in `job."]),
        ("/plan/0/planned/execute/snapshot/cmdline", json!("init=/bin/sh"), &["snapshot.cmdline"]),
        ("/plan/0/planned/execute/snapshot/machine/memory_mib", json!(9_999_999), &["memory_mib"]),
        ("/plan/0/planned/execute/job/probes/0/argv/0", json!("/bin/sh"), &["job.probes.0.argv.0"]),
        (
            "/plan/0/planned/execute/job/load/0/argv",
            json!(["/bin/sh", "-c", "x"]),
            &["job.load.0.argv"],
        ),
        ("/plan/0/planned/execute/job/limit_ns", json!(u64::MAX), &["job.limit_ns"]),
        ("/plan/0/planned/execute/job/seed", json!(5), &["job.seed"]),
        ("/plan/0/factors/workload", json!("\u{1b}[2J"), &["in `workload`"]),
    ]
}

/// Recordings, each of which meets every command that would execute it.
pub fn recordings() -> Vec<Case> {
    let mut cases = Vec::new();
    for (place, value, said) in changes() {
        let executing: [&[&'static str]; 3] =
            [&["verify", "run"], &["explain", "run", "confirm"], &["explain", "run", "search"]];
        for command in executing {
            let value = value.clone();
            // A changed plan has no finished cells, so there is nothing to explain.
            let is_explained = command[0] == "verify" || !place.starts_with("/plan");
            cases.push(Case {
                name: format!("{}: {place} is {value}", command[0]),
                files: Box::new(move |desk| changed(&desk.path("run"), place, &value)),
                command: command.to_vec(),
                said: if is_explained { said } else { &[] },
            });
        }
    }
    cases
}

fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/check")
}

/// Makes a copy of the committed recording with one other value.
fn changed(path: &Path, place: &str, value: &Value) {
    fs::create_dir_all(path.join("cells")).unwrap();
    for (name, bytes) in crate::common::tree(&committed()) {
        fs::write(path.join(name), bytes).unwrap();
    }
    let file = path.join("recording.json");
    let mut bytes = fs::read(&file).unwrap();
    preemptlab_model::unseal(&mut bytes).unwrap();
    let mut all: Value = serde_json::from_slice(&bytes).unwrap();
    let found = all.pointer_mut(place).unwrap_or_else(|| panic!("no {place}"));
    assert_ne!(found, value, "{place}");
    *found = value.clone();
    fs::write(file, text(&all)).unwrap();
}

/// Returns the JSON of a value. `kind` comes first, as readers of workloads want it.
pub fn text(value: &Value) -> String {
    let joined = |parts: Vec<String>| parts.join(",");
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(key, _)| *key != "kind");
            let field =
                |(key, value): &(&String, &Value)| format!("{}:{}", json!(key), text(value));
            format!("{{{}}}", joined(fields.iter().map(field).collect()))
        }
        Value::Array(values) => format!("[{}]", joined(values.iter().map(text).collect())),
        value => value.to_string(),
    }
}

/// Makes a recording whose cells failed with words that their guests chose.
pub fn failed_recording(path: &Path) {
    let Manifest { kernels, qemu, images, .. } =
        Recording::open(&committed()).unwrap().manifest().clone();
    let text = "format = 1\nname = \"hostile\"\n[factors]\nkernel = [\"debian:6.12.107+deb13\"]\n\
                preempt = [\"full\"]\n[replicates]\ncount = 2\n\
                [workload.processes]\nkind = \"cyclictest-hackbench\"\n";
    let mut experiment = Experiment::parse(text).unwrap();
    experiment.description = HOSTILE.to_owned();
    let manifest = preemptlab_experiment::manifest(experiment, kernels, qemu.unwrap(), images);
    let writer = RecordingWriter::open(path, &manifest).unwrap();
    for inputs in manifest.plan.executable() {
        let record = CellRecord {
            format: RECORDING_FORMAT,
            id: inputs.id(),
            inputs: inputs.clone(),
            console: vec![HOSTILE.to_owned()],
            conditions: None,
            outcome: Outcome::Failed { cause: FailureCause::Panic, reason: HOSTILE.to_owned() },
        };
        writer.cells().put(&record).unwrap();
    }
}
