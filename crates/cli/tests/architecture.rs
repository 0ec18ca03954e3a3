//! The invariants of ARCHITECTURE.md that a machine can check.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::imports;

/// The crates in which some files import each other. To move their lines would change the guest's bytes.
const CIRCULAR: [&str; 2] = ["guest/", "guest/player/"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the packages that a crate depends on, without tests.
fn all_dependencies(manifest: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(manifest).unwrap();
    let table: toml::Table = text.parse().unwrap();
    let dependencies = table.get("dependencies").and_then(toml::Value::as_table);
    dependencies.into_iter().flat_map(toml::Table::keys).cloned().collect()
}

/// Returns the crates of this workspace that a crate depends on, without tests.
fn dependencies(manifest: &Path) -> BTreeSet<String> {
    all_dependencies(manifest)
        .iter()
        .filter_map(|name| name.strip_prefix("preemptlab-").map(str::to_owned))
        .collect()
}

fn of_crate(name: &str) -> BTreeSet<String> {
    dependencies(&root().join("crates").join(name).join("Cargo.toml"))
}

/// Returns a file's text without the items that are compiled for tests alone. Where an item ends is told by its
/// indentation, as rustfmt leaves it.
fn without_tests(text: &str) -> String {
    let mut lines = text.lines();
    let mut code = String::new();
    while let Some(line) = lines.next() {
        if line.trim_start() != "#[cfg(test)]" {
            code.push_str(line);
            code.push('\n');
            continue;
        }
        let indentation = &line[..line.len() - line.trim_start().len()];
        let is_end = |line: &&str| {
            line.strip_prefix(indentation).is_some_and(|rest| {
                rest.starts_with('}') || (!rest.starts_with(' ') && rest.ends_with(';'))
            })
        };
        lines.by_ref().find(is_end);
    }
    code
}

#[test]
fn items_for_tests_are_left_out_wherever_they_are() {
    let text = "use a;\n#[cfg(test)]\nmod early;\n#[cfg(test)]\nmod tests {\n    fn f() {\n    }\n}\nfn kept() {\n    \
                #[cfg(test)]\n    return;\n}\n";
    assert_eq!(without_tests(text), "use a;\nfn kept() {\n}\n");
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn the_data_flows_one_way() {
    let readers = [
        "analysis",
        "experiment",
        "files",
        "model",
        "protocol",
        "recording",
        "report",
        "scenario",
        "stats",
        "symbols",
        "trace",
        "workload",
    ];
    for reader in readers {
        for other in of_crate(reader) {
            let may = readers.contains(&&*other) || other == "system";
            assert!(may, "{reader} reads and must not depend on {other}");
        }
        let mut files = Vec::new();
        sources(&root().join("crates").join(reader).join("src"), &mut files);
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            let mut used = text.split("preemptlab_system").skip(1);
            let is_pure = used.all(|rest| rest.starts_with("::tune::"));
            assert!(is_pure, "{} uses more of `system` than `tune`", file.display());
        }
    }
    assert!(!of_crate("runner").contains("backend-qemu"), "runner knows the backend trait only");
    assert!(!of_crate("backend-qemu").contains("provision"), "QEMU is handed what it runs");
}

#[test]
fn settings_are_values() {
    let mut files = Vec::new();
    sources(&root().join("crates/system/src/tune"), &mut files);
    assert!(!files.is_empty());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let code = without_tests(&text);
        for other in ["crate::apply", "crate::host", "rustix", "fs::", "io::", "process::"] {
            assert!(!code.contains(other), "{} uses {other}", file.display());
        }
    }
}

#[test]
fn the_guest_depends_on_the_wire_format_alone() {
    let found = dependencies(&root().join("guest/Cargo.toml"));
    assert_eq!(found, BTreeSet::from(["protocol".to_owned(), "sys".to_owned()]));
}

#[test]
fn actions_know_no_command_line() {
    let of_lab = all_dependencies(&root().join("crates/lab/Cargo.toml"));
    for drawing in ["clap", "indicatif", "miette", "preemptlab-report"] {
        assert!(!of_lab.contains(drawing), "lab depends on {drawing}");
    }
    let mut files = Vec::new();
    sources(&root().join("crates/lab/src"), &mut files);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for environment in ["env::temp_dir", "env::current_exe", "env::args", "io::stdout"] {
            assert!(!text.contains(environment), "{} uses {environment}", file.display());
        }
    }
}

