//! arm64's Image: its header (Documentation/arch/arm64/booting.rst), and the texts and types that lie open in it.

use crate::{
    ImageError, TypesError,
    compression::Compression,
    header::{is_arm64_image, is_bzimage, is_zboot},
};

/// The beginning of the kernel's banner (`linux_banner`, init/version.c); the release follows.
const BANNER: &[u8] = b"Linux version ";

/// The longest release that is read, in bytes (`__NEW_UTS_LEN`, include/uapi/linux/utsname.h).
const RELEASE_BYTES_MAX: usize = 64;

/// The beginning of BTF: its magic, version 1, no flags (include/uapi/linux/btf.h).
const BTF: &[u8] = &[0x9f, 0xeb, 1, 0];

/// Checks the header of arm64's Image and returns the kernel's release, which is empty where no banner names one.
///
/// # Errors
///
/// When it is no Image, as of another architecture, or compressed.
pub fn arm64_release_of(image: &[u8]) -> Result<String, ImageError> {
    if !is_arm64_image(image) {
        return Err(match Compression::of(image) {
            _ if is_bzimage(image) => ImageError::OfAmd64,
            _ if is_zboot(image) => ImageError::Compressed("an EFI program (zboot)"),
            Some(compression) => ImageError::Compressed(compression.name()),
            None => ImageError::NoImage,
        });
    }
    // Other texts begin like the banner; a release begins with a number.
    let releases = memchr::memmem::find_iter(image, BANNER).map(|at| &image[at + BANNER.len()..]);
    let release = releases.into_iter().find(|rest| rest.first().is_some_and(u8::is_ascii_digit));
    let text = release.unwrap_or_default();
    let end = text.iter().take(RELEASE_BYTES_MAX).position(|byte| !byte.is_ascii_graphic());
    Ok(String::from_utf8_lossy(&text[..end.unwrap_or(0)]).into_owned())
}

/// Finds the BTF that lies in arm64's Image.
pub(crate) fn btf(image: &[u8]) -> Result<&[u8], TypesError> {
    if let Err(error) = arm64_release_of(image) {
        return Err(error.into());
    }
    // The kernel's own is the longest: BTF of modules lies elsewhere, and other bytes may look like a header.
    let blobs = memchr::memmem::find_iter(image, BTF).filter_map(|at| blob(&image[at..]));
    blobs.max_by_key(|blob| blob.len()).ok_or(TypesError::NoBtf)
}

/// Returns the BTF at the start of some bytes, as long as its header says; `None` where that cannot be.
fn blob(bytes: &[u8]) -> Option<&[u8]> {
    let word = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?) as usize);
    let (header, types, strings) = (word(4)?, (word(8)?, word(12)?), (word(16)?, word(20)?));
    let end = |(offset, length): (usize, usize)| header.checked_add(offset)?.checked_add(length);
    bytes.get(..end(types)?.max(end(strings)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Types,
        testing::{Blob, arm64_image, bzimage},
    };

    #[test]
    fn the_release_is_the_banners() {
        let image =
            arm64_image(b"Linux version %s\0..Linux version 6.12.118+deb13-arm64 (debian@x)\0");
        assert_eq!(arm64_release_of(&image).unwrap(), "6.12.118+deb13-arm64");
        for without in [&b"no banner"[..], b"Linux version 6.12"] {
            assert_eq!(arm64_release_of(&arm64_image(without)).unwrap(), "");
        }
    }

    #[test]
    fn another_architecture_and_a_compressed_kernel_are_named() {
        let said = |image: &[u8]| arm64_release_of(image).unwrap_err().to_string();
        assert!(said(&bzimage(1, &[])).contains("amd64"));
        assert!(said(b"MZ\0\0zimg").contains("zboot"));
        assert!(said(&[0x1f, 0x8b, 8]).contains("gzip"));
        assert!(said(b"BZh9").contains("bzip2"));
        assert!(said(b"\x7fELF").contains("arch/arm64/boot/Image"));
        assert!(said(b"").contains("arch/arm64/boot/Image"));
    }

    #[test]
    fn the_longest_types_are_the_kernels() {
        let (mut small, mut large) = (Blob::default(), Blob::default());
        small.int("int", 4);
        let int = large.int("int", 4);
        large.structure("task_struct", 8, &[("pid", int, 0), ("tgid", int, 32)]);
        let text = [&small.bytes()[..], &[1, 2, 3], &large.bytes(), BTF, &[0xff; 24]].concat();
        let types = Types::from_arm64_image(&arm64_image(&text)).unwrap();
        assert_eq!(types.member_offset("task_struct", "tgid").unwrap().offset_bytes, 4);
        assert_eq!(
            Types::from_arm64_image(&arm64_image(b"nothing")).unwrap_err(),
            TypesError::NoBtf
        );
    }
}
