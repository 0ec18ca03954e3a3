//! The time of late wakeups by cause: for a terminal, and as a picture.

mod bar;
pub(crate) mod cause;
mod rows;
mod stretch;
mod svg;
mod terminal;
mod text;
mod ticks;
mod turns;

pub use svg::{Lane, timeline_svg};
pub use terminal::timeline_terminal;
pub(crate) use text::{seconds, title};
pub(crate) use ticks::Ticks;
