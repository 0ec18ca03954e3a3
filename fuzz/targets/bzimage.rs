//! A kernel's image, of x86 and of arm64: its header, and the kernel that is compressed, or lies open, in it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use preemptlab_symbols::{Types, arm64_release_of, bzimage_release_of};

fuzz_target!(|image: &[u8]| {
    let _ = bzimage_release_of(image);
    let _ = Types::from_bzimage(image);
    let _ = arm64_release_of(image);
    let _ = Types::from_arm64_image(image);
});
