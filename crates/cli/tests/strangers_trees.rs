//! Trees and repositories of strangers: each is refused with a sentence, nothing of it is executed,
//! and a harmless one that looks like it still works.

use std::{fs, process::Command, sync::atomic::AtomicUsize, thread};

use crate::common::{Desk, Finished, tree as files};
use crate::hostile;
use crate::hostile::trees::{self, CLEAN, Case, HEAD, Tree, experiment};

/// More than any refusal needs, in lines.
const LINES_MAX: usize = 14;

/// Runs a command on a `PATH` of programs that only note that they were run, and within bounds.
fn bounded(desk: &Desk, arguments: &[&str]) -> Finished {
    let (finished, ran) = hostile::bounded(desk, arguments);
    assert!(finished.code != 2 || ran.is_empty(), "{ran}{}", finished.stderr);
    finished
}

fn refused(case: &Case) -> Result<(), String> {
    let desk = Desk::new();
    let tree = Tree::new(&desk);
    (case.make)(&tree);
    let _ = fs::remove_file(tree.canary());
    desk.write("own.toml", &experiment(case.kernel));
    let Finished { code, stdout, stderr } = bounded(&desk, &["run", "-n", "own.toml"]);
    // A message may be broken into lines wherever there is a blank or a hyphen.
    let letters = |text: &str| text.replace(['│', ' ', '\n'], "");
    let said = letters(&stderr);
    let is_told = case.said.iter().all(|text| said.contains(&letters(text)));
    let is_plain = !stderr.chars().any(|char| char != '\n' && char.is_control());
    let lines = stderr.trim().lines().count();
    let is_refused = code == 2 && stdout.is_empty() && (1..=LINES_MAX).contains(&lines);
    match is_refused
        && is_told
        && is_plain
        && !tree.canary().exists()
        && !desk.path("runs").exists()
    {
        true => Ok(()),
        false => Err(format!(
            "{}: code {code}, canary {}, wanted {:?}:\n{stdout}{stderr}",
            case.name,
            tree.canary().exists(),
            case.said
        )),
    }
}

/// Tries every case, some at a time, and shows all that fail.
fn all_refused(cases: &[Case]) {
    let next = AtomicUsize::new(0);
    let failed: Vec<String> = thread::scope(|scope| {
        let work = || {
            let mut failed = Vec::new();
            while let Some(case) =
                cases.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
            {
                failed.extend(refused(case).err());
            }
            failed
        };
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), cases.len(), failed.join("\n"));
}

#[test]
fn no_program_of_a_repository_runs() {
    all_refused(&trees::programs());
}

#[test]
fn no_changed_tree_is_clean() {
    all_refused(&trees::changed());
}

#[test]
fn nothing_is_read_without_end() {
    all_refused(&trees::endless());
}

#[test]
fn nothing_passes_for_another_object() {
    all_refused(&trees::forged());
}

#[test]
fn a_tree_of_everybody_is_refused() {
    all_refused(&trees::writable());
}

#[test]
fn a_tree_of_somebody_else_is_refused() {
    if rustix::process::geteuid().is_root() {
        all_refused(&trees::foreign());
    }
}

#[test]
fn there_are_enough_cases() {
    let groups = [
        trees::programs(),
        trees::changed(),
        trees::endless(),
        trees::forged(),
        trees::writable(),
        trees::foreign(),
    ];
    let names: std::collections::BTreeSet<String> =
        groups.into_iter().flatten().map(|case| format!("{} {}", case.kernel, case.name)).collect();
    assert!(names.len() >= 170, "{}", names.len());
}

