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

pub use beside::Beside;
pub use census::{Census, CensusConfiguration, CensusSite};
pub use choice::{Chosen, choose};
pub(crate) use choice::{called, identified, latest, means, no_cell};
pub use confirm::{Attempt, Confirmation, Confirmed};
pub use cure::Cure;
pub use export::{TraceForm, export};
pub use hunt::{Hunt, Step, Worst, probed};
pub use ranking::{RankedConfiguration, Ranking};
pub use response::{
    RanDocument, RequestDocument, Responses, ResponsesDocument, answer_in_words, client,
    runner_in_words,
};
pub use searched::{Searched, SearchedConfiguration};
pub(crate) use timelines::has_realtime_probe;
pub use timelines::{
    Alike, BoundDocument, CauseDocument, Explanation, ExplanationDocument, Remedied,
    SiblingDocument, WakeupDocument, WorstInstant, check_probe,
};
pub use what_if::{
    Latencies, LongestLeft, Patched, PatchedDocument, PatchedWakeup, change_in_percent,
};
pub use zoom::Zoom;
