//! Pages as one HTML file each.

use serde::Serialize;

use super::data::{AtlasData, AtlasDetails, PageData};
use crate::xml::escape;

/// Script and style of a page, as `web/` builds them.
struct Bundle {
    script: &'static str,
    /// The base64 of the SHA-256 of the script.
    script_hash: &'static str,
    style: &'static str,
}

macro_rules! bundle {
    ($name:literal) => {
        Bundle {
            script: include_str!(concat!(env!("OUT_DIR"), "/", $name, ".js")),
            script_hash: include_str!(concat!(env!("OUT_DIR"), "/", $name, ".js.sha256")),
            style: include_str!(concat!(env!("OUT_DIR"), "/", $name, ".css")),
        }
    };
}

const REPORT: Bundle = bundle!("report");
const ATLAS: Bundle = bundle!("atlas");

/// Texts that a page has without its script, in HTML and escaped.
struct Said {
    title: String,
    generator: String,
    main: String,
}

/// Writes the whole page of a comparison, which is the same for the same data.
pub fn html(data: &PageData) -> String {
    let verdict = verdict(&data.headline, &data.points, &data.caption);
    let main = format!(
        r#"<div id="controls" role="group" aria-label="What is compared"></div>
<div class="first">
{verdict}
<section id="overview" aria-label="Latency against throughput"></section>
</div>
<div id="rest"></div>"#
    );
    let said = Said { title: escape(&data.title), generator: escape(&data.generator), main };
    document(&said, &REPORT, &element("data", data), "")
}

/// Writes the whole page of an atlas, which is the same for the same data.
///
/// # Panics
///
/// Never: numbers, texts and lists have a JSON form.
pub fn atlas_html(data: &AtlasData, details: &AtlasDetails) -> String {
    let verdict = verdict(&data.headline, &data.points, &data.caption);
    let main = format!(
        r#"{verdict}
<div id="controls" role="group" aria-label="What is shown"></div>
<section id="map" aria-label="Map of the longest sections"></section>
<div id="rest"></div>"#
    );
    let said = Said { title: escape(&data.title), generator: escape(&data.generator), main };
    document(&said, &ATLAS, &element("data", data), &element("details", details))
}

/// Writes a page. `before` stands before its script, `after` behind it.
///
/// Nothing but the inlined script can run in it: its policy names that by its hash. `data:` is there
/// for the empty icon alone, without which a browser asks the server for one.
fn document(
    Said { title, generator, main }: &Said,
    Bundle { script, script_hash, style }: &Bundle,
    before: &str,
    after: &str,
) -> String {
    format!(
        r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-{script_hash}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="{generator}">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<header>
<p class="product">preemptlab</p>
<h1>{title}</h1>
</header>
<noscript><p class="notice">Charts and tables need JavaScript, which is inside this file and asks nobody for anything. The data is in this file as JSON, in the element with the id data.</p></noscript>
<main>
{main}
</main>
{before}
<script>{script}</script>
{after}</body>
</html>
"#
    )
}

/// Writes the sentences that stand first.
fn verdict(headline: &str, points: &[String], caption: &str) -> String {
    let (headline, caption) = (escape(headline), escape(caption));
    let points: String =
        points.iter().map(|point| format!("<li>{}</li>\n", escape(point))).collect();
    format!(
        r#"<section class="verdict" aria-label="Verdict">
<p class="headline">{headline}</p>
<ul>
{points}</ul>
<p class="caption">{caption}</p>
</section>"#
    )
}

/// Writes data as an element that scripts read.
fn element(id: &str, data: &impl Serialize) -> String {
    let json = serde_json::to_string(data).expect("numbers, texts and lists can be written");
    // An end tag inside the text would end the script that holds it.
    let json = json.replace('<', "\\u003c");
    format!(r#"<script type="application/json" id="{id}">{json}</script>"#)
}
