//! A repository of Debian's kernel source, and changes of known effect: regressions, other layouts,
//! and commits that do not build or boot.

#![allow(dead_code, reason = "each program uses its own part")]

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use preemptlab_model::{Arch, Digest};
use preemptlab_provision::{Options, Provision, Store};

use super::common::lasting_store;

/// Debian's package with the source.
const PACKAGE: &str = "linux-source-6.12";

/// The committer and the time of every commit: equal changes are equal commits.
const COMMITTER: &str = "tests <tests@localhost.invalid> 1767225600 +0000";

/// The branch of the source as Debian has it.
const BASE: &str = "debian";

/// Unpacks Debian's source package into a folder, and returns the tree.
pub fn unpacked(folder: &Path) -> PathBuf {
    let store = Store::open(lasting_store()).unwrap();
    let on_event = |_| ();
    let provision = Provision::new(store, Arch::default(), Options::default(), &on_event);
    let packages = provision.packages(&[PACKAGE], &[]).unwrap();
    let (_, deb) = packages.iter().find(|(package, _)| package.name == PACKAGE).unwrap();
    let run = |program: &str, arguments: &[&str]| {
        let status = Command::new(program).args(arguments).status().unwrap();
        assert!(status.success(), "{program} {arguments:?}");
    };
    let unpacked = folder.join("deb");
    run("dpkg-deb", &["-x", deb.to_str().unwrap(), unpacked.to_str().unwrap()]);
    let archive = unpacked.join("usr/src").join(format!("{PACKAGE}.tar.xz"));
    run("tar", &["-xf", archive.to_str().unwrap(), "-C", folder.to_str().unwrap()]);
    fs::remove_dir_all(&unpacked).unwrap();
    folder.join(PACKAGE)
}

/// The source in a repository. Its path stays the same, so that its commits share one copy and one
/// build in the store.
pub struct Source {
    repository: PathBuf,
}

impl Source {
    /// Opens the repository below a folder, and makes it there if it is missing.
    pub fn open(folder: &Path) -> Self {
        let repository = folder.join("linux");
        if !repository.join(".git/refs/heads").join(BASE).is_file() {
            fs::create_dir_all(folder).unwrap();
            let draft = tempfile::tempdir_in(folder).unwrap();
            let tree = unpacked(draft.path());
            let _ = fs::remove_dir_all(&repository);
            fs::rename(tree, &repository).unwrap();
            let source = Self { repository: repository.clone() };
            source.git(&["init", "--quiet", "--template="], "");
            for setting in ["gc.auto=0", "core.compression=0"] {
                let (key, value) = setting.split_once('=').unwrap();
                source.git(&["config", key, value], "");
            }
            source.git(&["add", "--all", "--force"], "");
            let tree = source.git(&["write-tree"], "");
            let person = ["-c", "user.name=tests", "-c", "user.email=tests@localhost.invalid"];
            let commit = [&person[..], &["commit-tree", &tree, "-m", "Debian's source"]].concat();
            let commit = source.git(&commit, "");
            source.git(&["update-ref", &format!("refs/heads/{BASE}"), &commit], "");
        }
        Self { repository }
    }

    /// Returns the commit of Debian's source.
    pub fn base(&self) -> String {
        self.git(&["rev-parse", BASE], "")
    }

    /// Returns the text of a file as Debian has it.
    pub fn text(&self, path: &str) -> String {
        self.git_raw(&["show", &format!("{BASE}:{path}")], "")
    }

    /// Returns the repository's path.
    pub fn path(&self) -> &Path {
        &self.repository
    }

    /// Returns the name of the kernel of a commit.
    pub fn kernel(&self, commit: &str) -> String {
        format!("git:{}@{commit}", self.repository.display())
    }

