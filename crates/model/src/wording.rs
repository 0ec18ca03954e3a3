//! The wording of errors about files.

/// Returns a message of serde with the word of TOML where it has that of Rust.
pub fn in_words_of_files(message: &str) -> String {
    let Some((before, expected)) = message.split_once(", expected ") else {
        return message.to_owned();
    };
    let (first, rest) = expected.split_once(' ').unwrap_or((expected, ""));
    let (word, rest) = match (first, rest) {
        ("struct", named) => ("a table", named.split_once(' ').map_or("", |(_, rest)| rest)),
        ("u8", rest) => ("a whole number from 0 to 255", rest),
        ("u16", rest) => ("a whole number from 0 to 65535", rest),
        ("u32", rest) => ("a whole number from 0 to 4294967295", rest),
        ("u64" | "usize", rest) => ("a whole number of at least 0", rest),
        ("i32" | "i64", rest) => ("a whole number", rest),
        ("f32" | "f64", rest) => ("a number", rest),
        ("a", "map") => ("a table", ""),
        ("a", "sequence") => ("an array", ""),
        _ => return message.to_owned(),
    };
    format!("{before}, expected {word} {rest}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::in_words_of_files;

    #[test]
    fn a_type_of_rust_has_the_name_that_it_has_in_files() {
        for (expected, word) in [
            ("struct Keys", "a table"),
            ("struct Keys in it", "a table in it"),
            ("u8", "a whole number from 0 to 255"),
            ("u64", "a whole number of at least 0"),
            ("f64", "a number"),
            ("a sequence", "an array"),
            ("a map", "a table"),
            ("a boolean", "a boolean"),
            ("one of `a`, `b`", "one of `a`, `b`"),
        ] {
            let of = |expected| format!("invalid type: string \"2x1\", expected {expected}");
            assert_eq!(in_words_of_files(&of(expected)), of(word));
        }
        assert_eq!(in_words_of_files("missing field `a`"), "missing field `a`");
    }
}
