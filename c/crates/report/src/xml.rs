//! Text in XML and HTML.

use preemptlab_model::plain::visible;

/// Escapes text for XML and HTML, in content and in quoted attributes. Line feeds are kept; other characters
/// that cannot be seen, or turn the direction of writing, become spaces.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            '\n' => escaped.push('\n'),
            char => escaped.push(visible(char)),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_an_element_or_an_attribute() {
        assert_eq!(
            escape("</svg>'\"&amp;\u{0}\u{1b}\n\u{ffff}\u{202e}"),
            "&lt;/svg&gt;&#39;&quot;&amp;amp;  \n  "
        );
    }
}
