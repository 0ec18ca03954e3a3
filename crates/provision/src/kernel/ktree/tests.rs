//! Trees of a few files, repositories made of them, and builds with a make that is a script.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use preemptlab_model::{Arch, Configured, Digest, KernelRef};

use super::{checkout::Provenance, *};
use crate::{
    Event, KbuildError, PackageError, Store, StoreError,
    kernel::{
        kbuild::{Tools, lab},
        toolchain::Programs,
    },
};

/// A make with the effects of the kernel's own: it takes every symbol but NEEDY, and writes nothing
/// into the source.
const MAKE: &str = r#"
for word in "$@"; do
    case $word in O=*) out=${word#O=} ;; KCONFIG_ALLCONFIG=*) all=${word#KCONFIG_ALLCONFIG=} ;; esac
done
cd "$out" || exit 1
case "$*" in
*allnoconfig) cp "$all" .config ;;
*olddefconfig) sed -i '/CONFIG_NEEDY/d' .config ;;
*savedefconfig) echo CONFIG_SMP=y > defconfig ;;
*bzImage)
    echo "  CC      kernel/fork.o"
    echo "$*" > arguments
    mkdir -p arch/x86/boot
    { cat "$OLDPWD/kernel/sched/core.c" .config; } > arch/x86/boot/bzImage
    : > modules.builtin ;;
esac
"#;

struct Fixture {
    folder: tempfile::TempDir,
    store: Store,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store")).unwrap();
        let fixture = Self { folder, store };
        fixture.write("Makefile", "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 9\n");
        fixture.write("Kconfig", "config SMP\nconfig NEEDY\nconfig SCHED_DEBUG\n");
        fixture.write("kernel/sched/core.c", "int one;\n");
        fixture.write("kernel/fork.c", "int fork;\n");
        fixture.write(".gitignore", ".*\n*.o\n!.gitignore\n");
        fixture
    }

    fn tree(&self) -> PathBuf {
        self.folder.path().join("linux")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.tree().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Runs git as a user does.
    fn git(&self, arguments: &[&str]) {
        let mut command = Command::new("/usr/bin/git");
        let who = ["-c", "user.name=nobody", "-c", "user.email=nobody@invalid"];
        command.args(who).args(arguments).current_dir(self.tree()).env_clear();
        let output = command.env("PATH", "/usr/bin:/bin").output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }

    fn commit(&self) {
        if !self.tree().join(".git").exists() {
            self.git(&["init", "--quiet", "--initial-branch=main"]);
        }
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message=a change"]);
    }

    fn of_tree(&self) -> Checkout {
        Checkout::of_tree(&self.tree()).unwrap()
    }

    /// Refuses the tree unless it is clean, and says why.
    fn clean(&self) -> Result<(), TreeError> {
        let checkout = Checkout::of_tree(&self.tree())?;
        let workspace = Workspace::open(&self.store, &checkout, &|_| ()).unwrap();
        checkout.check_clean(&workspace.list(&checkout)?)
    }

    fn provenance(&self, checkout: &Checkout) -> Provenance {
        let workspace = Workspace::open(&self.store, checkout, &|_| ()).unwrap();
        checkout.provenance(&workspace.list(checkout).unwrap()).unwrap()
    }

    fn of(&self, revision: &str) -> Checkout {
        Checkout::of_revision(&self.tree(), revision).unwrap()
    }

    /// Copies a checkout, and returns the files of the copy with their times.
    fn copied(&self, checkout: &Checkout) -> BTreeMap<String, (String, i64)> {
        let workspace = Workspace::open(&self.store, checkout, &|_| ()).unwrap();
        let mut listed = workspace.list(checkout).unwrap();
        workspace.follow(&listed.listing, &mut listed.origin).unwrap();
        files(&workspace.copy())
    }

    fn build(&self, checkout: &Checkout, make: &str, symbols: &str) -> Result<Digest, KbuildError> {
        let programs = self.folder.path().join("tools/usr/bin");
        fs::create_dir_all(&programs).unwrap();
        let place = programs.join("make");
        fs::write(&place, format!("#!/bin/sh\n{make}")).unwrap();
        fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
        let programs = Programs::at(&self.folder.path().join("tools"));
        let tools = Tools::of_packages(&programs, "gcc-14");
        let name: KernelRef = format!("tree:linux{symbols}").parse().unwrap();
        let configured = Configured { symbols: symbols.parse().unwrap(), ..Configured::default() };
        let job = Job {
            name: &name,
            configured: &configured,
            base: &lab(Arch::Amd64),
            tools: &tools,
            tools_sha256: Digest::of(b"tools"),
            version: "6.12.9".to_owned(),
        };
        let keep = |image: &[u8]| {
            let _lock = self.store.lock(&|_| ())?;
            crate::kernel::keep_image(&self.store, image)
        };
        let mut tree = Tree::open(&self.store, checkout, &|_| ())?;
        let notes = self.folder.path().join("notes");
        let note = |event| {
            if let Event::RunningScripts { what } = event {
                // No command has written anything yet.
                let ran = fs::read_to_string(&notes).unwrap_or_default();
                fs::write(&notes, format!("{ran}{what} is announced\n")).unwrap();
            }
        };
        if tree.built(&self.store, &job).is_none() {
            tree.build(&self.store, &job, keep, &note)?;
        }
        Ok(tree.built(&self.store, &job).unwrap().image_sha256)
    }
}

