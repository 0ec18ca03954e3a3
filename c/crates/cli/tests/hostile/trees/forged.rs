//! Repositories that hold something else than they say.

use std::fs;

use super::{CLEAN, Case, HEAD, Tree, case};

/// Writes an object whose content no program of git makes, and returns its name.
pub fn odd_object(tree: &Tree<'_>, kind: &str, content: &[u8]) -> String {
    let path = tree.desk.path("object");
    fs::write(&path, content).unwrap();
    tree.git(&["hash-object", "-w", "--literally", "-t", kind, path.to_str().unwrap()])
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
            // git itself hashes a commit that it looks for.
            let is_sought = of == "HEAD" && kernel == HEAD;
            cases.push(case(
                format!("{kernel}: {what} in the place of another one"),
                kernel,
                if is_sought { &["has no revision `HEAD`"] } else { FORGED },
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
        ("a commit of nothing", CLEAN, &["does not hold what the name"], |tree| {
            let commit = odd_object(tree, "commit", b"x\n");
            fs::write(tree.path(".git/refs/heads/main"), format!("{commit}\n")).unwrap();
        }),
    ];
    cases
        .extend(table.into_iter().map(|(name, kernel, said, make)| case(name, kernel, said, make)));
    cases
}
