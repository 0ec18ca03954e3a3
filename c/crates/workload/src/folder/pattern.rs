use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

/// Largest size of a compiled pattern, in bytes. Searching takes time in proportion to it and to
/// the text, and a recording with its patterns may come from a stranger.
const COMPILED_BYTES_MAX: usize = 256 << 10;

/// Longest pattern, in characters.
const PATTERN_CHARS_MAX: usize = 1_000;

/// Deepest nesting of groups.
const NESTING_MAX: u32 = 50;

/// Regular expression with one group, which holds the value. `^` and `$` are the ends of lines.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern(Regex);

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for Pattern {}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.0.as_str().to_owned()
    }
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.chars().count() > PATTERN_CHARS_MAX {
            return Err(format!("a pattern has at most {PATTERN_CHARS_MAX} characters"));
        }
        let regex = RegexBuilder::new(&text)
            .multi_line(true)
            .size_limit(COMPILED_BYTES_MAX)
            .nest_limit(NESTING_MAX)
            .build()
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => "the pattern is too large".to_owned(),
                error => error.to_string(),
            })?;
        match regex.captures_len() - 1 {
            1 => Ok(Self(regex)),
            0 => Err(format!("`{text}` has no group; put the number in parentheses")),
            groups => Err(format!(
                "`{text}` has {groups} groups; only the number may be in one, others are `(?:...)`"
            )),
        }
    }
}

impl Pattern {
    /// Returns the text of the group in the only match.
    ///
    /// # Errors
    ///
    /// The cause, when the pattern matches nowhere or more than once.
    pub fn only<'text>(&self, text: &'text str) -> Result<&'text str, String> {
        let pattern = self.0.as_str();
        let captures = self.0.captures(text).ok_or_else(|| format!("`{pattern}` is not there"))?;
        let end = captures.get_match().end();
        let is_empty = captures.get_match().is_empty();
        // After a match of nothing, a search from the same place would find it again.
        if !is_empty && self.0.find_at(text, end).is_some() {
            return Err(format!("`{pattern}` is there more than once"));
        }
        Ok(captures.get(1).map_or("", |group| group.as_str()))
    }

    /// Returns the text of the group in the first match, if there is one.
    pub fn first<'text>(&self, text: &'text str) -> Option<&'text str> {
        Some(self.0.captures(text)?.get(1).map_or("", |group| group.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::try_from(text.to_owned()).unwrap()
    }

    #[test]
    fn the_one_match_counts() {
        let text = "warm up: 1 ops\ntotal: 25.5 ops\nend\n";
        assert_eq!(pattern(r"^total: ([\d.]+) ops$").only(text), Ok("25.5"));
        let said = pattern(r"([\d.]+) ops").only(text).unwrap_err();
        assert!(said.contains("more than once"), "{said}");
        // This pattern finds the last match.
        assert_eq!(pattern(r"(?s).*: ([\d.]+) ops").only(text), Ok("25.5"));
        assert!(pattern("(sum)").only(text).unwrap_err().contains("is not there"));
        assert_eq!(pattern("total(x)?").only(text), Ok(""));
        assert_eq!(pattern("(x?)").only(text), Ok(""));
    }

    #[test]
    fn patterns_have_bounds() {
        for (text, said) in [
            ("total", "has no group"),
            ("(a)(b)", "has 2 groups"),
            ("(a", "unclosed group"),
            (r"(\w{1000}{1000})", "too large"),
            (&format!("({})", "x".repeat(1000)), "at most 1000 characters"),
            (&format!("{}a{}", "(?:".repeat(60), ")".repeat(60)), "nest"),
        ] {
            let error = Pattern::try_from(text.to_owned()).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
