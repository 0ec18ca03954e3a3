//! Archives and zstd's frames that no tool writes: headers, sizes and blocks are as the caller says.

/// Entry of an archive.
#[derive(Clone)]
pub struct Entry {
    header: [u8; 512],
    data: Vec<Part>,
}

/// Bytes, or a number of zeros, which take only a few bytes in a frame.
#[derive(Clone)]
pub enum Part {
    Bytes(Vec<u8>),
    Zeros(u64),
}

impl Entry {
    /// Makes an entry of a kind, whose data the header announces as they are.
    pub fn new(kind: u8, name: &[u8], data: Vec<Part>) -> Self {
        let bytes = data.iter().map(Part::bytes).sum::<u64>();
        let mut entry = Self { header: [0; 512], data };
        entry.put(0, &name[..name.len().min(100)]);
        entry.put(100, b"0000644\0");
        entry.put(156, &[kind]);
        entry.put(257, b"ustar  \0");
        let padding = bytes.next_multiple_of(512) - bytes;
        entry.data.push(Part::Zeros(padding));
        entry.with_size(format!("{bytes:011o}\0").as_bytes())
    }

    /// Makes the end of an archive, with `bytes` zeros behind it.
    pub fn end(bytes: u64) -> Self {
        Self { header: [0; 512], data: vec![Part::Zeros(512 + bytes)] }
    }

    /// Makes a file.
    pub fn file(name: &str, text: &str) -> Self {
        Self::new(b'0', name.as_bytes(), vec![Part::Bytes(text.into())])
    }

    /// Makes a folder.
    pub fn folder(name: &str) -> Self {
        Self::new(b'5', name.as_bytes(), Vec::new())
    }

    /// Makes a link.
    pub fn link(name: &str, target: &str) -> Self {
        let mut entry = Self::new(b'2', name.as_bytes(), Vec::new());
        entry.put(157, target.as_bytes());
        entry.summed()
    }

    /// Makes a header that only says something about the next entry.
    pub fn extension(kind: u8, data: Vec<Part>) -> Self {
        Self::new(kind, b"././@LongLink", data)
    }

    /// Makes the two entries of a file with a long name.
    pub fn long(name: &str) -> [Self; 2] {
        let text = [name.as_bytes(), b"\0"].concat();
        [
            Self::extension(b'L', vec![Part::Bytes(text)]),
            Self::file(&name[..name.len().min(100)], ""),
        ]
    }

    /// Puts another size into the header.
    pub fn with_size(mut self, size: &[u8]) -> Self {
        self.put(124, size);
        self.summed()
    }

    /// Puts a wrong checksum into the header.
    pub fn damaged(mut self) -> Self {
        self.put(148, b"000001\0 ");
        self
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.header[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn summed(mut self) -> Self {
        self.put(148, b"        ");
        let sum: u32 = self.header.iter().map(|byte| u32::from(*byte)).sum();
        self.put(148, format!("{sum:06o}\0 ").as_bytes());
        self
    }
}

impl Part {
    fn bytes(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Zeros(bytes) => *bytes,
        }
    }
}

/// Begin of a frame with a window of 2 to the power of `window_log` bytes, without size or checksum.
pub fn begin(window_log: u8) -> Vec<u8> {
    vec![0x28, 0xb5, 0x2f, 0xfd, 0, (window_log - 10) << 3]
}

/// Most bytes of a block.
const BLOCK_BYTES_MAX: u64 = 128 << 10;

fn block(frame: &mut Vec<u8>, kind: u32, size: u64, content: &[u8]) {
    frame.extend_from_slice(&((size as u32) << 3 | kind << 1).to_le_bytes()[..3]);
    frame.extend_from_slice(content);
}

fn put(frame: &mut Vec<u8>, part: &Part) {
    match part {
        Part::Bytes(bytes) => {
            for chunk in bytes.chunks(BLOCK_BYTES_MAX as usize) {
                block(frame, 0, chunk.len() as u64, chunk);
            }
        }
        Part::Zeros(bytes) => {
            let mut left = *bytes;
            while left > 0 {
                let size = left.min(BLOCK_BYTES_MAX);
                block(frame, 1, size, &[0]);
                left -= size;
            }
        }
    }
}

/// Writes entries and the end of an archive into a frame.
pub fn frame(entries: &[Entry]) -> Vec<u8> {
    let mut frame = begin(23);
    let mut headers = Vec::new();
    for entry in entries {
        headers.extend_from_slice(&entry.header);
        // Many headers share a block.
        if entry.data.iter().all(|part| part.bytes() < 4096) {
            for part in &entry.data {
                match part {
                    Part::Bytes(bytes) => headers.extend_from_slice(bytes),
                    Part::Zeros(bytes) => headers.resize(headers.len() + *bytes as usize, 0),
                }
            }
            continue;
        }
        put(&mut frame, &Part::Bytes(std::mem::take(&mut headers)));
        entry.data.iter().for_each(|part| put(&mut frame, part));
    }
    put(&mut frame, &Part::Bytes(headers));
    put(&mut frame, &Part::Zeros(1024));
    frame.extend_from_slice(&[1, 0, 0]);
    frame
}
