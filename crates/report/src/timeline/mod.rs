//! The time of late wakeups by cause: as a sentence, for a terminal, and as a picture.

mod bar;
mod cause;
mod pieces;
mod rows;
mod sentence;
mod stretch;
pub(crate) mod svg;
mod terminal;
mod text;
mod ticks;
mod turns;

pub use sentence::{cause_in_words, one_sentence};
pub use svg::{Lane, timeline_svg, xml::escape as escape_xml};
pub use terminal::timeline_terminal;
pub(crate) use text::{name, seconds, title};
pub(crate) use ticks::Ticks;
