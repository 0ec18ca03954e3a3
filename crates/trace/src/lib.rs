//! What a traced kernel did, and why a wakeup was late. Pure: bytes in, findings out.

mod bound;
mod cpu;
mod decode;
mod explain;
mod findings;
mod kernel;
mod ranking;
mod timeline;
mod wakeup;

pub use bound::{Bound, Closed, Opportunities};
pub use cpu::{Cpu, Ended, Frame, Machine, SectionKind, Since};
pub use decode::{Decoder, Event, Item, Site, Task, TraceError};
pub use explain::{Window, timelines, wakeups, worst};
pub use findings::{FINDINGS_FORMAT, Findings, findings};
pub use kernel::{Kernel, KernelError, Point, Tracepoint};
pub use ranking::Ranked;
pub use timeline::{Cause, Segment, Timeline};
pub use wakeup::{Target, Wakeup};
