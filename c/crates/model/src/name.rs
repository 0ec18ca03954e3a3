use crate::text::checked_text;

/// The longest name, in bytes.
const BYTES_MAX: usize = 64;

checked_text! {
    /// Name of an experiment or a workload: a word that is one component of a path, no option of a
    /// program, and the same in every shell, table and file.
    Name, is_name,
    "a name: letters, digits, `-`, `_` and `.`, 64 at most, the first a letter, a digit or `_`"
}

fn is_name(text: &str) -> bool {
    let is_first = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.len() <= BYTES_MAX
        && text.bytes().next().is_some_and(is_first)
        && text.bytes().all(|byte| is_first(byte) || b"-.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_harmless_word() {
        for text in ["quick", "rowand-2011-quick", "tcp-1024", "a_b.c", "6.12", "_x"] {
            assert_eq!(text.parse::<Name>().unwrap(), text);
        }
        for text in [
            "",
            ".",
            "..",
            "../../x",
            "a/b",
            "/a",
            "-rf",
            ".hidden",
            "a b",
            "a\n",
            "\u{1b}[2J",
            "ä",
            "<b>",
            "=1+1",
            "@x",
            "a\u{202e}b",
            "a\\b",
            "a:b",
            "$x",
            "`x`",
            "CON:",
        ] {
            assert!(text.parse::<Name>().is_err(), "{text:?}");
        }
        assert!("a".repeat(BYTES_MAX + 1).parse::<Name>().is_err());
    }
}
