//! Commands of engines: executed without a shell, with a bound on their output.

mod answer;
mod execute;

#[cfg(test)]
pub use answer::{Answer, refused};
pub use answer::{Kind, Known};
pub use execute::Commands;
