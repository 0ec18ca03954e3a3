//! `bisect` without kernels: its refusals before anything is built or executed.

use std::{fs, path::Path, process::Command};

use crate::common::Desk;

#[test]
fn ranges_that_are_none_are_refused() {
    let desk = Desk::new();
    for (range, said) in [
        ("v6.12", "it has no `..`"),
        ("debian:6.12", "it has no `..`"),
        ("..HEAD", "nothing stands before the `..`"),
        ("debian:6.12..", "nothing stands behind the `..`"),
        ("v6.12...v6.13", "two dots and not three"),
        ("HEAD..HEAD", "nothing lies between them"),
        ("debian:7.2..7.2", "nothing lies between them"),
        ("debian:7.2..6.12", "debian:7.2 is newer than debian:6.12"),
        ("v6.12..debian:7.2", "both ends must be revisions, or both kernels"),
        ("debian:6.12..HEAD", "names no kernel"),
        ("debian:6.12..7.2-rt", "both ends must be of one flavour"),
        ("6.12..7.2", "did you mean `debian:6.12..7.2` or"),
        ("debian:6.12..tree:.", "only packaged kernels and revisions have an order"),
        ("debian:6.12..$(x)", "names no kernel"),
        ("mine.toml", "an experiment stands behind the range"),
    ] {
        desk.run(&["bisect", range]).fails(2, &[said]);
    }
    for further in [["--repo", "."], ["--config", "lab"]] {
        let arguments = [&["bisect", "debian:6.12..7.2"], &further[..]].concat();
        let said =
            format!("packaged kernels are not built from a repository: leave {} out", further[0]);
        desk.run(&arguments).fails(2, &[&said]);
    }
    desk.run(&["bisect"]).fails(2, &["for example: preemptlab bisect v6.12..v6.13"]);
    assert!(!desk.path("runs").exists());
}

#[test]
fn an_old_spelling_is_answered_with_the_new_one() {
    let desk = Desk::new();
    for (old, new) in [
        (&["--good", "v6.12", "--bad", "HEAD"][..], "`preemptlab bisect GOOD..BAD`"),
        (&["--kernels", "debian:6.12..7.2"], "`preemptlab bisect debian:6.12..7.2`"),
    ] {
        desk.run(&[&["bisect"], old].concat()).fails(2, &[new]);
    }
    // Another verb never had them.
    assert!(!desk.run(&["run", "x.toml", "--kernels", "x"]).stderr.contains("written today as"));
}

/// Runs git in a folder.
fn git(folder: &Path, arguments: &[&str]) {
    let named = ["-c", "user.name=a", "-c", "user.email=a@localhost.invalid"];
    let mut git = Command::new("git");
    let status = git.arg("-C").arg(folder).args(named).args(arguments).status().unwrap();
    assert!(status.success(), "{arguments:?}");
}

#[test]
fn revisions_that_are_none_are_refused() {
    let desk = Desk::new();
    desk.run(&["bisect", "a..b"]).fails(2, &["is no git repository"]);
    desk.run(&["bisect", "a..b", "--repo", "."]).fails(2, &["is no git repository"]);
    let git = |arguments: &[&str]| git(&desk.path(""), arguments);
    git(&["init", "--quiet"]);
    git(&["commit", "--quiet", "--allow-empty", "-m", "one"]);
    git(&["commit", "--quiet", "--allow-empty", "-m", "two"]);
    git(&["tag", "here"]);
    desk.run(&["bisect", "HEAD..HEAD~1"]).fails(2, &["the older one stands first"]);
    desk.run(&["bisect", "HEAD..here"]).fails(2, &["nothing lies between them"]);
    desk.run(&["bisect", "nowhere..HEAD"]).fails(2, &["nowhere"]);
    assert!(!desk.path("runs").exists());
}

/// Makes a repository `linux` with what preemptlab takes for a kernel, and two commits.
fn linux(desk: &Desk) {
    desk.write_kernel_source("linux");
    let git = |arguments: &[&str]| git(&desk.path("linux"), arguments);
    git(&["init", "--quiet"]);
    for sublevel in ["1", "2"] {
        let makefile = format!("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = {sublevel}\n");
        desk.write("linux/Makefile", &makefile);
        git(&["add", "--all"]);
        git(&["commit", "--quiet", "-m", sublevel]);
    }
}

