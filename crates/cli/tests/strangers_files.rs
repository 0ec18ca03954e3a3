//! Files that a user or a stranger names: pipes, devices, sockets, folders and files without end are
//! refused at once, wherever a command takes a file.

use std::{
    fs::{self, File},
    os::unix::{fs::symlink, net::UnixListener},
    path::Path,
    process::Command,
};

use crate::common::Desk;
use crate::hostile::{self, not_refused};

/// Files, and their names in refusals.
const FILES: [(&str, &str); 8] = [
    ("pipe", "it is no regular file"),
    ("socket", "it is no regular file"),
    ("zeros", "it is no regular file"),
    ("nothing", "it is no regular file"),
    ("terminal", "it is no regular file"),
    ("folder", "Is a directory"),
    ("large", "it is larger than"),
    ("circle", "Too many levels of symbolic links"),
];

/// Commands that take a file, of which `FILE` is the path.
const COMMANDS: [&[&str]; 18] = [
    &["run", "FILE"],
    &["run", "-n", "FILE"],
    &["cluster", "prepare", "FILE"],
    &["run", "priced.toml"],
    &["run", "-n", "priced.toml"],
    &["run", "-n", "compared.toml"],
    &["run", "-n", "plain.toml", "--machine", "./FILE"],
    &["run", "plain.toml", "--machine", "./FILE"],
    &["gate", "debian:6.12", "debian:7.2", "FILE"],
    &["bisect", "debian:6.12..7.2", "FILE"],
    &["bisect", "a..b", "FILE"],
    &["compare", "check", "--template", "FILE"],
    &["compare", "check", "FILE"],
    &["compare", "check", "FILE", "--out", "page.html"],
    &["export", "check", "FILE"],
    &["verify", "check", "--against", "FILE"],
    &["recommend", "FILE"],
    &["compare", "FILE", "--by", "kernel"],
];

fn desk() -> Desk {
    let desk = Desk::new();
    let check = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies/check");
    symlink(check, desk.path("check")).unwrap();
    assert!(Command::new("mkfifo").arg(desk.path("pipe")).status().unwrap().success());
    drop(UnixListener::bind(desk.path("socket")).unwrap());
    symlink("/dev/zero", desk.path("zeros")).unwrap();
    symlink("/dev/null", desk.path("nothing")).unwrap();
    symlink("/dev/tty", desk.path("terminal")).unwrap();
    symlink("circle", desk.path("circle")).unwrap();
    fs::create_dir(desk.path("folder")).unwrap();
    // A hole takes no room on the disk.
    File::create(desk.path("large")).unwrap().set_len(1 << 40).unwrap();
    desk
}

/// Returns an experiment that names a file in one of its values.
fn experiment(kernel: &str, more: &str) -> String {
    format!(
        "format = 1\nname = \"own\"\n[factors]\nkernel = [\"{kernel}\"]\npreempt = [\"none\"]\n{more}\n\
         [workload.w]\nkind = \"cyclictest-hackbench\"\n"
    )
}

fn write_experiments(desk: &Desk, file: &str) {
    desk.write("plain.toml", &experiment("debian:6.12", ""));
    let priced = format!("[machine]\ncost = \"./{file}\"");
    desk.write("priced.toml", &experiment("debian:6.12", &priced));
    let compared = format!("machine = [\"instructions\", \"./{file}\"]");
    desk.write("compared.toml", &experiment("debian:6.12", &compared));
}

#[test]
fn what_is_no_file_is_refused_wherever_one_is_named() {
    let desk = desk();
    let mut wrong = Vec::new();
    for (file, said) in FILES {
        write_experiments(&desk, file);
        for command in COMMANDS {
            // A folder may be a recording, and is then told so.
            let said = match (file, command) {
                ("folder", ["compare" | "export" | "recommend", ..])
                    if !command.contains(&"--template") =>
                {
                    ""
                }
                ("folder" | "circle", ["run", "FILE"] | ["verify", ..]) => "",
                // It says that a file is not a recording.
                (_, ["verify" | "recommend" | "export", ..]) => "",
                (_, ["compare", ..]) if !command.contains(&"--template") => "",
                _ => said,
            };
            let arguments: Vec<String> =
                command.iter().map(|argument| argument.replace("FILE", file)).collect();
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let name = arguments.join(" ");
            wrong.extend(not_refused(&desk, &format!("{name} ({file})"), &arguments, &[said]));
        }
    }
    let count = FILES.len() * COMMANDS.len();
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(!desk.path("runs").exists(), "something was begun");
}