#[test]
fn answers_do_not_know_how_they_are_drawn() {
    let of_analysis = all_dependencies(&root().join("crates/analysis/Cargo.toml"));
    let drawing =
        ["anstyle", "csv", "minijinja", "parquet", "preemptlab-report", "tabled", "textwrap"];
    for drawing in drawing {
        assert!(!of_analysis.contains(drawing), "analysis depends on {drawing}");
    }
    let mut files = Vec::new();
    sources(&root().join("crates/analysis/src"), &mut files);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for markup in ["<svg", "<html", "<!doctype"] {
            assert!(!text.contains(markup), "{} writes {markup}", file.display());
        }
    }
}

#[test]
fn only_the_command_line_prints_reads_the_environment_or_exits() {
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let crate_path = entry.unwrap().path();
        if crate_path.ends_with("cli") {
            continue;
        }
        let mut files = Vec::new();
        sources(&crate_path.join("src"), &mut files);
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            let code = without_tests(&text);
            for forbidden in ["println!", "eprintln!", "env::var", "process::exit(", "dbg!"] {
                assert!(!code.contains(forbidden), "{} uses {forbidden}", file.display());
            }
        }
    }
}

/// Finds every folder below this one with a `Cargo.toml`, without built or fetched files.
fn manifests(folder: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        if name == "Cargo.toml" {
            found.insert(fs::canonicalize(entry.path()).unwrap());
        } else if entry.file_type().unwrap().is_dir()
            && !["target", "node_modules", "runs"].iter().any(|other| name == *other)
            && !name.to_string_lossy().starts_with('.')
        {
            manifests(&entry.path(), found);
        }
    }
}

/// Returns whether a unit test is anywhere below a folder.
fn has_tests(folder: &Path) -> bool {
    let mut files = Vec::new();
    sources(folder, &mut files);
    files.iter().any(|file| fs::read_to_string(file).unwrap().contains("#[test]"))
}

#[test]
fn every_unit_test_is_run() {
    let cargo = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--locked", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(cargo.status.success(), "{}", String::from_utf8_lossy(&cargo.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&cargo.stdout).unwrap();
    let path = |value: &serde_json::Value| {
        fs::canonicalize(value.as_str().expect("a path")).expect("it is there")
    };

    // Every crate of this tree is in the workspace.
    let packages = metadata["packages"].as_array().unwrap();
    let members: BTreeSet<_> =
        packages.iter().map(|package| path(&package["manifest_path"])).collect();
    let mut found = BTreeSet::new();
    manifests(&root(), &mut found);
    found.remove(&fs::canonicalize(root().join("Cargo.toml")).unwrap());
    assert_eq!(found, members);
    assert!(members.len() > 24, "{members:?}");

    // Of each crate everything is tested, or is a program that has no tests in its folder.
    for target in packages.iter().flat_map(|package| package["targets"].as_array().unwrap()) {
        let kind = target["kind"][0].as_str().unwrap();
        if target["test"] == true || ["bench", "example", "custom-build"].contains(&kind) {
            continue;
        }
        let source = path(&target["src_path"]);
        // Python loads its module: tests/python tests it.
        let is_python = kind == "cdylib" && source.ends_with("python/src/lib.rs");
        assert!(kind == "bin" || is_python, "{} is not tested", source.display());
        let folder = source.parent().unwrap();
        let is_beside_library = folder.join("lib.rs").exists();
        let untested = match is_beside_library {
            true => fs::read_to_string(&source).unwrap().contains("#[test]"),
            false => has_tests(folder),
        };
        assert!(!untested, "the tests beside {} are not run", source.display());
    }

    // A program of several files names each.
    for folder in members.iter().map(|manifest| manifest.with_file_name("tests")) {
        let Ok(main) = fs::read_to_string(folder.join("main.rs")) else { continue };
        for file in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            let stem = file.file_stem().unwrap().to_str().unwrap();
            let is_part = file.extension().is_some_and(|it| it == "rs") && stem != "main";
            let is_named = main.contains(&format!("\nmod {stem};\n"));
            assert!(is_named || !is_part, "{} is not run", file.display());
        }
    }

    // `make test` asks for all of it.
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    let recipe: Vec<_> = makefile
        .lines()
        .skip_while(|line| !line.starts_with("test:"))
        .skip(1)
        .take_while(|line| line.starts_with('\t'))
        .collect();
    assert!(recipe.contains(&"\tCARGO=\"$(CARGO)\" tests/run"), "{recipe:?}");
    let script = fs::read_to_string(root().join("tests/run")).unwrap();
    let build = "\"$CARGO\" test --profile quick --locked --workspace $without --no-run";
    assert!(script.contains(build), "tests/run builds something else");
    assert!(script.contains("'' | binary | vm) without= ;;"), "tests/run leaves something out");
    assert!(recipe.iter().any(|line| line.contains(" test-python")), "{recipe:?}");
}

