//! Trees of strangers: repositories that try to run a program, to pass for another commit, to be read
//! without end, or that others can write to. A case is a row of a table.

#![allow(dead_code, reason = "each test crate uses its own part")]

use std::{
    fs,
    os::unix::{
        fs::{PermissionsExt, symlink},
        net::UnixListener,
    },
    path::{Path, PathBuf},
    process::Command,
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

/// What is said of a tree that is not what its commit holds.
pub const CHANGED: &[&str] = &["has changes that are not committed", "commit or stash them"];

impl<'a> Tree<'a> {
    /// Makes the tree with one commit.
    pub fn new(desk: &'a Desk) -> Self {
        let tree = Self { desk };
        tree.write("Makefile", "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 9\n");
        tree.write("Kconfig", "config SMP\n");
        tree.write("kernel/sched/core.c", "int one;\n");
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

    /// Makes a file with a hole of so many bytes.
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

/// Writes an object whose content no program of git makes, and returns its name.
pub fn odd_object(tree: &Tree<'_>, kind: &str, content: &[u8]) -> String {
    let path = tree.desk.path("object");
    fs::write(&path, content).unwrap();
    tree.git(&["hash-object", "-w", "--literally", "-t", kind, path.to_str().unwrap()])
}

fn case(
    name: impl Into<String>,
    kernel: &'static str,
    said: &'static [&'static str],
    make: impl Fn(&Tree<'_>) + Sync + 'static,
) -> Case {
    Case { name: name.into(), kernel, make: Box::new(make), said }
}

/// Repositories that name a program in every way in which git takes one. Each has a file that is not
/// what the commit holds, and whose filter says that it is.
pub fn programs() -> Vec<Case> {
    let keys = [
        "filter.x.clean",
        "filter.x.smudge",
        "filter.x.process",
        "core.fsmonitor",
        "diff.external",
        "diff.x.textconv",
        "diff.x.command",
        "diff.cpp.textconv",
        "core.sshCommand",
        "core.gitProxy",
        "core.pager",
        "pager.diff",
        "core.editor",
        "core.askPass",
        "credential.helper",
        "merge.x.driver",
        "gpg.program",
        "sequence.editor",
        "uploadpack.packObjectsHook",
        "core.alternateRefsCommand",
        "trailer.x.command",
        "interactive.diffFilter",
        "remote.origin.uploadpack",
        "remote.origin.vcs",
        "submodule.x.update",
        "mergetool.x.cmd",
        "difftool.x.cmd",
        "web.browser",
        "alias.ls-files",
        "alias.rev-parse",
        "alias.cat-file",
    ];
    let attributes = "* filter=x diff=x merge=x ident\n";
    let set = move |tree: &Tree<'_>, key: &str| {
        let touch = format!("touch '{}'", tree.canary().display());
        let value = if key.starts_with("alias") || key.ends_with("update") {
            format!("!{touch}")
        } else {
            touch
        };
        tree.git(&["config", key, &value]);
        tree.git(&["config", "filter.x.required", "true"]);
    };
    let mut cases: Vec<Case> = keys
        .into_iter()
        .map(|key| {
            case(format!("{key} is a program"), CLEAN, CHANGED, move |tree| {
                tree.write("kernel/sched/core.c", "int two;\n");
                tree.write(".git/info/attributes", attributes);
                set(tree, key);
            })
        })
        .collect();
    // The same filter, named from everywhere.
    for place in [
        ".gitattributes",
        "kernel/.gitattributes",
        "kernel/sched/.gitattributes",
        ".git/info/attributes",
    ] {
        cases.push(case(format!("a filter in {place}"), CLEAN, CHANGED, move |tree| {
            tree.write(place, attributes);
            set(tree, "filter.x.clean");
        }));
        if place.starts_with(".git/") {
            cases.pop();
        }
    }
    for (name, lines) in [
        ("include.path", "[include]\n\tpath = more\n"),
        ("includeIf gitdir", "[includeIf \"gitdir:**\"]\n\tpath = more\n"),
        ("includeIf onbranch", "[includeIf \"onbranch:main\"]\n\tpath = more\n"),
        (
            "attributes of core.attributesFile",
            "[core]\n\tattributesFile = .git/my-attributes\n[include]\n\tpath = more\n",
        ),
        ("worktreeConfig", "[extensions]\n\tworktreeConfig = true\n"),
    ] {
        cases.push(case(format!("a filter by {name}"), CLEAN, CHANGED, move |tree| {
            tree.write("kernel/sched/core.c", "int two;\n");
            tree.write(".git/my-attributes", attributes);
            tree.write(".git/info/attributes", attributes);
            let touch = format!("touch '{}'", tree.canary().display());
            let more = format!(
                "[filter \"x\"]\n\tclean = {touch}\n\trequired\n[core]\n\tfsmonitor = {touch}\n"
            );
            tree.write(".git/more", &more);
            tree.write(".git/config.worktree", &more);
            let config = fs::read_to_string(tree.path(".git/config")).unwrap();
            tree.write(".git/config", &format!("{config}{lines}"));
        }));
    }
    for hook in [
        "post-index-change",
        "fsmonitor-watchman",
        "reference-transaction",
        "pre-auto-gc",
        "post-checkout",
    ] {
        cases.push(case(format!("the hook {hook}"), CLEAN, CHANGED, move |tree| {
            tree.write("kernel/sched/core.c", "int two;\n");
            let script = format!("#!/bin/sh\ntouch '{}'\n", tree.canary().display());
            tree.write(&format!(".git/hooks/{hook}"), &script);
            tree.mode(&format!(".git/hooks/{hook}"), 0o755);
        }));
    }
    cases
}

/// Working trees that are not what their commit holds, and whose repository says that they are.
pub fn changed() -> Vec<Case> {
    const CORE: &str = "kernel/sched/core.c";
    type Make = fn(&Tree<'_>);
    let table: [(&str, Make); 26] = [
        ("showUntrackedFiles=no", |tree| {
            tree.git(&["config", "status.showUntrackedFiles", "no"]);
            tree.write("kernel/new.c", "");
        }),
        ("assume-unchanged", |tree| {
            tree.git(&["update-index", "--assume-unchanged", CORE]);
            tree.write(CORE, "int two;\n");
        }),
        ("skip-worktree", |tree| {
            tree.git(&["update-index", "--skip-worktree", CORE]);
            tree.write(CORE, "int two;\n");
        }),
        ("skip-worktree of a file that is gone", |tree| {
            tree.git(&["update-index", "--skip-worktree", "scripts/run.sh"]);
            fs::remove_file(tree.path("scripts/run.sh")).unwrap();
        }),
        ("fileMode=false", |tree| {
            tree.git(&["config", "core.fileMode", "false"]);
            tree.mode("scripts/run.sh", 0o755);
        }),
        ("checkStat=minimal", |tree| {
            tree.git(&["config", "core.checkStat", "minimal"]);
            tree.git(&["config", "core.trustctime", "false"]);
            let time = fs::metadata(tree.path(CORE)).unwrap().modified().unwrap();
            tree.write(CORE, "int two;\n");
            fs::File::options()
                .write(true)
                .open(tree.path(CORE))
                .unwrap()
                .set_modified(time)
                .unwrap();
        }),
        ("ignoreStat", |tree| {
            tree.git(&["config", "core.ignoreStat", "true"]);
            tree.git(&["update-index", CORE]);
            tree.write(CORE, "int two;\n");
        }),
        ("autocrlf", |tree| {
            tree.git(&["config", "core.autocrlf", "true"]);
            tree.write(CORE, "int one;\r\n");
        }),
        ("eol=crlf", |tree| {
            tree.write(".git/info/attributes", "* text eol=crlf\n");
            tree.write(CORE, "int one;\r\n");
        }),
        ("text=auto", |tree| {
            tree.write(".git/info/attributes", "* text=auto\n");
            tree.write(CORE, "int one;\r\n");
        }),
        ("ident", |tree| {
            tree.write(CORE, "char id[] = \"$Id$\";\n");
            tree.commit();
            tree.write(".git/info/attributes", "*.c ident\n");
            tree.write(CORE, "char id[] = \"$Id: x $\";\n");
        }),
        ("working-tree-encoding", |tree| {
            tree.write(".git/info/attributes", "*.c working-tree-encoding=UTF-16\n");
            let bytes: Vec<u8> = [0xff, 0xfe]
                .into_iter()
                .chain("int one;\n".bytes().flat_map(|byte| [byte, 0]))
                .collect();
            fs::write(tree.path(CORE), bytes).unwrap();
        }),
        ("core.excludesFile", |tree| {
            tree.write(".git/mine", "new.c\n");
            tree.git(&["config", "core.excludesFile", ".git/mine"]);
            tree.write("kernel/new.c", "");
        }),
        ("sparse-checkout", |tree| {
            tree.git(&["sparse-checkout", "set", "kernel", "--no-cone", "/Makefile", "/Kconfig"]);
        }),
        ("a file that its list lacks and .gitignore names", |tree| {
            tree.write(".gitignore", "*.o\nrun.sh\n");
            tree.commit();
            tree.git(&["rm", "--quiet", "--cached", "scripts/run.sh"]);
            tree.write("scripts/run.sh", "false\n");
        }),
        ("a file that is only staged", |tree| {
            tree.write("kernel/new.o", "");
            tree.git(&["add", "--force", "kernel/new.o"]);
        }),
        ("a file whose intent is to be added", |tree| {
            tree.write("kernel/new.c", "");
            tree.git(&["add", "--intent-to-add", "kernel/new.c"]);
        }),
        ("no list at all", |tree| {
            fs::remove_file(tree.path(".git/index")).unwrap();
            tree.write(CORE, "int two;\n");
        }),
        ("the list of another tree", |tree| {
            tree.write(CORE, "int two;\n");
            tree.git(&["add", CORE]);
        }),
        ("a link in the place of a file", |tree| {
            tree.link("../../Makefile", CORE.trim_end_matches(".c"))
        }),
        ("a link in the place of a folder", |tree| {
            fs::rename(tree.path("scripts"), tree.desk.path("elsewhere")).unwrap();
            tree.link("../elsewhere", "scripts");
        }),
        ("a folder in the place of a file", |tree| {
            fs::remove_file(tree.path("scripts/run.sh")).unwrap();
            tree.write("scripts/run.sh/x", "");
        }),
        ("a pipe in the place of a file", |tree| tree.pipe("scripts/run.sh")),
        ("a socket in the place of a file", |tree| tree.socket("scripts/run.sh")),
        ("an object in the place of HEAD", |tree| {
            let old = tree.git(&["rev-parse", "HEAD"]);
            tree.write(CORE, "int two;\n");
            tree.commit();
            let new = tree.git(&["rev-parse", "HEAD"]);
            tree.git(&["update-ref", "HEAD", &old]);
            tree.git(&["replace", &old, &new]);
        }),
        ("an object in the place of a file's content", |tree| {
            let old = tree.git(&["rev-parse", "HEAD:kernel/sched/core.c"]);
            tree.write(CORE, "int two;\n");
            let new = tree.git(&["hash-object", "-w", CORE]);
            tree.git(&["replace", &old, &new]);
        }),
    ];
    table.into_iter().map(|(name, make)| case(name, CLEAN, CHANGED, make)).collect()
}

/// Files without an end, and things that are no files, in the place of what git reads.
pub fn endless() -> Vec<Case> {
    const READ: &[&str] = &["cannot be read", "it is no regular file"];
    const LARGE: &[&str] = &["cannot be read", "it is larger than"];
    const WAITS: &[&str] = &["git was stopped", "waited for something", "find . -type p,s,c,b"];
    let mut cases = Vec::new();
    for name in [
        "HEAD",
        "config",
        "packed-refs",
        "refs/heads/main",
        "info/exclude",
        "shallow",
        "index",
        "commondir",
        "ORIG_HEAD",
        "sharedindex.x",
    ] {
        let place = format!(".git/{name}");
        for (what, make) in [
            ("a pipe", (|tree, name| tree.pipe(name)) as fn(&Tree<'_>, &str)),
            ("a socket", |tree, name| tree.socket(name)),
            ("/dev/zero", |tree: &Tree<'_>, name: &str| tree.link("/dev/zero", name)),
        ] {
            let place = place.clone();
            cases.push(case(format!("{what} as {place}"), CLEAN, READ, move |tree| {
                make(tree, &place)
            }));
        }
    }
    for (name, bytes) in [
        ("HEAD", 1 << 30),
        ("config", 1 << 40),
        ("packed-refs", 1 << 40),
        ("refs/heads/main", 1 << 30),
        ("info/exclude", 1 << 40),
        ("shallow", 1 << 40),
        ("commondir", 1 << 30),
    ] {
        let place = format!(".git/{name}");
        cases.push(case(format!("{place} without end"), CLEAN, LARGE, move |tree| {
            tree.hole(&place, bytes)
        }));
    }
    cases.push(case(".git is a pipe", CLEAN, READ, |tree| {
        fs::rename(tree.path(".git"), tree.desk.path("git")).unwrap();
        tree.pipe(".git");
    }));
    cases.push(case(".git is a device", CLEAN, READ, |tree| {
        fs::rename(tree.path(".git"), tree.desk.path("git")).unwrap();
        tree.link("/dev/zero", ".git");
    }));
    cases.push(case("former values are a pipe", "git:linux@HEAD@{1}", READ, |tree| {
        tree.pipe(".git/logs/HEAD")
    }));
    cases.push(case("the list has no end", CLEAN, &["is larger than 256 MiB"], |tree| {
        tree.hole(".git/index", 1 << 40)
    }));
    cases.push(case("a file has no end", CLEAN, &["is larger than 256 MiB"], |tree| {
        tree.hole("kernel/new.c", 1 << 40)
    }));
    cases.push(case("files of 5 GiB", CLEAN, &["more than 4 GiB"], |tree| {
        (0..25).for_each(|at| tree.hole(&format!("kernel/new{at}.c"), 200 << 20));
    }));
    cases.push(case("a path of 80 folders", CLEAN, &["too many folders"], |tree| {
        tree.write(&format!("{}x.c", "a/".repeat(80)), "")
    }));
    cases.push(case("patterns of a terabyte", CLEAN, &["git"], |tree| {
        tree.hole("kernel/.gitignore", 1 << 40)
    }));
    for place in [
        ".gitignore",
        "kernel/.gitignore",
        "kernel/sched/.gitignore",
        ".git/objects/info/alternates",
        ".git/objects/pack/pack-1.idx",
    ] {
        cases.push(case(format!("a pipe as {place}"), CLEAN, WAITS, move |tree| {
            if place.ends_with(".idx") {
                fs::create_dir_all(tree.path(".git/objects/pack")).unwrap();
                tree.write(".git/objects/pack/pack-1.pack", "x");
            }
            tree.pipe(place);
        }));
    }
    cases.push(case("a pipe as an object", CLEAN, WAITS, |tree| {
        let path = tree.object("HEAD^{tree}");
        let name = path.strip_prefix(tree.path("")).unwrap().to_str().unwrap().to_owned();
        tree.pipe(&name);
    }));
    cases.push(case("folders within folders", CLEAN, &["too many folders"], |tree| {
        let blob = tree.git_with(&["hash-object", "-w", "--stdin"], "");
        let mut id = tree.git_with(&["mktree"], &format!("100644 blob {blob}\tx\n"));
        for _ in 0..12 {
            let rows: String = (0..10).map(|at| format!("040000 tree {id}\td{at}\n")).collect();
            id = tree.git_with(&["mktree"], &rows);
        }
        tree.commit_rows(&format!("040000 tree {id}\tbomb\n"));
    }));
    cases.push(case("files within folders", CLEAN, &["too many files"], |tree| {
        let blob = tree.git_with(&["hash-object", "-w", "--stdin"], "");
        let rows: String = (0..100).map(|at| format!("100644 blob {blob}\tf{at:02}\n")).collect();
        let mut id = tree.git_with(&["mktree"], &rows);
        for _ in 0..2 {
            let rows: String = (0..100).map(|at| format!("040000 tree {id}\td{at:02}\n")).collect();
            id = tree.git_with(&["mktree"], &rows);
        }
        tree.commit_rows(&format!("040000 tree {id}\tbomb\n"));
    }));
    cases.push(case("folders of a chain", CLEAN, &["too many folders"], |tree| {
        let blob = tree.git_with(&["hash-object", "-w", "--stdin"], "");
        let mut id = tree.git_with(&["mktree"], &format!("100644 blob {blob}\tx\n"));
        for _ in 0..70 {
            id = tree.git_with(&["mktree"], &format!("040000 tree {id}\ta\n"));
        }
        tree.commit_rows(&format!("040000 tree {id}\tbomb\n"));
    }));
    cases.push(case("a Makefile that unfolds", HEAD, &["is no kernel source"], |tree| {
        tree.hole("Makefile", 300 << 20);
        tree.commit();
    }));
    cases
}

/// Repositories that hold something else than their names say.
pub fn forged() -> Vec<Case> {
    const FORGED: &[&str] = &["does not hold what the name", "damaged or forged", "clone it again"];
    let mut cases = Vec::new();
    for (what, of, by) in [
        ("a commit", "HEAD", "HEAD~1"),
        ("a folder", "HEAD^{tree}", "HEAD~1^{tree}"),
        ("a folder below", "HEAD:kernel", "HEAD~1:kernel"),
    ] {
        for kernel in [CLEAN, HEAD] {
            cases.push(case(
                format!("{kernel}: {what} in the place of another one"),
                kernel,
                FORGED,
                move |tree| {
                    tree.write("kernel/sched/core.c", "int two;\n");
                    tree.write("Makefile", "VERSION = 7\nPATCHLEVEL = 1\n");
                    tree.commit();
                    let (of, by) = (tree.object(of), tree.object(by));
                    fs::remove_file(&of).unwrap();
                    fs::copy(by, of).unwrap();
                },
            ));
        }
    }
    let rows: [(&str, &[u8], &str); 7] = [
        ("..", b"100644 ..\0", "leads elsewhere"),
        (".", b"40000 .\0", "leads elsewhere"),
        (".git", b"40000 .git\0", "leads elsewhere"),
        ("a path", b"100644 a/../../x\0", "leads elsewhere"),
        ("nothing", b"100644 \0", "leads elsewhere"),
        ("no text", b"100644 \xff\0", "no text"),
        ("a device", b"020000 x\0", "leads elsewhere"),
    ];
    for (name, head, said) in rows {
        let said: &'static [&'static str] = Box::leak(Box::new(["the source is refused", said]));
        cases.push(case(format!("a row that names {name}"), CLEAN, said, move |tree| {
            let id = tree.git_with(&["hash-object", "-w", "--stdin"], "x");
            let bytes: Vec<u8> = (0..20)
                .map(|at| u8::from_str_radix(&id[at * 2..at * 2 + 2], 16).unwrap())
                .collect();
            let odd = odd_object(tree, "tree", &[head, &bytes].concat());
            let core = tree.git(&["rev-parse", "HEAD:kernel"]);
            let base = tree.git(&["ls-tree", "HEAD"]).replace(&core, &odd);
            let root = tree.git_with(&["mktree"], &base);
            tree.commit_tree(&root);
        }));
    }
    type Make = fn(&Tree<'_>);
    let table: [(&str, &'static str, &'static [&'static str], Make); 15] = [
        ("HEAD names nothing", CLEAN, &["names no commit and no branch"], |tree| {
            tree.write(".git/HEAD", "\u{1b}[2J")
        }),
        ("HEAD names a path", CLEAN, &["names no commit and no branch"], |tree| {
            tree.write(".git/HEAD", "ref: ../../x")
        }),
        ("HEAD names a hidden path", HEAD, &["names no commit and no branch"], |tree| {
            tree.write(".git/HEAD", "ref: refs/heads/../../config")
        }),
        ("HEAD names itself", HEAD, &["has no revision `HEAD`"], |tree| {
            tree.write(".git/refs/heads/main", "ref: refs/heads/main\n")
        }),
        ("HEAD names a file", HEAD, &["has no revision `HEAD`"], |tree| {
            let blob = tree.git(&["rev-parse", "HEAD:Makefile"]);
            tree.write(".git/HEAD", &blob);
        }),
        (
            "packed references are something else",
            CLEAN,
            &["packed-refs holds another row"],
            |tree| tree.write(".git/packed-refs", "x y z\n"),
        ),
        (
            "packed references hold a short name",
            CLEAN,
            &["packed-refs holds another row"],
            |tree| tree.write(".git/packed-refs", "abcd refs/heads/x\n"),
        ),
        (
            "the end of the history is something else",
            CLEAN,
            &["`shallow` holds something"],
            |tree| tree.write(".git/shallow", "../../x\n"),
        ),
        (
            "configuration without grammar",
            CLEAN,
            &["git failed: fatal: bad config line 1"],
            |tree| tree.write(".git/config", "[\u{1b}[2J\n"),
        ),
        ("names in another way", CLEAN, &["in a way that is not known"], |tree| {
            drop(tree.git(&["config", "extensions.objectFormat", "md5"]))
        }),
        ("references in another way", CLEAN, &["another way than as files"], |tree| {
            drop(tree.git(&["config", "extensions.refStorage", "reftable"]))
        }),
        ("a list that is none", CLEAN, &["git failed"], |tree| {
            tree.write(".git/index", "DIRC\0\0\0\u{2}\u{7f}\u{7f}\u{7f}\u{7f}")
        }),
        ("a folder is missing", CLEAN, &["lacks the object", "it is damaged"], |tree| {
            fs::remove_file(tree.object("HEAD:kernel")).unwrap()
        }),
        ("a folder that is a file", CLEAN, &["does not hold what the name"], |tree| {
            let blob = tree.git(&["rev-parse", "HEAD:Makefile"]);
            let rows = tree
                .git(&["ls-tree", "HEAD"])
                .replace(&tree.git(&["rev-parse", "HEAD:scripts"]), &blob);
            let bytes = rows.lines().flat_map(|row| {
                let (head, name) = row.split_once('\t').unwrap();
                let (mode, id) =
                    (head.split(' ').next().unwrap(), head.rsplit(' ').next().unwrap());
                let id = (0..20).map(|at| u8::from_str_radix(&id[at * 2..at * 2 + 2], 16).unwrap());
                format!("{} {name}\0", mode.trim_start_matches('0'))
                    .into_bytes()
                    .into_iter()
                    .chain(id)
                    .collect::<Vec<_>>()
            });
            let root = odd_object(tree, "tree", &bytes.collect::<Vec<_>>());
            tree.commit_tree(&root);
        }),
        ("a commit of nothing", CLEAN, &["git"], |tree| {
            let commit = odd_object(tree, "commit", b"x\n");
            fs::write(tree.path(".git/refs/heads/main"), format!("{commit}\n")).unwrap();
        }),
    ];
    cases
        .extend(table.into_iter().map(|(name, kernel, said, make)| case(name, kernel, said, make)));
    cases
}

/// Trees and repositories that everybody can write to, and links to those.
pub fn writable() -> Vec<Case> {
    const SAID: &[&str] = &["every user can write to", "chmod o-w", "--allow-build-scripts"];
    let names = [
        "",
        "Makefile",
        "Kconfig",
        "scripts",
        ".gitignore",
        ".gitattributes",
        ".git",
        ".git/HEAD",
        ".git/config",
        ".git/index",
        ".git/objects",
        ".git/objects/pack",
        ".git/refs",
        ".git/packed-refs",
        ".git/info",
        ".git/info/attributes",
        ".git/info/exclude",
        ".git/shallow",
        ".git/config.worktree",
    ];
    let mut cases = Vec::new();
    for kernel in ["tree:linux", HEAD] {
        for name in names
            .into_iter()
            .filter(|name| kernel != HEAD || name.is_empty() || name.starts_with(".git/"))
        {
            cases.push(case(
                format!("{kernel}: everybody can write to `{name}`"),
                kernel,
                SAID,
                move |tree| {
                    let path = tree.path(name);
                    if !path.exists() {
                        tree.write(name, "");
                    }
                    tree.mode(name, if path.is_dir() { 0o777 } else { 0o666 });
                },
            ));
        }
    }
    cases.push(case("a repository of everybody's, far away", "tree:linux", SAID, |tree| {
        let git = tree.desk.path("git");
        fs::rename(tree.path(".git"), &git).unwrap();
        tree.write(".git", &format!("gitdir: {}\n", git.display()));
        fs::set_permissions(git, fs::Permissions::from_mode(0o777)).unwrap();
    }));
    cases.push(case("a link to a repository of everybody's", "tree:linux", SAID, |tree| {
        let git = tree.desk.path("git");
        fs::rename(tree.path(".git"), &git).unwrap();
        fs::set_permissions(&git, fs::Permissions::from_mode(0o777)).unwrap();
        tree.link(git.to_str().unwrap(), ".git");
    }));
    cases.push(case(
        "a working tree whose common folder is everybody's",
        "tree:linux-2",
        SAID,
        |tree| {
            tree.git(&["worktree", "add", "--quiet", "../linux-2"]);
            tree.mode(".git/config", 0o666);
        },
    ));
    cases.push(case("a repository above", "git:linux/kernel@HEAD", SAID, |tree| {
        tree.mode(".git/config", 0o666)
    }));
    cases
}

/// The same files, of another user's. Only root can give files away.
pub fn foreign() -> Vec<Case> {
    const SAID: &[&str] = &["belongs to the user with the number 12345", "--allow-build-scripts"];
    let names = [
        "",
        "Makefile",
        "scripts",
        ".gitattributes",
        ".git",
        ".git/HEAD",
        ".git/config",
        ".git/index",
        ".git/objects",
        ".git/refs",
        ".git/info",
        ".git/info/exclude",
    ];
    let mut cases = Vec::new();
    let give = |path: &Path| std::os::unix::fs::lchown(path, Some(12345), None).unwrap();
    for name in names {
        cases.push(case(format!("another user's `{name}`"), "tree:linux", SAID, move |tree| {
            give(&tree.path(name))
        }));
    }
    cases.push(case("another user's repository, far away", "tree:linux", SAID, move |tree| {
        let git = tree.desk.path("git");
        fs::rename(tree.path(".git"), &git).unwrap();
        tree.write(".git", "gitdir: ../git\n");
        give(&git);
    }));
    cases.push(case("another user's link to a repository", "tree:linux", SAID, move |tree| {
        let git = tree.desk.path("git");
        fs::rename(tree.path(".git"), &git).unwrap();
        tree.link("../git", ".git");
        give(&tree.path(".git"));
    }));
    cases
}

/// Returns the experiment on a kernel.
pub fn experiment(kernel: &str) -> String {
    format!(
        "format = 1\nname = \"tree\"\n[factors]\nkernel = [\"{kernel}\"]\npreempt = [\"full\"]\n\
         [workload.w]\nkind = \"cyclictest-hackbench\"\n"
    )
}
