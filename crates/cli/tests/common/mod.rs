//! Runs the binary as a user would.

#![allow(dead_code, reason = "each test crate uses its own part")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// A folder for one test, and the commands in it.
pub struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Returns the command, with a store of its own that is empty, and no configuration.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_preemptlab"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("PREEMPTLAB_STORE", self.path("store"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("NO_COLOR", "1");
        command
    }

    /// Returns the command, with the user's store.
    pub fn lasting_command(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(arguments);
        match std::env::var_os("PREEMPTLAB_STORE") {
            Some(store) => command.env("PREEMPTLAB_STORE", store),
            None => command.env_remove("PREEMPTLAB_STORE"),
        };
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Finished {
        Finished::new(self.command(arguments).output().unwrap())
    }

    /// Writes the letter of a comparison, and returns it as the command's output.
    pub fn letter(&self, arguments: &[&str]) -> Finished {
        let letter = self.path("letter.md");
        let _ = fs::remove_file(&letter);
        let mut finished = self.run(&[&["compare"], arguments, &["-o", "letter.md"]].concat());
        assert_eq!(finished.stdout, "");
        finished.stdout = fs::read_to_string(&letter).unwrap_or_default();
        finished
    }
}

/// Returns the user's store.
pub fn lasting_store() -> PathBuf {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    folder("PREEMPTLAB_STORE")
        .or_else(|| Some(folder("XDG_CACHE_HOME")?.join("preemptlab")))
        .or_else(|| Some(folder("HOME")?.join(".cache/preemptlab")))
        .unwrap()
}

/// Output and exit code of a command.
#[derive(Debug)]
pub struct Finished {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    pub fn new(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Checks the exit code and that stderr says each of these.
    #[track_caller]
    pub fn fails(&self, code: i32, said: &[&str]) {
        assert_eq!(self.code, code, "{}{}", self.stdout, self.stderr);
        // A message may be broken into lines wherever there is a space.
        let stderr = self.stderr.replace('│', " ");
        let stderr = stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        for text in said {
            assert!(stderr.contains(text), "no `{text}` in:\n{}", self.stderr);
        }
    }

    /// Checks that stdout says each of these.
    #[track_caller]
    pub fn says(&self, texts: &[&str]) {
        let stdout = self.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        for text in texts {
            assert!(stdout.contains(text), "no `{text}` in:\n{}{}", self.stdout, self.stderr);
        }
    }

    #[track_caller]
    pub fn succeeds(&self) -> &Self {
        assert_eq!(self.code, 0, "{}{}", self.stdout, self.stderr);
        self
    }
}

/// Returns every file under a folder with its content, by relative path.
pub fn tree(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    fn walk(root: &Path, folder: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(root, &path, found);
            } else {
                let name = path.strip_prefix(root).unwrap().to_owned();
                found.push((name, fs::read(&path).unwrap()));
            }
        }
    }
    let mut found = Vec::new();
    walk(folder, folder, &mut found);
    found.sort();
    found
}
