//! Files without an end, and things that are not regular files.

use std::fs;

use super::{CLEAN, Case, HEAD, Tree, case};

/// Returns files without an end, and things that are not regular files, at the paths that git
/// reads.
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
    cases.push(case(
        "a Makefile that unfolds",
        HEAD,
        &["the blob", "is larger than 256 MiB"],
        |tree| {
            tree.hole("Makefile", 300 << 20);
            tree.commit();
        },
    ));
    cases
}
