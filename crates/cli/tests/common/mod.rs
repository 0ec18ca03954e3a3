//! Runs the binary as a user would.

#![allow(dead_code, reason = "each benchmark uses its own part")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;
use snapbox::{Data, assert_data_eq};

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

    /// Writes the files by which preemptlab takes a folder for a kernel's source, of 6.12.9 for amd64.
    pub fn write_kernel_source(&self, folder: &str) {
        let folder = self.path(folder);
        for (file, text) in [
            ("Makefile", "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 9\n"),
            ("Kconfig", "config SMP\n"),
            ("kernel/sched/core.c", "int one;\n"),
            ("arch/x86/Makefile", ""),
        ] {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
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

    /// Executes the commands of `tests/transcripts/NAME.t`, and checks all that they print.
    ///
    /// The file is in the form of cram: a line `  $ COMMAND` is for a shell in this folder, with the
    /// lines `  > MORE` below it; other indented lines are the output; lines that are not indented
    /// are comments. The output is stderr without blank lines at its end, then stdout with `| `
    /// before each line, then the exit code in brackets if it is not 0. This folder is `[DESK]`, and
    /// the repository, whose variable is `$REPO`, is `[REPO]`; a message with one of both is in one
    /// line. `SNAPSHOTS=overwrite` in the environment writes the file again.
    #[track_caller]
    pub fn replays(&self, name: &str) {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
        let transcript = Data::read_from(&tests.join(name).with_extension("t"), None).raw();
        let before = transcript.render().unwrap();
        let mut lines = before.lines().peekable();
        let mut after = String::new();
        let (mut was_command, mut is_apart) = (false, false);
        while let Some(line) = lines.next() {
            let command = line.strip_prefix("  $ ");
            if command.is_none() && (line.is_empty() || line.starts_with(' ')) {
                is_apart |= !was_command && !after.is_empty();
                continue;
            }
            if is_apart || command.is_some() != was_command && !after.is_empty() {
                after.push('\n');
            }
            (was_command, is_apart) = (command.is_some(), false);
            after += &format!("{line}\n");
            let Some(command) = command else { continue };
            let mut command = command.to_owned();
            while let Some(more) = lines.next_if(|line| line.starts_with("  >")) {
                after += &format!("{more}\n");
                command += &format!("\n{}", more.strip_prefix("  > ").unwrap_or_default());
            }
            for line in self.of_shell(&command, &tests).lines() {
                after += format!("  {line}").trim_end();
                after.push('\n');
            }
        }
        assert_data_eq!(after, transcript);
    }

    /// Returns what a command of a transcript prints, and its exit code if it is not 0.
    fn of_shell(&self, line: &str, tests: &Path) -> String {
        let inner = self.command(&[]);
        let programs = Path::new(inner.get_program()).parent().unwrap();
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(self.folder.path());
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("PATH", format!("{}:{}:{path}", programs.display(), tests.display()));
        let repository = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        command.env("REPO", repository).env("LC_ALL", "C").env_remove("COLUMNS");
        let finished = Finished::new(command.output().unwrap());
        let stdout = finished.stdout.lines().map(|line| format!("| {line}\n")).collect::<String>();
        let code =
            if finished.code == 0 { String::new() } else { format!("[{}]\n", finished.code) };
        let mut stderr = finished.stderr;
        let desk = self.folder.path().to_str().unwrap();
        for (path, name) in [(desk, "[DESK]"), (repository, "[REPO]")] {
            if stderr.contains(path) {
                // The length of the path decides where the message is broken into lines.
                stderr = stderr.replace("\n  │ ", " ").replace(path, name);
            }
        }
        format!("{}\n{stdout}{code}", stderr.trim_end()).trim_start_matches('\n').to_owned()
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

/// Returns the user's own store, or that of `PREEMPTLAB_STORE`. A new user has no folder of caches yet.
pub fn lasting_store() -> PathBuf {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    folder("PREEMPTLAB_STORE").unwrap_or_else(|| {
        let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
        let cache = cache.unwrap();
        fs::create_dir_all(&cache).unwrap();
        cache.join("preemptlab")
    })
}

/// Returns the image of a kernel in the store that offers full.
pub fn kernel_of_the_store() -> PathBuf {
    let folders = fs::read_dir(lasting_store().join("kernels")).unwrap();
    let is_dynamic = |folder: &PathBuf| {
        let config = fs::read_to_string(folder.join("config")).unwrap_or_default();
        config.contains("CONFIG_PREEMPT_DYNAMIC=y")
    };
    let folder = folders.map(|entry| entry.unwrap().path()).find(is_dynamic).unwrap();
    folder.join("vmlinuz")
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

/// Returns the median of a metric of a configuration, as `compare --format json` has it.
#[track_caller]
pub fn median(configuration: &Value, metric: &str) -> f64 {
    let metrics = configuration["metrics"].as_array().unwrap();
    let found = metrics.iter().find(|summary| summary["name"] == metric);
    found.unwrap_or_else(|| panic!("no {metric} in {configuration}"))["median"].as_f64().unwrap()
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
