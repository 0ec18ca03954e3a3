//! Repositories that name programs.

use std::fs;

use super::{CHANGED, CLEAN, Case, Tree, case};

/// Repositories that name a program in every way in which git takes one. Each has a file that
/// differs from the commit, and whose filter says that it does not.
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
