use std::{fmt, path::Path, str::FromStr};

use preemptlab_model::plain;

/// Most bytes of a value in a script: Linux takes no longer path.
const BYTES_MAX: usize = 4096;

/// A user's value that a script or a manifest can hold: not empty, one line, nothing that steers a terminal.
/// Each language quotes it in its own way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line(String);

/// Error of a value that no script should hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a script cannot hold `{0}`: it takes one line of plain text, at most {BYTES_MAX} bytes")]
pub struct LineError(String);

impl Line {
    /// Returns a path as it stands in a script.
    ///
    /// # Errors
    ///
    /// When the path is not UTF-8, or holds characters that would steer a terminal.
    pub fn of_path(path: &Path) -> Result<Self, LineError> {
        let text = path.to_str().ok_or_else(|| LineError(shown(&path.to_string_lossy())))?;
        // A path must not look like an option.
        if text.starts_with('-') { format!("./{text}").parse() } else { text.parse() }
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn shown(text: &str) -> String {
    plain::line(text).chars().take(80).collect()
}

impl FromStr for Line {
    type Err = LineError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_line = !text.is_empty() && text.len() <= BYTES_MAX;
        match is_line && !text.contains(plain::is_steering) {
            true => Ok(Self(text.to_owned())),
            false => Err(LineError(shown(text))),
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

    use super::*;

    #[test]
    fn a_value_is_one_line_of_plain_text() {
        for text in ["a", "it's $(here) `now`", "${{ secrets.X }}", "ä 漢"] {
            assert_eq!(text.parse::<Line>().unwrap().as_str(), text);
        }
        for text in ["", "a\nb", "a\0", "\u{1b}[2J", "a\u{202e}b", &"a".repeat(4097)] {
            let said = text.parse::<Line>().unwrap_err().to_string();
            assert!(!said.contains(plain::is_steering) && said.len() < 300, "{said:?}");
        }
        assert_eq!(Line::of_path(Path::new("-x")).unwrap().as_str(), "./-x");
        assert!(Line::of_path(Path::new(OsStr::from_bytes(b"a\xff"))).is_err());
    }
}
