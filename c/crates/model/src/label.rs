use crate::text::checked_text;

/// The longest label, in bytes: tables have columns for more than labels.
const BYTES_MAX: usize = 24;

/// Name of the machine's own kernel, which a label must not be taken for.
const HOST: &str = "host";

checked_text! {
    /// Name that an experiment gives to a kernel, such as `base`: a short word that is the same in
    /// every shell, table and file, and no kernel's own name.
    Label, is_label,
    "a label: letters, digits, `-`, `_` and `.`, 24 at most, the first a letter or a digit, and not \
     `host`"
}

fn is_label(text: &str) -> bool {
    text.len() <= BYTES_MAX
        && text != HOST
        && text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_one_short_harmless_word() {
        for text in ["base", "head", "v6.12-rc1", "0_day", "a"] {
            assert_eq!(text.parse::<Label>().unwrap(), text);
        }
        for text in [
            "",
            "host",
            "-x",
            ".x",
            "_x",
            "a b",
            "a/b",
            "a:b",
            "a=b",
            "a\n",
            "\u{1b}[2J",
            "ä",
            "a\u{202e}b",
            "<b>",
            "`x`",
            "$x",
        ] {
            assert!(text.parse::<Label>().is_err(), "{text:?}");
        }
        assert!("a".repeat(BYTES_MAX).parse::<Label>().is_ok());
        assert!("a".repeat(BYTES_MAX + 1).parse::<Label>().is_err());
    }
}
