//! The parts of a page, for a terminal and for Markdown.

use preemptlab_model::plain;

use crate::{Table, Terminal};

/// A part of a page.
#[derive(Clone, Debug)]
pub enum Part {
    Title(String),
    Heading(String),
    Note(String),
    Table(Table),
    /// A picture, which a terminal cannot show.
    Picture {
        words: String,
        link: String,
    },
}

pub fn terminal(parts: &[Part], terminal: Terminal) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Title(text) | Part::Note(text) => Some(terminal.note(text)),
        Part::Heading(text) => Some(format!("── {}", terminal.note(text))),
        Part::Table(table) => Some(table.terminal(terminal)),
        Part::Picture { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

pub fn markdown(parts: &[Part]) -> String {
    let texts = parts.iter().map(|part| match part {
        Part::Title(text) => format!("# {}\n", plain::markdown(text)),
        Part::Heading(text) => format!("## {}\n", plain::markdown(text)),
        Part::Note(text) => format!("{}\n", plain::markdown(text)),
        Part::Table(table) => table.markdown(),
        Part::Picture { words, link } => format!("![{}]({link})\n", plain::markdown(words)),
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns the link to a file in a folder, in which nothing ends the link.
pub fn link(folder: &str, file: &str) -> String {
    let path = if folder.is_empty() { file.to_owned() } else { format!("{folder}/{file}") };
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'~' | b'/' | b'-' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    path.bytes().map(byte).collect()
}
