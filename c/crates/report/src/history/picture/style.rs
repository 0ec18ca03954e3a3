//! Colours.

use crate::svg::style;

/// The class of the pictures.
pub const CLASS: &str = "preemptlab-history";

/// The rules of style, without those of modes.
const RULES: &[&str] = &[
    style::TEXT,
    style::TITLE,
    style::STRONG,
    style::SMALL,
    style::FAINT,
    style::MIDDLE,
    style::END,
    style::PAGE,
    style::GRID,
    ".line{fill:none;stroke-width:1.75}",
    ".line.dashed{stroke-dasharray:5 3}",
    ".bar{fill:none;stroke-width:2;stroke-opacity:.4}",
    ".point{stroke-width:1.5}",
    ".point.dashed{fill:#fff}",
    ".ring{fill:none;stroke-width:1.75}",
    ".leader{fill:none;stroke-width:.75}",
    "text.over{stroke:#fff;stroke-width:4;paint-order:stroke;stroke-linejoin:round}",
];

/// The same where the viewer has dark colours.
const DARK: &[&str] = &[
    style::TEXT_DARK,
    style::FAINT_DARK,
    style::PAGE_DARK,
    style::GRID_DARK,
    ".point.dashed{fill:#0d1117}",
    "text.over{stroke:#0d1117}",
];

/// Returns the style block of a picture.
pub fn style() -> String {
    let of_modes = style::of_modes(|mode, colour| {
        [
            format!(".{mode}{{stroke:{colour};fill:{colour}}}"),
            format!(".{mode} text{{fill:{colour}}}"),
        ]
    });
    style::with_modes(CLASS, [RULES, DARK], of_modes)
}
