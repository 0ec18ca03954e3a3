//! Places that a clone or another user has laid out: nothing is written, emptied or removed through
//! files and links at the paths of preemptlab's output.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use crate::common::{Desk, Finished, tree};
use preemptlab_testkit::recorded::{Cell, record, record_kernels};

/// The most that a refusal may take: addresses in KiB, seconds of CPU time, and seconds, for one that waits without end.
const LIMITS: &str = "ulimit -v 500000; ulimit -t 10; exec timeout 300 \"$@\"";

const EXPERIMENT: &str = "format = 1\nname = \"mine\"\n[factors]\nkernel = [\"debian:6.12\"]\n\
    preempt = [\"full\"]\n[workload.load]\nkind = \"cyclictest-hackbench\"\nwindow = \"1s\"\n";

const PLAN: &str = "preempt = [\"full\"]\n[replicates]\ncount = 2\n\
    [workload.load]\nkind = \"cyclictest-hackbench\"\nwindow = \"1s\"\n";

/// Things that another user left in the place of a folder.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Left {
    Link,
    AbsoluteLink,
    LinkUp,
    LinkToNothing,
    LinkToItself,
    LinkToFile,
    File,
    Pipe,
    OpenToAll,
    OpenToAllSticky,
    OpenToGroup,
}

const ALL: [Left; 11] = [
    Left::Link,
    Left::AbsoluteLink,
    Left::LinkUp,
    Left::LinkToNothing,
    Left::LinkToItself,
    Left::LinkToFile,
    Left::File,
    Left::Pipe,
    Left::OpenToAll,
    Left::OpenToAllSticky,
    Left::OpenToGroup,
];

impl Left {
    /// Leaves it at a place; `victim` is a folder with a file that must stay as it is.
    fn leave(self, at: &Path, victim: &Path) {
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        if let Ok(metadata) = at.symlink_metadata()
            && metadata.is_dir()
        {
            // The folder's content stays, behind the link.
            copy(at, victim);
            fs::remove_dir_all(at).unwrap();
        }
        let up = at.parent().unwrap().strip_prefix(victim.parent().unwrap()).unwrap();
        let up = "../".repeat(up.components().count());
        match self {
            Self::Link => symlink(format!("{up}victim"), at).unwrap(),
            Self::AbsoluteLink => symlink(victim, at).unwrap(),
            Self::LinkUp => symlink("..", at).unwrap(),
            Self::LinkToNothing => symlink(victim.join("nothing"), at).unwrap(),
            Self::LinkToItself => symlink(at.file_name().unwrap(), at).unwrap(),
            Self::LinkToFile => symlink(victim.join("kept"), at).unwrap(),
            Self::File => fs::write(at, "kept").unwrap(),
            Self::Pipe => {
                assert!(Command::new("mkfifo").arg(at).status().unwrap().success());
            }
            Self::OpenToAll => folder(at, 0o777),
            Self::OpenToAllSticky => folder(at, 0o1777),
            Self::OpenToGroup => folder(at, 0o775),
        }
    }

    /// Returns words that the refusal must have.
    fn said(self) -> &'static str {
        match self {
            Self::File | Self::Pipe => "is no folder",
            Self::OpenToAll | Self::OpenToAllSticky | Self::OpenToGroup => {
                "other users can write to"
            }
            _ => "is a symbolic link, and preemptlab writes only through links that you name",
        }
    }
}

fn folder(at: &Path, mode: u32) {
    fs::create_dir(at).unwrap();
    fs::set_permissions(at, fs::Permissions::from_mode(mode)).unwrap();
}

fn copy(from: &Path, to: &Path) {
    for (name, bytes) in tree(from) {
        let to = to.join(name);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(to, bytes).unwrap();
    }
}

/// Runs a command within limits.
fn limited(desk: &Desk, arguments: &[&str]) -> Finished {
    let command = desk.command(arguments);
    let mut shell = Command::new("sh");
    shell.args(["-c", LIMITS, "sh"]).arg(command.get_program()).args(command.get_args());
    shell.current_dir(command.get_current_dir().unwrap());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    Finished::new(shell.output().unwrap())
}

