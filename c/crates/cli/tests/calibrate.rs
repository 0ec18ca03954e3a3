//! Calibrations that end before they begin.

mod common;

use std::fs;

use common::Desk;

#[test]
fn a_profile_that_cannot_be_written_is_refused_first() {
    let desk = Desk::new();
    fs::create_dir(desk.path("folder.toml")).unwrap();
    for (out, code, said) in [
        ("My Machine.toml", 2, "cannot be a profile, which is named like its file"),
        (".toml", 2, "cannot be a profile, which is named like its file"),
        ("absent/machine.toml", 4, "cannot write absent/machine.toml: No such file"),
        ("folder.toml", 4, "cannot write folder.toml"),
    ] {
        let finished = desk.run(&["system", "calibrate", "--out", out]);
        assert_eq!(finished.code, code, "{out}: {}", finished.stderr);
        let told = finished.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(said), "{out}: {told}");
    }
    let left: Vec<_> =
        fs::read_dir(desk.path(".")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["folder.toml"]);
}
