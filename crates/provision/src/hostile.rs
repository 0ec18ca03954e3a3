//! Entry points of the parsers of outside data, for the fuzzer.

use crate::{apt, mirror::Archives};

/// Reads a text in every way in which apt's output is read.
pub fn apt(text: &str) {
    apt::read_in_every_way(text);
    let _ = Archives::choose(text);
}