/// Returns every file below a folder with its text and its time.
fn files(folder: &Path) -> BTreeMap<String, (String, i64)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let entry = entry.unwrap();
            let path = entry.path();
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            let metadata = entry.metadata().unwrap();
            if metadata.is_dir() {
                found.insert(format!("{name}/"), (String::new(), metadata.mtime_nsec()));
                folders.push(path);
            } else {
                let text = match metadata.is_symlink() {
                    true => fs::read_link(&path).unwrap().display().to_string(),
                    false => String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned(),
                };
                let mode = metadata.mode() & 0o111 != 0 && !metadata.is_symlink();
                let text = if mode { format!("executable {text}") } else { text };
                found.insert(name, (text, metadata.mtime_nsec() ^ metadata.mtime()));
            }
        }
    }
    found
}

fn names(files: &BTreeMap<String, (String, i64)>) -> Vec<&str> {
    files.keys().map(String::as_str).filter(|name| !name.ends_with('/')).collect()
}

#[test]
fn a_copy_follows_its_tree_and_the_tree_stays_untouched() {
    let fixture = Fixture::new();
    fixture.commit();
    // A tree that was built in place, with a change, a new file and one that is gone.
    for built in [".config", "include/config/auto.conf", "kernel/fork.o", "include/generated/a.h"] {
        fixture.write(built, "built");
    }
    fixture.write("kernel/new.c", "int new;\n");
    symlink("fork.c", fixture.tree().join("kernel/link.c")).unwrap();
    fs::set_permissions(fixture.tree().join("Kconfig"), fs::Permissions::from_mode(0o755)).unwrap();
    let before = files(&fixture.tree());
    let copy = fixture.copied(&fixture.of_tree());
    assert_eq!(
        names(&copy),
        [
            ".gitignore",
            "Kconfig",
            "Makefile",
            "kernel/fork.c",
            "kernel/link.c",
            "kernel/new.c",
            "kernel/sched/core.c"
        ]
    );
    assert!(copy["Kconfig"].0.starts_with("executable "));
    assert_eq!(copy["kernel/link.c"].0, "fork.c");
    assert_eq!(files(&fixture.tree()), before);

    fixture.write("kernel/sched/core.c", "int two;\n");
    fs::remove_file(fixture.tree().join("kernel/fork.c")).unwrap();
    fs::remove_file(fixture.tree().join("kernel/link.c")).unwrap();
    let after = fixture.copied(&fixture.of_tree());
    assert_eq!(after["kernel/sched/core.c"].0, "int two;\n");
    assert!(!after.contains_key("kernel/fork.c") && !after.contains_key("kernel/link.c"));
    // An unchanged file keeps its time.
    for same in ["Makefile", "Kconfig", "kernel/new.c"] {
        assert_eq!(after[same], copy[same], "{same}");
    }
    // An equal copy is not written again, even without the notes about it.
    let workspace = Workspace::open(&fixture.store, &fixture.of_tree(), &|_| ()).unwrap();
    let notes = workspace.copy().with_file_name("copied");
    drop(workspace);
    fs::write(notes, "damaged").unwrap();
    assert_eq!(fixture.copied(&fixture.of_tree()), after);
}

