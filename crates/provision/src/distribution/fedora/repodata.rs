//! The lists of a repository of rpms: `repomd.xml`, which names the others, and the list `primary`
//! (createrepo_c(8)). Nobody signed them, so everything is bounded: the whole, an element, the depth.

use std::{
    cell::Cell,
    io::{self, BufReader, Read},
    rc::Rc,
};

use preemptlab_model::Digest;
use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};

use crate::Named;

/// The most that a list may unpack to, in bytes. Fedora's largest has some 250 MB.
const BYTES_MAX: u64 = 2 << 30;

/// The largest tag or text of a list, in bytes, with what is read ahead.
const ELEMENT_BYTES_MAX: u64 = 4 << 20;

/// The most elements within each other. Fedora's lists have five.
const DEPTH_MAX: usize = 16;

/// The depth of the elements of a package; those within them are passed over.
const PART_DEPTH: usize = 3;

/// A package as a list describes it. A fact that the list lacks is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rpm {
    pub(super) name: String,
    pub(super) arch: String,
    epoch: String,
    upstream: String,
    release: String,
    pub(super) sha256: Option<Digest>,
    /// Size of the file, in bytes.
    pub(super) bytes: Option<u64>,
    /// Path of the file below the repository.
    pub(super) path: String,
}

impl Rpm {
    /// Returns the version with its release, and with its epoch where it has one.
    pub(super) fn version(&self) -> String {
        let version = format!("{}-{}", self.upstream, self.release);
        match self.epoch.as_str() {
            "" | "0" => version,
            epoch => format!("{epoch}:{version}"),
        }
    }
}

/// An element at its end.
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    text: String,
}

impl Element {
    fn new(tag: &BytesStart<'_>) -> io::Result<Self> {
        let mut attributes = Vec::new();
        for attribute in tag.attributes() {
            let attribute = attribute.map_err(io::Error::other)?;
            let key = attribute.key.local_name().as_ref().to_owned();
            attributes.push((key, attribute.value.into_owned()));
        }
        Ok(Self { name: tag.local_name().as_ref().to_owned(), attributes, text: String::new() })
    }

    fn get(&self, key: &str) -> &str {
        let found = self.attributes.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// Returns the hash in a `checksum`; `None` for another kind of hash.
    fn sha256(&self) -> Option<Digest> {
        (self.get("type") == "sha256").then(|| self.text.trim().parse().ok()).flatten()
    }
}

/// A stream whose reader may take so many bytes until the bound is set anew.
struct Metered<R> {
    stream: R,
    left: Rc<Cell<u64>>,
    left_of_all: u64,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.stream.read(buffer)?;
        let taken = length as u64;
        let too_large = || io::Error::other("it is too large");
        let left = self.left.get().checked_sub(taken).ok_or_else(too_large)?;
        self.left.set(left);
        self.left_of_all = self.left_of_all.checked_sub(taken).ok_or_else(too_large)?;
        Ok(length)
    }
}

/// Calls `visit` with every element of a list down to a depth, at its end, and with its depth; the outermost
/// has the depth 1.
fn for_each_element(
    list: impl Read,
    mut visit: impl FnMut(usize, &Element) -> io::Result<()>,
) -> io::Result<()> {
    let left = Rc::new(Cell::new(ELEMENT_BYTES_MAX));
    let metered = Metered { stream: list, left: left.clone(), left_of_all: BYTES_MAX };
    let mut reader = Reader::from_reader(BufReader::new(metered));
    let mut open: Vec<Element> = Vec::new();
    let mut depth = 0;
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        left.set(ELEMENT_BYTES_MAX);
        let event = reader.read_event_into(&mut buffer).map_err(io::Error::other)?;
        match event {
            Event::Start(tag) => {
                depth += 1;
                if depth > DEPTH_MAX {
                    return Err(io::Error::other("its elements are too deep in each other"));
                }
                if depth <= PART_DEPTH {
                    open.push(Element::new(&tag)?);
                }
            }
            Event::Empty(tag) if depth < PART_DEPTH => visit(depth + 1, &Element::new(&tag)?)?,
            Event::End(_) => {
                if let Some(element) = open.pop_if(|_| depth <= PART_DEPTH) {
                    visit(depth, &element)?;
                }
                depth = depth.saturating_sub(1);
            }
            Event::Text(text) if depth <= PART_DEPTH => {
                if let Some(element) = open.last_mut() {
                    element.text.push_str(&text);
                }
            }
            // No name, hash or number has one.
            Event::GeneralRef(_) | Event::CData(_) if depth <= PART_DEPTH => {
                if let Some(element) = open.last_mut() {
                    element.text.push(char::REPLACEMENT_CHARACTER);
                }
            }
            Event::DocType(_) => {
                return Err(io::Error::other("it defines a type of documents, which no list does"));
            }
            Event::Eof if depth == 0 => return Ok(()),
            Event::Eof => return Err(io::Error::other("it ends early")),
            _ => {}
        }
        let texts: usize = open.iter().map(|element| element.text.len()).sum();
        if texts as u64 > ELEMENT_BYTES_MAX {
            return Err(io::Error::other("it is too large"));
        }
    }
}

