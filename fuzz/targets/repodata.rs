//! The lists of a repository of rpms.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| preemptlab_provision::hostile::repodata(bytes));
