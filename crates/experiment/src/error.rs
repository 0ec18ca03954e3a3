use std::ops::Range;

use preemptlab_model::{Flavour, KernelRef, in_words_of_files, is_rt, nearest};

use crate::example::example;

/// Keys that earlier recordings have and files must not.
const ONLY_RECORDED: [&str; 1] = ["skew_us"];

/// Reason why a text is not an experiment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct SpecError {
    /// Error, in words.
    pub message: String,
    /// Remedy, in words.
    pub help: Option<String>,
    /// The line it is in, counting from 1.
    pub line: usize,
    /// Place of the error, as a range of bytes.
    pub span: Range<usize>,
}

impl SpecError {
    /// Creates the error of a text that serde does not take, with a remedy where one is known.
    pub fn new(text: &str, error: &toml::de::Error) -> Self {
        let span = error.span().unwrap_or(0..0);
        // An error of a value's own type names the value that was meant.
        let (message, meant) = match error.message().rsplit_once("; ") {
            Some((message, meant)) if meant.starts_with("did you mean ") => (message, Some(meant)),
            _ => (error.message(), None),
        };
        Self {
            message: in_words_of_files(message),
            help: meant
                .map(str::to_owned)
                .or_else(|| suggestion(text, message))
                .or_else(|| missing(text, message, &span)),
            line: line_of(text, span.start),
            span,
        }
    }

    /// Creates an error about a value that is well-formed but makes no sense; its place is where
    /// `needle` first stands in the text.
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

/// Returns the nearest valid name from a message of serde: "unknown field `x`, expected one of `a`,
/// `b`".
fn suggestion(text: &str, message: &str) -> Option<String> {
    if !message.starts_with("unknown ") {
        return None;
    }
    let (unknown, valid) = message.split_once("expected ")?;
    let name = unknown.split('`').nth(1)?;
    let valid = valid.split('`').skip(1).step_by(2).filter(|name| !ONLY_RECORDED.contains(name));
    let valid: Vec<&str> = valid.collect();
    if is_rt(name) && valid.contains(&"voluntary") {
        return Some(format!("rt is a kernel flavour: kernel = [\"{}\"]", rt_kernel(text)));
    }
    // Names of the factor in other tools and in preemptlab's own tables.
    let other_word = ["mode", "modes", "model", "models"].contains(&name);
    Some(match nearest(name, valid.iter().copied()) {
        _ if other_word && valid.contains(&"preempt") => "did you mean `preempt`?".to_owned(),
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("valid here: {}", valid.join(", ")),
    })
}

/// Returns the first kernel of a text that has a flavour with PREEMPT_RT, in that flavour.
fn rt_kernel(text: &str) -> String {
    let quoted = text.split('"').skip(1).step_by(2);
    let mut kernels = quoted.filter_map(|word| {
        let kernel: KernelRef = word.parse().ok()?;
        let rt = kernel.in_flavour(Flavour::Rt);
        (rt != kernel || word.contains("-rt")).then(|| rt.to_string())
    });
    kernels.next().unwrap_or_else(|| "debian:6.12-rt".to_owned())
}

/// Returns an example of a value that is missing or of another type. A kernel's name of the right form
/// says itself which part of it is wrong.
fn missing(text: &str, message: &str, span: &Range<usize>) -> Option<String> {
    if ["`source:", "`tree:", "`git:", "`file:", "`package:"]
        .iter()
        .any(|begin| message.starts_with(begin))
    {
        return None;
    }
    let key = match message.strip_prefix("missing field `") {
        Some(rest) => rest.split('`').next()?,
        None => {
            // The key of the line.
            let start = text.get(..span.start)?.rfind('\n').map_or(0, |end| end + 1);
            text.get(start..)?.split('=').next()?.trim()
        }
    };
    let example = example(key)?;
    let space = if example.contains('\n') { '\n' } else { ' ' };
    Some(format!("for example:{space}{example}"))
}
