//! A late wakeup in words: its pieces without gaps, their causes, and the sentence that explains it.

mod pieces;
mod sentence;
mod text;

pub use pieces::{Piece, causes, count, longest_first, pieces};
pub use sentence::{cause_in_words, one_sentence};
pub use text::{REST, bounded, context, duration, is_imagined, name, percent, share, task};