#[test]
fn a_file_becomes_a_folder_and_a_folder_a_file() {
    let fixture = Fixture::new();
    fixture.write("a/b", "");
    symlink("/etc", fixture.tree().join("c")).unwrap();
    fixture.copied(&fixture.of_tree());
    fs::remove_dir_all(fixture.tree().join("a")).unwrap();
    fs::remove_file(fixture.tree().join("c")).unwrap();
    fixture.write("a", "file");
    fixture.write("c/passwd", "mine");
    let copy = fixture.copied(&fixture.of_tree());
    assert_eq!((copy["a"].0.as_str(), copy["c/passwd"].0.as_str()), ("file", "mine"));
}

#[test]
fn a_revision_has_the_digest_of_its_tree() {
    let fixture = Fixture::new();
    fixture.commit();
    let digest =
        |checkout: &Checkout| Tree::open(&fixture.store, checkout, &|_| ()).unwrap().digest();
    let first = digest(&fixture.of("HEAD"));
    assert_eq!(digest(&fixture.of_tree()), first);
    fixture.write("kernel/sched/core.c", "int two;\n");
    let dirty = digest(&fixture.of_tree());
    assert_ne!(dirty, first);
    let provenance = fixture.provenance(&fixture.of_tree());
    assert!(provenance.dirty && provenance.diff.unwrap().contains("+int two;"));
    fixture.commit();
    assert_eq!(digest(&fixture.of("main")), dirty);
    assert_eq!(digest(&fixture.of("HEAD~1")), first);
    let provenance = fixture.provenance(&fixture.of("HEAD"));
    assert!(!provenance.dirty && provenance.diff.is_none());
    assert_eq!(provenance.revision.unwrap().len(), 40);
    // Both are in one folder of the store, whose copy follows.
    let old = fixture.copied(&fixture.of("HEAD~1"));
    assert_eq!(old["kernel/sched/core.c"].0, "int one;\n");
    let new = fixture.copied(&fixture.of("HEAD"));
    assert_eq!(new["kernel/sched/core.c"].0, "int two;\n");
    assert_eq!(new["Makefile"], old["Makefile"]);
    // A source outside of every repository is the same kernel, also with the `.gitignore` of
    // Debian's source, which ignores whatever is at the top.
    fixture.write(".gitignore", ".*\n*.o\n!.gitignore\n/*\n");
    let of_debian = digest(&fixture.of_tree());
    fs::remove_dir_all(fixture.tree().join(".git")).unwrap();
    fixture.write(".config", "built");
    assert_eq!(digest(&fixture.of_tree()), of_debian);
    assert_eq!(fixture.provenance(&fixture.of_tree()).revision, None);
}

