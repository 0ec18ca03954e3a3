/// Returns the valid name nearest to a misspelt one, if one is near enough.
pub fn nearest<'a>(name: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    valid
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(similarity, candidate)| *similarity > 0.7 || letters(candidate) == letters(name))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// Returns the letters of a word in their order: in a short word two of them that changed places are
/// all that the similarity looks at.
fn letters(word: &str) -> Vec<char> {
    let mut letters: Vec<_> = word.chars().collect();
    letters.sort_unstable();
    letters
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn suggests_only_what_is_near() {
        assert_eq!(nearest("voluntray", ["none", "voluntary", "full"]), Some("voluntary"));
        assert_eq!(nearest("xyz", ["none", "voluntary", "full"]), None);
        assert_eq!(nearest("gti", ["tree", "git"]), Some("git"));
    }
}
