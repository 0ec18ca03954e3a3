//! Sizes, in units of the picture.

use textwrap::core::display_width;

/// Width of a picture of lanes.
pub const LANES_WIDTH: f64 = 1100.0;
/// Width of a picture of values.
pub const VALUES_WIDTH: f64 = 800.0;
/// Distance from one line of text to the next.
pub const LINE: f64 = 16.0;
/// The width of a character of the text, of code and of small text, at most. Fonts differ: these
/// are those of wide ones.
pub const TEXT_CHAR: f64 = 6.5;
pub const CODE_CHAR: f64 = 6.7;
pub const SMALL_CHAR: f64 = 6.1;

/// Returns a coordinate with two decimals at most.
pub fn coordinate(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns an upper bound of a text's width.
pub fn width_of(text: &str, char: f64) -> f64 {
    display_width(text) as f64 * char
}

/// Returns a text, shortened if it is too wide.
pub fn fitting(text: &str, char: f64, width: f64) -> String {
    if width_of(text, char) <= width {
        return text.to_owned();
    }
    let mut shortened = String::new();
    for next in text.chars() {
        let columns = display_width(&shortened) + display_width(next.encode_utf8(&mut [0; 4])) + 1;
        if columns as f64 * char > width {
            break;
        }
        shortened.push(next);
    }
    shortened + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short() {
        assert_eq!(coordinate(16.0), "16");
        assert_eq!(coordinate(16.5), "16.5");
        assert_eq!(coordinate(16.126), "16.13");
        assert_eq!(coordinate(0.0), "0");
    }

    #[test]
    fn texts_are_shortened_to_their_room() {
        assert_eq!(fitting("abcdef", 1.0, 6.0), "abcdef");
        assert_eq!(fitting("abcdef", 1.0, 5.0), "abcd…");
        assert_eq!(fitting("漢字漢字", 1.0, 5.0), "漢字…");
    }
}
