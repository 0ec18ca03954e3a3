//! The files with which an archive vouches for its packages: `Release`, whose text is signed, names the
//! hash of `Packages.xz`, which names the hash of every package (<https://wiki.debian.org/DebianRepository/Format>).

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, BufRead, BufReader, Read},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use liblzma::{read::XzDecoder, stream::Stream};
use preemptlab_model::{Digest, Package, Platform};

use super::signature::{Keys, SignatureError, signed_text};
use crate::platform::HOST;

/// The most that a list of packages may unpack to, in bytes. That of trixie has 57 million.
pub(crate) const LIST_BYTES_MAX: u64 = 512 << 20;

/// The longest line of a list of packages, in bytes. Trixie's longest has 70,000.
const LINE_BYTES_MAX: u64 = 4 << 20;

/// The most memory for unpacking a list, in bytes. `xz -9` needs 65 MiB.
const XZ_BYTES_MAX: u64 = 128 << 20;

/// Reason why a list of packages is not vouched for.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// Nothing vouches for the `InRelease` file.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// The signed text is no `Release` file.
    #[error("the signed text is no release file: it lacks {0}")]
    Release(&'static str),
    /// The release file names another content of the list.
    #[error("the list of packages is not the one that the release file of {suite} names")]
    Another {
        /// The codename of the release.
        suite: String,
    },
    /// The list cannot be unpacked or read.
    #[error("the list of packages cannot be read: {0}")]
    Unreadable(#[from] io::Error),
}

/// A file that a release names: its hash, and its size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// The SHA-256 of the file.
    pub sha256: Digest,
    /// The size of the file, in bytes.
    pub bytes: u64,
}

/// The text of a `Release` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Name of the release's present state, as `stable`.
    pub suite: String,
    /// Name that the release keeps, as `trixie`.
    pub codename: String,
    /// Time at which it was made.
    pub date: SystemTime,
    /// Time after which another must have been made, where it names one.
    pub valid_until: Option<SystemTime>,
    /// Whether the archive offers each file under its hash too.
    pub by_hash: bool,
    files: BTreeMap<String, Named>,
}

impl Release {
    /// Reads the text of a `Release` file.
    ///
    /// # Errors
    ///
    /// [`IndexError::Release`]
    pub fn parse(text: &str) -> Result<Self, IndexError> {
        let mut fields = BTreeMap::new();
        let mut files = BTreeMap::new();
        let mut field = "";
        for line in text.lines() {
            if line.starts_with([' ', '\t']) {
                if field == "SHA256" {
                    files.extend(named(line));
                }
            } else if let Some((key, value)) = line.split_once(':') {
                field = key;
                fields.insert(key, value.trim());
            }
        }
        let get = |key: &'static str| fields.get(key).copied().ok_or(IndexError::Release(key));
        let valid_until = match fields.get("Valid-Until") {
            Some(date) => Some(time(date).ok_or(IndexError::Release("a readable Valid-Until"))?),
            None => None,
        };
        Ok(Self {
            suite: get("Suite")?.to_owned(),
            codename: get("Codename")?.to_owned(),
            date: time(get("Date")?).ok_or(IndexError::Release("a readable Date"))?,
            valid_until,
            by_hash: fields.get("Acquire-By-Hash") == Some(&"yes"),
            files,
        })
    }

    /// Returns the file that the release names at a path, as `main/binary-amd64/Packages.xz`.
    pub fn file(&self, path: &str) -> Option<Named> {
        self.files.get(path).copied()
    }
}

/// Returns the path, in a release, of the list of packages for an architecture.
pub(crate) fn list_path(of: &Platform) -> String {
    format!("main/binary-{}/Packages.xz", of.debian)
}

/// Reads a line `HASH BYTES PATH`.
fn named(line: &str) -> Option<(String, Named)> {
    let mut words = line.split_whitespace();
    let (sha256, bytes, path) = (words.next()?, words.next()?, words.next()?);
    Some((path.to_owned(), Named { sha256: sha256.parse().ok()?, bytes: bytes.parse().ok()? }))
}

/// Reads a time as `Sat, 21 Nov 2026 09:15:44 UTC`, the one form that archives write.
fn time(text: &str) -> Option<SystemTime> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let words: Vec<_> = text.split_once(", ")?.1.split(' ').collect();
    let [day, month, year, clock, zone] = words[..] else { return None };
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let (day, year): (u64, u64) = (day.parse().ok()?, year.parse().ok()?);
    let clock: Vec<u64> = clock.split(':').map(str::parse).collect::<Result<_, _>>().ok()?;
    let [hour, minute, second] = clock[..] else { return None };
    let is_sound = (1..=31).contains(&day)
        && (1970..=9999).contains(&year)
        && hour < 24
        && minute < 60
        && second <= 60
        && matches!(zone, "UTC" | "GMT" | "+0000");
    // Days since 1970 of the Gregorian calendar, where a year begins in March.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    let days = days.checked_sub(719_468)?;
    let unix_s = ((days * 24 + hour) * 60 + minute) * 60 + second;
    is_sound.then(|| UNIX_EPOCH + Duration::from_secs(unix_s))
}