/// Returns the path of the list `primary` in a `repomd.xml`, and the file's hash and size.
pub(super) fn primary(repomd: &[u8]) -> io::Result<(String, Named)> {
    let (mut path, mut sha256, mut bytes) = (String::new(), None, None);
    let mut found = None;
    for_each_element(repomd, |depth, element| {
        match (depth, element.name.as_str()) {
            (3, "location") => path = element.get("href").to_owned(),
            (3, "checksum") => sha256 = element.sha256(),
            (3, "size") => bytes = element.text.trim().parse().ok(),
            (2, "data") => {
                let file = (std::mem::take(&mut path), sha256.take(), bytes.take());
                if let (true, (path, Some(sha256), Some(bytes))) =
                    (element.get("type") == "primary", file)
                {
                    found = Some((path, Named { sha256, bytes }));
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    found.ok_or_else(|| {
        io::Error::other(
            "it names no list `primary` with a SHA-256 and a size, which is no repository's",
        )
    })
}

/// Calls `each` with every package of a list `primary`, unpacked.
pub(super) fn for_each_package(list: impl Read, mut each: impl FnMut(&Rpm)) -> io::Result<()> {
    let mut rpm = Rpm::default();
    for_each_element(list, |depth, element| {
        let text = || element.text.trim().to_owned();
        match (depth, element.name.as_str()) {
            (3, "name") => rpm.name = text(),
            (3, "arch") => rpm.arch = text(),
            (3, "version") => {
                rpm.epoch = element.get("epoch").to_owned();
                rpm.upstream = element.get("ver").to_owned();
                rpm.release = element.get("rel").to_owned();
            }
            (3, "checksum") => rpm.sha256 = element.sha256(),
            (3, "size") => rpm.bytes = element.get("package").parse().ok(),
            (3, "location") => rpm.path = element.get("href").to_owned(),
            (2, "package") => {
                let whole = std::mem::take(&mut rpm);
                if element.get("type") == "rpm" {
                    each(&whole);
                }
            }
            _ => {}
        }
        Ok(())
    })
}

/// Reads bytes as each list of a repository, for the fuzzer.
pub(crate) fn read_in_every_way(bytes: &[u8]) {
    let _ = primary(bytes);
    let _ = for_each_package(bytes, |rpm| drop(rpm.version()));
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA256: &str = "0000000000000000000000000000000000000000000000000000000000000001";

    fn repomd(data: &str) -> String {
        format!(
            "<?xml version=\"1.0\"?>\n<repomd xmlns=\"http://x.invalid/repo\">{data}</repomd>\n"
        )
    }

    #[test]
    fn the_list_of_packages_is_found() {
        let data = |kind: &str, path: &str| {
            format!(
                "<data type=\"{kind}\"><checksum type=\"sha256\">{SHA256}</checksum>\
                 <open-checksum type=\"sha256\">00</open-checksum><location href=\"{path}\"/>\
                 <size>17</size><open-size>99</open-size></data>"
            )
        };
        let lists = data("filelists", "f.xml.zst") + &data("primary", "repodata/p.xml.zst");
        let (path, named) = primary(repomd(&lists).as_bytes()).unwrap();
        assert_eq!((path.as_str(), named.bytes), ("repodata/p.xml.zst", 17));
        assert_eq!(named.sha256, SHA256.parse().unwrap());
        for text in [
            "".to_owned(),
            "no XML".to_owned(),
            repomd(""),
            repomd(&data("other", "x")),
            repomd(&data("primary", "x").replace("sha256", "sha")),
            repomd(&data("primary", "x").replace("size>", "sighs>")),
            repomd(&lists).replace("</repomd>", ""),
            repomd(&lists).replace("</data>", "</date>"),
        ] {
            assert!(primary(text.as_bytes()).is_err(), "{text}");
        }
    }

    fn packages(text: &str) -> io::Result<Vec<Rpm>> {
        let mut all = Vec::new();
        for_each_package(text.as_bytes(), |rpm| all.push(rpm.clone()))?;
        Ok(all)
    }

    fn package(name: &str) -> String {
        format!(
            "<package type=\"rpm\"><name>{name}</name><arch>x86_64</arch>\
             <version epoch=\"0\" ver=\"6.14.5\" rel=\"300.fc42\"/>\
             <checksum type=\"sha256\" pkgid=\"YES\">{SHA256}</checksum><summary>a &amp; b</summary>\
             <size package=\"5\" installed=\"6\" archive=\"7\"/><location href=\"Packages/k/k.rpm\"/>\
             <format><rpm:license>GPL</rpm:license><rpm:provides><rpm:entry name=\"x\"/></rpm:provides>\
             <file>/boot/x</file></format></package>"
        )
    }

    fn listed(packages: &str) -> String {
        format!("<metadata xmlns:rpm=\"http://x.invalid/rpm\" packages=\"2\">{packages}</metadata>")
    }

    #[test]
    fn packages_are_read() {
        let found = packages(&listed(&(package("kernel-core") + &package("a")))).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].name.as_str(), found[0].arch.as_str()), ("kernel-core", "x86_64"));
        assert_eq!((found[0].version().as_str(), found[0].bytes), ("6.14.5-300.fc42", Some(5)));
        assert_eq!(
            (found[1].path.as_str(), found[1].sha256),
            ("Packages/k/k.rpm", SHA256.parse().ok())
        );
        let epoch = packages(&listed(&package("a").replace("epoch=\"0\"", "epoch=\"2\""))).unwrap();
        assert_eq!(epoch[0].version(), "2:6.14.5-300.fc42");
        // A part of another package is none of the next one.
        let half = "<package type=\"rpm\"><name>half</name></package><package type=\"deb\"/>";
        let found = packages(&listed(&(package("a") + half))).unwrap();
        assert_eq!((found.len(), &found[1].path, found[1].sha256), (2, &String::new(), None));
        let entity = packages(&listed(&package("kernel&#45;core"))).unwrap();
        assert_ne!(entity[0].name, "kernel-core");
    }

    #[test]
    fn lists_without_end_are_refused() {
        let deep = "<a>".repeat(DEPTH_MAX + 1);
        let large = "x".repeat(2 * ELEMENT_BYTES_MAX as usize);
        for (text, said) in [
            (deep.clone(), "too deep"),
            (listed(&format!("<package><name>{large}</name></package>")), "too large"),
            (listed(&format!("<package name=\"{large}\"/>")), "too large"),
            (listed(&format!("<!--{large}-->")), "too large"),
            (listed(&"<a>x</a>y".repeat(ELEMENT_BYTES_MAX as usize + 1)), "too large"),
            (format!("<!DOCTYPE x [<!ENTITY a \"b\">]>{}", listed("")), "type of documents"),
            (listed("").replace("</metadata>", ""), "ends early"),
        ] {
            let error = packages(&text).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        // Memory does not grow with a list that goes on.
        let endless = io::Read::chain(&b"<metadata>"[..], io::repeat(b' '));
        let error = for_each_package(endless, |_| ()).unwrap_err().to_string();
        assert!(error.contains("too large"), "{error}");
    }
}
