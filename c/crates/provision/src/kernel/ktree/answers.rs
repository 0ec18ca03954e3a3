//! Everything that git and the files of a repository say, read in every way in which it is read.

use super::{
    commit::{Row, rows},
    config,
    listing::names,
    object_id::{Format, ObjectKind},
    objects::{Header, header, tree_of},
    paths::{check, is_plain},
    refs::{Refs, is_name, target},
};

/// Reads bytes in every way in which git's answers are read.
pub(crate) fn read_in_every_way(bytes: &[u8]) {
    if let Some(Header::Present { id, .. }) = header(bytes) {
        assert_eq!(id.to_string().parse(), Ok(id));
    }
    let _ = tree_of(bytes);
    for format in [Format::Sha1, Format::Sha256] {
        for row in rows(bytes, format).into_iter().flatten() {
            if let Row::File(name, ..) | Row::Folder(name, _) = row {
                assert!(is_plain(name) && check(name).is_ok());
            }
        }
        let _ = format.name(ObjectKind::Blob, bytes);
    }
    if let Ok((paths, untracked)) = names(bytes) {
        assert!(untracked.iter().all(|path| paths.contains(path.as_str())));
    }
    let mut refs = Refs::default();
    let _ = refs.packed(bytes);
    let (packed, others) = refs.split();
    assert!(others.is_empty());
    for line in packed.lines() {
        let (_, name) = line.split_once(' ').expect("a name and a reference");
        assert!(is_name(name), "{name}");
    }
    let _ = target(bytes);
    if let Ok(config) = config::values(bytes) {
        let text = config.text();
        // No value opens a section of its own.
        let is_known = |line: &str| {
            ["[core]", "[extensions]", "[branch \"", "[remote \"", "\t"]
                .iter()
                .any(|start| line.starts_with(start))
        };
        assert!(text.lines().all(is_known), "{text}");
    }
}
