//! Counts of instructions in a real guest.
//!
//! Packages and snapshots are kept in the user's own store, or in `PREEMPTLAB_STORE`.

mod common;

use std::{fs::File, io::Read, path::Path};

use preemptlab_calibrate::{Counted, CountingCell, counting_cell};
use preemptlab_preparation::{Lab, Prepared};
use preemptlab_protocol::{Message, prices::Class};
use preemptlab_provision::{MICRO, Options, Provision, Store};
use preemptlab_runner::Cancel;

fn prepared() -> Prepared {
    let CountingCell { experiment, folders } = counting_cell(MICRO);
    let store = Store::open(common::lasting_store()).unwrap();
    let provision = Provision::new(store, Options::default(), &|_| ());
    Lab::new(provision, None).with_folders(&folders).resolve(experiment).unwrap()
}

/// Returns what the guest said, and what was counted in it.
fn count(prepared: &Prepared, file: &Path) -> (Message, String) {
    let out = File::create(file).unwrap();
    let cell = prepared.manifest.plan.cells[0].inputs().unwrap();
    let message = prepared.vm().count(cell, &out, &Cancel::default()).unwrap().message;
    let mut counts = String::new();
    File::open(file).unwrap().read_to_string(&mut counts).unwrap();
    (message, counts)
}

#[test]
fn instructions_are_counted_by_class_and_always_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let prepared = prepared();
    let first = count(&prepared, &folder.path().join("first"));
    let counted = Counted::read(&first.0, &first.1).unwrap();
    let of = |name: &str, class: Class| counted.of_operations()[name][class.index()];

    // A loop of 48 instructions, and the two that count it down.
    assert!(
        (48.99..49.2).contains(&of("alu", Class::UserPlain)),
        "{}",
        of("alu", Class::UserPlain)
    );
    assert!((0.99..1.01).contains(&of("alu", Class::UserBranch)));
    assert!((0.99..1.05).contains(&of("null-call", Class::Syscall)));
    assert!((0.99..1.05).contains(&of("null-call", Class::Sysret)));
    assert!(of("null-call", Class::KernelPlain) > 20.0);
    assert!((1.0..1.1).contains(&of("page-fault", Class::EntryFault)));
    assert!((1.0..1.1).contains(&of("breakpoint", Class::EntryException)));
    assert!((0.9..1.5).contains(&of("timer", Class::EntryTimer)));
    assert!((1.9..2.2).contains(&of("pipe-ping-pong", Class::Cr3)));
    // The guest does not see the features with which kernels copy byte by byte.
    assert!(of("read-zero-65536", Class::StringByte) < 100.0);

    let second = count(&prepared, &folder.path().join("second"));
    assert_eq!(second, first);
}
