use std::ops::Range;

use preemptlab_model::{in_words_of_files, nearest};

/// The mistake that makes a text no scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ScenarioError {
    /// Mistake, in words.
    pub message: String,
    /// Valid alternatives.
    pub help: Option<String>,
    /// The line of the mistake, counting from 1.
    pub line: usize,
    /// The place of the mistake, as a range of bytes.
    pub span: Range<usize>,
}

/// Mistake and its place: a [`ScenarioError`] whose line is not known yet.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub span: Range<usize>,
    pub message: String,
    pub help: Option<String>,
}

impl Refusal {
    pub fn new(span: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { span, message: message.into(), help: Some(help.into()) }
    }

    /// Returns the error of a name that is none of the valid ones.
    pub fn unknown(span: Range<usize>, message: String, name: &str, valid: &[&str]) -> Self {
        let help = match nearest(name, valid.iter().copied()) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None if valid.is_empty() => "there is none".to_owned(),
            None => format!("valid here: {}", valid.join(", ")),
        };
        Self::new(span, message, help)
    }

    pub fn locate(self, text: &str) -> ScenarioError {
        let Self { span, message, help } = self;
        let line = line_of(text, span.start);
        ScenarioError { message, help, line, span }
    }
}

impl From<toml::de::Error> for Refusal {
    fn from(error: toml::de::Error) -> Self {
        let span = error.span().unwrap_or(0..0);
        Self { span, message: in_words_of_files(error.message()), help: None }
    }
}

/// Returns the line of a byte, counting from 1.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}
