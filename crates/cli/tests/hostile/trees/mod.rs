//! Trees of strangers: repositories that try to run a program, to pass for another commit, to be read
//! without end, or that others can write to. A case is a row of a table.

mod changed;
mod endless;
mod forged;
mod others;
mod programs;

use std::{
    fs,
    os::unix::{
        fs::{PermissionsExt, symlink},
        net::UnixListener,
    },
    path::PathBuf,
    process::Command,
};

pub use self::{
    changed::changed,
    endless::endless,
    forged::forged,
    others::{foreign, writable},
    programs::programs,
};
use crate::common::Desk;

/// A repository with what preemptlab takes for a kernel, and a file beside it that no command makes.
pub struct Tree<'a> {
    desk: &'a Desk,
}

/// A tree of a stranger, and words of the message. Every case ends with exit code 2.
pub struct Case {
    /// Attempt of the stranger.
    pub name: String,
    /// The kernel that the experiment names.
    pub kernel: &'static str,
    /// Function that changes the tree.
    pub make: Box<dyn Fn(&Tree<'_>) + Sync>,
    /// Words of the message.
    pub said: &'static [&'static str],
}

/// The names of kernels in most cases.
pub const CLEAN: &str = "tree:linux,clean";
pub const HEAD: &str = "git:linux@HEAD";

/// Words of the refusal of a tree that differs from its commit.
pub const CHANGED: &[&str] = &["has changes that are not committed", "commit or stash them"];

impl<'a> Tree<'a> {
    /// Makes the tree with one commit.
    pub fn new(desk: &'a Desk) -> Self {
        let tree = Self { desk };
        desk.write_kernel_source("linux");
        tree.write("scripts/run.sh", "true\n");
        tree.write(".gitignore", "*.o\n");
        tree.write(".gitattributes", "*.c diff=cpp\n");
        tree.git(&["init", "--quiet", "--initial-branch=main"]);
        tree.commit();
        tree
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.desk.path("linux").join(name)
    }

    /// The file that every program of a case would make.
    pub fn canary(&self) -> PathBuf {
        self.desk.path("canary")
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Makes a file with a hole of `bytes`.
    pub fn hole(&self, name: &str, bytes: u64) {
        fs::File::create(self.path(name)).unwrap().set_len(bytes).unwrap();
    }

    /// Runs git as the stranger does.
    #[track_caller]
    pub fn git(&self, arguments: &[&str]) -> String {
        self.git_with(arguments, "")
    }

    #[track_caller]
    pub fn git_with(&self, arguments: &[&str], input: &str) -> String {
        let stdin = self.desk.write("stdin", input);
        let output = Command::new("/usr/bin/git")
            .args(["-c", "user.name=x", "-c", "user.email=x@invalid"])
            .args(arguments)
            .current_dir(self.path(""))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .stdin(fs::File::open(stdin).unwrap())
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    pub fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message=a change"]);
    }

    /// Puts a pipe in the place of a file.
    pub fn pipe(&self, name: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&path);
        assert!(Command::new("/usr/bin/mkfifo").arg(&path).status().unwrap().success());
    }

    /// Puts a socket in the place of a file.
    pub fn socket(&self, name: &str) {
        let path = self.path(name);
        let _ = fs::remove_file(&path);
        drop(UnixListener::bind(&path).unwrap());
    }

    /// Puts a link in the place of a file.
    pub fn link(&self, to: &str, name: &str) {
        let _ = fs::remove_file(self.path(name));
        symlink(to, self.path(name)).unwrap();
    }

    pub fn mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Returns the place of an object that is in a file of its own.
    pub fn object(&self, revision: &str) -> PathBuf {
        let id = self.git(&["rev-parse", revision]);
        self.path(".git/objects").join(&id[..2]).join(&id[2..])
    }

    /// Commits a folder with these rows of `git mktree` beside its files, and makes it HEAD.
    pub fn commit_rows(&self, rows: &str) {
        let base = self.git(&["ls-tree", "HEAD"]);
        let tree = self.git_with(&["mktree"], &format!("{base}\n{rows}"));
        self.commit_tree(&tree);
    }

    pub fn commit_tree(&self, tree: &str) {
        let commit = self.git(&["commit-tree", tree, "-m", "x"]);
        self.git(&["update-ref", "HEAD", &commit]);
    }
}

/// Returns a case.
fn case(
    name: impl Into<String>,
    kernel: &'static str,
    said: &'static [&'static str],
    make: impl Fn(&Tree<'_>) + Sync + 'static,
) -> Case {
    Case { name: name.into(), kernel, make: Box::new(make), said }
}

/// Returns the experiment on a kernel.
pub fn experiment(kernel: &str) -> String {
    format!(
        "format = 1\nname = \"tree\"\n[factors]\nkernel = [\"{kernel}\"]\npreempt = [\"full\"]\n\
         [workload.w]\nkind = \"cyclictest-hackbench\"\n"
    )
}
