//! Tests of `run --emit` with what is no good: nothing is prepared, and a sentence says why.

mod common;

use common::Desk;

#[test]
fn what_is_emitted_needs_what_it_names() {
    let desk = Desk::new();
    let study = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies/quick.toml");
    let cases: [(&[&str], &str); 13] = [
        (&["--emit=lsf"], "invalid value 'lsf'"),
        (&["--emit=kubernetes"], "name it with --volume CLAIM=FOLDER"),
        (&["--emit=kubernetes", "--volume", "lab"], "name it with --image IMAGE"),
        (&["--emit=kubernetes", "--volume", "La b", "--image", "x"], "`La b` is no claim"),
        (&["--emit=kubernetes", "--volume", "lab", "--image", "a\nb"], "one line of plain text"),
        (&["--emit=github", "--preempt", "full"], "change the file instead"),
        (&["--emit", "--shard", "1/2"], "cannot be used with"),
        (&["--emit", "--engine", "kubernetes"], "name it with --volume CLAIM=FOLDER"),
        (&["--emit", "--engine", "slurm", "--detach"], "cannot be used with"),
        (&["--emit", "--engine", "slurm", "--engine-arg=--array=1-9"], "leave it out"),
        (&["--emit=ssh", "--tasks", "0"], "invalid value '0'"),
        (&["--emit", "--backend", "kvm"], "only virtual time is the same on several machines"),
        (&["--twice", "1%"], "required arguments were not provided"),
    ];
    for (arguments, expected) in cases {
        let finished = desk.run(&[&["run", study], arguments].concat());
        assert_eq!(finished.code, 2, "{arguments:?}: {}", finished.stderr);
        assert!(finished.stderr.contains(expected), "{arguments:?}: {}", finished.stderr);
        assert_eq!(finished.stdout, "", "{arguments:?}");
    }
    assert!(!desk.path("runs").exists());
}