/// A command, the place below the desk where another user left something, and the function that
/// makes the desk.
struct Case {
    command: &'static [&'static str],
    place: &'static str,
    desk: fn(&Desk),
    left: &'static [Left],
}

const LINKS: [Left; 4] = [Left::Link, Left::LinkToNothing, Left::File, Left::OpenToAll];

const CASES: [Case; 20] = [
    Case { command: &["run", "mine.toml"], place: "runs", desk: experiment, left: &ALL },
    Case { command: &["run", "mine.toml"], place: "runs/mine", desk: experiment, left: &ALL },
    Case { command: &["run", "s.toml"], place: "runs", desk: scenario, left: &ALL },
    Case { command: &BISECT, place: "runs", desk: repository, left: &ALL },
    Case { command: &BISECT_OUT, place: "out/history.git", desk: repository, left: &ALL },
    Case {
        command: &["cluster", "merge", "run"],
        place: "run/cells",
        desk: recording,
        left: &LINKS,
    },
    Case {
        command: &["cluster", "merge", "run"],
        place: "run/looks",
        desk: recording,
        left: &LINKS,
    },
    Case {
        command: &["cluster", "merge", "run"],
        place: "run/traces",
        desk: recording,
        left: &LINKS,
    },
    Case { command: &["run", "run"], place: "run/cells", desk: recording, left: &LINKS },
    Case { command: &["run", "run"], place: "run/traces", desk: recording, left: &LINKS },
    Case { command: &["run", "run"], place: "run/folders", desk: recording, left: &LINKS },
    Case { command: &["explain", "run"], place: "run/explained", desk: recording, left: &LINKS },
    Case {
        command: &["explain", "run", "search"],
        place: "run/explained",
        desk: recording,
        left: &LINKS,
    },
    Case { command: &SHARD, place: "run.shards", desk: unfinished, left: &ALL },
    Case { command: &SHARD, place: "run.shards/parts", desk: unfinished, left: &ALL },
    Case { command: &SHARD, place: "run.shards/parts/1-of-2", desk: unfinished, left: &ALL },
    Case { command: &SHARD_OUT, place: "part/cells", desk: part, left: &LINKS },
    Case { command: &["export", "run"], place: "run-export", desk: recording, left: &EMPTY_LINKS },
    Case {
        command: &["run", "mine.toml", "--out", "mine"],
        place: "mine",
        desk: experiment,
        left: &[Left::File],
    },
    Case {
        command: &["run", "mine.toml", "--out", "x/mine"],
        place: "x",
        desk: experiment,
        left: &[Left::File],
    },
];

const EMPTY_LINKS: [Left; 3] = [Left::LinkToNothing, Left::OpenToAll, Left::OpenToAllSticky];
const BISECT: [&str; 4] = ["bisect", "main~1..main", "--repo=repo", "--metric=x"];
const BISECT_OUT: [&str; 5] = ["bisect", "main~1..main", "--repo=repo", "--metric=x", "--out=out"];
const SHARD: [&str; 4] = ["cluster", "work", "run", "1/2"];
const SHARD_OUT: [&str; 6] = ["cluster", "work", "run", "1/2", "--out", "part"];

fn experiment(desk: &Desk) {
    desk.write("mine.toml", EXPERIMENT);
}

fn scenario(desk: &Desk) {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files: Vec<PathBuf> =
        fs::read_dir(shipped).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let first = files.iter().find(|path| path.extension().is_some_and(|it| it == "toml")).unwrap();
    desk.write("s.toml", &fs::read_to_string(first).unwrap());
}

fn recording(desk: &Desk) {
    record(&desk.path("run"), PLAN, |_, replicate| match replicate {
        1 => Cell::Measured,
        _ => Cell::Missing,
    });
}

fn unfinished(desk: &Desk) {
    record(&desk.path("run"), PLAN, |_, _| Cell::Missing);
}

