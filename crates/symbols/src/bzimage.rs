//! A bzImage: its header, and the kernel proper in it (Documentation/arch/x86/boot.rst, "The Real-Mode
//! Kernel Header").

use std::io::Read;

use crate::{
    ImageError, TypesError,
    compression::Compression,
    header::{is_arm64_image, is_bzimage},
};

/// The oldest boot protocol of a kernel that QEMU can boot, 2.06: that of Linux 2.6.22.
const BOOTABLE: u16 = 0x206;

/// The oldest boot protocol that says where the kernel proper is, 2.08.
const LOCATED: u16 = 0x208;

/// The largest kernel that is uncompressed, in bytes. Debian's have some 60 MiB.
const VMLINUX_BYTES_MAX: usize = 512 << 20;

/// The logarithm of the largest window that zstd may ask for: that of the largest kernel.
const WINDOW_LOG_MAX: u32 = VMLINUX_BYTES_MAX.ilog2();

/// The most memory that xz may use, in bytes. The kernel's build asks for a dictionary of 128 MiB.
const XZ_BYTES_MAX: u64 = 1 << 30;

/// Checks the header of a bzImage and returns the kernel's release, which is empty where the header
/// names none.
///
/// # Errors
///
/// When it is not an image that QEMU can boot.
pub fn bzimage_release_of(image: &[u8]) -> Result<String, ImageError> {
    check(image, BOOTABLE)?;
    // The pointer is relative to 0x200, and zero means that there is no string.
    let pointer = usize::from(u16_at(image, 0x20e).unwrap_or(0));
    let text = match pointer {
        0 => &[],
        _ => image.get(pointer + 0x200..).unwrap_or_default(),
    };
    let end = text.iter().take(256).position(|byte| !byte.is_ascii_graphic()).unwrap_or(0);
    Ok(String::from_utf8_lossy(&text[..end]).into_owned())
}

/// Checks the magic of the header, and that its protocol is not older than this one.
fn check(image: &[u8], protocol_min: u16) -> Result<(), ImageError> {
    if !is_bzimage(image) {
        let of_arm64 = is_arm64_image(image).then_some(ImageError::OfArm64);
        return Err(of_arm64.unwrap_or(ImageError::NoBzImage));
    }
    match u16_at(image, 0x206) {
        Some(protocol) if protocol >= protocol_min => Ok(()),
        _ => Err(ImageError::Protocol),
    }
}

/// Uncompresses the ELF file in a bzImage.
pub(crate) fn vmlinux(image: &[u8]) -> Result<Vec<u8>, TypesError> {
    let payload = payload(image)?;
    match Compression::of(payload) {
        // Gzip ends with the size by itself.
        Some(Compression::Gzip) => {
            let unpacked = read(flate2::read::GzDecoder::new(payload), VMLINUX_BYTES_MAX)?;
            match unpacked.len() > VMLINUX_BYTES_MAX {
                true => Err(TypesError::Unpack("it is too large".into())),
                false => Ok(unpacked),
            }
        }
        Some(Compression::Xz) => {
            let (packed, size) = sized(payload)?;
            let stream = liblzma::stream::Stream::new_stream_decoder(XZ_BYTES_MAX, 0)
                .map_err(|error| unpack_error(error.into()))?;
            exactly(read(liblzma::read::XzDecoder::new_stream(packed, stream), size)?, size)
        }
        Some(Compression::Zstd) => {
            let (packed, size) = sized(payload)?;
            let mut decoder =
                zstd::stream::read::Decoder::with_buffer(packed).map_err(unpack_error)?;
            decoder.window_log_max(WINDOW_LOG_MAX).map_err(unpack_error)?;
            exactly(read(decoder, size)?, size)
        }
        Some(other) => Err(TypesError::Compression(other.name())),
        None => Err(TypesError::Compression("something unknown")),
    }
}

/// Returns the compressed kernel in a bzImage.
fn payload(image: &[u8]) -> Result<&[u8], TypesError> {
    check(image, LOCATED)?;
    let at = |offset| u32_at(image, offset).ok_or(TypesError::Truncated);
    let (offset, length) = (at(0x248)? as usize, at(0x24c)? as usize);
    // The real-mode part is a boot sector and these many more; zero stands for four.
    let sectors = match image[0x1f1] {
        0 => 4,
        sectors => usize::from(sectors),
    };
    let payload = offset
        .checked_add((sectors + 1) * 512)
        .and_then(|start| image.get(start..start.checked_add(length)?));
    payload.ok_or(TypesError::Truncated)
}

/// Splits the compressed data from the size of the uncompressed data, in bytes, which the kernel's
/// build appends (scripts/Makefile.lib, `size_append`).
fn sized(payload: &[u8]) -> Result<(&[u8], usize), TypesError> {
    let (packed, size) = payload.split_last_chunk().ok_or(TypesError::Truncated)?;
    let size = u32::from_le_bytes(*size) as usize;
    match size > VMLINUX_BYTES_MAX {
        true => Err(TypesError::Unpack("it is too large".into())),
        false => Ok((packed, size)),
    }
}

/// Reads at most one byte more than `size_max`, which tells that there is too much.
fn read(decoder: impl Read, size_max: usize) -> Result<Vec<u8>, TypesError> {
    let mut unpacked = Vec::new();
    decoder.take(size_max as u64 + 1).read_to_end(&mut unpacked).map_err(unpack_error)?;
    Ok(unpacked)
}

