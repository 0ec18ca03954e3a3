//! The headers by which kernels' images are known.

/// Returns whether an image has the header of x86's kernels (Documentation/arch/x86/boot.rst).
pub(crate) fn is_bzimage(image: &[u8]) -> bool {
    image.get(0x202..0x206) == Some(b"HdrS")
}

/// Returns whether an image has the header of arm64's kernels (Documentation/arch/arm64/booting.rst).
pub(crate) fn is_arm64_image(image: &[u8]) -> bool {
    image.get(0x38..0x3c) == Some(b"ARM\x64")
}
