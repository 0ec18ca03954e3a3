//! The answers of a search so far, as a file that is whole or absent.

use std::{io, path::Path};

use preemptlab_analysis::bisection::Tested;
use serde::{Deserialize, Serialize};

use super::BisectError;

/// The version of the journal's format.
const FORMAT: u32 = 1;

/// The most bytes of a journal.
const BYTES_MAX: u64 = 16 << 20;

/// The ends of a search, and its question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ends {
    /// The commit that is good.
    pub good: String,
    /// The commit that is bad.
    pub bad: String,
    /// The question about each commit. Answers to another question are not continued.
    pub question: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Journal {
    format: u32,
    pub ends: Ends,
    /// The mechanism that is followed, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mechanism: Option<String>,
    pub steps: Vec<Tested>,
}

impl Journal {
    pub fn new(ends: Ends) -> Self {
        Self { format: FORMAT, ends, mechanism: None, steps: Vec::new() }
    }

    /// Reads a journal; `None` where there is none.
    pub fn read(path: &Path) -> Result<Option<Self>, BisectError> {
        let unreadable = |reason| BisectError::Journal { path: path.to_owned(), reason };
        let bytes = match preemptlab_files::read(path, BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(error.to_string())),
        };
        let journal: Self =
            serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?;
        let is_id = |text: &str| {
            (40..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        let ids = journal.steps.iter().map(|step| &step.commit);
        let are_ids = ids.chain([&journal.ends.good, &journal.ends.bad]).all(|id| is_id(id));
        match journal.format {
            FORMAT if are_ids => Ok(Some(journal)),
            FORMAT => Err(unreadable("it names something that is no commit".to_owned())),
            other => {
                Err(unreadable(format!("its format is {other}, and this version reads {FORMAT}")))
            }
        }
    }

    pub fn write(&self, path: &Path) -> Result<(), BisectError> {
        let mut bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        bytes.push(b'\n');
        preemptlab_files::renew(path, &bytes)
            .map_err(|error| BisectError::Write { path: path.to_owned(), error })
    }
}
