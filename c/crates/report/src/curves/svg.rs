use preemptlab_model::{PreemptMode, number};

use super::{
    axis::{self, Decades},
    latencies::{LatencyCurve, LatencyCurves},
};
use crate::{
    svg::{Picture, SMALL_CHAR, TEXT_CHAR, VALUES_WIDTH as WIDTH, coordinate, fitting, style},
    xml::escape,
};

/// The plot, between the labels of shares and the names of the curves.
const LEFT: f64 = 70.0;
const TOP: f64 = 62.0;
const PLOT_WIDTH: f64 = 500.0;
const PLOT_HEIGHT: f64 = 300.0;
/// Left edge of the names, and the distance between them.
const NAMES: f64 = LEFT + PLOT_WIDTH + 16.0;
const LINE: f64 = 32.0;

/// Dashes of the lines of each kernel, in their order.
const DASHES: [&str; 5] = ["", "6 3", "2 3", "9 3 2 3", "4 2 1 2"];

/// Draws the curves as an SVG.
pub fn svg(curves: &LatencyCurves) -> String {
    let axes = axis::axes(curves);
    let mut kernels: Vec<&str> = Vec::new();
    for curve in &curves.curves {
        if !kernels.contains(&&*curve.kernel) {
            kernels.push(&curve.kernel);
        }
    }
    let dash = |curve: &LatencyCurve| {
        let place = kernels.iter().position(|kernel| *kernel == curve.kernel).unwrap_or(0);
        DASHES[place % DASHES.len()]
    };
    let mut body = format!(
        "<text class=\"title\" x=\"16\" y=\"28\">{}</text>\n\
         <text class=\"small faint\" x=\"16\" y=\"46\">share of instants at which a real-time task would be \
         later than this</text>\n",
        escape(&fitting(&curves.title, 9.6, WIDTH - 32.0))
    );
    body += &grid(axes);
    for curve in &curves.curves {
        body += &line(curve, axes, dash(curve));
    }
    for (place, curve) in curves.curves.iter().enumerate() {
        body += &name(curve, TOP + 8.0 + place as f64 * LINE, dash(curve));
    }
    let names = TOP + 8.0 + curves.curves.len() as f64 * LINE;
    let height = (TOP + PLOT_HEIGHT + 44.0).max(names);
    let described: Vec<String> = curves
        .curves
        .iter()
        .map(|curve| format!("{}: {} us at worst", curve.name(), number::number(curve.worst_us)))
        .collect();
    let (title, described, style) = (&curves.title, &described, &style());
    Picture { class: CLASS, size: [WIDTH, height], title, described, style, body: &body }.svg()
}

fn x(latencies: Decades, us: f64) -> f64 {
    LEFT + latencies.place(us) * PLOT_WIDTH
}

fn y(shares: Decades, share: f64) -> f64 {
    TOP + (1.0 - if share > 0.0 { shares.place(share) } else { 0.0 }) * PLOT_HEIGHT
}

fn grid((latencies, shares): (Decades, Decades)) -> String {
    let (right, bottom) = (LEFT + PLOT_WIDTH, TOP + PLOT_HEIGHT);
    let mut grid = String::new();
    for exponent in latencies.exponents() {
        let at = coordinate(x(latencies, 10_f64.powi(exponent)));
        grid += &format!(
            "<path class=\"grid\" d=\"M{at} {TOP}V{bottom}\"/><text class=\"small faint middle\" x=\"{at}\" \
             y=\"{}\">{}</text>\n",
            bottom + 16.0,
            axis::latency(exponent)
        );
    }
    for exponent in shares.exponents() {
        let at = y(shares, 10_f64.powi(exponent));
        grid += &format!(
            "<path class=\"grid\" d=\"M{LEFT} {0}H{right}\"/><text class=\"small faint end\" x=\"{1}\" \
             y=\"{2}\">{3}</text>\n",
            coordinate(at),
            LEFT - 6.0,
            coordinate(at + 4.0),
            axis::share(exponent)
        );
    }
    let middle = LEFT + PLOT_WIDTH / 2.0;
    grid + &format!(
        "<text class=\"small faint middle\" x=\"{middle}\" y=\"{}\">latency</text>\n",
        bottom + 34.0
    )
}

