use serde::Serialize;

use crate::Command;

/// What puts settings into force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Measures {
    /// What is to be done, in this order.
    pub steps: Vec<Step>,
    /// What is to be known about it.
    pub notes: Vec<String>,
    /// What of the settings has no place there, and where it goes.
    pub elsewhere: Vec<String>,
}

/// One of the measures. Paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Execute a command.
    Run(Command),
    /// Write a file; nothing else is in it.
    Write {
        /// Where.
        path: String,
        /// Its permissions.
        mode: u32,
        /// Its content.
        content: String,
    },
    /// Add words to the one line of a file that holds a kernel's whole command line.
    Add {
        /// Where.
        path: String,
        /// The words.
        words: Vec<String>,
    },
}
