//! Colours and hatches.

use crate::{lanes::look::Look, svg::style};

/// The class of the picture.
pub const CLASS: &str = "preemptlab-lanes";

/// The rules of style. The colours are those of Okabe and Ito, as in a timeline's.
const RULES: &[&str] = &[
    style::TEXT,
    "rect{shape-rendering:crispEdges}",
    style::TITLE,
    style::STRONG,
    style::FAINT,
    r#".code:not(.strong){font:11px ui-monospace,"DejaVu Sans Mono",monospace}"#,
    style::SMALL,
    style::MIDDLE,
    style::END,
    style::PAGE,
    style::GRID,
    ".line{stroke:#59636e;fill:none}",
    ".mark{stroke:#1f2328;fill:none;stroke-width:1.25}",
    ".dashed{stroke-dasharray:3 2.5}",
    ".head{fill:#1f2328}",
    ".hollow{stroke:#1f2328;fill:#fff}",
    ".link{stroke:#8c959f;fill:none}",
    ".over{stroke:#fff;stroke-width:4;paint-order:stroke;stroke-linejoin:round}",
    ".user{fill:#0072b2}",
    ".kernel{fill:#56b4e9}",
    ".interrupted{fill:#d8dee4}",
    ".blocked{fill:#009e73}",
    ".sleeping{fill:#afb8c1}",
    ".other{fill:#8c959f}",
    ".hard-irq{fill:#cc79a7}",
    ".softirq{fill:#f0e442}",
    ".preempt-off{fill:#e69f00}",
    ".irqs-off{fill:#1f2328}",
    ".wait{fill:#d55e00}",
    ".edge{fill:none;stroke:#d55e00;stroke-width:1.5}",
    ".ground{fill:#fdebdc}",
    ".hatch{stroke:#d55e00;stroke-width:2.2}",
    ".soft-hatch{stroke:#6e7781;stroke-width:1.2}",
    ".on-user{fill:#fff}",
    ".on-color{fill:#000}",
];

/// The same where the viewer has dark colours.
const DARK: &[&str] = &[
    style::TEXT_DARK,
    style::FAINT_DARK,
    style::PAGE_DARK,
    style::GRID_DARK,
    ".line{stroke:#9198a1}",
    ".mark{stroke:#e6edf3}",
    ".head{fill:#e6edf3}",
    ".hollow{stroke:#e6edf3;fill:#0d1117}",
    ".link{stroke:#6e7681}",
    ".over{stroke:#0d1117}",
    ".interrupted{fill:#30363d}",
    ".sleeping{fill:#484f58}",
    ".other{fill:#6e7681}",
    ".irqs-off{fill:#f0f6fc}",
    ".ground{fill:#3d1f0b}",
    ".on-user{fill:#fff}",
    ".on-color{fill:#000}",
];

/// The hatches.
const HATCHES: &str = r##"<defs>
<pattern id="preemptlab-lanes-waiting" width="7" height="7" patternUnits="userSpaceOnUse"><rect class="ground" width="7" height="7"/><path class="hatch" d="M-1 1L1 -1M0 7L7 0M6 8L8 6"/></pattern>
<pattern id="preemptlab-lanes-softirq" width="6" height="6" patternUnits="userSpaceOnUse"><rect class="softirq" width="6" height="6"/><path class="soft-hatch" d="M-1 5L1 7M0 0L6 6M5 -1L7 1"/></pattern>
</defs>
"##;

/// Returns the style block of the picture, and its hatches.
pub fn style() -> String {
    style::style(CLASS, RULES, DARK) + HATCHES
}

/// Returns the filling of a state: a class, or a hatch.
pub fn fill(look: Look) -> String {
    let class = look.class();
    match look {
        Look::Waiting | Look::Softirq => format!("fill=\"url(#preemptlab-lanes-{class})\""),
        _ => format!("class=\"{class}\""),
    }
}

/// Returns the class of text on a state.
pub fn ink(look: Look) -> &'static str {
    match look {
        Look::User => "on-user",
        Look::Waiting => "over strong",
        Look::Interrupted => "plain",
        _ => "on-color",
    }
}
