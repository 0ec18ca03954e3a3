//! Streams that end where they must, and compressed ones.

use std::io::{self, Read};

use super::error::{PackageFault, damaged};

/// A stream that may not be longer than a bound.
pub(super) struct Bounded<R> {
    stream: R,
    bytes_max: u64,
    left: u64,
}

impl<R> Bounded<R> {
    pub(super) fn new(stream: R, bytes_max: u64) -> Self {
        Self { stream, bytes_max, left: bytes_max }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX).max(1));
        let length = self.stream.read(&mut buffer[..wanted])?;
        self.left = self.left.checked_sub(length as u64).ok_or_else(|| {
            let size = match self.bytes_max >> 20 {
                0 => format!("{} bytes", self.bytes_max),
                mib => format!("{mib} MiB"),
            };
            io::Error::new(io::ErrorKind::FileTooLarge, size)
        })?;
        Ok(length)
    }
}

/// The next bytes of a stream, of which none may be missing.
pub(super) struct Exactly<R> {
    stream: R,
    left: u64,
}

impl<R> Exactly<R> {
    pub(super) fn new(stream: R, bytes: u64) -> Self {
        Self { stream, left: bytes }
    }
}

impl<R: Read> Read for Exactly<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if wanted == 0 {
            return Ok(0);
        }
        match self.stream.read(&mut buffer[..wanted])? {
            0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends early")),
            length => {
                self.left -= length as u64;
                Ok(length)
            }
        }
    }
}

/// Returns the first bytes of a stream, fewer where it is shorter, and the stream with them.
pub(super) fn peek<'r>(
    mut file: Box<dyn Read + 'r>,
    length: usize,
) -> io::Result<(Vec<u8>, Box<dyn Read + 'r>)> {
    let mut head = Vec::new();
    file.by_ref().take(length as u64).read_to_end(&mut head)?;
    let file = Box::new(io::Cursor::new(head.clone()).chain(file));
    Ok((head, file))
}

/// The most memory that xz may use, in bytes: its best compression takes 65 MiB.
const XZ_BYTES_MAX: u64 = 256 << 20;

/// The logarithm of the largest window that zstd may ask for, in bytes, which is zstd's own bound.
const WINDOW_LOG_MAX: u32 = 27;

/// Returns the content of a compressed stream, whose first bytes tell how it is compressed. One that is
/// not compressed stays as it is.
pub(super) fn unpacked<'r>(packed: Box<dyn Read + 'r>) -> Result<Box<dyn Read + 'r>, PackageFault> {
    let (head, packed) = peek(packed, 6).map_err(damaged)?;
    Ok(match &*head {
        [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(packed)),
        [0xfd, b'7', b'z', b'X', b'Z', 0] => {
            let flags = liblzma::stream::CONCATENATED;
            let stream = liblzma::stream::Stream::new_stream_decoder(XZ_BYTES_MAX, flags)
                .map_err(|error| damaged(error.into()))?;
            Box::new(liblzma::read::XzDecoder::new_stream(packed, stream))
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let mut decoder = zstd::stream::read::Decoder::new(packed).map_err(damaged)?;
            decoder.window_log_max(WINDOW_LOG_MAX).map_err(damaged)?;
            Box::new(decoder)
        }
        [b'B', b'Z', b'h', ..] => return Err(PackageFault::Compression("bzip2")),
        [0x5d, 0, 0, ..] => return Err(PackageFault::Compression("lzma")),
        [b'L', b'Z', b'I', b'P', ..] => return Err(PackageFault::Compression("lzip")),
        _ => packed,
    })
}