#[test]
fn what_is_no_kernel_or_no_revision_is_refused() {
    let fixture = Fixture::new();
    let tree = fixture.tree();
    fn refused<T>(taken: Result<T, TreeError>) -> String {
        match taken {
            Ok(_) => panic!("it was taken"),
            Err(error) => error.to_string(),
        }
    }
    let said = refused(Checkout::of_revision(&tree, "HEAD"));
    assert!(said.contains("is no git repository"), "{said}");
    let said = refused(fixture.clean());
    assert!(said.contains("nothing can say that it is clean"), "{said}");
    fixture.commit();
    fixture.clean().unwrap();
    let said = refused(Checkout::of_revision(&tree, "v9.9"));
    assert!(said.contains("has no revision `v9.9`; `git fetch --tags`"), "{said}");
    fixture.write("kernel/new.c", "");
    fixture.write("Makefile", "VERSION = 7\n");
    let said = refused(fixture.clean());
    assert!(said.contains("not committed (Makefile and 1 more)"), "{said}");
    fixture.commit();

    let shallow = fixture.folder.path().join("shallow");
    let from = format!("file://{}", tree.display());
    fixture.git(&["clone", "--quiet", "--depth=1", &from, shallow.to_str().unwrap()]);
    Checkout::of_revision(&shallow, "HEAD").unwrap();
    let said = refused(Checkout::of_revision(&shallow, "HEAD~1"));
    assert!(said.contains("it is a shallow clone, and `git fetch --unshallow`"), "{said}");
    let bare = fixture.folder.path().join("bare.git");
    fixture.git(&["clone", "--quiet", "--bare", &from, bare.to_str().unwrap()]);
    Checkout::of_revision(&bare, "HEAD~1").unwrap();

    fs::remove_file(tree.join("kernel/sched/core.c")).unwrap();
    let said = refused(Checkout::of_tree(&tree));
    assert!(said.contains("is no kernel source: it has no kernel/sched/core.c"), "{said}");
    fixture.commit();
    let said = refused(Checkout::of_revision(&tree, "HEAD"));
    assert!(said.contains("is no kernel source"), "{said}");
    let said = refused(Checkout::of_tree(&tree.join("nowhere")));
    assert!(said.contains("cannot be read"), "{said}");
}

#[test]
fn a_source_that_guests_of_an_architecture_cannot_boot_is_refused() {
    let fixture = Fixture::new();
    let said = |checkout: &Checkout| checkout.check_guest(Arch::Arm64).unwrap_err().to_string();
    let has_none = said(&fixture.of_tree());
    let tree = fixture.tree().display().to_string();
    let lacks =
        format!("the guest is of arm64, and the kernel source `{tree}` has no arch/arm64/Makefile");
    assert_eq!(has_none, format!("{lacks}; name another folder or revision"));
    fixture.write("arch/x86/Makefile", "");
    fixture.commit();
    let advice = ": run it with `--arch amd64`, or name another folder or revision";
    assert_eq!(said(&fixture.of_tree()), format!("{lacks}{advice}"));
    assert_eq!(said(&fixture.of("HEAD")), format!("{lacks}{advice}"));
    fixture.write("arch/arm64/Makefile", "");
    fixture.of_tree().check_guest(Arch::Arm64).unwrap();
    assert_eq!(said(&fixture.of("HEAD")), format!("{lacks}{advice}"));
    fixture.commit();
    for arch in Arch::ALL {
        fixture.of("HEAD").check_guest(arch).unwrap();
    }
}

