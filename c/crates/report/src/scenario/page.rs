//! Scenarios as one HTML file, which needs nothing besides itself.

use preemptlab_analysis::scenario::Shown;

use super::{picture::scenario_svg, words};
use crate::{Terminal, xml::escape};

/// Tables in the page are as wide as on a terminal that does not tell.
const TERMINAL: Terminal = Terminal { width: 100, color: false };

const HEAD: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width\">
<title>Scenarios of preemption</title>
<style>
:root { color-scheme: light dark }
body { max-width: 1020px; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 sans-serif }
pre { overflow-x: auto; font-size: 13px; line-height: 1.3 }
svg { max-width: 100%; height: auto; background: #fff }
</style>
";

/// Writes the page: a picture, a table and the expectations, for each scenario.
pub fn scenarios_page(shown: &[Shown<'_>]) -> String {
    let mut page = HEAD.to_owned();
    for each in shown {
        let scenario = each.scenario;
        page += &format!(
            "<h2 id=\"{0}\">{0}</h2>\n<p>{1}</p>\n",
            escape(scenario.family()),
            escape(scenario.description())
        );
        page += &scenario_svg(each).unwrap_or_default();
        page += &format!("<pre>{}</pre>\n", escape(&words::numbers(each, TERMINAL)));
    }
    page + "<p>" + &escape(&words::caption(shown)) + "</p>\n</html>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_markup_stays_text() {
        assert_eq!(escape("a < b && \"c\""), "a &lt; b &amp;&amp; &quot;c&quot;");
    }
}