/// Checks that a tree is taken: the command continues, and asks for QEMU, which needs apt.
#[track_caller]
fn goes_on(name: &str, kernel: &str, make: impl Fn(&Tree<'_>)) {
    let desk = Desk::new();
    let tree = Tree::new(&desk);
    make(&tree);
    desk.write("own.toml", &experiment(kernel));
    let before = files(&tree.path(""));
    let finished = bounded(&desk, &["run", "-n", "own.toml"]);
    assert_eq!(finished.code, 4, "{name}: {}{}", finished.stdout, finished.stderr);
    assert!(finished.stderr.contains("apt"), "{name}: {}", finished.stderr);
    assert!(!tree.canary().exists(), "{name}");
    assert!(files(&tree.path("")) == before, "{name}: the tree was written to");
}

#[test]
fn trees_that_only_look_odd_go_on() {
    goes_on("a clean tree", CLEAN, |_| ());
    goes_on("a revision", HEAD, |_| ());
    goes_on("a file that .gitignore names", CLEAN, |tree| tree.write("kernel/new.o", "x"));
    goes_on("a file that info/exclude names", CLEAN, |tree| {
        tree.write(".git/info/exclude", "notes\n");
        tree.write("notes", "x");
    });
    goes_on("a built tree", CLEAN, |tree| {
        tree.write(".config", "x");
        tree.write("include/generated/a.h", "x");
    });
    goes_on("a tree with changes", "tree:linux", |tree| {
        tree.write("Makefile", "VERSION = 6\nPATCHLEVEL = 1\n")
    });
    goes_on("a filter that makes nothing else", CLEAN, |tree| {
        tree.git(&[
            "config",
            "filter.x.clean",
            &format!("touch '{}'; cat", tree.canary().display()),
        ]);
        tree.write(".git/info/attributes", "* filter=x\n");
    });
    goes_on("a working tree beside others", "tree:linux-2,clean", |tree| {
        drop(tree.git(&["worktree", "add", "--quiet", "../linux-2"]));
    });
    goes_on("a branch of another working tree", "git:linux-2@linux-2", |tree| {
        drop(tree.git(&["worktree", "add", "--quiet", "../linux-2"]));
    });
    goes_on("a folder in a repository", "git:linux/kernel@HEAD", |_| ());
    goes_on("a former commit", "git:linux@HEAD@{1}", |tree| tree.commit());
    goes_on("the commit before", "git:linux@main~1", |tree| tree.commit());
    goes_on("a tag", "git:linux@v6.12", |tree| {
        tree.git(&["tag", "--annotate", "v6.12", "--message=x"]);
        drop(tree.git(&["pack-refs", "--all"]));
    });
    goes_on("a branch that another one follows", "git:linux@main@{upstream}", |tree| {
        tree.git(&["branch", "other"]);
        tree.git(&["config", "branch.main.remote", "."]);
        drop(tree.git(&["config", "branch.main.merge", "refs/heads/other"]));
    });
    goes_on("a split list", CLEAN, |tree| {
        drop(tree.git(&["update-index", "--split-index"]));
    });
    goes_on("a packed repository", CLEAN, |tree| {
        drop(tree.git(&["gc", "--quiet"]));
    });
    goes_on("a bare clone", "git:bare.git@HEAD", |tree| {
        drop(tree.git(&["clone", "--quiet", "--bare", ".", "../bare.git"]));
    });
    goes_on("a clone that borrows objects", "git:shared@HEAD", |tree| {
        drop(tree.git(&["clone", "--quiet", "--shared", ".", "../shared"]));
    });
    goes_on("an unpacked source", "tree:linux", |tree| {
        fs::remove_dir_all(tree.path(".git")).unwrap()
    });
    goes_on("names of 256 bits", "tree:long,clean", |tree| {
        tree.git(&["init", "--quiet", "--object-format=sha256", "../long"]);
        let copy = Command::new("/bin/cp")
            .args(["-r", "Makefile", "Kconfig", "arch", "kernel", "../long"])
            .current_dir(tree.path(""))
            .status();
        assert!(copy.unwrap().success());
        tree.git(&["-C", "../long", "add", "--all"]);
        drop(tree.git(&["-C", "../long", "commit", "--quiet", "--message=x"]));
    });
}

/// A flag allows the scripts of a tree that others can write to; the advised command does, too.
#[test]
fn scripts_of_others_need_a_flag() {
    for case in trees::writable() {
        let desk = Desk::new();
        let tree = Tree::new(&desk);
        (case.make)(&tree);
        desk.write("own.toml", &experiment(case.kernel));
        let finished = bounded(&desk, &["run", "-n", "own.toml", "--allow-build-scripts"]);
        assert_eq!(finished.code, 4, "{}: {}", case.name, finished.stderr);
    }
    goes_on("what was everybody's", CLEAN, |tree| {
        tree.mode("scripts", 0o777);
        let status =
            Command::new("/bin/chmod").args(["o-w", "scripts"]).current_dir(tree.path("")).status();
        assert!(status.unwrap().success());
    });
}

/// A clone that lacks contents says so, and the advised command brings them.
#[test]
fn a_partial_clone_is_told_apart() {
    let desk = Desk::new();
    let tree = Tree::new(&desk);
    tree.git(&["config", "uploadpack.allowFilter", "true"]);
    let from = format!("file://{}", tree.path("").display());
    tree.git(&["clone", "--quiet", "--bare", "--filter=blob:none", &from, "../partial.git"]);
    desk.write("own.toml", &experiment("git:partial.git@HEAD"));
    let said = bounded(&desk, &["run", "-n", "own.toml"]);
    said.fails(
        2,
        &["lacks the object", "it is a partial clone", "git fetch --refetch --no-filter"],
    );
    tree.git(&["-C", "../partial.git", "fetch", "--quiet", "--refetch", "--no-filter", "origin"]);
    assert_eq!(bounded(&desk, &["run", "-n", "own.toml"]).code, 4);
}

/// `bisect` refuses a repository before it writes anything.
#[test]
fn bisect_leaves_nothing_where_it_refuses() {
    let desk = Desk::new();
    let tree = Tree::new(&desk);
    tree.commit();
    let search =
        |repository: &str| bounded(&desk, &["bisect", "HEAD~1..HEAD", "--repo", repository]);
    tree.mode(".git/config", 0o666);
    search("linux").fails(2, &["every user can write to", "--allow-build-scripts"]);
    tree.mode(".git/config", 0o644);
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::lchown(tree.path(".git"), Some(12345), None).unwrap();
        search("linux").fails(2, &["belongs to the user with the number 12345"]);
        std::os::unix::fs::lchown(tree.path(".git"), Some(0), None).unwrap();
    }
    fs::rename(tree.path(""), desk.path("li\nnux")).unwrap();
    search("li\nnux").fails(2, &["a character that cannot be shown"]);
    assert!(!desk.path("runs").exists());
}
