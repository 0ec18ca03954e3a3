//! The header of a bzImage (Documentation/arch/x86/boot.rst, "The Real-Mode Kernel Header").

/// Why a file is not a kernel that QEMU can boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BzImageError {
    /// The header's magic is missing.
    #[error(
        "it is no bzImage (`HdrS` is missing at 0x202); name arch/x86/boot/bzImage of a build, or \
         a /boot/vmlinuz"
    )]
    Magic,
    /// The boot protocol is older than 2.06, and so the kernel older than 2.6.22.
    #[error("its boot protocol is too old")]
    Protocol,
}

/// Checks the header and returns the kernel's release, which is empty where the header names none.
///
/// # Errors
///
/// [`BzImageError`]
pub fn release(image: &[u8]) -> Result<String, BzImageError> {
    if image.get(0x202..0x206) != Some(b"HdrS") {
        return Err(BzImageError::Magic);
    }
    if u16_at(image, 0x206).is_none_or(|version| version < 0x206) {
        return Err(BzImageError::Protocol);
    }
    // The pointer is relative to 0x200, and zero means that there is no string.
    let pointer = usize::from(u16_at(image, 0x20e).unwrap_or(0));
    let text = match pointer {
        0 => &[],
        _ => image.get(pointer + 0x200..).unwrap_or_default(),
    };
    let end = text.iter().take(256).position(|byte| !byte.is_ascii_graphic()).unwrap_or(0);
    Ok(String::from_utf8_lossy(&text[..end]).into_owned())
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(offset..offset + 2)?.try_into().ok()?))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The start of a bzImage with this release.
    pub(crate) fn image(release: &str) -> Vec<u8> {
        let mut image = vec![0; 0x400];
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x206..0x208].copy_from_slice(&0x20f_u16.to_le_bytes());
        image[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
        let text = format!("{release} (someone@somewhere) #1 SMP\0");
        image[0x300..0x300 + text.len()].copy_from_slice(text.as_bytes());
        image
    }

    #[test]
    fn the_release_is_read() {
        assert_eq!(release(&image("6.12.107+deb13-amd64")).unwrap(), "6.12.107+deb13-amd64");
    }

    #[test]
    fn a_header_without_a_usable_string_has_no_release() {
        for pointer in [0_u16, 0xffff] {
            let mut image = image("6.12");
            image[0x20e..0x210].copy_from_slice(&pointer.to_le_bytes());
            assert_eq!(release(&image).unwrap(), "");
        }
    }

    #[test]
    fn what_is_no_kernel_is_refused() {
        assert_eq!(release(b"\x7fELF"), Err(BzImageError::Magic));
        assert_eq!(release(&image("6.12")[..0x206]), Err(BzImageError::Protocol));
    }
}
