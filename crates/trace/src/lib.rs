//! Explanations of late wakeups from the trace of a kernel. The crate does no I/O of its own: bytes
//! in, findings out.

pub mod arch;
mod asked;
mod attribution;
mod bound;
mod calls;
mod cause;
mod census;
mod change;
mod changed;
mod counterfactual;
mod cpu;
mod curve;
#[cfg(test)]
mod decided;
mod decisions;
mod decode;
mod delay;
mod divergence;
mod explain;
mod export;
mod findings;
mod graph;
#[cfg(test)]
mod hostile;
mod kernel;
mod kernel_error;
mod lanes;
mod lengths;
mod long_section;
#[cfg(test)]
mod long_waits;
mod moved;
mod observe;
mod opportunity;
#[cfg(test)]
mod periods;
mod point;
mod ranking;
mod response;
#[cfg(test)]
mod several_cpus;
mod split;
#[cfg(test)]
mod stolen_time;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod thinned;
mod timeline;
mod virtual_window;
mod waiting;
mod wakeup;
mod worst_instant;

pub use asked::{opportunities, window};
pub use attribution::Attribution;
pub use bound::{Bound, Closed};
pub use cause::Cause;
pub use census::{CallSite, Census, census};
pub use change::{Change, Changes};
pub use counterfactual::{Affected, Counterfactual, counterfactual};
pub use cpu::{Cpu, Ended, Frame, Machine, SectionKind, Since, Wait};
pub use curve::Curve;
pub use decode::{Decoder, Event, Item, Site, Task, TraceError};
pub use delay::{Delay, Delays};
pub use divergence::{Divergence, divergence};
pub use explain::{Window, closed_timeline, timelines, wakeups, worst};
pub use export::{ExportError, ftrace_text, perfetto};
pub use findings::{FINDINGS_FORMAT, FINDINGS_FORMAT_MIN, Findings, findings};
pub use graph::function_graph;
pub use kernel::{Kernel, LAYOUT_FORMAT, Layout, Tracepoint};
pub use kernel_error::KernelError;
pub use lanes::{
    CpuLane, Instant, InstantKind, LANES_FORMAT, LaneState, Lanes, LeftOut, Section, Stretch,
    ThreadLane, lanes,
};
pub use long_section::{LongSection, Part, long_sections};
pub use moved::{MovedTimer, moved_timers};
pub use opportunity::Opportunities;
pub use point::Point;
pub use ranking::Ranked;
pub use response::{Answer, Request, Runner, answers, requests, slowest};
pub use split::{Split, Splits};
pub use timeline::{Folded, Segment, Timeline};
pub use waiting::ChangedWakeup;
pub use wakeup::{Target, Wakeup};
pub use worst_instant::{WorstInstant, worst_instant};
