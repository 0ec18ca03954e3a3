//! Versions and files that the mirror no longer has, from an archive that keeps every one. Its interface for programs is
//! that of Debian's snapshot archive: `mr/binary/NAME/VERSION/binfiles` names files by their SHA-1, and
//! `file/SHA1` is such a file. The SHA-256 of the recording judges what comes.

use std::{collections::BTreeMap, path::Path};

use preemptlab_model::{Package, Platform};
use serde::Deserialize;

use super::Trouble;
use crate::{Named, distribution::web::Client};

/// The most bytes of an answer about a package.
const ANSWER_BYTES_MAX: u64 = 4 << 20;

/// The most bytes of a package.
const PACKAGE_BYTES_MAX: u64 = 4 << 30;

/// The most files that are tried.
const FILES_MAX: usize = 4;

/// The answer about a version of a package. It has further fields.
#[derive(Deserialize)]
struct Answer {
    result: Vec<File>,
    #[serde(default)]
    fileinfo: BTreeMap<String, Vec<Info>>,
}

#[derive(Deserialize)]
struct File {
    architecture: String,
    hash: String,
}

#[derive(Deserialize)]
struct Info {
    size: u64,
}

/// Asks an archive for a package of an architecture: the SHA-1 and the size in bytes of each file that may be it.
pub(super) fn ask(
    client: &Client,
    archive: &str,
    of: &Platform,
    package: &Package,
) -> Result<Vec<(String, u64)>, Trouble> {
    if !is_unchanged(archive) {
        let text = "its address must begin with `https:`, since nobody else signed what it gives";
        return Err(Trouble::Other(text.to_owned()));
    }
    let archive = archive.trim_end_matches('/');
    let (name, version) = (escaped(&package.name), escaped(&package.version));
    let url = format!("{archive}/mr/binary/{name}/{version}/binfiles?fileinfo=1");
    let files = files(of, &client.get(&url, ANSWER_BYTES_MAX)?)?;
    if files.is_empty() { Err(Trouble::Missing) } else { Ok(files) }
}

/// Downloads exactly this package to a path, which is one of these files of an archive.
pub(super) fn bring(
    client: &Client,
    archive: &str,
    (package, files): (&Package, &[(String, u64)]),
    path: &Path,
    on_bytes: &mut dyn FnMut(u64, u64),
) -> Result<(), Trouble> {
    let archive = archive.trim_end_matches('/');
    let mut done = Err(Trouble::Missing);
    for (sha1, bytes) in files {
        let named = Named { sha256: package.sha256, bytes: *bytes };
        let url = format!("{archive}/file/{sha1}");
        done = client.save(&url, path, named, &mut |here| on_bytes(here, *bytes));
        if !matches!(done, Err(Trouble::Missing | Trouble::Corrupted(_))) {
            break;
        }
    }
    done
}

/// Reads an answer: the SHA-1 and the size in bytes of each file for an architecture.
pub(super) fn files(of: &Platform, answer: &[u8]) -> Result<Vec<(String, u64)>, Trouble> {
    let answer: Answer = serde_json::from_slice(answer).map_err(|error| {
        Trouble::Other(format!("its answer about the package cannot be read ({error})"))
    })?;
    let is_sha1 =
        |hash: &str| hash.len() == 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    let wanted = answer.result.into_iter().filter(|file| {
        [of.debian, "all"].contains(&file.architecture.as_str()) && is_sha1(&file.hash)
    });
    let sized = wanted.filter_map(|file| {
        let bytes = answer.fileinfo.get(&file.hash)?.first()?.size;
        (bytes <= PACKAGE_BYTES_MAX).then_some((file.hash, bytes))
    });
    Ok(sized.take(FILES_MAX).collect())
}

/// Returns whether nobody on the way can change what an archive gives. A recording may be a stranger's, and so
/// the hash in it, so the archive alone says that a file is a package of Debian's.
pub(super) fn is_unchanged(archive: &str) -> bool {
    let here = ["http://127.0.0.1:", "http://[::1]:", "http://localhost:"];
    archive.starts_with("https://") || here.iter().any(|prefix| archive.starts_with(prefix))
}

/// Returns a name or a version as a part of an address.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let escape =
        |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(escape).collect()
}