/// Draws a curve from the top to its worst instant at the bottom.
fn line(curve: &LatencyCurve, (latencies, shares): (Decades, Decades), dash: &str) -> String {
    let mut path = String::new();
    for (us, share) in curve.later.iter().filter(|(us, share)| *share > 0.0 && *us < curve.worst_us)
    {
        let step = if path.is_empty() { 'M' } else { 'L' };
        path +=
            &format!("{step}{} {}", coordinate(x(latencies, *us)), coordinate(y(shares, *share)));
    }
    let end = (coordinate(x(latencies, curve.worst_us)), coordinate(y(shares, 0.0)));
    let step = if path.is_empty() { 'M' } else { 'L' };
    format!(
        "<g class=\"{}\"><path class=\"line\"{} d=\"{path}{step}{} {}\"/>\
         <circle class=\"dot\" cx=\"{}\" cy=\"{}\" r=\"3.5\"/></g>\n",
        class(curve.preempt),
        dashes(dash),
        end.0,
        end.1,
        end.0,
        end.1,
    )
}

fn name(curve: &LatencyCurve, at: f64, dash: &str) -> String {
    let text = NAMES + 30.0;
    format!(
        "<g class=\"{}\"><path class=\"line\"{} d=\"M{NAMES} {at}h24\"/></g>\
         <text x=\"{text}\" y=\"{}\">{}</text>\
         <text class=\"small faint\" x=\"{text}\" y=\"{}\">{}</text>\n",
        class(curve.preempt),
        dashes(dash),
        at + 4.0,
        escape(&fitting(&curve.name(), TEXT_CHAR, WIDTH - text - 8.0)),
        at + 17.0,
        escape(&fitting(
            &format!("worst {} us", number::number(curve.worst_us)),
            SMALL_CHAR,
            WIDTH - text - 8.0
        )),
    )
}

fn dashes(dash: &str) -> String {
    if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") }
}

fn class(preempt: PreemptMode) -> &'static str {
    preempt.as_str()
}

/// The class of the pictures.
const CLASS: &str = "preemptlab-curves";

/// The rules of style, without those of modes.
const RULES: &[&str] = &[
    style::TEXT,
    style::TITLE,
    style::SMALL,
    style::FAINT,
    style::MIDDLE,
    style::END,
    style::PAGE,
    style::GRID,
    ".line{fill:none;stroke-width:1.75;stroke-linejoin:round}",
];

/// The same where the viewer has dark colours.
const DARK: &[&str] = &[style::TEXT_DARK, style::FAINT_DARK, style::PAGE_DARK, style::GRID_DARK];

/// Returns the style block of a picture.
fn style() -> String {
    let of_modes = style::of_modes(|mode, colour| {
        [format!(".{mode}{{stroke:{colour}}}"), format!(".{mode} .dot{{fill:{colour}}}")]
    });
    style::with_modes(CLASS, [RULES, DARK], of_modes)
}

#[cfg(test)]
mod tests {
    use crate::curves::latencies::testing;

    use super::svg;

    #[test]
    fn the_picture_is_xml_with_a_line_and_a_name_for_each_curve() {
        let svg = svg(&testing::curves());
        let document = roxmltree::Document::parse(&svg).unwrap();
        let texts: Vec<&str> = document.descendants().filter_map(|node| node.text()).collect();
        for text in
            ["memory <&> on 1 CPU", "debian:6.12 none", "worst 950 us", "1 ms", "0.001 %", "100 %"]
        {
            assert!(texts.contains(&text), "no `{text}` in {texts:?}");
        }
        assert_eq!(svg.matches("class=\"dot\"").count(), 3);
    }

    #[test]
    fn nothing_that_was_measured_is_a_picture_without_curves() {
        let mut none = testing::curves();
        none.curves.clear();
        roxmltree::Document::parse(&svg(&none)).unwrap();
    }
}
