//! Text of strangers, made harmless for those who show it.
//!
//! Names in a recording, console lines of a guest, symbols of a kernel and paths may come from
//! strangers. Code that shows them uses these functions.

use std::borrow::Cow;

/// Returns the character, or a blank for one that would steer a terminal or change how other
/// characters are read: control characters (C0, DEL, C1), those that turn the direction of text,
/// those without a width, and those that no XML may hold.
pub const fn visible(char: char) -> char {
    match char {
        '\0'..='\x1f' | '\x7f'..='\u{9f}' => ' ',
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => {
            ' '
        }
        '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' => ' ',
        '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e0fff}' => ' ',
        char => char,
    }
}

/// Tells whether a character is not shown as it is.
pub const fn is_steering(char: char) -> bool {
    char != ' ' && visible(char) == ' '
}

/// Returns a text as one line, with blanks for steering characters.
pub fn line(text: &str) -> Cow<'_, str> {
    replaced(text, |_| false)
}

/// Returns a text with its line feeds and tabs, and with blanks for other steering characters.
pub fn lines(text: &str) -> Cow<'_, str> {
    replaced(text, |char| matches!(char, '\n' | '\t'))
}

/// Returns a text of the same length in bytes, so that places in it stay places.
pub fn lines_in_place(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\n' => shown.push('\n'),
            char if is_steering(char) => (0..char.len_utf8()).for_each(|_| shown.push(' ')),
            char => shown.push(char),
        }
    }
    shown
}

/// Stands in a text for a line break that its author meant, where all others are a stranger's.
pub const BREAK: char = '\u{2029}';

/// Returns a text of several lines for one whose line breaks count, such as an error's: each is a
/// [`BREAK`].
pub fn broken(text: &str) -> String {
    text.replace('\n', "\u{2029}")
}

/// Returns a text whose lines end at a [`BREAK`] alone, with blanks for other steering characters.
pub fn unbroken(text: &str) -> String {
    text.split(BREAK).map(line).collect::<Vec<_>>().join("\n")
}

/// Returns one line of text as a field of CSV that is always quoted, whatever reads it: a spreadsheet takes
/// no part of it for a formula. One that would be gets a `'` before it, which spreadsheets read as "this is
/// text"; so does one after a semicolon, which many take for the end of a field.
pub fn csv(text: &str) -> String {
    let text = line(text);
    let mut field = String::with_capacity(text.len() + 2);
    field.push('"');
    for (number, part) in text.split(';').enumerate() {
        if number > 0 {
            field.push(';');
        }
        let is_number = text.len() == part.len() && part.parse::<f64>().is_ok();
        if is_formula(part) && !is_number {
            field.push('\'');
        }
        field.push_str(&part.replace('"', "\"\""));
    }
    field.push('"');
    field
}

/// Tells whether a spreadsheet takes a text for a formula. Some of them do after blanks, or after the quotes
/// that begin a field, too.
fn is_formula(text: &str) -> bool {
    let begins = |char: char| char.is_whitespace() || matches!(char, '"' | '\'' | '“' | '”');
    text.trim_start_matches(begins).starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠'])
}

/// Returns a text of which no line is a command to a CI that reads a job's output, as GitHub's `::error::`,
/// which begins a line, and `##[error]`, `##vso[...]` and `##teamcity[...]`, which stand anywhere.
pub fn uncommanded(text: &str) -> Cow<'_, str> {
    if !text.contains("::") && !text.contains("##") {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let styled = line.len() - unstyled(line).len();
        let (before, mut rest) = line.split_at(styled);
        shown.push_str(before);
        if let Some(command) = rest.strip_prefix("::") {
            shown.push_str(": :");
            rest = command;
        }
        while let Some(at) = rest.find("##") {
            let (before, after) = rest.split_at(at + 1);
            shown.push_str(before);
            let name = after[1..].trim_start_matches(|char: char| char.is_ascii_alphanumeric());
            if name.starts_with('[') {
                shown.push(' ');
            }
            rest = after;
        }
        shown.push_str(rest);
    }
    Cow::Owned(shown)
}

/// Returns what is left of a line behind its first blanks and the sequences that switch colours.
fn unstyled(line: &str) -> &str {
    let mut rest = line;
    loop {
        let trimmed = rest.trim_start();
        match trimmed.strip_prefix("\x1b[").and_then(|style| style.split_once('m')) {
            Some((style, after)) if style.bytes().all(|it| it.is_ascii_digit() || it == b';') => {
                rest = after;
            }
            _ => return trimmed,
        }
    }
}

