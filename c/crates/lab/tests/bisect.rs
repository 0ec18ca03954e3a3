//! Searches in small repositories, with git's own program.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use preemptlab_analysis::bisection::{Answer, Tested};
use preemptlab_files::OutFolder;
use preemptlab_lab::bisect::{BisectError, Claim, Ends, Next, Revert, Search};

/// A repository of a user, with a commit a line.
struct Repository {
    folder: tempfile::TempDir,
}

impl Repository {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let repository = Self { folder };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn git(&self, arguments: &[&str]) -> String {
        git(self.path(), arguments)
    }

    /// Commits a file with a text, and returns the commit.
    fn commit(&self, file: &str, text: &str) -> String {
        fs::write(self.path().join(file), text).unwrap();
        self.git(&["add", file]);
        self.git(&["commit", "--quiet", "-m", &format!("{file}: {}", text.trim())]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Makes a history of commits, each of which changes a line of its own.
    fn of(commits: usize) -> (Self, Vec<String>) {
        let repository = Self::new();
        let commits = (0..commits).map(|at| repository.commit(&format!("f{at}"), "x\n")).collect();
        (repository, commits)
    }

    /// All files of `.git` with their contents.
    fn state(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        fn add(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => add(&path, files),
                    false => drop(files.insert(path.clone(), fs::read(&path).unwrap())),
                }
            }
        }
        let mut files = BTreeMap::new();
        add(self.path(), &mut files);
        files
    }
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("/usr/bin/git")
        .arg("-C")
        .arg(folder)
        .args(["-c", "user.name=t", "-c", "user.email=t@localhost.invalid"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn ends(good: &str, bad: &str) -> Ends {
    Ends { good: good.to_owned(), bad: bad.to_owned(), question: "is it worse?".to_owned() }
}

/// Opens a search in a folder that a user named.
fn open_in(folder: impl AsRef<Path>, repository: &Path, ends: Ends) -> Result<Search, BisectError> {
    Search::open(Claim::new(&OutFolder::named(folder.as_ref()))?, repository, ends)
}

/// Makes a history of names in a folder.
fn line(folder: &Path, names: &[String]) -> (PathBuf, Vec<String>) {
    Claim::new(&OutFolder::named(folder)).unwrap().line(names).unwrap()
}

/// Opens a search whose lock a program that another test starts may have for a moment.
fn patiently(open: &dyn Fn() -> Result<Search, BisectError>) -> Result<Search, BisectError> {
    for _ in 0..1000 {
        match open() {
            Err(BisectError::Busy { .. }) => std::thread::sleep(Duration::from_millis(10)),
            opened => return opened,
        }
    }
    open()
}

/// Searches to the end, or for `steps`. Returns the next step and the number of steps.
fn search(search: &mut Search, steps: usize, answer: impl Fn(&str) -> Answer) -> (Next, usize) {
    let mut done = 0;
    loop {
        let next = search.next().unwrap();
        let Next::Test { commit, .. } = &next else { return (next, done) };
        if done == steps {
            return (next, done);
        }
        done += 1;
        let (commit, answer) = (commit.clone(), answer(commit));
        search.answer(Tested { commit, answer, reason: "a test".to_owned() }).unwrap();
    }
}

#[test]
fn the_first_bad_commit_is_found_and_the_users_repository_stays() {
    let (repository, commits) = Repository::of(32);
    let before = repository.state();
    let folder = tempfile::tempdir().unwrap();
    for first_bad in [1, 2, 17, 30, 31] {
        let own = folder.path().join(first_bad.to_string());
        let ends = ends(&commits[0], &commits[31]);
        let mut it = open_in(&own, repository.path(), ends).unwrap();
        let (next, steps) = search(&mut it, 99, |commit| {
            match commits.iter().position(|other| other == commit).unwrap() >= first_bad {
                true => Answer::Bad,
                false => Answer::Good,
            }
        });
        assert_eq!(next, Next::Found(commits[first_bad].clone()));
        assert!(steps <= 5, "{steps} steps");
    }
    assert_eq!(repository.state(), before);
}

#[test]
fn a_search_that_was_killed_goes_on_with_its_answers() {
    let (repository, commits) = Repository::of(32);
    let folder = tempfile::tempdir().unwrap();
    let answer = |commit: &str| match commits.iter().position(|other| other == commit) {
        Some(19) => Answer::Skip,
        Some(at) if at >= 21 => Answer::Bad,
        _ => Answer::Good,
    };
    let once = || open_in(folder.path(), repository.path(), ends(&commits[0], &commits[31]));
    let open = || patiently(&once);
    let mut steps = 0;
    let found = loop {
        // Each time anew, as after a SIGKILL.
        let mut it = open().unwrap();
        assert_eq!(it.steps().len(), steps);
        // The files of git may be gone or half written: the journal has everything.
        fs::write(folder.path().join("history.git/BISECT_LOG"), "git bisect st").unwrap();
        drop(it);
        it = open().unwrap();
        let (next, done) = search(&mut it, 1, answer);
        steps += done;
        if done == 0 {
            break next;
        }
    };
    assert_eq!(found, Next::Found(commits[21].clone()));
    assert!((4..=7).contains(&steps), "{steps} steps");
    let other = Ends { question: "another".to_owned(), ..ends(&commits[0], &commits[31]) };
    let elsewhere = folder.path().join("elsewhere");
    drop(open_in(&elsewhere, repository.path(), other.clone()).unwrap());
    fs::copy(elsewhere.join("bisect.json"), folder.path().join("bisect.json")).unwrap();
    assert!(matches!(open().err(), Some(BisectError::Other { .. })));
    fs::remove_file(folder.path().join("bisect.json")).unwrap();
    let _held = open().unwrap();
    assert!(matches!(once().err(), Some(BisectError::Busy { .. })));
}

#[test]
fn what_cannot_be_tested_hides_the_first_bad_commit() {
    let (repository, commits) = Repository::of(8);
    let folder = tempfile::tempdir().unwrap();
    let mut it = open_in(folder.path(), repository.path(), ends(&commits[0], &commits[7])).unwrap();
    let (next, _) = search(&mut it, 99, |commit| {
        match commits.iter().position(|other| other == commit).unwrap() {
            3 | 4 => Answer::Skip,
            at if at >= 5 => Answer::Bad,
            _ => Answer::Good,
        }
    });
    let hidden = [&commits[5], &commits[4], &commits[3]].map(Clone::clone).to_vec();
    assert_eq!(next, Next::Hidden(hidden));
}

#[test]
fn ends_that_are_no_ends_are_refused() {
    let (repository, commits) = Repository::of(3);
    let folder = tempfile::tempdir().unwrap();
    let path = repository.path();
    let open = |good: &str, bad: &str| {
        open_in(folder.path().join(&good[..8]), path, ends(good, bad)).map(drop).unwrap_err()
    };
    let said = open(&commits[2], &commits[0]).to_string();
    assert!(said.contains("it is the other way round"), "{said}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "a folder of no search is left");
    repository.git(&["checkout", "--quiet", "--orphan", "other"]);
    let other = repository.commit("g", "y\n");
    let said = open(&other, &commits[2]).to_string();
    assert!(said.contains("different histories"), "{said}");
    let same = Search::ends(path, "main", &commits[2]).unwrap_err();
    assert!(matches!(same, BisectError::Same(_)), "{same}");
    for revision in ["nowhere", "--help", "-p", "main^{tree}", ""] {
        let said = Search::ends(path, revision, "main").unwrap_err().to_string();
        assert!(said.contains("has no revision"), "{revision}: {said}");
    }
    let said = Search::ends(folder.path(), "main", "other").unwrap_err().to_string();
    assert!(said.contains("is no git repository"), "{said}");
}

#[test]
fn a_shallow_clone_is_named() {
    let (repository, commits) = Repository::of(6);
    let folder = tempfile::tempdir().unwrap();
    let shallow = folder.path().join("shallow");
    let from = format!("file://{}", repository.path().display());
    git(folder.path(), &["clone", "--quiet", "--depth=2", &from, "shallow"]);
    let said = Search::ends(&shallow, &commits[0], "HEAD").unwrap_err().to_string();
    assert!(said.contains("shallow clone"), "{said}");
    // Within its own commits it is searched like every other one.
    let [good, bad] = Search::ends(&shallow, "HEAD~1", "HEAD").unwrap();
    let it = open_in(folder.path().join("own"), &shallow, ends(&good, &bad)).unwrap();
    assert_eq!(it.next().unwrap(), Next::Found(bad));
}

#[test]
fn a_commit_is_taken_back_where_that_is_clean() {
    let repository = Repository::new();
    let good = repository.commit("a", "1\n");
    let clean = repository.commit("b", "1\n");
    let changed = repository.commit("a", "2\n");
    let bad = repository.commit("a", "3\n");
    let folder = tempfile::tempdir().unwrap();
    let it = open_in(folder.path(), repository.path(), ends(&good, &bad)).unwrap();
    let Revert::Commit(reverted) = it.reverted(&clean).unwrap() else { panic!("not clean") };
    let listed = git(&it.repository(), &["ls-tree", "--name-only", &reverted]);
    assert_eq!(listed, "a");
    // A continued search finds the kernel that it has measured already.
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(it.reverted(&clean).unwrap(), Revert::Commit(reverted.clone()));
    assert_eq!(git(&it.repository(), &["show", &format!("{reverted}:a")]), "3");
    assert_eq!(it.reverted(&changed).unwrap(), Revert::Conflicts);
    let described = it.describe(&bad).unwrap();
    assert_eq!((described.subject.as_str(), described.author.as_str()), ("a: 3", "t"));
    assert_eq!(it.parent(&bad).unwrap(), Some(changed));
}

#[test]
fn a_journal_of_somebody_else_is_read_with_care() {
    let (repository, commits) = Repository::of(4);
    let folder = tempfile::tempdir().unwrap();
    let once = || open_in(folder.path(), repository.path(), ends(&commits[0], &commits[3]));
    let open = || patiently(&once);
    drop(open().unwrap());
    let file = folder.path().join("bisect.json");
    let whole = fs::read_to_string(&file).unwrap();
    for (old, new) in [
        ("\"format\": 1", "\"format\": 2"),
        (
            "\"steps\": []",
            "\"steps\": [{\"commit\": \"--help\", \"answer\": \"bad\", \"reason\": \"\"}]",
        ),
        ("\"steps\": []", "\"steps\": 1"),
        ("{", ""),
    ] {
        assert!(whole.contains(old), "{old}");
        fs::write(&file, whole.replacen(old, new, 1)).unwrap();
        let error = open().map(drop).unwrap_err();
        assert!(matches!(error, BisectError::Journal { .. }), "{new}: {error}");
    }
    fs::write(&file, whole).unwrap();
    open().unwrap();
}

#[test]
fn a_list_is_searched_as_a_history() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..12).map(|at| format!("debian:6.12.{at}")).collect();
    let (own, commits) = line(folder.path(), &names);
    assert_eq!(line(folder.path(), &names).1, commits, "the same list");
    let other = tempfile::tempdir().unwrap();
    assert_ne!(line(other.path(), &names[1..]).1[..], commits[1..]);
    let out = folder.path().join("out");
    let mut it = open_in(&out, &own, ends(&commits[0], &commits[11])).unwrap();
    let place = |commit: &str| commits.iter().position(|other| other == commit).unwrap();
    let (next, steps) = search(&mut it, 99, |commit| match place(commit) {
        6 => Answer::Skip,
        at if at >= 8 => Answer::Bad,
        _ => Answer::Good,
    });
    assert_eq!(next, Next::Found(commits[8].clone()));
    assert!(steps <= 5, "{steps} steps");
    assert_eq!(it.describe(&commits[8]).unwrap().subject, names[8]);
    assert_eq!(it.parent(&commits[8]).unwrap().as_deref(), Some(commits[7].as_str()));
}

/// Files that a clone may ship at the foreseeable path of a search, and files outside of it.
#[test]
fn nothing_is_emptied_or_written_through_what_stands_in_a_searchs_folder() {
    type Leave = fn(&Path);
    let cases: [(&str, Leave, Option<&str>); 20] = [
        ("runs is a link", |it| link_to("../victim", &it.join("runs")), Some("symbolic link")),
        ("runs is a link up", |it| link_to("..", &it.join("runs")), Some("symbolic link")),
        ("runs leads to nothing", |it| link_to("../nothing", &it.join("runs")), Some("symbolic")),
        (
            "the search is a link",
            |it| link_to("../../victim", &it.join("runs/b")),
            Some("symbolic"),
        ),
        ("the search is a file", |it| file(&it.join("runs/b")), Some("no folder")),
        (
            "history is a link",
            |it| link_to("../../../victim", &it.join("runs/b/history.git")),
            Some("symbolic"),
        ),
        (
            "history leads to nothing",
            |it| link_to("x", &it.join("runs/b/history.git")),
            Some("symbolic"),
        ),
        ("history is a file", |it| file(&it.join("runs/b/history.git")), Some("no folder")),
        (
            "names are a link",
            |it| link_to("../../../victim", &it.join("runs/b/kernels.git")),
            Some("symbolic"),
        ),
        ("names are a file", |it| file(&it.join("runs/b/kernels.git")), Some("no folder")),
        (
            "all write to the search",
            |it| open_to_all(&it.join("runs/b")),
            Some("other users can write"),
        ),
        ("all write to runs", |it| open_to_all(&it.join("runs")), Some("other users can write")),
        (
            "all write to history",
            |it| open_to_all(&it.join("runs/b/history.git")),
            Some("other users"),
        ),
        (
            "objects are a link",
            |it| link_to("../../../../victim", &it.join("runs/b/history.git/objects")),
            None,
        ),
        (
            "info is a link",
            |it| link_to("../../../../../victim", &it.join("runs/b/history.git/objects/info")),
            None,
        ),
        (
            "alternates are a link",
            |it| {
                link_to(
                    "../../../../../../victim/kept",
                    &it.join("runs/b/history.git/objects/info/alternates"),
                );
            },
            None,
        ),
        (
            "refs are a link",
            |it| link_to("../../../../victim", &it.join("runs/b/history.git/refs")),
            None,
        ),
        (
            "a commit is a link",
            |it| link_to("../../../../victim/kept", &it.join("runs/b/kernels.git/commit")),
            None,
        ),
        ("a configuration with a command", |it| hostile_git(&it.join("runs/b/history.git")), None),
        ("another one", |it| hostile_git(&it.join("runs/b/kernels.git")), None),
    ];
    let (repository, commits) = Repository::of(3);
    for (name, leave, refused) in cases {
        let folder = tempfile::tempdir().unwrap();
        let [victim, clone] = ["victim", "clone"].map(|it| folder.path().join(it));
        fs::create_dir(&victim).unwrap();
        fs::create_dir(&clone).unwrap();
        fs::write(victim.join("kept"), "kept").unwrap();
        leave(&clone);
        let out = OutFolder::chosen(&clone, "runs/b");
        let opened = Claim::new(&out).and_then(|claim| {
            claim.line(&["a".to_owned(), "b".to_owned()])?;
            Search::open(claim, repository.path(), ends(&commits[0], &commits[2]))
        });
        match (refused, opened.map(drop)) {
            (Some(words), Err(error)) => {
                assert!(matches!(error, BisectError::NotOwn(_)), "{name}: {error:?}");
                assert!(error.to_string().contains(words), "{name}: {error}");
            }
            (None, Ok(())) => {}
            (_, came) => panic!("{name}: {came:?}"),
        }
        let left: Vec<_> =
            fs::read_dir(&victim).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(left, ["kept"], "{name}");
        assert_eq!(fs::read_to_string(victim.join("kept")).unwrap(), "kept", "{name}");
        assert!(!clone.join("canary").exists() && !folder.path().join("canary").exists(), "{name}");
    }
}

fn link_to(target: &str, at: &Path) {
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    symlink(target, at).unwrap();
}

fn file(at: &Path) {
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    fs::write(at, "").unwrap();
}

fn open_to_all(at: &Path) {
    fs::create_dir_all(at).unwrap();
    fs::set_permissions(at, fs::Permissions::from_mode(0o777)).unwrap();
}

/// Makes a repository whose configuration, hooks and alternates would execute a command or read elsewhere.
fn hostile_git(at: &Path) {
    fs::create_dir_all(at.join("hooks")).unwrap();
    fs::create_dir_all(at.join("objects/info")).unwrap();
    fs::create_dir_all(at.join("refs")).unwrap();
    let canary = at.ancestors().nth(3).unwrap().join("canary");
    let command = format!("touch {}", canary.display());
    fs::write(at.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    let config = format!(
        "[core]\nbare = true\nfsmonitor = {command}\nhooksPath = hooks\npager = {command}\n\
         sshCommand = {command}\neditor = {command}\n"
    );
    fs::write(at.join("config"), config).unwrap();
    for hook in ["reference-transaction", "post-checkout", "post-index-change"] {
        let hook = at.join("hooks").join(hook);
        fs::write(&hook, format!("#!/bin/sh\n{command}\n")).unwrap();
        fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
    }
}
