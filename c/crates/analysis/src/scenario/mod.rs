//! From scenarios to the experiments that play them, and from their recordings to the outcomes.

mod asked;
mod document;
mod experiment;
mod played;
mod shown;

pub use asked::{Loaded, Under};
pub use document::{
    ModelDocument, ScenarioDocument, ScenariosDocument, ScoreDocument, StateDocument, document,
    scores,
};
pub use experiment::{Batch, batches};
pub use played::{Column, Played, State};
pub use shown::{Shown, Verdict, side_by_side};