    /// Commits a change on top of a commit, and moves a branch there. The work tree stays as it is.
    pub fn commit(&self, branch: &str, parent: &str, subject: &str, change: &Change) -> String {
        let read = |path: &str| self.git_raw(&["show", &format!("{parent}:{path}")], "");
        let mut stream = format!(
            "commit refs/heads/{branch}\ncommitter {COMMITTER}\ndata {}\n{subject}\nfrom {parent}\n",
            subject.len()
        );
        for (path, text) in change.files(&read) {
            stream += &format!("M 100644 inline {path}\ndata {}\n{text}\n", text.len());
        }
        self.git(&["fast-import", "--quiet", "--force"], &stream);
        self.git(&["rev-parse", branch], "")
    }

    /// Runs git, and returns its only line.
    pub fn git(&self, arguments: &[&str], input: &str) -> String {
        self.git_raw(arguments, input).trim_end().to_owned()
    }

    fn git_raw(&self, arguments: &[&str], input: &str) -> String {
        let mut child = Command::new("git")
            .arg("-C")
            .arg(&self.repository)
            .args(arguments)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_AUTHOR_DATE", "1767225600 +0000")
            .env("GIT_COMMITTER_DATE", "1767225600 +0000")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "git {arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

/// A statement that the kernel executes while it boots.
macro_rules! initcall {
    ($statement:literal) => {
        concat!(
            "\nstatic int __init made_odd(void)\n{\n\t",
            $statement,
            "\n\treturn 0;\n}\ncore_initcall(made_odd);\n"
        )
    };
}

/// A function that hackbench executes once for each message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hot {
    /// Its name.
    pub function: &'static str,
    path: &'static str,
    /// Where it starts in the file.
    start: &'static str,
    /// The statement before which the change is put.
    before: &'static str,
}

/// Functions on hackbench's path.
pub const HOT: [Hot; 4] = [
    Hot {
        function: "unix_stream_sendmsg",
        path: "net/unix/af_unix.c",
        start: "static int unix_stream_sendmsg(struct socket *sock,",
        before: "\twhile (sent < len) {\n",
    },
    Hot {
        function: "unix_stream_read_generic",
        path: "net/unix/af_unix.c",
        start: "static int unix_stream_read_generic(struct unix_stream_read_state *state,",
        before: "\ttarget = sock_rcvlowat(",
    },
    Hot {
        function: "vfs_write",
        path: "fs/read_write.c",
        start: "ssize_t vfs_write(struct file *file,",
        before: "\tif (!(file->f_mode & FMODE_WRITE))\n",
    },
    Hot {
        function: "vfs_read",
        path: "fs/read_write.c",
        start: "ssize_t vfs_read(struct file *file,",
        before: "\tif (!(file->f_mode & FMODE_READ))\n",
    },
];

/// Files whose functions and data a change of the layout moves.
const MOVED: [&str; 8] = [
    "kernel/sched/core.c",
    "kernel/sched/fair.c",
    "kernel/softirq.c",
    "kernel/time/hrtimer.c",
    "net/unix/af_unix.c",
    "net/core/sock.c",
    "fs/read_write.c",
    "mm/slub.c",
];

/// Change that a commit makes.
#[derive(Clone, Debug)]
pub enum Change {
    /// Each call of a function takes `ns` longer: a loop of two instructions, which takes 1.01 ns a
    /// turn with the prices of `amd-epyc`.
    Slower { at: Hot, ns: u64 },
    /// Each call of a function takes at least `ns` longer, on every architecture: the kernel's own delay looks at the
    /// clock until then.
    Delayed { at: Hot, ns: u64 },
    /// One of `every` calls keeps preemption off for `ns`.
    Section { at: Hot, ns: u64, every: u32 },
    /// Functions and data lie elsewhere. The seed says where.
    Layout { seed: u64 },
    /// A function that nothing calls.
    Unused { path: &'static str, name: String },
    /// It does not compile.
    Broken,
    /// The kernel panics while it boots.
    Panics,
    /// The kernel never finishes its boot.
    Hangs,
    /// Takes one of the three above back.
    Repaired,
}

/// Headers that changes include: of x86's clock, and of delays on every architecture.
const CLOCK: &str = "#include <asm/msr.h>\n#include <asm/tsc.h>\n";
const DELAY: &str = "#include <linux/delay.h>\n";

/// Files of commits that do not build or boot, and the code at their ends.
const BROKEN: (&str, &str) = ("kernel/sched/core.c", "\nint odd(void) { return nothing; }\n");
const PANICS: (&str, &str) =
    ("kernel/ksysfs.c", initcall!("panic(\"a commit that does not boot\");"));
const HANGS: (&str, &str) = ("kernel/ksysfs.c", initcall!("for (;;) cpu_relax();"));

impl Change {
    /// Returns the changed files: paths and texts.
    fn files(&self, read: &dyn Fn(&str) -> String) -> Vec<(&'static str, String)> {
        let in_function = |at: &Hot, code: &str, includes: &str| {
            let text = read(at.path);
            let start = text.find(at.start).unwrap_or_else(|| panic!("no {}", at.function));
            let place = start + text[start..].find(at.before).expect("the statement");
            let (head, tail) = text.split_at(place);
            let text = format!("{head}{code}{tail}");
            vec![(at.path, with(&text, includes))]
        };
        match self {
            Self::Slower { at, ns } => in_function(
                at,
                &format!(
                    "\t{{\n\t\tunsigned long left = {ns};\n\t\tasm volatile(\"1: dec %0\\n\\tjnz 1b\" : \
                     \"+r\" (left) : : \"cc\");\n\t}}\n"
                ),
                CLOCK,
            ),
            Self::Delayed { at, ns } => in_function(at, &format!("\tndelay({ns});\n"), DELAY),
            Self::Section { at, ns, every } => in_function(
                at,
                &format!(
                    "\t{{\n\t\tstatic unsigned int calls;\n\t\tif (++calls % {every} == 0) {{\n\t\t\tu64 \
                     end = rdtsc() + {ns}ULL * tsc_khz / 1000000;\n\t\t\tpreempt_disable();\n\t\t\twhile \
                     (rdtsc() < end)\n\t\t\t\tbarrier();\n\t\t\tpreempt_enable();\n\t\t}}\n\t}}\n"
                ),
                CLOCK,
            ),
            Self::Layout { seed } => {
                let moved = MOVED.iter().enumerate().map(|(at, path)| {
                    let random = random(&(seed, at));
                    let (text, data) = (16 * (1 + random % 255), 64 * (random >> 32 & 15));
                    let line = format!(
                        "asm(\".pushsection .text\\n.skip {text}, 0xcc\\n.popsection\\n.pushsection \
                         .data\\n.skip {data}\\n.popsection\");\n"
                    );
                    (*path, with(&read(path), &line))
                });
                moved.collect()
            }
            Self::Unused { path, name } => {
                let text =
                    format!("int {name}(int a);\nint {name}(int a)\n{{\n\treturn a + 1;\n}}\n");
                vec![(path, format!("{}\n{text}", read(path)))]
            }
            Self::Broken => vec![at_end(read, BROKEN)],
            Self::Panics => vec![at_end(read, PANICS)],
            Self::Hangs => vec![at_end(read, HANGS)],
            Self::Repaired => {
                let whole = |(path, code): (&'static str, &str)| {
                    let text = read(path);
                    text.contains(code).then(|| (path, text.replace(code, "")))
                };
                [BROKEN, PANICS, HANGS].into_iter().filter_map(whole).collect()
            }
        }
    }
}

/// Puts text behind the first line that includes something.
fn with(text: &str, line: &str) -> String {
    let place = text.find("\n#include").expect("an #include") + 1;
    let place = place + text[place..].find('\n').unwrap() + 1;
    let (head, tail) = text.split_at(place);
    format!("{head}{line}{tail}")
}

fn at_end(
    read: &dyn Fn(&str) -> String,
    (path, code): (&'static str, &str),
) -> (&'static str, String) {
    (path, format!("{}{code}", read(path)))
}

/// Returns a number that follows from a value, and looks random.
pub fn random(of: &impl serde::Serialize) -> u64 {
    let digest = Digest::of_json(of).to_string();
    u64::from_str_radix(&digest[..16], 16).unwrap()
}
