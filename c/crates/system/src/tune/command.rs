use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

/// A command with its arguments, to be executed as root and without a shell. It prints itself as
/// one would type it into a shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Command(pub Vec<String>);

impl Command {
    pub(crate) fn new<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        Self(words.into_iter().map(str::to_owned).collect())
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, word) in self.0.iter().enumerate() {
            let gap = if index == 0 { "" } else { " " };
            write!(f, "{gap}{}", quoted(word))?;
        }
        Ok(())
    }
}

/// Puts a word into single quotes, unless a shell takes it as it is.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.,:=/+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_change_is_quoted() {
        let command = Command::new(["bootctl", "set-default", "*-6.12+deb13.conf", "it's", ""]);
        assert_eq!(command.to_string(), r"bootctl set-default '*-6.12+deb13.conf' 'it'\''s' ''");
    }
}
