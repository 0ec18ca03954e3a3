use std::ops::Range;

use preemptlab_model::nearest;

/// Why a text is no experiment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct SpecError {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The line it is in, counting from 1.
    pub line: usize,
    /// Where it is, as a range of bytes.
    pub span: Range<usize>,
}

impl SpecError {
    pub(crate) fn new(text: &str, error: &toml::de::Error) -> Self {
        let span = error.span().unwrap_or(0..0);
        Self {
            message: error.message().to_owned(),
            help: suggestion(error.message()),
            line: line_of(text, span.start),
            span,
        }
    }

    /// An error about a value that is well-formed but makes no sense; it is placed where `needle`
    /// first stands in the text.
    pub(crate) fn at(text: &str, needle: &str, message: String, help: &str) -> Self {
        let start = text.find(needle).unwrap_or(0);
        Self {
            message,
            help: Some(help.to_owned()),
            line: line_of(text, start),
            span: start..start + if text.is_empty() { 0 } else { needle.len().min(text.len()) },
        }
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

/// The nearest valid name, out of a message of serde: "unknown field `x`, expected one of `a`, `b`".
fn suggestion(message: &str) -> Option<String> {
    let (unknown, valid) = message.split_once("expected ")?;
    let name = unknown.split('`').nth(1)?;
    let valid: Vec<&str> = valid.split('`').skip(1).step_by(2).collect();
    Some(match nearest(name, valid.iter().copied()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("valid here: {}", valid.join(", ")),
    })
}
