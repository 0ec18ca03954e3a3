//! The bytes of an archive, unpacked within bounds: neither few bytes that become many without end, nor
//! many bytes that become none.

use std::{
    cell::Cell,
    fs::File,
    io::{self, BufReader, Read},
    rc::Rc,
};

use zstd::stream::read::Decoder;

/// Most bytes that an archive unpacks to: some 600 MB of four kernels.
const BYTES_MAX: u64 = 16 << 30;

/// Bytes to which every archive may unpack, however small it is: there are files of zeros.
const ROOM_BYTES: u64 = 1 << 30;

/// How many times its own size an archive may unpack to beyond that; seeds have 3.
const RATIO_MAX: u64 = 32;

/// How many bytes of the file may be read before they unpack to something. zstd's blocks have less.
const EMPTY_BYTES_MAX: u64 = 1 << 20;

/// Most memory that unpacking takes, as its logarithm.
const WINDOW_BYTES_MAX_LOG: u32 = 23;

/// Unpacked bytes of an archive.
pub(crate) struct Stream {
    decoder: Decoder<'static, BufReader<Packed>>,
    counts: Rc<Counts>,
}

/// Numbers of read bytes and of unpacked bytes.
#[derive(Default)]
struct Counts {
    packed: Cell<u64>,
    unpacked: Cell<u64>,
}

struct Packed {
    file: File,
    counts: Rc<Counts>,
}

impl Stream {
    pub(crate) fn new(file: File) -> io::Result<Self> {
        let counts = Rc::new(Counts::default());
        let packed = Packed { file, counts: counts.clone() };
        let mut decoder = Decoder::new(packed)?.single_frame();
        decoder.window_log_max(WINDOW_BYTES_MAX_LOG)?;
        Ok(Self { decoder, counts })
    }

    /// Reads to the end, where the checksum stands.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        io::copy(&mut self, &mut io::sink())?;
        match self.decoder.finish().read(&mut [0])? {
            0 => Ok(()),
            _ => Err(io::Error::other("something follows its end")),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.decoder.read(buffer)?;
        let unpacked = self.counts.unpacked.get() + bytes as u64;
        self.counts.unpacked.set(unpacked);
        let packed = self.counts.packed.get();
        if unpacked > ROOM_BYTES + packed.saturating_mul(RATIO_MAX) {
            let gib = ROOM_BYTES >> 30;
            let reason =
                format!("it unpacks to more than {gib} GiB and {RATIO_MAX} times its own size");
            return Err(io::Error::other(reason));
        }
        if unpacked > BYTES_MAX {
            let reason = format!("it unpacks to more than {} GiB", BYTES_MAX >> 30);
            return Err(io::Error::other(reason));
        }
        Ok(bytes)
    }
}

impl Read for Packed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read(buffer)?;
        let packed = self.counts.packed.get() + bytes as u64;
        self.counts.packed.set(packed);
        let unpacked = self.counts.unpacked.get();
        if packed > unpacked + unpacked / 64 + EMPTY_BYTES_MAX {
            let mib = EMPTY_BYTES_MAX >> 20;
            return Err(io::Error::other(format!("more than {mib} MiB of it hold nothing")));
        }
        Ok(bytes)
    }
}