/// Returns the folders of the crates of this workspace, by the name that the architecture page has
/// for each.
fn crates() -> BTreeMap<String, PathBuf> {
    let mut found = BTreeSet::new();
    manifests(&root(), &mut found);
    let root = fs::canonicalize(root()).unwrap();
    let folders = found.iter().filter_map(|manifest| manifest.parent());
    folders
        .filter(|folder| *folder != root)
        .map(|folder| {
            let path = folder.strip_prefix(&root).unwrap().to_str().unwrap();
            let name = path.strip_prefix("crates/").map_or(format!("{path}/"), str::to_owned);
            (name, folder.to_owned())
        })
        .collect()
}

/// The third column of the table of crates is written by this test, the second one by people.
#[test]
fn the_architecture_page_says_what_each_crate_depends_on() {
    let path = root().join("ARCHITECTURE.md");
    let page = fs::read_to_string(&path).unwrap();
    let mut missing: BTreeMap<String, PathBuf> = crates();
    let row = |line: &str, missing: &mut BTreeMap<String, PathBuf>| -> Option<String> {
        let cells: Vec<&str> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').collect();
        let [name, purpose, _] = cells[..] else { return None };
        let folder = missing.remove(name.trim().trim_matches('`'))?;
        let dependencies = dependencies(&folder.join("Cargo.toml"));
        let dependencies: Vec<_> = dependencies.iter().map(|name| format!("`{name}`")).collect();
        Some(format!("|{name}|{purpose}| {} |", dependencies.join(", ")).replace("|  |", "| |"))
    };
    let written: String = page
        .lines()
        .map(|line| row(line, &mut missing).unwrap_or_else(|| line.to_owned()) + "\n")
        .collect();
    assert!(missing.is_empty(), "the table lacks {:?}", missing.keys());
    if env::var_os("WRITE_TABLE").is_some() {
        fs::write(&path, &written).unwrap();
    }
    assert!(
        written == fs::read_to_string(&path).unwrap(),
        "ARCHITECTURE.md does not say what the crates depend on; write it anew with\n    \
         WRITE_TABLE=1 cargo test -p preemptlab --test tests architecture"
    );
}

/// Functions that a fuzzer or a test of another program calls instead of the code that it stands for.
const SEAMS: [&str; 2] = ["hostile_monitor", "looking_in"];

