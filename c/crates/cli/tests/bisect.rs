//! `bisect` without kernels: its refusals before anything is built or executed.

mod common;

use std::process::Command;

use common::Desk;

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

#[test]
fn revisions_that_are_none_are_refused() {
    let desk = Desk::new();
    desk.run(&["bisect", "a..b"]).fails(2, &["is no git repository"]);
    desk.run(&["bisect", "a..b", "--repo", "."]).fails(2, &["is no git repository"]);
    let git = |arguments: &[&str]| {
        let named = ["-c", "user.name=a", "-c", "user.email=a@localhost.invalid"];
        let mut git = Command::new("git");
        assert!(
            git.arg("-C")
                .arg(desk.path(""))
                .args(named)
                .args(arguments)
                .status()
                .unwrap()
                .success()
        );
    };
    git(&["init", "--quiet"]);
    git(&["commit", "--quiet", "--allow-empty", "-m", "one"]);
    git(&["commit", "--quiet", "--allow-empty", "-m", "two"]);
    git(&["tag", "here"]);
    desk.run(&["bisect", "HEAD..HEAD~1"]).fails(2, &["the older one stands first"]);
    desk.run(&["bisect", "HEAD..here"]).fails(2, &["nothing lies between them"]);
    desk.run(&["bisect", "nowhere..HEAD"]).fails(2, &["nowhere"]);
    assert!(!desk.path("runs").exists());
}
