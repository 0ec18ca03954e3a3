//! The headers by which kernels' images are known.

/// Returns whether an image has the header of x86's kernels (Documentation/arch/x86/boot.rst).
pub fn is_bzimage(image: &[u8]) -> bool {
    image.get(0x202..0x206) == Some(b"HdrS")
}

/// Returns whether an image has the header of arm64's kernels (Documentation/arch/arm64/booting.rst).
pub fn is_arm64_image(image: &[u8]) -> bool {
    image.get(0x38..0x3c) == Some(b"ARM\x64")
}

/// Returns whether an image is a compressed EFI program (drivers/firmware/efi/libstub/zboot-header.S).
pub fn is_zboot(image: &[u8]) -> bool {
    matches!(image, [b'M', b'Z', _, _, b'z', b'i', b'm', b'g', ..])
}
