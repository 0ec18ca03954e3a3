//! The causes of late wakeups and slow requests, for terminals and as pictures.

mod atlas;
mod census;
mod confirmation;
mod explanation;
mod patched;
mod ranking;
mod responses;
mod searched;

pub(crate) use atlas::configuration_name;
pub use atlas::{atlas_markdown, atlas_table, atlas_terminal};
pub use census::{census_markdown, census_table, census_terminal};
pub use confirmation::confirmation_terminal;
pub use explanation::{explanation_svg, explanation_terminal};
pub use patched::patched_terminal;
pub use ranking::ranking_table;
pub use responses::responses_terminal;
pub use searched::{searched_table, searched_terminal};
