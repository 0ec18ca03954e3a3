//! Colours and hatches.

use preemptlab_trace::Cause;

use crate::timeline::cause::class;

/// The style of a picture.
///
/// The colours are those of Okabe and Ito, which people with any kind of colour vision can tell
/// apart ("Color Universal Design", 2002); the two greys and the hatches are added.
pub const STYLE: &str = r##"<style>
.preemptlab text{font:12px system-ui,"DejaVu Sans",sans-serif;fill:#1f2328}
.preemptlab .title{font-size:16px;font-weight:600}
.preemptlab .strong{font-weight:600}
.preemptlab .faint{fill:#59636e}
.preemptlab .code{font:11px ui-monospace,"DejaVu Sans Mono",monospace}
.preemptlab .small{font-size:10.5px}
.preemptlab .middle{text-anchor:middle}
.preemptlab .end{text-anchor:end}
.preemptlab .page{fill:#fff}
.preemptlab .grid{stroke:#d1d9e0}
.preemptlab .line{stroke:#59636e}
.preemptlab .mark{stroke:#1f2328;fill:#fff;stroke-width:1.25}
.preemptlab .over{stroke:#fff;stroke-width:5;paint-order:stroke}
.preemptlab .unknown{fill:#f0f2f4}
.preemptlab .timer-pending{fill:#dfe3e8}
.preemptlab .irqs-off{fill:#d55e00}
.preemptlab .hard-irq{fill:#cc79a7}
.preemptlab .device-irq{fill:#e8b3cf}
.preemptlab .softirq{fill:#f0e442}
.preemptlab .preempt-off{fill:#e69f00}
.preemptlab .not-preemptible{fill:#0072b2}
.preemptlab .ipi-wait{fill:#8c4a7d}
.preemptlab .spin-wait{fill:#8a3200}
.preemptlab .remote-wakeup{fill:#a6dcef}
.preemptlab .scheduling{fill:#009e73}
.preemptlab .deadline-task{fill:#1f5a8a}
.preemptlab .more-urgent-task{fill:#3b8fd0}
.preemptlab .equal-task{fill:#9cc4ea}
.preemptlab .stop-task{fill:#8091b8}
.preemptlab .fair-share{fill:#56b4e9}
.preemptlab .fair-server{fill:#a9cf7d}
.preemptlab .throttled{fill:#c3a6e0}
.preemptlab .other-task{fill:#c2ccd6}
.preemptlab .return{fill:#4a525b}
.preemptlab .hatch{stroke:#6e7781;stroke-width:1.2}
.preemptlab .on-color{fill:#000}
.preemptlab .on-blue{fill:#fff}
.preemptlab .on-return{fill:#fff}
.preemptlab .task{fill:#e6eaef;stroke:#fff;stroke-width:.5}
.preemptlab .task-other{fill:#d3dae1;stroke:#fff;stroke-width:.5}
@media (prefers-color-scheme:dark){
.preemptlab text{fill:#e6edf3}
.preemptlab .faint{fill:#9198a1}
.preemptlab .page{fill:#0d1117}
.preemptlab .grid{stroke:#30363d}
.preemptlab .line{stroke:#9198a1}
.preemptlab .mark{stroke:#e6edf3;fill:#0d1117}
.preemptlab .over{stroke:#0d1117}
.preemptlab .unknown{fill:#1c2128}
.preemptlab .timer-pending{fill:#2f363e}
.preemptlab .return{fill:#c9d1d9}
.preemptlab .hatch{stroke:#8b949e}
.preemptlab .on-return{fill:#000}
.preemptlab .task{fill:#21262d;stroke:#0d1117}
.preemptlab .task-other{fill:#2f363e;stroke:#0d1117}
}
</style>
<defs>
<pattern id="preemptlab-timer-pending" width="6" height="6" patternUnits="userSpaceOnUse"><rect class="timer-pending" width="6" height="6"/><path class="hatch" d="M-1 1L1 -1M0 6L6 0M5 7L7 5"/></pattern>
<pattern id="preemptlab-softirq" width="6" height="6" patternUnits="userSpaceOnUse"><rect class="softirq" width="6" height="6"/><path class="hatch" d="M-1 5L1 7M0 0L6 6M5 -1L7 1"/></pattern>
</defs>
"##;

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
