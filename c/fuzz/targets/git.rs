//! What git prints, and what the files of a repository hold: objects, lists of files, references and
//! configuration.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| preemptlab_provision::hostile::git(bytes));