#[test]
fn a_repository_starts_no_program_and_leads_nowhere() {
    let fixture = Fixture::new();
    fixture.commit();
    let canary = fixture.folder.path().join("canary");
    let touch = format!("touch {}", canary.display());
    for key in ["core.fsmonitor", "diff.external", "core.sshCommand", "core.pager"] {
        fixture.git(&["config", key, &touch]);
    }
    fixture.write("Makefile", "VERSION = 6\nPATCHLEVEL = 13\n");
    fixture.copied(&fixture.of_tree());
    fixture.provenance(&fixture.of_tree());
    assert!(matches!(fixture.clean(), Err(TreeError::Dirty { .. })));
    assert!(!canary.exists());

    // A tree in which a link is also the folder of a file, as no git makes one.
    let git = |arguments: &[&str], input: &str| {
        let mut command = Command::new("/usr/bin/git");
        command.args(arguments).current_dir(fixture.tree()).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let link = git(&["hash-object", "-w", "--stdin"], "/tmp");
    let below = git(&["mktree"], &format!("100644 blob {link}\tfile\n"));
    let base = git(&["ls-tree", "HEAD"], "");
    let rows = format!("{base}\n120000 blob {link}\ta\n040000 tree {below}\ta\n");
    let tree = git(&["mktree"], &rows);
    let who = ["-c", "user.name=nobody", "-c", "user.email=nobody@invalid"];
    let commit = git(&[&who[..], &["commit-tree", &tree, "-m", "x"]].concat(), "");
    let checkout = fixture.of(&commit);
    let workspace = Workspace::open(&fixture.store, &checkout, &|_| ()).unwrap();
    let listed = workspace.list(&checkout).map(drop);
    assert!(matches!(listed, Err(TreeError::Refused(_))), "{listed:?}");
}

#[test]
fn a_kernel_is_built_once_and_then_what_changed() {
    let fixture = Fixture::new();
    fixture.commit();
    let before = files(&fixture.tree());
    let first = fixture.build(&fixture.of_tree(), MAKE, "").unwrap();
    assert_eq!(files(&fixture.tree()), before);
    // Equal files are one kernel, which is not built again.
    assert_eq!(fixture.build(&fixture.of("HEAD"), "exit 1", "").unwrap(), first);
    let other = fixture.build(&fixture.of_tree(), MAKE, "+SMP=n").unwrap();
    assert_ne!(other, first);
    fixture.write("kernel/sched/core.c", "int two;\n");
    assert_ne!(fixture.build(&fixture.of_tree(), MAKE, "").unwrap(), first);
    assert_eq!(fixture.build(&fixture.of("HEAD"), "exit 1", "").unwrap(), first);
    // One folder of builds for each configuration.
    let place = fixture.store.tree(fixture.of_tree().place());
    let builds = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with("build-");
    let builds: Vec<_> = fs::read_dir(place).unwrap().map(Result::unwrap).filter(builds).collect();
    assert_eq!(builds.len(), 2);
    // Nothing says where it was built.
    let arguments = fs::read_to_string(builds[0].path().join("arguments")).unwrap();
    assert!(arguments.contains("/source=. -ffile-prefix-map="), "{arguments}");
}

#[test]
fn what_stops_a_build_is_told_apart_and_mended() {
    let fixture = Fixture::new();
    let build = |make: &str, symbols: &str| fixture.build(&fixture.of_tree(), make, symbols);
    let failing = MAKE.replace(
        "    echo \"  CC      kernel/fork.o\"",
        "echo \"$PWD/a.c:1:2: error: odd\"; echo '  CC b.o'; exit 2",
    );
    let error = build(&failing, "").unwrap_err();
    assert!(error.is_of_kernel());
    let KbuildError::TreeFailed { target, reason, end, log } = error else { panic!("{error}") };
    assert_eq!((target, reason.as_str()), ("bzImage", "/a.c:1:2: error: odd"));
    assert!(end.ends_with("  CC b.o"), "{end}");
    assert!(fixture.store.root().join(log).is_file());

    let error = build(MAKE, "+NEEDY=y").unwrap_err();
    assert!(error.is_of_kernel() && error.to_string().contains("CONFIG_NEEDY is to be y"));
    let lacking = MAKE.replace("cp \"$all\" .config", "grep -v SCHED_DEBUG \"$all\" > .config");
    let error = build(&lacking, "+SMP=y").unwrap_err().to_string();
    assert!(error.contains("CONFIG_SCHED_DEBUG, which cells need"), "{error}");
    let full =
        MAKE.replace("*bzImage)", "*bzImage) echo 'error: No space left on device'; exit 1;");
    let error = build(&full, "").unwrap_err();
    assert!(matches!(error, KbuildError::Packages(PackageError::Store(StoreError::Full(_)))));

    // A make that is killed may leave half a file, which the next build does not take for whole.
    let killed = MAKE.replace("*bzImage)", "*bzImage) echo half > fork.o; kill -KILL $$;");
    let error = build(&killed, "").unwrap_err();
    assert!(matches!(error, KbuildError::Interrupted) && !error.is_of_kernel());
    let place = fixture.store.tree(fixture.of_tree().place());
    let halves = || {
        let builds = fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().path());
        builds.filter(|build| build.join("fork.o").exists()).count()
    };
    assert_eq!(halves(), 1);
    build(MAKE, "").unwrap();
    assert_eq!(halves(), 0);
}

