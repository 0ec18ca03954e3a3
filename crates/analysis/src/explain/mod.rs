//! The causes of the worst wakeups. The caller executes cells without a trace again, between
//! choosing cells and reading their traces.

mod beside;
mod choice;
mod confirm;
mod cure;
mod export;
mod ranking;
mod response;
mod timelines;
mod traced;
mod zoom;

pub(crate) use choice::completed;
pub use choice::{Chosen, choose, latency};
pub use confirm::Confirmation;
pub use export::{TraceForm, export};
pub use ranking::Ranking;
pub use response::{Responses, client};
pub use timelines::{Explanation, check_probe};
pub use zoom::Zoom;