/// Nothing listens on the discard port of this machine, so that a search ends where it wants the first package.
#[test]
fn a_search_begins_in_a_folder_with_a_relative_path() {
    let desk = Desk::new();
    linux(&desk);
    let bisect = ["bisect", "HEAD~1..HEAD", "--repo", "linux", "--arch", "amd64"];
    let no_mirror = ["--set", "mirror=http://127.0.0.1:9/debian"];
    for (out, folder) in [(&[][..], "runs"), (&["--out", "search"], "search")] {
        let arguments = [&bisect[..], &no_mirror, out].concat();
        // The second time it goes on.
        for _ in 0..2 {
            desk.run(&arguments).fails(4, &["127.0.0.1:9"]);
            assert!(desk.path(folder).exists());
        }
    }
    let search = fs::read(desk.path("search/bisect.json")).unwrap();
    let search: serde_json::Value = serde_json::from_slice(&search).unwrap();
    assert!(search["ends"]["question"].as_str().unwrap().ends_with(", arch amd64"), "{search}");
}

/// The experiment, the repository and the configuration are read before a folder is made for the search.
#[test]
fn an_architecture_is_refused_in_the_words_of_gate() {
    let desk = Desk::new();
    linux(&desk);
    let git = |arguments: &[&str]| git(&desk.path("linux"), arguments);
    desk.write("x86.config", "CONFIG_64BIT=y\nCONFIG_X86_64=y\n");
    desk.write("arm64.config", "CONFIG_64BIT=y\nCONFIG_ARM64=y\n");
    desk.write(
        "sockets.toml",
        "format = 1\nname = \"sockets\"\n[factors]\nkernel = [\"debian:6.12\"]\npreempt = [\"full\"]\n\
         cpus = [2]\n[machine.topology]\ncores = 2\ncaches = { l2 = \"socket\" }\n[replicates]\ncount = 1\n\
         [workload.idle]\nkind = \"cyclictest\"\nload = \"none\"\nwindow = \"250ms\"\n",
    );
    let refused = |gate: &[&str], bisect: &[&str], said: &str| {
        let [gate, bisect] = [(gate, "gate"), (bisect, "bisect")].map(|(further, verb)| {
            let finished = desk.run(&[&[verb], further].concat());
            finished.fails(2, &[said]);
            // Of a value that is none the usage follows, which is the verb's own.
            finished.stderr.split("\n\n").next().unwrap().to_owned()
        });
        assert_eq!(gate, bisect);
        assert!(!desk.path("runs").exists(), "{said}");
    };
    let packaged = "debian:6.12-rt..7.2-rt";
    let known =
        "`arch = \"riscv64\"` is not known; the known architectures are \"amd64\", \"arm64\"";
    let arch = ["--arch", "riscv64"];
    refused(
        &[&["debian:6.12-rt", "debian:7.2-rt"], &arch[..]].concat(),
        &[&[packaged], &arch[..]].concat(),
        known,
    );
    let arch = ["sockets.toml", "--arch", "arm64"];
    let none = "QEMU's board of arm64 does not tell a kernel who shares a cache";
    refused(
        &[&["debian:6.12-rt", "debian:7.2-rt"], &arch[..]].concat(),
        &[&[packaged], &arch[..]].concat(),
        none,
    );
    // Revisions, with a configuration of theirs.
    let of_revisions = |arch: &str, config: Option<&str>, said: &str| {
        let suffix = config.map(|config| format!(",config={config}")).unwrap_or_default();
        let ends = ["HEAD~1", "HEAD"].map(|end| format!("git:linux@{end}{suffix}"));
        let gate = [&ends[0], &ends[1], "--arch", arch];
        let mut bisect = vec!["HEAD~1..HEAD", "--repo", "linux", "--arch", arch];
        bisect.extend(config.iter().flat_map(|config| ["--config", config]));
        refused(&gate, &bisect, said);
    };
    of_revisions(
        "arm64",
        None,
        "the guest is of arm64, and the kernel source `linux` has no arch/arm64/Makefile: run it with \
         `--arch amd64`, or name another folder or revision",
    );
    of_revisions(
        "amd64",
        Some("./arm64.config"),
        "the configuration `./arm64.config` is of arm64, and the guest is of amd64: run it with `--arch arm64`, \
         or name a configuration of amd64, such as `,config=lab`",
    );
    fs::create_dir(desk.path("linux/arch/arm64")).unwrap();
    desk.write("linux/arch/arm64/Makefile", "");
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--amend", "-m", "with arm64"]);
    let config =
        "the configuration `./x86.config` is of amd64, and the guest is of arm64: run it with";
    desk.run(&["gate", "linux", "git:linux@HEAD,config=./x86.config", "--arch", "arm64"])
        .fails(2, &[config]);
}
