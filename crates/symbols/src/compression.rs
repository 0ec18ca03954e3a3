/// The formats in which a kernel may be compressed (`Documentation/arch/x86/boot.rst` and `lib/decompress.c` of Linux).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Xz,
    Zstd,
    Lz4,
    Lzo,
    Bzip2,
    Lzma,
}

impl Compression {
    /// Tells the format by the first bytes; returns nothing where they are of none.
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        Some(match bytes {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            [0x02, 0x21, 0x4c, 0x18, ..] => Self::Lz4,
            [0x89, b'L', b'Z', b'O', ..] => Self::Lzo,
            [b'B', b'Z', b'h', ..] => Self::Bzip2,
            [0x5d, 0, 0, ..] => Self::Lzma,
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
            Self::Lz4 => "lz4",
            Self::Lzo => "lzo",
            Self::Bzip2 => "bzip2",
            Self::Lzma => "lzma",
        }
    }
}
