//! Scenarios in words, as pictures and as a page.

mod page;
mod picture;
mod words;

pub use page::scenarios_page;
pub use picture::scenario_svg;
pub use words::{scenarios_markdown, scenarios_terminal};
