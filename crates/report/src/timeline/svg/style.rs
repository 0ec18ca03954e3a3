//! Colours and hatches.

use preemptlab_trace::Cause;

use crate::{svg::style, timeline::cause::class};

/// The class of the picture.
pub const CLASS: &str = "preemptlab";

/// The rules of style.
///
/// The colours are those of Okabe and Ito, which people with any kind of colour vision can tell
/// apart ("Color Universal Design", 2002); the two greys and the hatches are added.
const RULES: &[&str] = &[
    style::TEXT,
    style::TITLE,
    style::STRONG,
    style::FAINT,
    r#".code{font:11px ui-monospace,"DejaVu Sans Mono",monospace}"#,
    style::SMALL,
    style::MIDDLE,
    style::END,
    style::PAGE,
    ".grid{stroke:#d1d9e0}",
    ".line{stroke:#59636e}",
    ".mark{stroke:#1f2328;fill:#fff;stroke-width:1.25}",
    ".over{stroke:#fff;stroke-width:5;paint-order:stroke}",
    ".unknown{fill:#f0f2f4}",
    ".timer-pending{fill:#dfe3e8}",
    ".stolen{fill:#b08d57}",
    ".irqs-off{fill:#d55e00}",
    ".hard-irq{fill:#cc79a7}",
    ".device-irq{fill:#e8b3cf}",
    ".softirq{fill:#f0e442}",
    ".preempt-off{fill:#e69f00}",
    ".not-preemptible{fill:#0072b2}",
    ".ipi-wait{fill:#8c4a7d}",
    ".spin-wait{fill:#8a3200}",
    ".remote-wakeup{fill:#a6dcef}",
    ".scheduling{fill:#009e73}",
    ".deadline-task{fill:#1f5a8a}",
    ".more-urgent-task{fill:#3b8fd0}",
    ".equal-task{fill:#9cc4ea}",
    ".lock-holder{fill:#e58f65}",
    ".stop-task{fill:#8091b8}",
    ".fair-share{fill:#56b4e9}",
    ".fair-server{fill:#a9cf7d}",
    ".throttled{fill:#c3a6e0}",
    ".other-task{fill:#c2ccd6}",
    ".return{fill:#4a525b}",
    ".hatch{stroke:#6e7781;stroke-width:1.2}",
    ".on-color{fill:#000}",
    ".on-blue{fill:#fff}",
    ".on-return{fill:#fff}",
    ".task{fill:#e6eaef;stroke:#fff;stroke-width:.5}",
    ".task-other{fill:#d3dae1;stroke:#fff;stroke-width:.5}",
];

/// The same where the viewer has dark colours.
const DARK: &[&str] = &[
    style::TEXT_DARK,
    style::FAINT_DARK,
    style::PAGE_DARK,
    ".grid{stroke:#30363d}",
    ".line{stroke:#9198a1}",
    ".mark{stroke:#e6edf3;fill:#0d1117}",
    ".over{stroke:#0d1117}",
    ".unknown{fill:#1c2128}",
    ".timer-pending{fill:#2f363e}",
    ".return{fill:#c9d1d9}",
    ".hatch{stroke:#8b949e}",
    ".on-return{fill:#000}",
    ".task{fill:#21262d;stroke:#0d1117}",
    ".task-other{fill:#2f363e;stroke:#0d1117}",
];

/// The hatches.
const HATCHES: &str = r##"<defs>
<pattern id="preemptlab-timer-pending" width="6" height="6" patternUnits="userSpaceOnUse"><rect class="timer-pending" width="6" height="6"/><path class="hatch" d="M-1 1L1 -1M0 6L6 0M5 7L7 5"/></pattern>
<pattern id="preemptlab-softirq" width="6" height="6" patternUnits="userSpaceOnUse"><rect class="softirq" width="6" height="6"/><path class="hatch" d="M-1 5L1 7M0 0L6 6M5 -1L7 1"/></pattern>
</defs>
"##;

/// Returns the style block of the picture, and its hatches.
pub fn style() -> String {
    style::style(CLASS, RULES, DARK) + HATCHES
}

/// Returns the filling of a cause: a class, or a hatch.
pub fn fill(cause: Option<Cause>) -> String {
    let class = class(cause);
    match cause {
        Some(Cause::TimerPending | Cause::Softirq) => format!("fill=\"url(#preemptlab-{class})\""),
        _ => format!("class=\"{class}\""),
    }
}

/// Returns the class of text on a cause.
pub fn ink(cause: Option<Cause>) -> &'static str {
    match cause {
        None | Some(Cause::TimerPending) => "on-grey",
        Some(Cause::NotPreemptible | Cause::IpiWait | Cause::SpinWait | Cause::DeadlineTask) => {
            "on-blue"
        }
        Some(Cause::Return) => "on-return",
        Some(_) => "on-color",
    }
}
