//! Tests of `cluster emit` with unusable arguments: nothing is prepared, and a sentence says why.

use crate::common::Desk;

#[test]
fn what_is_emitted_needs_what_it_names() {
    let desk = Desk::new();
    let study = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies/quick.toml");
    let cases: [(&[&str], &str); 11] = [
        (&["lsf"], "invalid value 'lsf'"),
        (&["kubernetes"], "kubernetes.volume=CLAIM=FOLDER"),
        (&["kubernetes", "--set=kubernetes.volume=lab"], "kubernetes.image=IMAGE"),
        (&["kubernetes", "--set=kubernetes.volume=La b"], "`La b` is no claim"),
        (&["kubernetes", "--set=kubernetes.image=a\nb"], "one line of plain text"),
        (&["github", "--preempt", "full"], "change the file instead"),
        (&["slurm", "--shard", "1/2"], "cluster work RUN I/N"),
        (&["slurm", "--engine-arg=--array=1-9"], "leave it out"),
        (&["ssh", "--engine-arg=--mem=1G"], "only Slurm's script holds an --engine-arg"),
        (&["ssh", "--tasks", "0"], "invalid value '0'"),
        (&["slurm", "--backend", "kvm"], "unexpected argument"),
    ];
    for (arguments, expected) in cases {
        let finished = desk.run(&[&["cluster", "emit"], arguments, &[study]].concat());
        assert_eq!(finished.code, 2, "{arguments:?}: {}", finished.stderr);
        assert!(finished.stderr.contains(expected), "{arguments:?}: {}", finished.stderr);
        assert_eq!(finished.stdout, "", "{arguments:?}");
    }
    assert!(!desk.path("runs").exists());
}
