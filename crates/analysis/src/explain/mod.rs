//! The causes of the worst wakeups. The caller executes cells without a trace again, between
//! choosing cells and reading their traces.

mod beside;
mod census;
mod choice;
mod confirm;
mod cure;
mod export;
mod hunt;
mod ranking;
mod response;
mod searched;
mod timelines;
mod traced;
mod what_if;
mod zoom;

pub use census::Census;
pub(crate) use choice::latest;
pub use choice::{Chosen, choose};
pub use confirm::Confirmation;
pub use cure::Cure;
pub use export::{TraceForm, export};
pub use hunt::{Hunt, Step, Worst, probed};
pub use ranking::Ranking;
pub use response::{Responses, client};
pub use searched::Searched;
pub(crate) use timelines::has_realtime_probe;
pub use timelines::{Explanation, check_probe};
pub use what_if::Patched;
pub use zoom::Zoom;