fn exactly(unpacked: Vec<u8>, size: usize) -> Result<Vec<u8>, TypesError> {
    match unpacked.len() == size {
        true => Ok(unpacked),
        false => Err(TypesError::Unpack("its size is not the one that the image names".into())),
    }
}

fn unpack_error(error: std::io::Error) -> TypesError {
    TypesError::Unpack(error.to_string())
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;
    use crate::testing;

    fn kernel() -> Vec<u8> {
        (0..100_000_u32).flat_map(|word| (word / 7).to_le_bytes()).collect()
    }

    fn with_size(mut packed: Vec<u8>, size: usize) -> Vec<u8> {
        packed.extend((size as u32).to_le_bytes());
        packed
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn xz(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::encode_all(bytes, 1).unwrap()
    }

    /// Returns the start of a bzImage with this release.
    fn image(release: &str) -> Vec<u8> {
        let mut image = testing::bzimage(1, &[]);
        image[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
        let text = format!("{release} (someone@somewhere) #1 SMP\0");
        image[0x300..0x300 + text.len()].copy_from_slice(text.as_bytes());
        image
    }

    #[test]
    fn the_release_is_read() {
        assert_eq!(
            bzimage_release_of(&image("6.12.107+deb13-amd64")).unwrap(),
            "6.12.107+deb13-amd64"
        );
    }

    #[test]
    fn a_header_without_a_usable_string_has_no_release() {
        for pointer in [0_u16, 0xffff] {
            let mut image = image("6.12");
            image[0x20e..0x210].copy_from_slice(&pointer.to_le_bytes());
            assert_eq!(bzimage_release_of(&image).unwrap(), "");
        }
    }

    #[test]
    fn what_is_no_kernel_has_no_release() {
        assert_eq!(bzimage_release_of(b"\x7fELF"), Err(ImageError::NoBzImage));
        assert_eq!(bzimage_release_of(&testing::arm64_image(&[])), Err(ImageError::OfArm64));
        assert_eq!(bzimage_release_of(&image("6.12")[..0x206]), Err(ImageError::Protocol));
    }

    #[test]
    fn every_compression_of_debian_is_uncompressed() {
        let kernel = kernel();
        let (left, right) = kernel.split_at(1000);
        let frames = [zstd(left), zstd(right)].concat();
        for payload in [
            gzip(&kernel),
            with_size(xz(&kernel), kernel.len()),
            with_size(zstd(&kernel), kernel.len()),
            with_size(frames, kernel.len()),
        ] {
            for sectors in [0, 1, 39] {
                let image = testing::bzimage(sectors, &payload);
                assert_eq!(vmlinux(&image).unwrap(), kernel);
            }
        }
    }

    #[test]
    fn a_size_that_is_not_the_kernels_is_an_error() {
        let kernel = kernel();
        for packed in [xz(&kernel), zstd(&kernel)] {
            for size in [0, kernel.len() - 1, kernel.len() + 1, u32::MAX as usize] {
                let image = testing::bzimage(4, &with_size(packed.clone(), size));
                assert!(matches!(vmlinux(&image), Err(TypesError::Unpack(_))), "{size}");
            }
        }
    }

    #[test]
    fn other_compressions_are_named() {
        for (magic, name) in
            [(&b"\x02\x21\x4c\x18"[..], "lz4"), (b"BZh9", "bzip2"), (b"ELF", "something unknown")]
        {
            let error = vmlinux(&testing::bzimage(4, magic)).unwrap_err();
            assert_eq!(error, TypesError::Compression(name));
        }
    }

    #[test]
    fn what_is_no_whole_bzimage_is_refused() {
        let image = testing::bzimage(4, &gzip(&kernel()));
        assert_eq!(vmlinux(b"\x7fELF"), Err(ImageError::NoBzImage.into()));
        for length in [0x24f, image.len() - 1] {
            assert_eq!(vmlinux(&image[..length]), Err(TypesError::Truncated), "{length}");
        }
        let mut old = image.clone();
        old[0x206] = 7;
        assert_eq!(vmlinux(&old), Err(ImageError::Protocol.into()));
        assert_eq!(vmlinux(&image[..0x207]), Err(ImageError::Protocol.into()));
        let mut beyond = image;
        beyond[0x248..0x250].fill(0xff);
        assert_eq!(vmlinux(&beyond), Err(TypesError::Truncated));
    }

    proptest! {
        #[test]
        fn arbitrary_payloads_never_panic(
            magic in 0..4_usize,
            bytes: Vec<u8>,
            flips in prop::collection::vec((0..10_000_usize, any::<u8>()), 0..4),
        ) {
            let kernel = kernel();
            let payload = match magic {
                0 => gzip(&kernel),
                1 => with_size(xz(&kernel), kernel.len()),
                2 => with_size(zstd(&kernel), kernel.len()),
                _ => bytes.clone(),
            };
            let mut image = testing::bzimage(1, &payload);
            for (place, value) in flips {
                let place = place % image.len();
                image[place] = value;
            }
            let _ = vmlinux(&image);
            let _ = vmlinux(&bytes);
        }
    }
}
