//! Working trees with changes that their repository hides.

use std::fs;

use super::{CHANGED, CLEAN, Case, Tree, case};

/// Working trees that differ from their commit, and whose repository says that they do not.
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
