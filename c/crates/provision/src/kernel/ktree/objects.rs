//! Objects of a repository, whose contents are those that their names say: a name is the hash of
//! the object (gitformat-pack(5)), and every object that is read is hashed.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::process::ExitStatusExt,
    process::{ChildStdin, Stdio},
};

use super::{
    Git, TreeError,
    object_id::{ObjectId, ObjectKind},
    paths::ODD,
    watched::Watched,
};

/// Questions that are asked before the answer to the first one is read. Together they fit into a
/// pipe, so neither side ever waits for the other.
const ASKED_MAX: usize = 256;

/// The first line of an answer of `git cat-file --batch`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Header {
    Present { id: ObjectId, kind: ObjectKind, bytes: u64 },
    Missing,
}

/// Reads the first line of an answer: `<id> <kind> <size>`, or `<what was asked for> missing`.
pub(super) fn header(line: &[u8]) -> Option<Header> {
    let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let mut words = line.split(' ');
    let (id, kind, bytes) = (words.next()?.parse().ok()?, words.next()?, words.next());
    if words.next().is_some() {
        return None;
    }
    let kind = match (kind, bytes) {
        ("missing", None) => return Some(Header::Missing),
        ("blob", Some(_)) => ObjectKind::Blob,
        ("tree", Some(_)) => ObjectKind::Tree,
        ("commit", Some(_)) => ObjectKind::Commit,
        _ => return None,
    };
    Some(Header::Present { id, kind, bytes: bytes?.parse().ok()? })
}

/// Returns the folder that a commit names.
pub(super) fn tree_of(commit: &[u8]) -> Option<ObjectId> {
    let line = commit.split(|byte| *byte == b'\n').next()?;
    std::str::from_utf8(line).ok()?.strip_prefix("tree ")?.parse().ok()
}

/// A process of git that hands out objects.
pub(crate) struct Objects {
    input: ChildStdin,
    output: BufReader<Watched>,
    git: Git,
}

impl Objects {
    /// Starts a process that hands out contents, or only sizes.
    pub(super) fn of(git: &Git, sizes_only: bool) -> Result<Self, TreeError> {
        let mut command =
            git.command(["cat-file", if sizes_only { "--batch-check" } else { "--batch" }]);
        command.stdin(Stdio::piped()).stderr(Stdio::null());
        let mut watched = Watched::start(command, git.bounds()).map_err(TreeError::NoGit)?;
        let input = watched.input();
        let input = input.ok_or_else(|| TreeError::NoGit(io::ErrorKind::BrokenPipe.into()))?;
        let output = BufReader::with_capacity(1 << 16, watched);
        Ok(Self { input, output, git: git.clone() })
    }

    /// Reads an object.
    pub(crate) fn read(&mut self, id: ObjectId, kind: ObjectKind) -> Result<Vec<u8>, TreeError> {
        let mut content = Vec::new();
        self.each(&[id], kind, |_, bytes| {
            content = bytes;
            Ok(())
        })?;
        Ok(content)
    }

    /// Reads objects of one kind, and hands out each with its place.
    pub(super) fn each(
        &mut self,
        ids: &[ObjectId],
        kind: ObjectKind,
        mut take: impl FnMut(usize, Vec<u8>) -> Result<(), TreeError>,
    ) -> Result<(), TreeError> {
        self.answers(ids, |this, at, id| {
            let bytes = this.head(id, kind)?;
            let content = this.content(bytes)?;
            match this.git.format.name(kind, &content) == id {
                true => take(at, content),
                false => Err(TreeError::Forged(id.to_string())),
            }
        })
    }

    /// Reads the sizes of objects of one kind, as git says them, and returns their sum.
    pub(super) fn bytes(&mut self, ids: &[ObjectId], kind: ObjectKind) -> Result<u64, TreeError> {
        let mut sum = 0_u64;
        self.answers(ids, |this, _, id| {
            sum = sum.saturating_add(this.head(id, kind)?);
            Ok(())
        })?;
        Ok(sum)
    }

    fn answers(
        &mut self,
        ids: &[ObjectId],
        mut answer: impl FnMut(&mut Self, usize, ObjectId) -> Result<(), TreeError>,
    ) -> Result<(), TreeError> {
        for (chunk, asked) in ids.chunks(ASKED_MAX).enumerate() {
            let questions: String = asked.iter().map(|id| format!("{id}\n")).collect();
            if let Err(error) = self.input.write_all(questions.as_bytes()) {
                return Err(self.trouble(error));
            }
            for (at, id) in asked.iter().enumerate() {
                if !id.is_of(self.git.format) {
                    return Err(TreeError::Refused(ODD));
                }
                answer(self, chunk * ASKED_MAX + at, *id)?;
            }
        }
        Ok(())
    }

    /// Reads the head of an answer, and returns the object's size.
    fn head(&mut self, asked: ObjectId, wanted: ObjectKind) -> Result<u64, TreeError> {
        let mut line = Vec::new();
        let read = self.output.by_ref().take(1 << 10).read_until(b'\n', &mut line);
        if let Err(error) = read {
            return Err(self.trouble(error));
        }
        if line.is_empty() {
            return Err(self.trouble(io::ErrorKind::UnexpectedEof.into()));
        }
        match header(&line) {
            Some(Header::Present { id, kind, bytes }) if id == asked && kind == wanted => {
                match bytes > wanted.bytes_max() {
                    true => Err(TreeError::TooLarge {
                        what: format!("the {} {asked}", wanted.as_str()),
                        mib: wanted.bytes_max() >> 20,
                    }),
                    false => Ok(bytes),
                }
            }
            Some(Header::Missing) => {
                Err(TreeError::Missing { id: asked.to_string(), is_partial: self.git.is_partial() })
            }
            _ => Err(TreeError::Forged(asked.to_string())),
        }
    }

    fn content(&mut self, bytes: u64) -> Result<Vec<u8>, TreeError> {
        let mut content = Vec::new();
        if let Err(error) = self.output.by_ref().take(bytes + 1).read_to_end(&mut content) {
            return Err(self.trouble(error));
        }
        match content.pop() {
            Some(b'\n') if content.len() as u64 == bytes => Ok(content),
            _ => Err(self.trouble(io::ErrorKind::UnexpectedEof.into())),
        }
    }

    /// Says why git does not continue.
    fn trouble(&mut self, error: io::Error) -> TreeError {
        match self.output.get_mut().conclude() {
            Ok((_, Some(reason))) => self.git.stopped(reason),
            Ok((status, None)) => match status.signal() {
                // git ends by itself with 128, also where it gets no more memory.
                Some(_) => TreeError::Interrupted,
                None => TreeError::Git(format!(
                    "it gave up an object (within {} MiB of memory): the repository is damaged, or an \
                     object in it unfolds without bound",
                    self.git.bounds().memory_mib
                )),
            },
            Err(_) => TreeError::Git(error.to_string()),
        }
    }
}
