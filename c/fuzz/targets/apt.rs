//! What apt prints: paragraphs, names, simulated installations, progress and complaints.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| preemptlab_provision::hostile::apt(text));
