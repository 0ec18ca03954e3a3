//! Calibrations that end before they begin.

use std::fs;

use crate::common::Desk;

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

#[test]
fn another_machine_is_reached_by_a_command_that_executes_the_program_there() {
    let desk = Desk::new();
    let written = desk.run(&["system", "calibrate", "--program", "arm64"]);
    assert_eq!(written.code, 0, "{}", written.stderr);
    assert!(written.stderr.contains("--by 'ssh MACHINE ./micro'"), "{}", written.stderr);
    let program = fs::read(desk.path("micro")).unwrap();
    // Its architecture in the header of an ELF: EM_AARCH64.
    assert_eq!((&program[..4], &program[18..20]), (&b"\x7fELF"[..], &[183, 0][..]));
    let mode = fs::metadata(desk.path("micro")).unwrap().permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o755);
    for (args, code, said) in [
        (&["--by", ""][..], 2, "a command has a word at least, such as `ssh`"),
        (&["--by", "ssh\u{1b}[2J pi"], 2, "a command has no control characters"),
        (&["--by", "/absent/ssh pi ./micro"], 4, "cannot be executed: No such file"),
        (&["--by", "false"], 4, "the micro-benchmarks failed: exit status: 1"),
        (&["--by", "echo riscv64"], 4, "a line that cannot be read: \"riscv64 arch\\n\""),
        (&["--by", "true", "--root"], 2, "cannot be used with"),
        (&["--program", "riscv64"], 2, "riscv64"),
        (&["--program", "arm64", "--by", "true"], 2, "cannot be used with"),
    ] {
        let finished = desk.run(&[&["system", "calibrate"], args].concat());
        assert_eq!(finished.code, code, "{args:?}: {}", finished.stderr);
        let told = finished.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(said), "{args:?}: {told}");
        assert!(!told.contains('\u{1b}'), "{args:?}: {told:?}");
    }
}
