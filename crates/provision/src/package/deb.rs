//! The format of Debian's packages (deb(5), deb-control(5)): an `ar` archive of `debian-binary`,
//! `control.tar` and `data.tar`, both of them compressed.

use std::io::{self, Read};

use tar::{Archive, Entry, EntryType};

use super::{
    error::{PackageFault, damaged},
    item::{Facts, Format, Item, Kind, PATH_BYTES_MAX, count, shown, sound},
    stream::{Bounded, Exactly, unpacked},
};

/// The first bytes of an `ar` archive (ar(5)).
pub(super) const MAGIC: &[u8] = b"!<arch>\n";

/// More members than a package has.
const MEMBERS_MAX: usize = 100;

/// The most that the description of a package may unpack to, in bytes: it holds the maintainer's scripts
/// and the checksums of all files.
const CONTROL_BYTES_MAX: u64 = 64 << 20;

/// More packages than one depends on.
const NEEDS_MAX: usize = 1_000;

/// Reads the description of a package.
pub(super) fn open<'r>(
    mut file: Box<dyn Read + 'r>,
) -> Result<(Facts, Box<dyn Read + 'r>), PackageFault> {
    let mut magic = [0; MAGIC.len()];
    file.read_exact(&mut magic).map_err(damaged)?;
    if magic != MAGIC {
        return Err(PackageFault::Format("the file is no archive of ar"));
    }
    let mut control: Option<String> = None;
    for number in 0..MEMBERS_MAX {
        let Some(Member { name, bytes }) = Member::read(&mut file)? else { break };
        if number == 0 && name != "debian-binary" {
            return Err(PackageFault::Format("the file is another archive of ar"));
        }
        if name.starts_with("data.tar") {
            let control = control.ok_or_else(|| missing("control.tar"))?;
            let data = unpacked(Box::new(Exactly::new(file, bytes)))?;
            return Ok((facts(&control)?, data));
        }
        let mut member = Exactly::new(&mut file, bytes);
        match &*name {
            "debian-binary" => {
                let mut version = Vec::new();
                member.by_ref().take(2).read_to_end(&mut version).map_err(damaged)?;
                if version != b"2." {
                    return Err(PackageFault::Format(
                        "the file has another version than 2 of .deb",
                    ));
                }
            }
            name if name.starts_with("control.tar") => control = Some(control_of(&mut member)?),
            _ => {}
        }
        io::copy(&mut member, &mut io::sink()).map_err(damaged)?;
        // Members begin at even places.
        io::copy(&mut file.by_ref().take(bytes % 2), &mut io::sink()).map_err(damaged)?;
    }
    Err(missing("data.tar"))
}

fn missing(member: &str) -> PackageFault {
    PackageFault::Damaged(format!("it has no {member}"))
}

/// A member of an `ar` archive.
struct Member {
    name: String,
    bytes: u64,
}

impl Member {
    /// Reads the header of the next member; `None` at the end.
    fn read(file: &mut impl Read) -> Result<Option<Self>, PackageFault> {
        let mut header = Vec::new();
        file.by_ref().take(60).read_to_end(&mut header).map_err(damaged)?;
        if header.is_empty() {
            return Ok(None);
        }
        let text = |range| {
            let bytes = header.get(range).unwrap_or_default();
            String::from_utf8_lossy(bytes).trim_end().to_owned()
        };
        match (text(48..58).parse(), header.get(58..60)) {
            (Ok(bytes), Some(b"`\n")) => {
                let name = text(0..16).trim_end_matches('/').to_owned();
                Ok(Some(Self { name, bytes }))
            }
            _ => Err(PackageFault::Damaged("a header of its archive is none".to_owned())),
        }
    }
}

/// Returns the file `control` in the archive `control.tar`.
fn control_of(member: &mut dyn Read) -> Result<String, PackageFault> {
    let content = Bounded::new(unpacked(Box::new(member))?, CONTROL_BYTES_MAX);
    let mut archive = Archive::new(content);
    for entry in archive.entries().map_err(damaged)?.raw(true) {
        let entry = entry.map_err(damaged)?;
        let header = entry.header();
        let path = header.path_bytes();
        if header.entry_type() == EntryType::Regular && matches!(&*path, b"control" | b"./control")
        {
            let mut text = Vec::new();
            entry.take(CONTROL_BYTES_MAX).read_to_end(&mut text).map_err(damaged)?;
            return Ok(String::from_utf8_lossy(&text).into_owned());
        }
    }
    Err(missing("file `control`"))
}

