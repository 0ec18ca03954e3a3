//! Earlier answers of apt. Its resolver takes seconds, and its answers change only with the content
//! of the private root.

use std::{
    cell::OnceCell,
    path::{Path, PathBuf},
};

use preemptlab_model::Digest;

use super::{
    AptError,
    run::{Output, Root},
};
use crate::{
    StoreError,
    store::{kept, seen},
};

/// Version of the stored answers. A new number makes apt answer every question anew.
const FORMAT: u32 = 1;

/// Files of its private root that apt reads, besides those that an argument names.
const READ: [&str; 7] = [
    "apt.conf",
    "etc",
    "preferences",
    "sources.d",
    "state/extended_states",
    "state/lists",
    "status",
];

/// The answers of apt about one state of its private root, kept in it.
pub(super) struct Answers<'a> {
    root: Root<'a>,
    folder: OnceCell<PathBuf>,
}

impl<'a> Answers<'a> {
    /// Creates the answers of a private root, whose lists are ready and locked.
    pub(super) fn new(root: Root<'a>) -> Self {
        Self { root, folder: OnceCell::new() }
    }

    /// Runs a program of apt that only answers, unless it has answered the same before.
    pub(super) fn ask<A: AsRef<str>>(
        &self,
        program: &'static str,
        arguments: &[A],
    ) -> Result<Output, AptError> {
        self.ask_with(program, arguments, None)
    }

    /// Asks a program, with a file of this content that an argument names.
    pub(super) fn ask_with<A: AsRef<str>>(
        &self,
        program: &'static str,
        arguments: &[A],
        file: Option<(&Path, &str)>,
    ) -> Result<Output, AptError> {
        let words: Vec<_> = arguments.iter().map(AsRef::as_ref).collect();
        let question = Digest::of_json(&(program, &words, file.map(|(_, content)| content)));
        let folder = self.folder()?;
        let path = folder.join(question.to_string());
        if let Some(output) = kept::read(&path, question) {
            return Ok(output);
        }
        if let Some((path, content)) = file {
            super::config::write(path, content)?;
        }
        let output = self.root.run(program, arguments)?;
        if output.success || is_unknown(&output) {
            kept::supersede(folder)?;
            kept::write(&path, question, &output);
        }
        Ok(output)
    }

    fn folder(&self) -> Result<&Path, StoreError> {
        if let Some(folder) = self.folder.get() {
            return Ok(folder);
        }
        let read = READ.iter().map(|name| self.root.path.join(name));
        let read: Vec<_> = read.chain(self.root.programs.files()).collect();
        let state = Digest::of_json(&(FORMAT, seen::digest(&read)?));
        Ok(self.folder.get_or_init(|| self.root.path.join("answers").join(state.to_string())))
    }
}

/// Returns whether apt complained that there is no such package, which is an answer.
pub(super) fn is_unknown(output: &Output) -> bool {
    ["No packages found", "was not found", "Unable to locate"]
        .iter()
        .any(|complaint| output.stderr.contains(complaint))
}
