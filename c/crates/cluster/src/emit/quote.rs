//! Values as words of a language.

/// Returns a word of a shell's command line that is this text. The text has no NUL.
pub fn shell(text: &str) -> String {
    let bytes = shlex::Quoter::new().allow_nul(true).quote(text);
    bytes.map(std::borrow::Cow::into_owned).unwrap_or_default()
}

/// Returns a scalar of YAML that is this text: YAML reads the strings of JSON.
pub fn yaml(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns a text in which GitHub finds no expression, whatever language it is in.
pub fn github(text: &str) -> String {
    text.replace("${{", "${{ '${{' }}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_language_has_its_own_words() {
        assert_eq!(shell("runs/quick"), "runs/quick");
        assert_eq!(shlex::split(&shell("it's $(here)")).unwrap(), ["it's $(here)"]);
        assert_eq!(yaml("no: \"x\" \\"), r#""no: \"x\" \\""#);
        assert_eq!(github("a${{ secrets.X }}"), "a${{ '${{' }} secrets.X }}");
    }

    proptest! {
        #[test]
        fn a_quoted_word_is_read_as_it_was(text in "[^\\x00]*") {
            prop_assert_eq!(shlex::split(&shell(&text)), Some(vec![text.clone()]));
            prop_assert_eq!(serde_json::from_str::<String>(&yaml(&text)).unwrap(), text);
        }
    }
}