/// Returns the description in a file `control`.
fn facts(control: &str) -> Result<Facts, PackageFault> {
    let wanted = |name| field(control, name).ok_or_else(|| missing(&format!("field `{name}`")));
    let needs = ["Pre-Depends", "Depends"].into_iter().filter_map(|name| field(control, name));
    let said = |name| field(control, name).unwrap_or_default();
    Ok(Facts {
        format: Format::Deb,
        name: wanted("Package")?,
        version: wanted("Version")?,
        arch: wanted("Architecture")?,
        needs: needs.flat_map(|list| names(&list)).take(NEEDS_MAX).collect(),
        source: said("Source"),
        built_using: said("Built-Using"),
        licence: String::new(),
        maker: said("Maintainer"),
        home: said("Homepage"),
    })
}

/// Returns a field of `control`, whose further lines begin with a blank.
pub(super) fn field(control: &str, name: &str) -> Option<String> {
    let mut lines = control.lines().skip_while(|line| {
        !line.split_once(':').is_some_and(|(field, _)| field.eq_ignore_ascii_case(name))
    });
    let (_, value) = lines.next()?.split_once(':')?;
    let more = lines.take_while(|line| line.starts_with([' ', '\t']));
    Some(more.fold(value.to_owned(), |value, line| value + line).trim().to_owned())
}

/// Returns the names in a list of dependencies, of alternatives the first, without versions.
pub(super) fn names(list: &str) -> Vec<String> {
    let end = |c: char| c.is_whitespace() || "|(:[<".contains(c);
    let name = |need: &str| need.trim().split(end).next().unwrap_or_default().to_owned();
    list.split(',').map(name).filter(|name| !name.is_empty()).collect()
}

/// Calls `visit` with every entry of the archive of a package's files.
pub(super) fn each<E: From<PackageFault>>(
    data: impl Read,
    entries_max: usize,
    mut visit: impl FnMut(&Item<'_>, &mut dyn Read) -> Result<(), E>,
) -> Result<(), E> {
    let mut archive = Archive::new(data);
    let (mut entries, mut long_path, mut long_target) = (0, None, None);
    // An archive of tar's own reader reads the headers of long names whole, however long.
    for entry in archive.entries().map_err(damaged)?.raw(true) {
        let mut entry = entry.map_err(damaged)?;
        count(&mut entries, entries_max)?;
        let header = entry.header();
        let kind = match header.entry_type() {
            EntryType::GNULongName => {
                long_path = Some(long(&mut entry)?);
                continue;
            }
            EntryType::GNULongLink => {
                long_target = Some(long(&mut entry)?);
                continue;
            }
            EntryType::Regular => Kind::File,
            EntryType::Directory => Kind::Folder,
            EntryType::Symlink => Kind::Symlink,
            EntryType::Link => Kind::Hardlink,
            EntryType::XHeader | EntryType::XGlobalHeader => {
                let path = shown(&entry.path_bytes());
                let why = "an extended header of pax, which no Debian package has";
                return Err(PackageFault::Entry { path, why }.into());
            }
            _ => Kind::Special,
        };
        let (mode, modified_unix_s) =
            (header.mode().map_err(damaged)?, header.mtime().map_err(damaged)?);
        let target = || header.link_name_bytes().unwrap_or_default().into_owned();
        let target = long_target.take().unwrap_or_else(target);
        let path = long_path.take().unwrap_or_else(|| header.path_bytes().into_owned());
        let path = sound(&path)?;
        if path.is_empty() {
            continue;
        }
        let mut item =
            Item { path, kind, mode: mode & 0o7777, modified_unix_s, bytes: entry.size() };
        if !matches!(kind, Kind::Symlink | Kind::Hardlink) {
            visit(&item, &mut entry)?;
            continue;
        }
        if target.len() > PATH_BYTES_MAX {
            let (path, why) = (path.to_owned(), "a link whose target is too long");
            return Err(PackageFault::Entry { path, why }.into());
        }
        item.bytes = target.len() as u64;
        visit(&item, &mut &*target)?;
    }
    // The archive's end is followed by padding, and the end of the member may be missing.
    io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(damaged)?;
    Ok(())
}

/// Reads the path or the target of the next entry, which is too long for its header. A byte of zero ends it.
fn long(entry: &mut Entry<'_, impl Read>) -> Result<Vec<u8>, PackageFault> {
    let mut path = Vec::new();
    entry.take(PATH_BYTES_MAX as u64 + 2).read_to_end(&mut path).map_err(damaged)?;
    if path.last() == Some(&0) {
        path.pop();
    }
    Ok(path)
}
