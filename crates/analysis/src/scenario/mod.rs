//! From scenarios to the experiments that play them, and from their recordings to the outcomes.

mod asked;
mod document;
mod experiment;
mod page;
mod picture;
mod played;
mod shown;
mod words;

pub use asked::{Loaded, Under};
pub use document::document;
pub use experiment::{Batch, batches};
pub use page::page;
pub use played::{Column, Played, State};
pub use shown::{Shown, Verdict, side_by_side};
pub use words::{markdown, text};
