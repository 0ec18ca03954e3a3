//! A kernel's image: its header, and the kernel that is compressed in it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use preemptlab_symbols::{Types, release_of};

fuzz_target!(|image: &[u8]| {
    let _ = release_of(image);
    let _ = Types::from_bzimage(image);
});
