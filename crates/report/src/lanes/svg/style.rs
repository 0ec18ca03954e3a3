//! Colours and hatches.

use crate::lanes::look::Look;

/// The style of a picture. The colours are those of Okabe and Ito, as in a timeline's.
pub const STYLE: &str = r##"<style>
.preemptlab-lanes text{font:12px system-ui,"DejaVu Sans",sans-serif;fill:#1f2328}
.preemptlab-lanes rect{shape-rendering:crispEdges}
.preemptlab-lanes .title{font-size:16px;font-weight:600}
.preemptlab-lanes .strong{font-weight:600}
.preemptlab-lanes .faint{fill:#59636e}
.preemptlab-lanes .code:not(.strong){font:11px ui-monospace,"DejaVu Sans Mono",monospace}
.preemptlab-lanes .small{font-size:10.5px}
.preemptlab-lanes .middle{text-anchor:middle}
.preemptlab-lanes .end{text-anchor:end}
.preemptlab-lanes .page{fill:#fff}
.preemptlab-lanes .grid{stroke:#e3e8ed;fill:none}
.preemptlab-lanes .line{stroke:#59636e;fill:none}
.preemptlab-lanes .mark{stroke:#1f2328;fill:none;stroke-width:1.25}
.preemptlab-lanes .dashed{stroke-dasharray:3 2.5}
.preemptlab-lanes .head{fill:#1f2328}
.preemptlab-lanes .hollow{stroke:#1f2328;fill:#fff}
.preemptlab-lanes .link{stroke:#8c959f;fill:none}
.preemptlab-lanes .over{stroke:#fff;stroke-width:4;paint-order:stroke;stroke-linejoin:round}
.preemptlab-lanes .user{fill:#0072b2}
.preemptlab-lanes .kernel{fill:#56b4e9}
.preemptlab-lanes .interrupted{fill:#d8dee4}
.preemptlab-lanes .blocked{fill:#009e73}
.preemptlab-lanes .sleeping{fill:#afb8c1}
.preemptlab-lanes .other{fill:#8c959f}
.preemptlab-lanes .hard-irq{fill:#cc79a7}
.preemptlab-lanes .softirq{fill:#f0e442}
.preemptlab-lanes .preempt-off{fill:#e69f00}
.preemptlab-lanes .irqs-off{fill:#1f2328}
.preemptlab-lanes .wait{fill:#d55e00}
.preemptlab-lanes .edge{fill:none;stroke:#d55e00;stroke-width:1.5}
.preemptlab-lanes .ground{fill:#fdebdc}
.preemptlab-lanes .hatch{stroke:#d55e00;stroke-width:2.2}
.preemptlab-lanes .soft-hatch{stroke:#6e7781;stroke-width:1.2}
.preemptlab-lanes .on-user{fill:#fff}
.preemptlab-lanes .on-color{fill:#000}
@media (prefers-color-scheme:dark){
.preemptlab-lanes text{fill:#e6edf3}
.preemptlab-lanes .faint{fill:#9198a1}
.preemptlab-lanes .page{fill:#0d1117}
.preemptlab-lanes .grid{stroke:#262c34}
.preemptlab-lanes .line{stroke:#9198a1}
.preemptlab-lanes .mark{stroke:#e6edf3}
.preemptlab-lanes .head{fill:#e6edf3}
.preemptlab-lanes .hollow{stroke:#e6edf3;fill:#0d1117}
.preemptlab-lanes .link{stroke:#6e7681}
.preemptlab-lanes .over{stroke:#0d1117}
.preemptlab-lanes .interrupted{fill:#30363d}
.preemptlab-lanes .sleeping{fill:#484f58}
.preemptlab-lanes .other{fill:#6e7681}
.preemptlab-lanes .irqs-off{fill:#f0f6fc}
.preemptlab-lanes .ground{fill:#3d1f0b}
.preemptlab-lanes .on-user{fill:#fff}
.preemptlab-lanes .on-color{fill:#000}
}
</style>
<defs>
<pattern id="preemptlab-lanes-waiting" width="7" height="7" patternUnits="userSpaceOnUse"><rect class="ground" width="7" height="7"/><path class="hatch" d="M-1 1L1 -1M0 7L7 0M6 8L8 6"/></pattern>
<pattern id="preemptlab-lanes-softirq" width="6" height="6" patternUnits="userSpaceOnUse"><rect class="softirq" width="6" height="6"/><path class="soft-hatch" d="M-1 5L1 7M0 0L6 6M5 -1L7 1"/></pattern>
</defs>
"##;

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