/// `rustc` warns of private items that nothing uses, not of public ones. Two items with one name hide each other
/// from this test.
#[test]
fn every_public_item_is_used() {
    let mut used: BTreeMap<String, usize> = BTreeMap::new();
    let mut defined: BTreeMap<String, (usize, PathBuf)> = BTreeMap::new();
    for (name, folder) in crates() {
        let mut files = Vec::new();
        let sources_path = folder.join("src");
        if sources_path.is_dir() {
            sources(&sources_path, &mut files);
        }
        for file in files.iter().filter(|file| !file.ends_with("tests.rs")) {
            let text = fs::read_to_string(file).unwrap();
            let code: String = without_tests(&text)
                .lines()
                .map(|line| line.split("//").next().unwrap().to_owned() + "\n")
                .collect();
            // An export does not count as a use.
            let code = code.split("pub use ").enumerate().map(|(at, part)| match at {
                0 => part,
                _ => part.split_once(';').map_or("", |(_, rest)| rest),
            });
            let code: String = code.collect();
            for word in code.split(|letter: char| !letter.is_alphanumeric() && letter != '_') {
                *used.entry(word.to_owned()).or_default() += 1;
            }
            let is_checked = !name.ends_with('/') && name != "testkit";
            for line in code.lines().map(str::trim_start).filter(|_| is_checked) {
                let Some(item) = line.strip_prefix("pub ") else { continue };
                let mut words = item
                    .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
                    .skip_while(|word| ["const", "async", "unsafe"].contains(word));
                let mut kind = words.next();
                // The name of a constant follows `const`.
                let is_constant = item.starts_with("const ") && kind != Some("fn");
                let name = if is_constant { kind.take() } else { words.next() };
                let kinds = ["fn", "struct", "enum", "trait", "type", "static"];
                if let Some(name) = name
                    && (is_constant || kind.is_some_and(|kind| kinds.contains(&kind)))
                {
                    defined.entry(name.to_owned()).or_insert_with(|| (0, file.clone())).0 += 1;
                }
            }
        }
    }
    let dead: Vec<String> = defined
        .iter()
        .filter(|(name, (count, _))| used[*name] <= *count && !SEAMS.contains(&name.as_str()))
        .map(|(name, (_, file))| format!("{name} in {}", file.display()))
        .collect();
    assert!(dead.is_empty(), "only tests use these:\n{}", dead.join("\n"));
}

#[test]
fn reading_a_recording_needs_neither_planner_nor_workloads() {
    let found = of_crate("recording");
    assert!(!found.contains("experiment") && !found.contains("workload"), "{found:?}");
}

