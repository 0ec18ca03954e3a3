//! Entry points of the parsers of outside data, for the fuzzer.

use crate::{apt, ktree, mirror::Archives};

/// Reads a text in every way in which apt's output is read.
pub fn apt(text: &str) {
    apt::read_in_every_way(text);
    let _ = Archives::choose(text);
}

/// Reads bytes in every way in which git's answers and the files of a repository are read.
pub fn git(bytes: &[u8]) {
    ktree::read_in_every_way(bytes);
}