/// Returns the date of a time as `2026-11-21`.
pub(crate) fn date(time: SystemTime) -> String {
    let unix_s = time.duration_since(UNIX_EPOCH).map_or(0, |duration| duration.as_secs());
    // Days since 0000-03-01; a year of this count begins in March and 400 of them have 146,097 days.
    let days = unix_s / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = match month {
        0..10 => (year, month + 3),
        _ => (year + 1, month - 9),
    };
    format!("{:04}-{month:02}-{day:02}", year + 400 * era)
}

/// The packages that a signed release vouches for.
#[derive(Clone, Debug)]
pub struct Index {
    /// The release, whose text was signed.
    pub release: Release,
    /// Time of the signature.
    pub signed_at: SystemTime,
    packages: BTreeSet<Package>,
}

impl Index {
    /// Reads which packages a `Packages.xz` names, whose hash stands in an `InRelease` file that one of
    /// the keys signed. Whether the release is too old for a download is another question.
    ///
    /// # Errors
    ///
    /// [`IndexError`]
    pub fn signed(in_release: &[u8], packages_xz: &[u8], keys: &Keys) -> Result<Self, IndexError> {
        let (path, unpack) = (list_path(HOST), || unpacked(packages_xz));
        Self::of_list(in_release, (&path, packages_xz), unpack, keys)
    }

    /// Reads which packages an unpacked `Packages` names, as [`Index::signed`] does: apt keeps lists so.
    ///
    /// # Errors
    ///
    /// [`IndexError`]
    pub fn signed_unpacked(
        in_release: &[u8],
        packages: &[u8],
        keys: &Keys,
    ) -> Result<Self, IndexError> {
        let path = list_path(HOST);
        let path = path.trim_end_matches(".xz");
        Self::of_list(in_release, (path, packages), || Ok(packages), keys)
    }

    fn of_list<R: Read>(
        in_release: &[u8],
        (path, list): (&str, &[u8]),
        unpack: impl FnOnce() -> io::Result<R>,
        keys: &Keys,
    ) -> Result<Self, IndexError> {
        let signed = signed_text(in_release, keys)?;
        let release = Release::parse(&signed.text)?;
        let found = Named { sha256: Digest::of(list), bytes: list.len() as u64 };
        if release.file(path) != Some(found) {
            return Err(IndexError::Another { suite: release.codename });
        }
        let mut packages = BTreeSet::new();
        for_each_stanza(BufReader::new(unpack()?), |stanza| {
            packages.extend(package(stanza));
        })?;
        Ok(Self { release, signed_at: signed.at, packages })
    }

    /// Returns whether the release vouches for a package: its name, its version and its hash.
    pub fn holds(&self, package: &Package) -> bool {
        self.packages.contains(package)
    }
}

pub(crate) fn package(stanza: &BTreeMap<String, String>) -> Option<Package> {
    let get = |key: &str| stanza.get(key).map(String::as_str);
    Some(Package {
        name: get("Package")?.parse().ok()?,
        version: get("Version")?.parse().ok()?,
        sha256: get("SHA256")?.parse().ok()?,
    })
}

/// Returns a reader of an xz file's content, with bounds.
pub(crate) fn unpacked<R: Read>(xz: R) -> io::Result<impl Read> {
    let stream = Stream::new_stream_decoder(XZ_BYTES_MAX, 0).map_err(io::Error::other)?;
    // One byte more than allowed shows that the content is longer.
    Ok(XzDecoder::new_stream(xz, stream).take(LIST_BYTES_MAX + 1))
}

