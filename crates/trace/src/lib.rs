//! What a traced kernel did, and why a wakeup was late. Pure: bytes in, findings out.

mod cpu;
mod decode;
mod explain;
mod kernel;
mod timeline;
mod wakeup;

pub use cpu::{Cpu, Ended, Frame, Machine, SectionKind, Since};
pub use decode::{Decoder, Event, Item, Site, Task, TraceError};
pub use explain::{Window, timelines, wakeups, worst};
pub use kernel::{Kernel, KernelError, Point, Tracepoint};
pub use timeline::{Cause, Segment, Timeline};
pub use wakeup::{Target, Wakeup};