/// Returns JSON with steering characters escaped, which it can only hold inside strings.
pub fn json(text: &str) -> Cow<'_, str> {
    let is_escaped = |char: char| is_steering(char) && !matches!(char, '\n' | '\r' | '\t');
    if !text.contains(is_escaped) && !text.contains("##") {
        return Cow::Borrowed(text);
    }
    // Two of them begin a command to some CIs.
    let text = text.replace("##", "#\\u0023");
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        if is_escaped(char) {
            let mut units = [0; 2];
            for unit in char.encode_utf16(&mut units) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            escaped.push(char);
        }
    }
    Cow::Owned(escaped)
}

/// Breaks up words that GitHub finds in text that is rendered already: names, references and addresses.
const APART: &str = "&#8203;";

/// Returns one line as text of GitHub's Markdown, in which nothing is markup, HTML, a link, an image, code,
/// a formula, a mention or a reference such as `owner/repo#1`.
pub fn markdown(text: &str) -> String {
    let text = line(text);
    let mut escaped = String::with_capacity(text.len());
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let after = chars.peek().copied();
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '@' => escaped.extend(["&#64;", APART]),
            '#' => escaped.extend(["&#35;", APART]),
            '$' => escaped.push_str("&#36;"),
            ':' if after == Some('/') => escaped.push_str("&#58;"),
            // Inside of a word it emphasizes nothing.
            '_' if before.is_some_and(char::is_alphanumeric)
                && after.is_some_and(char::is_alphanumeric) =>
            {
                escaped.push('_');
            }
            '|' | '[' | ']' | '*' | '\\' | '`' | '~' | '_' => escaped.extend(['\\', char]),
            char => escaped.push(char),
        }
        before = Some(char);
    }
    for word in ["www.", "gh-"] {
        escaped = apart(&escaped, word);
    }
    match begins_block(&text) {
        Some(0) => format!("\\{escaped}"),
        Some(digits) => format!("{}\\{}", &escaped[..digits], &escaped[digits..]),
        None => escaped,
    }
}

/// Returns a text in which a word that begins a link, in small letters, ends before its last character.
fn apart(text: &str, word: &str) -> String {
    let small = text.to_ascii_lowercase();
    let mut shown = String::with_capacity(text.len());
    let mut from = 0;
    for (at, _) in small.match_indices(word) {
        let end = at + word.len() - 1;
        shown.extend([&text[from..end], APART]);
        from = end;
    }
    shown + &text[from..]
}

/// Returns the place of the character that would make a list, a rule or a heading of a line.
fn begins_block(text: &str) -> Option<usize> {
    let is_indented = text.starts_with(char::is_whitespace);
    let text = text.trim_start();
    let is_rule = |char: char| !text.is_empty() && text.chars().all(|it| it == char || it == ' ');
    let digits = text.len() - text.trim_start_matches(|char: char| char.is_ascii_digit()).len();
    let mut marker = text[digits..].chars();
    let (first, second) = (marker.next(), marker.next());
    let ends = second.is_none_or(|char| char == ' ');
    match first {
        Some('-' | '+') if digits == 0 && ends => Some(0),
        Some('.' | ')') if (1..10).contains(&digits) && ends => {
            Some(if is_indented { 0 } else { digits })
        }
        _ if is_rule('-') || is_rule('=') => Some(0),
        _ => None,
    }
}

