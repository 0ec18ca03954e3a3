//! Colours.

/// The style of a picture. The colours are those of Okabe and Ito, as in a timeline's, some of them
/// darker, so that they can be read as text.
pub const STYLE: &str = r##"<style>
.preemptlab-history text{font:12px system-ui,"DejaVu Sans",sans-serif;fill:#1f2328}
.preemptlab-history .title{font-size:16px;font-weight:600}
.preemptlab-history .strong{font-weight:600}
.preemptlab-history .small{font-size:10.5px}
.preemptlab-history .faint{fill:#59636e}
.preemptlab-history .middle{text-anchor:middle}
.preemptlab-history .end{text-anchor:end}
.preemptlab-history .page{fill:#fff}
.preemptlab-history .grid{stroke:#e3e8ed;fill:none}
.preemptlab-history .line{fill:none;stroke-width:1.75}
.preemptlab-history .line.dashed{stroke-dasharray:5 3}
.preemptlab-history .bar{fill:none;stroke-width:2;stroke-opacity:.4}
.preemptlab-history .point{stroke-width:1.5}
.preemptlab-history .point.dashed{fill:#fff}
.preemptlab-history .ring{fill:none;stroke-width:1.75}
.preemptlab-history .leader{fill:none;stroke-width:.75}
.preemptlab-history text.over{stroke:#fff;stroke-width:4;paint-order:stroke;stroke-linejoin:round}
.preemptlab-history .none{stroke:#0072b2;fill:#0072b2}
.preemptlab-history .none text{fill:#0072b2}
.preemptlab-history .voluntary{stroke:#007a59;fill:#007a59}
.preemptlab-history .voluntary text{fill:#007a59}
.preemptlab-history .full{stroke:#c25400;fill:#c25400}
.preemptlab-history .full text{fill:#c25400}
.preemptlab-history .lazy{stroke:#8c4a7d;fill:#8c4a7d}
.preemptlab-history .lazy text{fill:#8c4a7d}
@media (prefers-color-scheme:dark){
.preemptlab-history text{fill:#e6edf3}
.preemptlab-history .faint{fill:#9198a1}
.preemptlab-history .page{fill:#0d1117}
.preemptlab-history .grid{stroke:#262c34}
.preemptlab-history .point.dashed{fill:#0d1117}
.preemptlab-history text.over{stroke:#0d1117}
.preemptlab-history .none{stroke:#56b4e9;fill:#56b4e9}
.preemptlab-history .none text{fill:#56b4e9}
.preemptlab-history .voluntary{stroke:#2bbf95;fill:#2bbf95}
.preemptlab-history .voluntary text{fill:#2bbf95}
.preemptlab-history .full{stroke:#ff8f3d;fill:#ff8f3d}
.preemptlab-history .full text{fill:#ff8f3d}
.preemptlab-history .lazy{stroke:#dd9cc6;fill:#dd9cc6}
.preemptlab-history .lazy text{fill:#dd9cc6}
}
</style>
"##;