/// A file that imports another one can be read after it; in a circle there is nowhere to begin.
#[test]
fn no_files_import_each_other() {
    let mut found = Vec::new();
    for (name, folder) in crates() {
        let sources = folder.join("src");
        if sources.is_dir() && !CIRCULAR.contains(&name.as_str()) {
            found.extend(imports::circles(&sources).into_iter().map(|it| format!("{name}: {it}")));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_store_knows_no_distribution_and_a_distribution_no_kernel() {
    let edges = imports::edges(&root().join("crates/provision/src"));
    let is_in = |module: &[String], floor: &str| module.first().is_some_and(|name| name == floor);
    for floor in ["store", "distribution", "kernel"] {
        assert!(edges.iter().any(|(from, _)| is_in(from, floor)), "{floor} is not a floor");
    }
    let above = |from: &[String]| match from {
        _ if is_in(from, "store") => {
            &["distribution", "kernel", "image", "qemu", "programs", "supplies", "provision"][..]
        }
        _ if is_in(from, "distribution") => {
            &["kernel", "image", "qemu", "programs", "supplies", "provision"]
        }
        _ => &[],
    };
    let is_test = |module: &[String]| module.last().is_some_and(|name| name == "tests");
    for (from, to) in edges.iter().filter(|(from, _)| !is_test(from)) {
        let climbs = above(from).iter().any(|floor| is_in(to, floor));
        assert!(!climbs, "{} imports {}", from.join("::"), to.join("::"));
        // Everything else asks the trait. One file chooses who offers packages; another is the fuzzer's.
        let is_apt = to.join("::") == "distribution::debian::apt";
        let may = ["distribution", "supplies", "hostile"].iter().any(|floor| is_in(from, floor));
        assert!(!is_apt || may, "{} knows apt", from.join("::"));
    }
}

#[test]
fn what_is_computed_is_the_same_on_every_machine() {
    let mut files = Vec::new();
    for reader in ["analysis", "model", "report", "scenario", "stats", "trace", "workload"] {
        sources(&root().join("crates").join(reader).join("src"), &mut files);
    }
    let of_the_system =
        [".ln()", ".exp()", ".powf(", ".log10()", ".ln_1p()", ".exp_m1()", ".sin()"];
    for file in files.iter().filter(|file| !file.ends_with("tests.rs")) {
        let text = fs::read_to_string(file).unwrap();
        let code = without_tests(&text);
        for function in of_the_system {
            assert!(!code.contains(function), "{} uses {function}", file.display());
        }
    }
}

/// Code that matches the kinds of kernels forgets one when another is added, unless `rustc` names it.
#[test]
fn kinds_of_kernels_are_known_to_their_grammar_and_their_sources_alone() {
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let crate_path = entry.unwrap().path();
        if crate_path.ends_with("model") || crate_path.ends_with("provision") {
            continue;
        }
        let mut files = Vec::new();
        sources(&crate_path.join("src"), &mut files);
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            for kind in ["Package", "Packaged", "Source", "File", "Tree", "Git"] {
                let matched = text.contains(&format!("KernelRef::{kind}"));
                assert!(!matched, "{} knows KernelRef::{kind}", file.display());
            }
        }
    }
}

/// Words of code that is about one processor, and the files that may have them outside of a folder `arch/`: those
/// about the machine that this program runs on, and those that use the numbers of all classes on the wire.
const OF_A_PROCESSOR: [(&str, &[&str]); 4] = [
    ("Register::R", &[]),
    ("Sysno", &[]),
    ("TargetArch::", &["backend-host/src/filter.rs"]),
    ("Class::ALL", &["calibrate/src/counted.rs", "calibrate/src/fit.rs"]),
];

/// The file with the machine of an experiment that describes none.
const DEFAULT_MACHINE: &str = "experiment/src/machine.rs";

/// Returns whether a file is about one architecture, or chooses such a file.
fn is_of_an_architecture(name: &str) -> bool {
    name.contains("/arch/")
}

/// The guest's architecture is a field of its machine. Code that names one, or takes the default, has not asked
/// the machine.
#[test]
fn the_machine_says_its_architecture() {
    let crates_path = root().join("crates");
    for entry in fs::read_dir(&crates_path).unwrap() {
        let crate_path = entry.unwrap().path();
        if ["model", "protocol", "testkit"].iter().any(|name| crate_path.ends_with(name)) {
            continue;
        }
        let mut files = Vec::new();
        sources(&crate_path.join("src"), &mut files);
        let is_test = |file: &Path| file.ends_with("tests.rs") || file.ends_with("testing.rs");
        for file in files.iter().filter(|file| !is_test(file)) {
            let name = file.strip_prefix(&crates_path).unwrap().to_str().unwrap();
            let text = fs::read_to_string(file).unwrap();
            let code = without_tests(&text);
            let named = code.contains("Arch::Amd64") && !is_of_an_architecture(name);
            assert!(!named, "{name} names an architecture");
            let assumed = code.contains("Arch::default()") && name != DEFAULT_MACHINE;
            assert!(!assumed, "{name} assumes an architecture");
            for (word, elsewhere) in OF_A_PROCESSOR {
                let may = is_of_an_architecture(name) || elsewhere.contains(&name);
                assert!(may || !code.contains(word), "{name} has {word}, which an `arch/` chooses");
            }
        }
    }
}

/// Readers compare the digest of README.md with that of their own machine.
#[test]
fn the_readme_has_the_digest_of_the_committed_recording() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let cells: Vec<_> = fs::read_dir(root().join("studies/check/cells")).unwrap().collect();
    let [cell] = &cells[..] else { panic!("{cells:?}") };
    let cell = fs::read_to_string(cell.as_ref().unwrap().path()).unwrap();
    let cell: serde_json::Value = serde_json::from_str(&cell).unwrap();
    let digest = cell["outcome"]["completed"]["digest"].as_str().unwrap();
    assert!(readme.contains(&format!("`{digest}`")), "README.md lacks {digest}");
    let row = format!("{0}  {0}  same", &digest[..12]);
    assert!(readme.contains(&row), "README.md lacks {row}");
}

/// A recipe that names a file of the past leads nowhere.
#[test]
fn the_recipes_name_files_that_are_there() {
    let page = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let named = page.split('`').skip(1).step_by(2);
    let paths: Vec<&str> = named
        .filter(|word| word.starts_with("crates/") || word.starts_with("guest/"))
        // A pattern, or a file that the reader is to write.
        .filter(|word| !word.contains('*') && !word.contains("NAME"))
        .collect();
    assert!(paths.len() > 20, "{paths:?}");
    for path in paths {
        assert!(root().join(path).exists(), "CONTRIBUTING.md names {path}, which is not there");
    }
}