/// Calls `each` with every paragraph of a list: the fields that fit on a line.
pub(crate) fn for_each_stanza(
    mut list: impl BufRead,
    mut each: impl FnMut(&BTreeMap<String, String>),
) -> io::Result<()> {
    let mut stanza = BTreeMap::new();
    let (mut line, mut bytes) = (Vec::new(), 0);
    loop {
        line.clear();
        let read = (&mut list).take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? as u64;
        bytes += read;
        if read == LINE_BYTES_MAX || bytes > LIST_BYTES_MAX {
            return Err(io::Error::other("it is too large"));
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches('\n');
        if text.is_empty() && !stanza.is_empty() {
            each(&stanza);
            stanza.clear();
        }
        if read == 0 {
            return Ok(());
        }
        if let Some((key, value)) = text.split_once(':').filter(|_| !text.starts_with([' ', '\t']))
        {
            stanza.insert(key.to_owned(), value.trim().to_owned());
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Write;

    use liblzma::write::XzEncoder;

    use super::*;
    use crate::distribution::debian::signature::tests::{
        ARCHIVE, IN_2026, STRANGER, keyring, sign,
    };

    /// Packs bytes with xz.
    pub(crate) fn xz(bytes: &[u8]) -> Vec<u8> {
        let mut packed = XzEncoder::new(Vec::new(), 1);
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    const LIST: &str = "Package: tool\nVersion: 1.0\nArchitecture: amd64\nDescription: a tool\n  .\n\
        SHA256: 0000000000000000000000000000000000000000000000000000000000000001\n\n\
        Package: half\nVersion: 1\n\nPackage: other\nVersion: 2\nSHA256: \
        0000000000000000000000000000000000000000000000000000000000000002\n";

    fn release(list: &[u8]) -> String {
        format!(
            "Suite: stable\nCodename: trixie\nDate: Thu, 01 Jan 2026 00:00:00 UTC\nMD5Sum:\n 00 1 x\n\
             SHA256:\n {} {} {}\n",
            Digest::of(list),
            list.len(),
            list_path(HOST)
        )
    }

    fn named(name: &str, version: &str, last: char) -> Package {
        let sha256 = format!("{}{last}", "0".repeat(63));
        Package {
            name: name.parse().unwrap(),
            version: version.parse().unwrap(),
            sha256: sha256.parse().unwrap(),
        }
    }

    #[test]
    fn a_signed_release_vouches_for_its_packages() {
        let list = xz(LIST.as_bytes());
        let file = sign(&release(&list), &[(ARCHIVE, IN_2026)]);
        let keys = Keys::read(&keyring(ARCHIVE)).unwrap();
        let index = Index::signed(&file, &list, &keys).unwrap();
        assert_eq!((index.release.suite.as_str(), index.release.valid_until), ("stable", None));
        assert_eq!(index.release.date, index.signed_at);
        assert!(index.holds(&named("tool", "1.0", '1')) && index.holds(&named("other", "2", '2')));
        for other in
            [named("tool", "1.1", '1'), named("tool", "1.0", '2'), named("fool", "1.0", '1')]
        {
            assert!(!index.holds(&other), "{other:?}");
        }
    }

    #[test]
    fn a_list_that_the_release_does_not_name_is_refused() {
        let list = xz(LIST.as_bytes());
        let file = sign(&release(&list), &[(ARCHIVE, IN_2026)]);
        let keys = Keys::read(&keyring(ARCHIVE)).unwrap();
        for other in [xz(b""), xz(format!("{LIST}\n").as_bytes()), list[1..].to_vec(), vec![]] {
            let error = Index::signed(&file, &other, &keys).unwrap_err();
            assert!(matches!(error, IndexError::Another { .. }), "{error}");
        }
        let foreign = sign(&release(&list), &[(STRANGER, IN_2026)]);
        assert!(matches!(
            Index::signed(&foreign, &list, &keys),
            Err(IndexError::Signature(SignatureError::UnknownKey(_)))
        ));
        let damaged = b"no xz".to_vec();
        let file = sign(&release(&damaged), &[(ARCHIVE, IN_2026)]);
        assert!(matches!(Index::signed(&file, &damaged, &keys), Err(IndexError::Unreadable(_))));
        let unpacked = |list: &str| {
            let text = release(LIST.as_bytes()).replace(".xz", "");
            let file = sign(&text, &[(ARCHIVE, IN_2026)]);
            Index::signed_unpacked(&file, list.as_bytes(), &keys)
        };
        assert!(unpacked(LIST).unwrap().holds(&named("tool", "1.0", '1')));
        assert!(matches!(unpacked(&LIST[1..]), Err(IndexError::Another { .. })));
        let bare = sign("Suite: stable\n", &[(ARCHIVE, IN_2026)]);
        assert!(matches!(Index::signed(&bare, &list, &keys), Err(IndexError::Release(_))));
    }

    #[test]
    fn times_are_read() {
        let unix_s =
            |text| time(text).map(|time| time.duration_since(UNIX_EPOCH).unwrap().as_secs());
        assert_eq!(unix_s("Thu, 01 Jan 1970 00:00:00 UTC"), Some(0));
        assert_eq!(unix_s("Sat, 21 Nov 2026 09:15:44 UTC"), Some(1_795_252_544));
        assert_eq!(unix_s("Thu, 29 Feb 2024 23:59:59 GMT"), Some(1_709_251_199));
        for text in [
            "",
            "2026-11-21",
            "Sat, 21 Nov 2026 09:15:44 CET",
            "Sat, 32 Nov 2026 09:15:44 UTC",
            "Sat, 21 Now 2026 09:15:44 UTC",
            "Sat, 21 Nov 2026 24:15:44 UTC",
            "Sat, 21 Nov 99999999999999999999 09:15:44 UTC",
        ] {
            assert_eq!(unix_s(text), None, "{text}");
        }
        for (day, text) in
            [(0, "1970-01-01"), (59, "1970-03-01"), (19_782, "2024-02-29"), (20_818, "2026-12-31")]
        {
            assert_eq!(date(UNIX_EPOCH + Duration::from_secs(day * 86_400 + 86_399)), text);
        }
    }

    #[test]
    fn a_list_that_never_ends_is_refused() {
        let long = io::repeat(b'x').take(LINE_BYTES_MAX + 1);
        assert!(for_each_stanza(BufReader::new(long), |_| {}).is_err());
    }
}