#[test]
fn old_places_and_old_builds_make_room() {
    let fixture = Fixture::new();
    let place = fixture.store.tree(fixture.of_tree().place());
    for number in 0..5 {
        fixture.build(&fixture.of_tree(), MAKE, &format!("+NR_CPUS={number}")).unwrap();
    }
    let builds = |place: &Path| {
        let is_build = |name: &str| name.starts_with("build-");
        let names = fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| is_build(&name.to_string_lossy())).count()
    };
    assert_eq!(builds(&place), 3);
    for number in 0..5 {
        let folder = fixture.folder.path().join(format!("tree-{number}"));
        fs::create_dir(&folder).unwrap();
        let run = Command::new("/bin/cp").arg("-r").arg(fixture.tree()).arg(&folder).status();
        assert!(run.unwrap().success());
        let checkout = Checkout::of_tree(&folder.join("linux")).unwrap();
        drop(Workspace::open(&fixture.store, &checkout, &|_| ()).unwrap());
    }
    let places = fs::read_dir(fixture.store.trees()).unwrap().map(|entry| entry.unwrap().path());
    assert_eq!(places.filter(|place| place.is_dir()).count(), 4);
    assert!(!place.exists());
    let _ = Event::Waiting;
}

#[test]
fn a_build_announces_the_scripts_before_it_runs_one() {
    let fixture = Fixture::new();
    let notes = fixture.folder.path().join("notes");
    let make = format!("echo ran >> '{}'\n{MAKE}", notes.display());
    fixture.build(&fixture.of_tree(), &make, "").unwrap();
    let said = fs::read_to_string(notes).unwrap();
    assert!(said.starts_with("tree:linux is announced\nran\n"), "{said}");
    assert_eq!(said.matches("announced").count(), 1, "{said}");
}

#[test]
fn every_listed_file_that_others_can_write_to_is_found() {
    let fixture = Fixture::new();
    fixture.commit();
    let stranger = || {
        let tree = Tree::open(&fixture.store, &fixture.of_tree(), &|_| ()).unwrap();
        tree.stranger().map(ToString::to_string)
    };
    assert_eq!(stranger(), None);
    for name in ["kernel/fork.c", "kernel/sched"] {
        let path = fixture.tree().join(name);
        let mode = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        let said = stranger().unwrap();
        assert!(said.contains("every user can write to") && said.contains(name), "{said}");
        fs::set_permissions(&path, mode).unwrap();
    }
    // A group of the user's own may write, as on systems with such a umask.
    let path = fixture.tree().join("kernel/fork.c");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o664)).unwrap();
    assert_eq!(stranger(), None);
}

#[test]
fn a_difference_has_no_filter_and_no_untracked_file() {
    let fixture = Fixture::new();
    fixture.commit();
    let canary = fixture.folder.path().join("canary");
    let touch = format!("touch '{}'; echo filtered", canary.display());
    fixture.git(&["config", "filter.x.clean", &touch]);
    fixture.write(".git/info/attributes", "* filter=x\n");
    fixture.write("kernel/sched/core.c", "int two;\n");
    fixture.write("kernel/odd \"name\".c", "int odd;\n");
    let diff = fixture.provenance(&fixture.of_tree()).diff.unwrap();
    assert!(diff.contains("-int one;\n+int two;\n"), "{diff}");
    assert!(!diff.contains("odd") && !diff.contains("filtered"), "{diff}");
    fixture.git(&["config", "--unset", "filter.x.clean"]);
    fixture.git(&["add", "--intent-to-add", "kernel/odd \"name\".c"]);
    let diff = fixture.provenance(&fixture.of_tree()).diff.unwrap();
    assert!(diff.contains("+int odd;"), "{diff}");
    assert!(!canary.exists());
}