#[test]
fn make_nightly_executes_the_tests_that_say_so() {
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    let list = makefile.lines().find_map(|line| line.strip_prefix("NIGHTLY_TESTS = ")).unwrap();
    let executed: BTreeSet<String> = list.split(' ').map(str::to_owned).collect();
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    let is_ignored =
        |line: &str| line.trim().starts_with("#[ignore") && line.contains("a part of make nightly");
    files.retain(|path| fs::read_to_string(path).unwrap().lines().any(is_ignored));
    let name = |path: &PathBuf| {
        let is_part = path.with_file_name("main.rs").exists();
        if is_part { "tests" } else { path.file_stem().unwrap().to_str().unwrap() }.to_owned()
    };
    let nightly: BTreeSet<String> = files.iter().map(name).collect();
    assert_eq!(nightly, executed, "the Makefile's NIGHTLY_TESTS");
}

#[test]
fn the_tree_names_no_mirror() {
    for file in ["Makefile", ".ci/run", "README.md", "ARCHITECTURE.md"] {
        let text = fs::read_to_string(root().join(file)).unwrap();
        assert!(!text.contains("debian.org"), "{file} names a mirror");
    }
}

/// Sources that read files without `files`: those of the system, which only root makes, and those of the
/// store, which no other user can write to.
const OWN_READERS: [&str; 28] = [
    // The machine's own configuration and kernel, and this program's processes.
    "backend-host/",
    "calibrate/src/module.rs",
    "cli/src/apart.rs",
    "cluster/src/engine/jobs.rs",
    "files/src/lock.rs",
    "files/src/owner.rs",
    "lab/src/children.rs",
    "provision/src/distribution/debian/apt/machine.rs",
    "provision/src/kernel/ktree/watched.rs",
    "system/src/apply/",
    "system/src/host/",
    // The store, and files that were unpacked or built in it.
    "backend-qemu/src/guest.rs",
    "backend-qemu/src/snapshot.rs",
    "lab/src/prepare/kernels.rs",
    "provision/src/distribution/debian/apt/config.rs",
    "provision/src/distribution/debian/apt/fetch.rs",
    "provision/src/distribution/debian/apt/lists.rs",
    "provision/src/distribution/debian/apt/own/",
    "provision/src/image.rs",
    "provision/src/kernel/kbuild/",
    "provision/src/kernel/kmod/",
    "provision/src/kernel/ktree/build.rs",
    "provision/src/kernel/packaged.rs",
    "provision/src/kernel/toolchain/wrap.rs",
    "provision/src/store/kept.rs",
    "provision/src/store/mod.rs",
    "provision/src/store/seed/mod.rs",
    "provision/src/store/whole.rs",
];

#[test]
fn files_that_somebody_names_have_one_reader() {
    let crates_path = root().join("crates");
    for entry in fs::read_dir(&crates_path).unwrap() {
        let mut files = Vec::new();
        sources(&entry.unwrap().path().join("src"), &mut files);
        for file in files.iter().filter(|file| !file.ends_with("tests.rs")) {
            let name = file.strip_prefix(&crates_path).unwrap().to_str().unwrap();
            let text = fs::read_to_string(file).unwrap();
            let code = without_tests(&text);
            let reads =
                ["File::open(", "fs::read(", "fs::read_to_string("].into_iter().find(|reader| {
                    // `Refs::read(` is another function.
                    let is_whole = |at: usize| !code[..at].ends_with(char::is_alphanumeric);
                    code.match_indices(reader).any(|(at, _)| is_whole(at))
                });
            let is_own = OWN_READERS.iter().any(|own| name.starts_with(own));
            assert!(is_own || reads.is_none(), "{name} uses {reads:?}: use files::read or open");
        }
    }
    let gone: Vec<_> = OWN_READERS.iter().filter(|own| !crates_path.join(own).exists()).collect();
    assert!(gone.is_empty(), "{gone:?}");
}
