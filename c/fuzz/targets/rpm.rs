//! An rpm: its headers, its archive and its paths.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| preemptlab_provision::hostile::packages(bytes));
