//! The claim of Kubernetes that holds recordings.

use std::{
    path::{Path, PathBuf},
    str::FromStr,
};

use preemptlab_cluster::emit::{self, Line};

use crate::{Blame, Error, OrBlame, Result};

/// A claim, and where it is mounted here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    claim: Line,
    folder: Option<PathBuf>,
}

impl FromStr for Volume {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (claim, folder) = match text.split_once('=') {
            Some((claim, folder)) => (claim, Some(PathBuf::from(folder))),
            None => (text, None),
        };
        let is_name = |byte: u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.')
        };
        match !claim.is_empty() && claim.len() <= 253 && claim.bytes().all(is_name) {
            true => Ok(Self { claim: claim.parse().map_err(|error| format!("{error}"))?, folder }),
            false => Err(format!("`{text}` is no claim: write CLAIM or CLAIM=FOLDER")),
        }
    }
}

impl Volume {
    /// Returns the claim.
    pub fn claim(&self) -> &Line {
        &self.claim
    }

    /// Returns where pods find a recording.
    ///
    /// # Errors
    ///
    /// When the recording is not below the folder, or one of them does not exist.
    pub fn place(&self, recording: &Path) -> Result<Line> {
        let recording = recording.canonicalize().or_blame(Blame::User)?;
        let folder = match &self.folder {
            Some(folder) => folder.canonicalize().map_err(|error| {
                Error::user(format!("cannot open {}: {error}", folder.display()))
            })?,
            None => recording.parent().unwrap_or(Path::new("/")).to_owned(),
        };
        emit::place(&recording, &folder).or_blame(Blame::User)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_has_a_name_and_perhaps_a_folder() {
        let volume = |text: &str| text.parse::<Volume>();
        assert_eq!(volume("lab").unwrap().folder, None);
        assert_eq!(volume("lab=/mnt/a=b").unwrap().folder, Some("/mnt/a=b".into()));
        for text in ["", "=x", "Lab", "a b", "a/b", "a\n"] {
            assert!(volume(text).unwrap_err().contains("no claim"), "{text:?}");
        }
    }
}
