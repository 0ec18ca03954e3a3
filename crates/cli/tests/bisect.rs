//! `bisect` without kernels: its refusals before anything is built or executed.

mod common;

use common::Desk;

#[test]
fn ranges_of_kernels_that_are_none_are_refused() {
    let desk = Desk::new();
    for (range, said) in [
        ("debian:6.12", "expected two of Debian's kernels"),
        ("debian:6.12..7.2-rt", "both ends must be of one flavour"),
        ("6.12..7.2", "did you mean `debian:6.12`?"),
        ("debian:6.12..tree:.", "expected two of Debian's kernels"),
        ("debian:6.12..$(x)", "expected two of Debian's kernels"),
    ] {
        desk.run(&["bisect", "--kernels", range]).fails(2, &[said]);
    }
    for further in [["--good", "x"], ["--bad", "x"], ["--repo", "."], ["--config", "lab"]] {
        let arguments = [&["bisect", "--kernels", "debian:6.12..7.2"], &further[..]].concat();
        desk.run(&arguments).fails(2, &["cannot be used with"]);
    }
    desk.run(&["bisect", "--good", "x"]).fails(2, &["--bad"]);
    assert!(!desk.path("runs").exists());
}

#[test]
fn revisions_that_are_none_are_refused() {
    let desk = Desk::new();
    let said = desk.run(&["bisect", "--good", "a", "--bad", "b", "--repo", "."]);
    said.fails(2, &["is no git repository"]);
    assert!(!desk.path("runs").exists());
}