/// Files of a recording, a part, a workload and a scenario.
#[test]
fn what_is_no_file_is_refused_in_folders_of_strangers() {
    let desk = desk();
    let check = fs::read(desk.path("check/recording.json")).unwrap();
    let cell = fs::read_dir(desk.path("check/cells")).unwrap().next().unwrap().unwrap().file_name();
    let cell = format!("run/cells/{}", cell.to_str().unwrap());
    let text = experiment("debian:6.12", "")
        .replace("\"cyclictest-hackbench\"", "\"folder\"\npath = \"mine\"");
    desk.write("mine.toml", &text);
    let places: [(&str, &[&str]); 9] = [
        ("run/recording.json", &["compare", "run"]),
        ("run/recording.json", &["verify", "run"]),
        ("run/recording.json", &["cluster", "merge", "run"]),
        (&cell, &["compare", "run"]),
        (&cell, &["compare", "run", "--out", "page.html"]),
        ("run/until.json", &["compare", "run"]),
        ("run.shards/parts/a/part.json", &["cluster", "merge", "run", "run.shards/parts/a"]),
        ("mine/workload.toml", &["run", "-n", "mine.toml"]),
        ("mine/data", &["run", "-n", "mine.toml"]),
    ];
    let mut wrong = Vec::new();
    for (place, command) in places {
        for (file, _) in FILES {
            // A link in a workload's folder is a link in the guest, and a folder one of its folders.
            if place == "mine/data" && !matches!(file, "pipe" | "socket" | "large") {
                continue;
            }
            for folder in ["run", "mine", "run.shards"] {
                let _ = fs::remove_dir_all(desk.path(folder));
            }
            for folder in ["run/cells", "mine", "run.shards/parts/a"] {
                fs::create_dir_all(desk.path(folder)).unwrap();
            }
            fs::write(desk.path("run/recording.json"), &check).unwrap();
            fs::write(desk.path("mine/workload.toml"), "format = 1\ncyclictest = \"both\"\n")
                .unwrap();
            let _ = fs::remove_file(desk.path(place));
            place_file(&desk.path(file), &desk.path(place));
            wrong.extend(not_refused(
                &desk,
                &format!("{place} is {file}: {command:?}"),
                command,
                &[],
            ));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Puts a file of this kind in a place.
fn place_file(file: &Path, place: &Path) {
    match file.file_name().unwrap().to_str().unwrap() {
        "pipe" => assert!(Command::new("mkfifo").arg(place).status().unwrap().success()),
        "socket" => drop(UnixListener::bind(place).unwrap()),
        "folder" => fs::create_dir(place).unwrap(),
        "large" => File::create(place).unwrap().set_len(1 << 40).unwrap(),
        "circle" => symlink(place, place).unwrap(),
        _ => symlink(file, place).unwrap(),
    }
}

/// A link to a file is that file, and a file of the largest size is read.
#[test]
fn what_looks_alike_and_is_a_file_is_read() {
    let desk = desk();
    let profile = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/profile/fitted.toml");
    let text = fs::read_to_string(profile).unwrap();
    symlink(profile, desk.path("linked.toml")).unwrap();
    let size = 64 << 10;
    let largest = format!("{text}{}", "#".repeat(size - text.len()));
    desk.write("largest.toml", &largest);
    desk.write("larger.toml", &format!("{largest}#"));
    desk.write("own.toml", &experiment("debian:6.12", ""));
    for file in ["linked.toml", "largest.toml"] {
        // It continues and asks for packages, of which an empty desk has none.
        let command = [
            "run",
            "-n",
            "own.toml",
            "--machine",
            file,
            "--set",
            "mirror=http://127.0.0.1:9/debian",
        ];
        let (said, _) = hostile::bounded(&desk, &command);
        assert_ne!(said.code, 2, "{file}: {}", said.stderr);
    }
    let command = ["run", "-n", "own.toml", "--machine", "larger.toml"];
    assert_eq!(not_refused(&desk, "larger", &command, &["it is larger than 64 KiB"]), None);
}
