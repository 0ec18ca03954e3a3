//! Files of packages, `.deb` and `.rpm`, with whatever content a test needs, hostile too.

use preemptlab_model::Digest;

/// A package.
#[derive(Clone, Debug)]
pub struct Package {
    /// Name of the package.
    pub name: String,
    /// Version of the package; behind its last `-` is the release of an rpm.
    pub version: String,
    /// Architecture of the package, in the words of its format.
    pub arch: String,
    /// Names of packages that it depends on.
    pub needs: Vec<String>,
    /// The source that it was built from, as the package says it; empty where it says none.
    pub source: String,
    /// Name of its licence, which an rpm alone says; empty where it says none.
    pub licence: String,
    /// Entries in their order.
    pub entries: Vec<Entry>,
    /// Compresses what a distribution compresses.
    pub pack: fn(&[u8]) -> Vec<u8>,
}

/// An entry of a package. Nothing checks it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Path of the entry, as the file holds it.
    pub path: String,
    /// Kind of the entry.
    pub kind: Kind,
    /// Content of a file, or the target of a link.
    pub bytes: Vec<u8>,
}

/// Kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Symlink,
    /// Another name of a file.
    Hardlink,
    /// A device that ends nowhere.
    Device,
}

impl Package {
    /// Creates a package without entries, which nothing compresses.
    pub fn new(name: &str, version: &str, arch: &str) -> Self {
        let [name, version, arch] = [name, version, arch].map(str::to_owned);
        let (source, licence) = (String::new(), String::new());
        let (needs, entries, pack) = (Vec::new(), Vec::new(), <[u8]>::to_vec);
        Self { name, version, arch, needs, source, licence, entries, pack }
    }

    /// Adds a regular file.
    #[must_use]
    pub fn with(self, path: &str, bytes: &[u8]) -> Self {
        self.with_entry(path, Kind::File, bytes)
    }

    /// Adds an entry.
    #[must_use]
    pub fn with_entry(mut self, path: &str, kind: Kind, bytes: &[u8]) -> Self {
        self.entries.push(Entry { path: path.to_owned(), kind, bytes: bytes.to_owned() });
        self
    }

    /// Adds a dependency.
    #[must_use]
    pub fn needing(mut self, name: &str) -> Self {
        self.needs.push(name.to_owned());
        self
    }

    /// Returns the bytes of a `.deb` (deb(5)).
    pub fn deb(&self) -> Vec<u8> {
        let mut control = format!(
            "Package: {}\nVersion: {}\nArchitecture: {}\n",
            self.name, self.version, self.arch
        );
        if !self.needs.is_empty() {
            control.push_str(&format!("Depends: {} (>= 1) | other\n", self.needs.join(", ")));
        }
        if !self.source.is_empty() {
            control.push_str(&format!("Source: {}\n", self.source));
        }
        control.push_str("Maintainer: nobody <nobody@invalid>\nDescription: a test\n");
        let control = Entry { path: "./control".into(), kind: Kind::File, bytes: control.into() };
        let mut deb = b"!<arch>\n".to_vec();
        member(&mut deb, "debian-binary", b"2.0\n");
        member(&mut deb, "control.tar", &(self.pack)(&tar(&[control])));
        member(&mut deb, "data.tar", &(self.pack)(&tar(&self.entries)));
        deb
    }

    /// Returns the bytes of an `.rpm` ("RPM V4 Package format", rpm's manual), which nobody signed.
    pub fn rpm(&self) -> Vec<u8> {
        self.rpm_with(|_| (1000, 4, vec![0, 0, 0, 1], 1))
    }

    /// Returns the bytes of an `.rpm` that `sign` signed: it makes an OpenPGP packet of the header's bytes.
    pub fn rpm_signed(&self, sign: impl FnOnce(&[u8]) -> Vec<u8>) -> Vec<u8> {
        self.rpm_with(|header| {
            let packet = sign(header);
            let length = packet.len() as u32;
            (268, 7, packet, length)
        })
    }

    /// Returns the bytes of an `.rpm` whose header of signatures has this entry: a tag, a type, a value and the
    /// number of values.
    pub fn rpm_with(&self, entry: impl FnOnce(&[u8]) -> (u32, u32, Vec<u8>, u32)) -> Vec<u8> {
        let (version, release) = self.version.rsplit_once('-').unwrap_or((&self.version, "1"));
        let mut rpm = vec![0xed, 0xab, 0xee, 0xdb, 3, 0, 0, 0, 0, 1];
        rpm.resize(96, 0);
        let text = |text: &str| [text.as_bytes(), b"\0"].concat();
        let mut entries = vec![
            (1000, 6, text(&self.name), 1),
            (1001, 6, text(version), 1),
            (1002, 6, text(release), 1),
            (1022, 6, text(&self.arch), 1),
        ];
        if !self.needs.is_empty() {
            let needs = self.needs.iter().flat_map(|need| text(need)).collect();
            entries.push((1049, 8, needs, self.needs.len() as u32));
        }
        for (tag, said) in [(1014, &self.licence), (1044, &self.source)] {
            if !said.is_empty() {
                entries.push((tag, 6, text(said), 1));
            }
        }
        entries.push((1011, 6, text("nobody"), 1));
        entries.push((1124, 6, text("cpio"), 1));
        let payload = (self.pack)(&cpio(&self.entries));
        entries.push((5092, 8, text(&Digest::of(&payload).to_string()), 1));
        let header_bytes = header(&entries);
        rpm.extend(header(&[entry(&header_bytes)]));
        rpm.resize(rpm.len().next_multiple_of(8), 0);
        rpm.extend(header_bytes);
        rpm.extend(payload);
        rpm
    }
}

