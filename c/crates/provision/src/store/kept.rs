//! Answers that take long to find, kept in files until their question changes.

use std::{
    fs::{self, File},
    io::Read,
    path::Path,
};

use preemptlab_model::Digest;
use serde::{Serialize, de::DeserializeOwned};

use crate::StoreError;

/// More than any answer has, in bytes.
const BYTES_MAX: u64 = 128 << 20;

/// The hexadecimal digits of a digest, with a line's end.
const HEADER_BYTES: usize = 65;

/// Reads the answer to a question. A file that is damaged, or that answers another question, is
/// removed.
pub(crate) fn read<T: DeserializeOwned>(path: &Path, question: Digest) -> Option<T> {
    // A path that is not a regular file could keep its reader waiting for ever.
    if !fs::symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let answer = sound(&bytes, question).and_then(|body| serde_json::from_slice(body).ok());
    if answer.is_none() {
        let _ = fs::remove_file(path);
    }
    answer
}

/// Keeps the answer to a question. The caller has the answer already: on a full or read-only disk
/// it must only be found again.
pub(crate) fn write(path: &Path, question: Digest, answer: &impl Serialize) {
    let Ok(body) = serde_json::to_vec(answer) else { return };
    let mut bytes = format!("{}\n", digest(question, &body)).into_bytes();
    bytes.extend(body);
    let _ = preemptlab_files::replace(path, &bytes);
}

/// Returns the answer in a file, if the file is whole and answers this question.
fn sound(bytes: &[u8], question: Digest) -> Option<&[u8]> {
    let (header, body) = bytes.split_at_checked(HEADER_BYTES)?;
    let header = std::str::from_utf8(header).ok()?.strip_suffix('\n')?;
    (header.parse() == Ok(digest(question, body))).then_some(body)
}

/// Computes the digest of a question with its answer, so that no file can take another one's place.
fn digest(question: Digest, body: &[u8]) -> Digest {
    Digest::of_json(&(question, Digest::of(body)))
}

/// Makes a folder of answers, and removes those beside it: they answer questions about a state that
/// is gone.
pub(crate) fn supersede(folder: &Path) -> Result<(), StoreError> {
    if folder.is_dir() {
        return Ok(());
    }
    let parent = folder.parent().unwrap_or(folder);
    if parent.is_dir() {
        fs::remove_dir_all(parent).map_err(StoreError::at(parent))?;
    }
    fs::create_dir_all(folder).map_err(StoreError::at(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answer");
        let question = Digest::of(b"question");
        assert_eq!(read::<Vec<u32>>(&path, question), None);
        write(&path, question, &[1, 2]);
        assert_eq!(read(&path, question), Some(vec![1_u32, 2]));
        write(&path, question, &[3]);
        assert_eq!(read(&path, question), Some(vec![3_u32]));
    }

    #[test]
    fn what_is_damaged_is_no_answer_and_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answer");
        let question = Digest::of(b"question");
        write(&path, question, &"12345");
        let whole = fs::read(&path).unwrap();
        for place in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] ^= 1;
            for damaged in [&damaged[..], &whole[..place]] {
                fs::write(&path, damaged).unwrap();
                assert_eq!(read::<String>(&path, question), None);
                assert!(!path.exists());
            }
        }
        fs::write(&path, &whole).unwrap();
        assert_eq!(read::<String>(&path, Digest::of(b"another")), None);
        assert!(!path.exists());
    }

    #[test]
    fn a_pipe_keeps_nobody_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answer");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        assert_eq!(read::<String>(&path, Digest::of(b"question")), None);
    }
}