fn part(desk: &Desk) {
    unfinished(desk);
    let said = limited(desk, &SHARD_OUT);
    // There is no seed; the part was begun.
    assert!(said.code != 0 && desk.path("part/part.json").exists(), "{said:?}");
}

fn repository(desk: &Desk) {
    let folder = desk.path("repo");
    desk.write_kernel_source("repo");
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .arg("-C")
            .arg(&folder)
            .args(["-c", "user.name=t", "-c", "user.email=t@localhost.invalid"])
            .args(arguments)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "one"]);
    git(&["commit", "--quiet", "--allow-empty", "-m", "two"]);
}

#[test]
fn nothing_is_written_through_what_somebody_left() {
    let mut played = 0;
    for Case { command, place, desk: make, left } in &CASES {
        for left in *left {
            let name = format!("{command:?}: {place} is {left:?}");
            let desk = Desk::new();
            make(&desk);
            let victim = desk.path("victim");
            fs::create_dir(&victim).unwrap();
            fs::write(victim.join("kept"), "kept").unwrap();
            left.leave(&desk.path(place), &victim);
            let before = tree(&victim);
            let said = limited(&desk, command);
            assert_eq!(said.code, 2, "{name}: {}{}", said.stdout, said.stderr);
            if !matches!((command.contains(&"--out"), left), (true, Left::File)) {
                said.fails(2, &[left.said()]);
            }
            assert!(said.stderr.trim().lines().count() < 8, "{name}: {}", said.stderr);
            assert_eq!(tree(&victim), before, "{name}");
            assert!(!desk.path("nothing").exists() && !victim.join("nothing").exists(), "{name}");
            played += 1;
        }
    }
    assert!(played >= 120, "{played}");
}

/// Links that the user names, and folders that look similar, still work.
#[test]
fn a_users_own_links_are_followed() {
    let desk = Desk::new();
    recording(&desk);
    fs::create_dir(desk.path("disk")).unwrap();
    symlink("run", desk.path("link")).unwrap();
    symlink("disk", desk.path("out")).unwrap();
    for command in [
        &["cluster", "merge", "link"][..],
        &["export", "run", "--out", "out"],
        &["compare", "link"],
        &["compare", "link", "--out", "out/page.html"],
    ] {
        let said = limited(&desk, command);
        assert!(matches!(said.code, 0 | 3), "{command:?}: {said:?}");
    }
    assert!(desk.path("disk/cells.csv").exists() && desk.path("disk/page.html").exists());
    // A folder that a group shares may hold shared files.
    let shared = desk.path("shared");
    folder(&shared, 0o775);
    record(&shared.join("run"), PLAN, |_, _| Cell::Missing);
    for path in ["run", "run/cells"] {
        fs::set_permissions(shared.join(path), fs::Permissions::from_mode(0o775)).unwrap();
    }
    limited(&desk, &["cluster", "merge", "shared/run"]).fails(3, &["2 missing"]);
}

/// A picture whose name is not the user's takes the place of a link.
#[test]
fn a_picture_is_not_written_through_a_link() {
    let desk = Desk::new();
    let kernels = ["debian:6.12", "debian:7.2"];
    record_kernels(&desk.path("run"), &kernels, PLAN, |_, _, _| Cell::Measured);
    desk.write("kept", "kept");
    fs::create_dir(desk.path("pictures")).unwrap();
    symlink("../kept", desk.path("pictures/load.svg")).unwrap();
    limited(&desk, &["compare", "run", "--by", "kernel", "--svg", "pictures"]).succeeds();
    assert_eq!(fs::read_to_string(desk.path("kept")).unwrap(), "kept");
    assert!(desk.path("pictures/load.svg").symlink_metadata().unwrap().is_file());
}

/// A search that is refused leaves no folder.
#[test]
fn a_refused_search_leaves_no_folder() {
    let desk = Desk::new();
    repository(&desk);
    for range in ["main..main~1", "main..HEAD", "nowhere..main"] {
        let said = limited(&desk, &["bisect", range, "--repo=repo"]);
        assert_eq!(said.code, 2, "{said:?}");
        assert!(!desk.path("runs").exists(), "{range}");
    }
}
