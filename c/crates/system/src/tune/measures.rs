use schemars::JsonSchema;
use serde::Serialize;

use crate::tune::Command;

/// Measures that put settings into force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Measures {
    /// Steps, in the order in which they are taken.
    pub steps: Vec<Step>,
    /// Notes on the measures.
    pub notes: Vec<String>,
    /// Settings that the target has no place for, with the place where they go.
    pub elsewhere: Vec<String>,
}

/// Step of the measures. Paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Executes a command.
    Run(Command),
    /// Write a file; nothing else is in it.
    Write {
        /// Path of the file.
        path: String,
        /// Permissions of the file.
        mode: u32,
        /// Content of the file.
        content: String,
    },
    /// Add words to the one line of a file that holds a kernel's whole command line.
    Add {
        /// Path of the file.
        path: String,
        /// Words that are added.
        words: Vec<String>,
    },
}
