//! Text of strangers, made harmless for those who show it.
//!
//! Names in a recording, console lines of a guest, symbols of a kernel and paths come from anybody.
//! Code that shows them uses these functions.

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

/// Returns a text, which may have several lines, as a spreadsheet may take it from CSV: one that would
/// be a formula there gets a `'` before it, which spreadsheets read as "this is text".
pub fn spreadsheet(text: &str) -> Cow<'_, str> {
    let text = lines(text);
    let begins = |text: &str| text.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
    // Some of them take text after blanks for a formula too.
    match begins(text.trim_start()) && text.parse::<f64>().is_err() {
        true => Cow::Owned(format!("'{text}")),
        false => text,
    }
}

/// Returns JSON with steering characters escaped, which it can only hold inside strings.
pub fn json(text: &str) -> Cow<'_, str> {
    let is_escaped = |char: char| is_steering(char) && !matches!(char, '\n' | '\r' | '\t');
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
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

/// Returns one line as text of GitHub's Markdown, in which nothing is markup, HTML, a link, an image
/// or a mention.
pub fn markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in line(text).chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '@' => escaped.push_str("&#64;"),
            '|' | '[' | ']' | '*' | '\\' => {
                escaped.push('\\');
                escaped.push(char);
            }
            char => escaped.push(char),
        }
    }
    // GitHub makes links of texts that look like addresses.
    for scheme in ["http", "https", "ftp"] {
        escaped = escaped.replace(&format!("{scheme}://"), &format!("{scheme}&#58;//"));
    }
    escaped.replace("www.", "www&#46;")
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
        for text in ["=1+1", "+cmd|'/C calc'!A1", "-2+3", "@SUM(A1)", " =1", "\t=1", "\r=1", "＝1"]
        {
            assert!(spreadsheet(text).starts_with('\''), "{text:?}");
        }
        for text in ["-1.5", "+2", "-1e-9", "debian:6.12", "", "a=b", "none"] {
            assert_eq!(spreadsheet(text), text);
        }
    }

    #[test]
    fn json_stays_the_same_value() {
        let value = serde_json::json!({ "a": "\u{1b}\u{9b}\u{202e}\u{e0041}ä\n" });
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let shown = json(&text);
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
            assert!(!shown.contains(|char| is_steering(char) && char != '\n'), "{shown:?}");
        }
    }

    #[test]
    fn markdown_is_text() {
        let text = markdown("<img src=x> [a](http://b) | ![c] `d` @e www.f *g* &lt;");
        assert!(!text.contains(['<', '@']), "{text}");
        for markup in ["http:", "www.", "&lt;img src=x>"] {
            assert!(!text.contains(markup), "{text}");
        }
        assert!(text.contains("\\[a\\]") && text.contains("\\|") && text.contains("&amp;lt;"));
        assert_eq!(
            markdown("debian:6.12-rt/full threadirqs 1,234 us ×0.5"),
            "debian:6.12-rt/full threadirqs 1,234 us ×0.5"
        );
    }

    proptest! {
        #[test]
        fn whatever_was_written_is_harmless(text in any::<String>()) {
            prop_assert!(!line(&text).contains(is_steering));
            prop_assert!(!markdown(&text).contains(|char| is_steering(char) || char == '<'));
            prop_assert_eq!(lines_in_place(&text).len(), text.len());
            let cell = spreadsheet(&text);
            let harmless = !cell.trim_start().starts_with(['=', '+', '-', '@']) || cell.parse::<f64>().is_ok();
            prop_assert!(harmless, "{:?}", cell);
        }
    }
}
