use std::{convert::Infallible, fmt, str::FromStr};

use preemptlab_model::nearest;

use super::Candidate;

/// Most names that are listed where a pattern matches nothing.
const LISTED_MAX: usize = 12;

/// A pattern of configurations: `debian:7.2*`, `*/full`, `debian:6.12/lazy threadirqs`.
///
/// `*` stands for any text and `?` for one character. A configuration matches by its kernel, by its
/// kernel and mode, or by its whole name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

/// The candidates that were asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Among {
    /// The patterns; at least one.
    pub patterns: Vec<Pattern>,
    /// Number of configurations that match none of the patterns.
    pub left_out: usize,
}

/// No configuration matches a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no configuration matches `{pattern}`{} are {}{}",
    match nearest {
        Some(nearest) => format!("; did you mean `{nearest}`? There"),
        None => "; there".to_owned(),
    },
    known.iter().take(LISTED_MAX).cloned().collect::<Vec<_>>().join(", "),
    match known.len().saturating_sub(LISTED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    },
)]
pub struct NoMatch {
    /// The pattern.
    pub pattern: Pattern,
    /// The kernel or configuration that was probably meant.
    pub nearest: Option<String>,
    /// Names of the configurations that there are.
    pub known: Vec<String>,
}

impl FromStr for Pattern {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.trim().to_owned()))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Pattern {
    fn is_of(&self, candidate: &Candidate) -> bool {
        names(candidate).iter().any(|name| matches(&self.0, name))
    }
}

/// Returns the candidates that match a pattern; every one where there is no pattern.
///
/// # Errors
///
/// [`NoMatch`] of the first pattern that none matches.
pub fn among(
    candidates: Vec<Candidate>,
    patterns: &[Pattern],
) -> Result<(Vec<Candidate>, Option<Among>), NoMatch> {
    if patterns.is_empty() {
        return Ok((candidates, None));
    }
    let is_unmatched = |pattern: &&Pattern| !candidates.iter().any(|each| pattern.is_of(each));
    if let Some(pattern) = patterns.iter().find(is_unmatched) {
        return Err(no_match(pattern, &candidates));
    }
    let all = candidates.len();
    let is_asked = |each: &Candidate| patterns.iter().any(|pattern| pattern.is_of(each));
    let asked: Vec<Candidate> = candidates.into_iter().filter(is_asked).collect();
    let left_out = all - asked.len();
    Ok((asked, Some(Among { patterns: patterns.to_vec(), left_out })))
}

/// Returns the names that a pattern may match: the kernel, the kernel and mode, and the whole name.
fn names(candidate: &Candidate) -> [String; 3] {
    let Candidate { kernel, preempt, .. } = candidate;
    [kernel.to_string(), format!("{kernel}/{preempt}"), candidate.name().to_string()]
}

fn no_match(pattern: &Pattern, candidates: &[Candidate]) -> NoMatch {
    let mut known: Vec<String> = candidates.iter().map(|each| each.name().to_string()).collect();
    known.dedup();
    let all: Vec<String> = candidates.iter().flat_map(names).collect();
    let text: String = pattern.0.chars().filter(|c| !matches!(c, '*' | '?')).collect();
    let nearest = nearest(&text, all.iter().map(String::as_str)).map(str::to_owned);
    NoMatch { pattern: pattern.clone(), nearest, known }
}

/// Returns whether a text matches a pattern of `*`, `?` and characters that stand for themselves.
/// Only the last `*` is ever tried again, so it takes at most the product of the lengths.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut place) = (0, 0);
    let mut star = None;
    while place < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, place));
                at += 1;
            }
            Some(c) if *c == '?' || *c == text[place] => {
                at += 1;
                place += 1;
            }
            _ => {
                let Some((of_star, from)) = star else { return false };
                star = Some((of_star, from + 1));
                (at, place) = (of_star + 1, from + 1);
            }
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::matches;

    #[test]
    fn a_pattern_is_of_the_whole_text() {
        for (pattern, text, expected) in [
            ("debian:7.2*", "debian:7.2.12+deb13-rt", true),
            ("debian:7.2*", "debian:6.12", false),
            ("debian:7.2", "debian:7.2-rt", false),
            ("*/full", "debian:6.12/full", true),
            ("*/full", "debian:6.12/full threadirqs", false),
            ("*-rt*", "debian:6.12-rt/lazy", true),
            ("debian:?.2", "debian:7.2", true),
            ("debian:?.2", "debian:17.2", false),
            ("*a*b", "xaybzab", true),
            ("", "", true),
            ("", "x", false),
            ("**", "", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
        let many = "*a".repeat(2_000);
        assert!(!matches(&format!("{many}b"), &"a".repeat(4_000)));
    }

    proptest! {
        #[test]
        fn a_text_matches_itself_and_what_it_begins_with(text in "[a-c./:]{0,12}", cut in 0..12usize) {
            prop_assert!(matches(&text, &text));
            let cut = cut.min(text.len());
            let begun = format!("{}*", &text[..cut]);
            prop_assert!(matches(&begun, &text));
        }
    }
}
