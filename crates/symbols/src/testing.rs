//! Images, files and blobs made by hand.

use crate::btf::kind;

/// Returns a bzImage with `sectors` of real-mode code and this compressed kernel.
pub(crate) fn bzimage(sectors: u8, payload: &[u8]) -> Vec<u8> {
    // Something is between the real-mode code and the kernel, as in a real image.
    const OFFSET: usize = 0x123;
    let start = match sectors {
        0 => 5 * 512,
        sectors => (usize::from(sectors) + 1) * 512,
    } + OFFSET;
    let mut image = vec![0xcc; start];
    image[0x1f1] = sectors;
    image[0x202..0x208].copy_from_slice(b"HdrS\x0f\x02");
    image[0x248..0x24c].copy_from_slice(&(OFFSET as u32).to_le_bytes());
    image[0x24c..0x250].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    image.extend(payload);
    image
}

/// Returns an Image of arm64 with these bytes after its header.
pub(crate) fn arm64_image(after: &[u8]) -> Vec<u8> {
    let mut image = vec![0; 64];
    image[0x38..0x3c].copy_from_slice(b"ARM\x64");
    image.extend(after);
    image
}

/// Returns an ELF file of a 64-bit x86 machine with one section.
pub(crate) fn elf(name: &str, data: &[u8]) -> Vec<u8> {
    let names = format!("\0{name}\0.shstrtab\0");
    let (names_at, data_at) = (64, 64 + names.len());
    let section = |name: usize, kind: u32, offset: usize, size: usize| {
        let mut header = Vec::new();
        header.extend((name as u32).to_le_bytes());
        header.extend(kind.to_le_bytes());
        // Neither flags nor an address.
        header.extend([0; 16]);
        header.extend((offset as u64).to_le_bytes());
        header.extend((size as u64).to_le_bytes());
        // No link, no information, an alignment of 1, no entries.
        header.extend([0; 8]);
        header.extend(1_u64.to_le_bytes());
        header.extend([0; 8]);
        header
    };
    let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
    elf.resize(16, 0);
    // An executable for x86-64 of version 1, which begins at 0 and has no program headers.
    elf.extend([2, 0, 62, 0, 1, 0, 0, 0]);
    elf.extend([0; 16]);
    elf.extend(((data_at + data.len()) as u64).to_le_bytes());
    elf.extend([0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 64, 0, 3, 0, 2, 0]);
    elf.extend(names.bytes());
    elf.extend(data);
    elf.extend(section(0, 0, 0, 0));
    elf.extend(section(1, 1, data_at, data.len()));
    elf.extend(section(2 + name.len(), 3, names_at, names.len()));
    elf
}

/// A blob of BTF under construction.
pub(crate) struct Blob {
    types: Vec<u8>,
    strings: Vec<u8>,
    /// Offset of each type.
    starts: Vec<usize>,
}

impl Default for Blob {
    fn default() -> Self {
        Self { types: Vec::new(), strings: vec![0], starts: Vec::new() }
    }
}

impl Blob {
    fn name(&mut self, name: &str) -> u32 {
        if name.is_empty() {
            return 0;
        }
        let offset = self.strings.len() as u32;
        self.strings.extend(name.bytes());
        self.strings.push(0);
        offset
    }

    fn words(&mut self, words: &[u32]) {
        self.types.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }

    /// Adds a type and returns its id. Its entries may be added next.
    pub(crate) fn record(
        &mut self,
        name: &str,
        kind: u8,
        entries: u32,
        size_or_type: u32,
        words: &[u32],
    ) -> u32 {
        self.starts.push(self.types.len());
        let name = self.name(name);
        self.words(&[name, u32::from(kind) << 24 | entries, size_or_type]);
        self.words(words);
        self.starts.len() as u32
    }

    /// Adds an entry to the last type.
    pub(crate) fn entry(&mut self, names: &[&str], words: &[u32]) {
        for name in names {
            let name = self.name(name);
            self.words(&[name]);
        }
        self.words(words);
    }

    /// Sets a type's flag.
    pub(crate) fn flag(&mut self, id: u32) {
        let start = self.starts[id as usize - 1];
        self.types[start + 7] |= 0x80;
    }

    pub(crate) fn int(&mut self, name: &str, size_bytes: u32) -> u32 {
        self.record(name, kind::INT, 0, size_bytes, &[size_bytes * 8])
    }

    pub(crate) fn refer(&mut self, kind: u8, name: &str, id: u32) -> u32 {
        self.record(name, kind, 0, id, &[])
    }

    pub(crate) fn array(&mut self, element: u32, length: u32) -> u32 {
        self.record("", kind::ARRAY, 0, 0, &[element, 1, length])
    }

    /// Adds a structure with the name, the type and the offset in bits of each member.
    pub(crate) fn structure(
        &mut self,
        name: &str,
        size_bytes: u32,
        members: &[(&str, u32, u32)],
    ) -> u32 {
        let id = self.record(name, kind::STRUCT, members.len() as u32, size_bytes, &[]);
        for (name, member, offset_bits) in members {
            self.entry(&[name], &[*member, *offset_bits]);
        }
        id
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.assemble(24, &[])
    }

    /// Returns the blob with the lengths of kinds, as newer blobs have them.
    pub(crate) fn bytes_with(&self, layouts: &[u8]) -> Vec<u8> {
        self.assemble(32, layouts)
    }

    fn assemble(&self, header_bytes: u32, layouts: &[u8]) -> Vec<u8> {
        let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
        let header =
            [header_bytes, 0, types, types, strings, types + strings, layouts.len() as u32];
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        bytes.extend(header.iter().flat_map(|word| word.to_le_bytes()));
        bytes.truncate(header_bytes as usize);
        bytes.extend(&self.types);
        bytes.extend(&self.strings);
        bytes.extend(layouts);
        bytes
    }
}