/// Appends a member to an archive of `ar`.
fn member(archive: &mut Vec<u8>, name: &str, bytes: &[u8]) {
    let (date, owner, mode, length) = ("0", "0", "100644", bytes.len());
    archive.extend(
        format!("{name:<16}{date:<12}{owner:<6}{owner:<6}{mode:<8}{length:<10}`\n").into_bytes(),
    );
    archive.extend(bytes);
    archive.resize(archive.len().next_multiple_of(2), b'\n');
}

/// Returns the bytes of a header: its index, each entry a tag, a type, a place and a number of values,
/// and the data.
fn header(entries: &[(u32, u32, Vec<u8>, u32)]) -> Vec<u8> {
    let (mut index, mut data) = (Vec::new(), Vec::new());
    for (tag, kind, bytes, values) in entries {
        for number in [*tag, *kind, data.len() as u32, *values] {
            index.extend(number.to_be_bytes());
        }
        data.extend(bytes);
    }
    let mut header = vec![0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0];
    header.extend((entries.len() as u32).to_be_bytes());
    header.extend((data.len() as u32).to_be_bytes());
    [header, index, data].concat()
}

/// Returns an archive of GNU tar, in which a long path is an entry of its own.
fn tar(entries: &[Entry]) -> Vec<u8> {
    let mut archive = Vec::new();
    for Entry { path, kind, bytes } in entries {
        let (kind, content, target): (u8, &[u8], &[u8]) = match kind {
            Kind::File => (b'0', bytes, b""),
            Kind::Hardlink => (b'1', b"", bytes),
            Kind::Symlink => (b'2', b"", bytes),
            Kind::Device => (b'3', b"", b""),
            Kind::Folder => (b'5', b"", b""),
        };
        if path.len() > 100 {
            let long = [path.as_bytes(), b"\0"].concat();
            tar_entry(&mut archive, b"././@LongLink", b'L', &long, b"");
        }
        tar_entry(&mut archive, path.as_bytes(), kind, content, target);
    }
    archive.extend([0; 1024]);
    archive
}

fn tar_entry(archive: &mut Vec<u8>, path: &[u8], kind: u8, content: &[u8], target: &[u8]) {
    let mut header = [0; 512];
    let mut put = |place: usize, bytes: &[u8]| {
        header[place..place + bytes.len()].copy_from_slice(bytes);
    };
    put(0, &path[..path.len().min(100)]);
    put(100, b"0000644\0" as &[u8]);
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{:011o}\0", content.len()).as_bytes());
    put(136, b"00000000000\0");
    put(148, b"        ");
    put(156, &[kind]);
    put(157, &target[..target.len().min(100)]);
    put(257, b"ustar  \0");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    archive.extend(header);
    archive.extend(content);
    archive.resize(archive.len().next_multiple_of(512), 0);
}

/// Returns an archive of `cpio` in the format `newc`.
fn cpio(entries: &[Entry]) -> Vec<u8> {
    let mut archive = Vec::new();
    let mut put = |path: &str, mode: u32, links: usize, bytes: &[u8]| {
        let numbers =
            [1, mode as usize, 0, 0, links, 0, bytes.len(), 0, 0, 0, 0, path.len() + 1, 0];
        archive.extend(b"070701");
        numbers.iter().for_each(|number| archive.extend(format!("{number:08x}").into_bytes()));
        archive.extend(path.as_bytes());
        archive.push(0);
        archive.resize(archive.len().next_multiple_of(4), 0);
        archive.extend(bytes);
        archive.resize(archive.len().next_multiple_of(4), 0);
    };
    for Entry { path, kind, bytes } in entries {
        match kind {
            Kind::File => put(path, 0o100_644, 1, bytes),
            Kind::Hardlink => put(path, 0o100_644, 2, bytes),
            Kind::Symlink => put(path, 0o120_777, 1, bytes),
            Kind::Device => put(path, 0o020_666, 1, b""),
            Kind::Folder => put(path, 0o040_755, 2, b""),
        }
    }
    put("TRAILER!!!", 0, 1, b"");
    archive
}
