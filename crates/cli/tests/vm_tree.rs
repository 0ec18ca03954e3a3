//! Kernels from a tree, from Debian's source package to a cell. It builds a kernel, which takes
//! minutes, so only `make nightly` runs it.

use std::{fs, path::Path};

use crate::common::{Desk, Finished, median};
use crate::source;
use preemptlab_experiment::{Derived, Recording};
use preemptlab_model::{Digest, KernelSource};

const CORE: &str = "kernel/sched/core.c";

/// Computes a digest of every file of a tree with its path and its time.
fn digest(tree: &Path) -> Digest {
    let mut rows = Vec::new();
    let mut folders = vec![tree.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let (path, metadata) = (entry.path(), entry.metadata().unwrap());
            let time = metadata.modified().unwrap();
            let text = match (metadata.is_dir(), metadata.is_file()) {
                (true, _) => {
                    folders.push(path.clone());
                    Vec::new()
                }
                (_, true) => fs::read(&path).unwrap(),
                _ => Vec::new(),
            };
            rows.push(format!("{} {time:?} {}", path.display(), Digest::of(&text)));
        }
    }
    rows.sort();
    Digest::of(rows.join("\n").as_bytes())
}

/// Runs one cell with modules of the guest, and returns the kernel's source and the image's hash.
fn run_with(desk: &Desk, tree: &Path, modules: &str, out: &str) -> (KernelSource, Digest) {
    let text = format!(
        "format = 1\nname = \"tree\"\n[factors]\nkernel = [\"tree:{}\"]\npreempt = [\"full\"]\n\
         [replicates]\ncount = 1\n[machine]\ncost = \"instructions\"\nmodules = [{modules}]\n\
         [workload.processes]\nkind = \"cyclictest-hackbench\"\nwindow = \"1s\"\n",
        tree.display()
    );
    desk.write("tree.toml", &text);
    let mut command = desk.lasting_command(&["run", "tree.toml", "--out", out]);
    let finished = Finished::new(command.output().unwrap());
    finished.succeeds();
    let recording = Recording::open(&desk.path(out)).unwrap();
    let derived = Derived::check(&recording).unwrap();
    let kernel = derived.manifest().kernels[0].clone();
    (*kernel.source.unwrap(), kernel.image_sha256)
}

fn run(desk: &Desk, tree: &Path, out: &str) -> (KernelSource, Digest) {
    run_with(desk, tree, "", out)
}

#[test]
#[ignore = "builds a kernel: a part of make nightly"]
fn a_tree_is_built_and_built_again_and_never_written_to() {
    let desk = Desk::new();
    let tree = source::unpacked(&desk.path(""));
    let before = digest(&tree);
    let (source, first) = run(&desk, &tree, "first");
    assert_eq!(digest(&tree), before);
    assert!(source.revision.is_none() && source.defconfig.is_some(), "{source:?}");
    Finished::new(desk.lasting_command(&["verify", "first"]).output().unwrap()).succeeds();

    // A module of preemptlab's own is built for it, and the kernel does not change. Without the
    // holds the longest wakeup takes some 300 us.
    let (_, image) = run_with(&desk, &tree, "\"preemptlab_hold\"", "held");
    assert_eq!(image, first);
    let json = desk.run(&["compare", "held", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json.succeeds().stdout).unwrap();
    let max_us = median(&json["groups"][0]["configurations"][0], "wakeup.fifo.max");
    assert!((4_000.0..6_000.0).contains(&max_us), "{max_us} us");

    let core = tree.join(CORE);
    let text = fs::read_to_string(&core).unwrap();
    fs::write(&core, format!("{text}\nconst char preemptlab_marker[] = \"marked\";\n")).unwrap();
    let (_, second) = run(&desk, &tree, "second");
    assert_ne!(second, first);

    // The former files are the former kernel, to the byte.
    fs::write(&core, &text).unwrap();
    let (_, third) = run(&desk, &tree, "third");
    assert_eq!(third, first);

    // One that does not build keeps its row, with the compiler's complaint.
    fs::write(&core, format!("{text}\nint odd(void) {{ return nothing; }}\n")).unwrap();
    let mut command = desk.lasting_command(&["run", "tree.toml", "--out", "odd"]);
    let finished = Finished::new(command.output().unwrap());
    finished.says(&["unavailable", "undeclared"]);
}