fn replaced(text: &str, is_kept: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_gone = |char: char| is_steering(char) && !is_kept(char);
    match text.contains(is_gone) {
        true => Cow::Owned(text.replace(is_gone, " ")),
        false => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_steers() {
        assert_eq!(line("a\u{1b}[2Jb\u{9b}1mc\u{202e}d\ne\u{7f}"), "a [2Jb 1mc d e ");
        assert_eq!(lines("a\tb\nc\rd\u{2028}"), "a\tb\nc d ");
        assert_eq!(line("× – … µ ä 漢 👍"), "× – … µ ä 漢 👍");
    }

    #[test]
    fn places_stay_places() {
        let text = "name = \"a\u{1b}\u{9b}\u{202e}b\"\nc = 1";
        let shown = lines_in_place(text);
        assert_eq!((shown.len(), shown.find("c = 1")), (text.len(), text.find("c = 1")));
        assert!(!shown.contains(|char| is_steering(char) && char != '\n'));
    }

    #[test]
    fn no_formula_reaches_a_spreadsheet() {
        for text in [
            "=1+1",
            "+cmd|'/C calc'!A1",
            "-2+3",
            "@SUM(A1)",
            " =1",
            "\t=1",
            "\r=1",
            "＝1",
            "\n=1",
            "\u{feff}=1",
            "\"=1",
            "'=1",
            "\u{a0}=1",
        ] {
            assert!(csv(text).starts_with("\"'"), "{text:?} became {}", csv(text));
        }
        for (text, field) in [
            ("a;=cmd", "\"a;'=cmd\""),
            ("a; =cmd|x!A1;b", "\"a;' =cmd|x!A1;b\""),
            (";;@x", "\";;'@x\""),
            ("a;\"-1\"", "\"a;'\"\"-1\"\"\""),
            ("a\"b", "\"a\"\"b\""),
            ("a\n::error::b\r\nc", "\"a ::error::b  c\""),
        ] {
            assert_eq!(csv(text), field);
        }
        for text in ["-1.5", "+2", "-1e-9", "debian:6.12", "", "a=b", "none", "a, b; c=d"] {
            assert_eq!(csv(text), format!("\"{text}\""));
        }
    }

    #[test]
    fn nothing_commands_a_ci() {
        for (text, shown) in [
            ("::set-output name=x::y", ": :set-output name=x::y"),
            ("a\n  ::error::b\n", "a\n  : :error::b\n"),
            ("a\n\u{a0}\t::error::b", "a\n\u{a0}\t: :error::b"),
            ("\x1b[1m ::error::b", "\x1b[1m : :error::b"),
            ("a ##[error]b", "a # #[error]b"),
            ("##vso[task.setvariable]x", "# #vso[task.setvariable]x"),
            ("###[x] ##teamcity[y]", "## #[x] # #teamcity[y]"),
        ] {
            assert_eq!(uncommanded(text), shown);
        }
        for text in ["a::b", "## Title", "see [x](y) ## z", "a: b\n c::d", "#[test]"] {
            assert_eq!(uncommanded(text), text);
        }
    }

    #[test]
    fn only_an_authors_breaks_break_lines() {
        assert_eq!(unbroken(&format!("x: {}", broken("a\nb"))), "x: a\nb");
        assert_eq!(unbroken("a\n::error::b\u{2028}c"), "a ::error::b c");
    }

    #[test]
    fn json_stays_the_same_value() {
        let value =
            serde_json::json!({ "b": "##[error]x", "a": "\u{1b}\u{9b}\u{202e}\u{e0041}ä\n" });
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let shown = json(&text);
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
            assert!(!shown.contains(|char| is_steering(char) && char != '\n'), "{shown:?}");
        }
    }

    #[test]
    fn markdown_is_text() {
        let text =
            markdown("<img src=x> [a](http://b) | ![c] `d` @e www.f *g* &lt; WWW.h HTTPS://i");
        assert!(!text.contains(['<', '@']), "{text}");
        for markup in ["http:", "HTTPS:", "www.", "WWW.", "&lt;img src=x>", " `d`"] {
            assert!(!text.contains(markup), "{text}");
        }
        assert!(text.contains("\\[a\\]") && text.contains("\\|") && text.contains("&amp;lt;"));
        for (text, shown) in [
            ("torvalds/linux#1", "torvalds/linux&#35;&#8203;1"),
            ("#12", "&#35;&#8203;12"),
            ("GH-12", "GH&#8203;-12"),
            ("a@b.c", "a&#64;&#8203;b.c"),
            ("@org/team", "&#64;&#8203;org/team"),
            ("$x$", "&#36;x&#36;"),
            ("__init__ a_b _c", "\\_\\_init\\_\\_ a_b \\_c"),
            ("~~x~~ `y`", "\\~\\~x\\~\\~ \\`y\\`"),
            ("- x", "\\- x"),
            ("12. x", "12\\. x"),
            ("---", "\\---"),
            ("a\n# b", "a &#35;&#8203; b"),
        ] {
            assert_eq!(markdown(text), shown);
        }
        for text in ["debian:6.12-rt/full threadirqs 1,234 us ×0.5", "-3.5 %", "1.5 ms", "a_b"] {
            assert_eq!(markdown(text), text);
        }
    }

    proptest! {
        #[test]
        fn whatever_was_written_is_harmless(text in any::<String>()) {
            prop_assert!(!line(&text).contains(is_steering));
            prop_assert!(!markdown(&text).contains(|char| is_steering(char) || char == '<'));
            prop_assert_eq!(lines_in_place(&text).len(), text.len());
            let field = csv(&text);
            let inner = &field[1..field.len() - 1];
            prop_assert!(!inner.replace("\"\"", "").contains('"') && !field.contains('\n'));
            for part in inner.split(';') {
                let is_formula = part.trim_start().starts_with(['=', '+', '-', '@']);
                prop_assert!(!is_formula || inner.parse::<f64>().is_ok(), "{:?}", field);
            }
            for line in uncommanded(&text).lines() {
                prop_assert!(!line.trim_start().starts_with("::"), "{:?}", line);
            }
        }
    }
}
