//! Trees and repositories that others can write to.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use super::{Case, HEAD, case};

/// Trees and repositories that every user can write to, and links to those.
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
