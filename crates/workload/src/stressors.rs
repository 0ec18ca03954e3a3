//! Stressors of stress-ng by their names: lists of them, and what single ones need or cannot have.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, SeqAccess, Unexpected, Visitor, value::SeqAccessDeserializer},
};

use crate::FileSystem;

/// Classes that an experiment can name, each with a file of its stressors.
const CLASSES: [(&str, &str); 1] = [("os", include_str!("stressors_os.txt"))];

/// Beginning of a text that names a class.
const CLASS: &str = "class:";

/// The most stressors of a list; stress-ng knows some 370.
const LISTED_MAX: usize = 512;

/// Stressors that no cell executes, and the reasons.
const LEFT_OUT: [(&str, &str); 2] = [
    ("cpu-online", "it switches CPUs off, and a cell is measured on all CPUs of its machine"),
    (
        "softlockup",
        "it keeps every CPU from all other tasks, and so from the one that ends the cell",
    ),
];

/// Options that make an operation small enough for some in a window, and bound the memory of an instance, beside probes
/// or alone.
const OPTIONS: [(&str, &str); 4] = [
    ("mmap", "--mmap-bytes=32M"),
    ("vm", "--vm-bytes=32M"),
    ("forkheavy", "--forkheavy-procs=64"),
    ("bigheap", "--bigheap-bytes=64M"),
];

/// Options of stressors that work alone.
const OPTIONS_ALONE: [(&str, &str); 1] = [("mmaphuge", "--mmaphuge-mmaps=8")];

/// Options of stressors that work beside probes and others.
const OPTIONS_BESIDE: [(&str, &str); 3] =
    [("hdd", "--hdd-bytes=16M"), ("iomix", "--iomix-bytes=32M"), ("revio", "--revio-bytes=32M")];

/// Stressors that refuse to work as root.
const OF_USERS: [&str; 2] = ["exec", "spawn"];

/// Stressors that need another file system than tmpfs, and the one that they have where an experiment names none.
const ON_DISK: [&str; 3] = ["fiemap", "swap", "verity"];

/// Lists the options of a stressor that works alone.
pub fn options_alone(stressor: &str) -> impl Iterator<Item = &'static str> {
    let all = OPTIONS.into_iter().chain(OPTIONS_ALONE);
    all.filter(move |(name, _)| *name == stressor).map(|(_, option)| option)
}

/// Lists the options of stressors that work beside probes and each other.
pub fn options_beside<'a>(stressors: &'a [String]) -> impl Iterator<Item = &'static str> + 'a {
    let all = OPTIONS.into_iter().chain(OPTIONS_BESIDE);
    all.filter(|(name, _)| stressors.iter().any(|of| of == name)).map(|(_, option)| option)
}

/// Returns the file system that a stressor has where an experiment names none.
pub fn file_system(stressor: &str) -> FileSystem {
    match ON_DISK.contains(&stressor) {
        true => FileSystem::Ext4,
        false => FileSystem::Tmpfs,
    }
}

/// Returns whether a stressor works as an ordinary user alone.
pub fn is_of_users(stressor: &str) -> bool {
    OF_USERS.contains(&stressor)
}

/// Returns whether a text can be the name of a stressor, and no other option's.
pub fn is_stressor(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.len() <= 32
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// Returns the reason why no cell executes a stressor; `None` where cells do.
pub fn left_out(stressor: &str) -> Option<&'static str> {
    LEFT_OUT.into_iter().find(|(name, _)| *name == stressor).map(|(_, reason)| reason)
}

/// Lists the stressors of a class, in stress-ng's order; `None` for an unknown class.
pub fn class(name: &str) -> Option<impl Iterator<Item = &'static str>> {
    let (_, text) = CLASSES.into_iter().find(|(class, _)| *class == name)?;
    Some(text.lines().filter(|line| !line.starts_with('#')))
}

/// Reads `"class:os"` or a list of names, each once.
///
/// # Errors
///
/// An unknown class, a word that is no stressor's name, a name that stands there twice, and a list of none.
pub fn listed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    deserializer.deserialize_any(ListVisitor)
}

struct ListVisitor;

impl<'de> Visitor<'de> for ListVisitor {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("names of stressors, such as [\"mmap\", \"fork\"], or a class: \"class:os\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<String>, E> {
        let of_class = text.strip_prefix(CLASS).and_then(class);
        let names = of_class.ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))?;
        Ok(names.map(str::to_owned).collect())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Vec<String>, A::Error> {
        let names = Vec::deserialize(SeqAccessDeserializer::new(seq))?;
        checked("stressors", names, LISTED_MAX)
    }
}

/// Reads names of stressors, each once, and none only where the key is left away.
///
/// # Errors
///
/// As of [`listed`], without classes.
pub fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    checked("without", Vec::deserialize(deserializer)?, LISTED_MAX)
}

/// Checks a key's names of stressors.
///
/// # Errors
///
/// In words: fewer than one or more than `most`, a word that is no stressor's name, and a name twice.
pub fn checked<E: Error>(key: &str, names: Vec<String>, most: usize) -> Result<Vec<String>, E> {
    if !(1..=most).contains(&names.len()) {
        return Err(E::custom(format!("`{key}` are 1 to {most} of stress-ng's")));
    }
    for (at, name) in names.iter().enumerate() {
        if !is_stressor(name) {
            let message =
                format!("`{}` is not a stressor's name, such as mmap", name.escape_debug());
            return Err(E::custom(message));
        }
        if names[..at].contains(name) {
            return Err(E::custom(format!("the stressor `{name}` stands there twice")));
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_lists_each_stressor_once() {
        let names: Vec<&str> = class("os").unwrap().collect();
        assert_eq!(names.len(), 257);
        for (at, name) in names.iter().enumerate() {
            assert!(is_stressor(name) && !names[..at].contains(name), "{name}");
        }
        assert!(class("").is_none() && class("OS").is_none());
    }

    #[test]
    fn what_is_left_out_says_why() {
        assert!(left_out("cpu-online").is_some_and(|reason| reason.contains("CPUs")));
        assert_eq!(left_out("mmap"), None);
    }
}
