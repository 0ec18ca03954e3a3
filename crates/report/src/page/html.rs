//! The page as one HTML file.

use std::fmt::{self, Display, Formatter};

use super::data::PageData;

const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/report.js"));
const STYLE: &str = include_str!(concat!(env!("OUT_DIR"), "/report.css"));
/// The base64 of the SHA-256 of [`SCRIPT`].
const SCRIPT_HASH: &str = include_str!(concat!(env!("OUT_DIR"), "/report.js.sha256"));

/// Writes the whole page, which is the same for the same data.
///
/// Nothing but the inlined script can run in it: its policy names that by its hash. `data:` is there
/// for the empty icon alone, without which a browser asks the server for one.
pub fn html(data: &PageData) -> String {
    let json = serde_json::to_string(data).expect("numbers, texts and lists can be written");
    // An end tag inside the text would end the script that holds it.
    let json = json.replace('<', "\\u003c");
    let title = Escaped(&data.title);
    let headline = Escaped(&data.headline);
    let points: String =
        data.points.iter().map(|point| format!("<li>{}</li>\n", Escaped(point))).collect();
    let caption = Escaped(&data.caption);
    let generator = Escaped(&data.generator);
    format!(
        r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-{SCRIPT_HASH}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="{generator}">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{STYLE}</style>
</head>
<body>
<header>
<p class="product">preemptlab</p>
<h1>{title}</h1>
</header>
<noscript><p class="notice">Charts and tables need JavaScript, which is inside this file and asks nobody for anything. The data is in this file as JSON, in the element with the id data.</p></noscript>
<main>
<div id="controls" role="group" aria-label="What is compared"></div>
<div class="first">
<section class="verdict" aria-label="Verdict">
<p class="headline">{headline}</p>
<ul>
{points}</ul>
<p class="caption">{caption}</p>
</section>
<section id="overview" aria-label="Latency against throughput"></section>
</div>
<div id="rest"></div>
</main>
<script type="application/json" id="data">{json}</script>
<script>{SCRIPT}</script>
</body>
</html>
"#
    )
}

/// A text that stands for itself in an element or in a quoted attribute.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, to: &mut Formatter) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => to.write_str("&amp;")?,
                '<' => to.write_str("&lt;")?,
                '>' => to.write_str("&gt;")?,
                '"' => to.write_str("&quot;")?,
                // The script shows these in the same way, wherever else they stand.
                _ if is_invisible(character) => to.write_str("\u{fffd}")?,
                _ => write!(to, "{character}")?,
            }
        }
        Ok(())
    }
}

/// Returns whether a character is invisible: control characters, which HTML has no way to write,
/// and those that turn the direction of the text after them.
fn is_invisible(character: char) -> bool {
    let turns = matches!(character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (character.is_control() && character != '\n')
}
