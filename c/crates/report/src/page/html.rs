//! The page as one HTML file.

use super::data::PageData;
use crate::xml::escape;

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
    let title = escape(&data.title);
    let headline = escape(&data.headline);
    let points: String =
        data.points.iter().map(|point| format!("<li>{}</li>\n", escape(point))).collect();
    let caption = escape(&data.caption);
    let generator = escape(&data.generator);
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
