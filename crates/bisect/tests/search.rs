//! Searches in small repositories, with git's own program.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use preemptlab_bisect::{Answer, BisectError, Ends, Next, Revert, Search, Step, line};

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

    /// A history of so many commits, each of which changes a line of its own.
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

/// Searches to the end, or for so many steps. Returns where it came to and the number of steps.
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
        search.answer(Step { commit, answer, reason: "a test".to_owned() }).unwrap();
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
        let mut it = Search::open(&own, repository.path(), ends).unwrap();
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
    let once = || Search::open(folder.path(), repository.path(), ends(&commits[0], &commits[31]));
    let open = || patiently(&once);
    let mut steps = 0;
    let found = loop {
        // Each time anew, as after a SIGKILL.
        let mut it = open().unwrap();
        assert_eq!(it.steps().len(), steps);
        // What git knew may be gone or half written: the journal has everything.
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
    drop(Search::open(&elsewhere, repository.path(), other.clone()).unwrap());
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
    let mut it =
        Search::open(folder.path(), repository.path(), ends(&commits[0], &commits[7])).unwrap();
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
        Search::open(&folder.path().join(&good[..8]), path, ends(good, bad)).map(drop).unwrap_err()
    };
    let said = open(&commits[2], &commits[0]).to_string();
    assert!(said.contains("it is the other way round"), "{said}");
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
    // Within what it has it is searched like every other one.
    let [good, bad] = Search::ends(&shallow, "HEAD~1", "HEAD").unwrap();
    let it = Search::open(&folder.path().join("own"), &shallow, ends(&good, &bad)).unwrap();
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
    let it = Search::open(folder.path(), repository.path(), ends(&good, &bad)).unwrap();
    let Revert::Commit(reverted) = it.reverted(&clean).unwrap() else { panic!("not clean") };
    let listed = git(&it.repository(), &["ls-tree", "--name-only", &reverted]);
    assert_eq!(listed, "a");
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
    let once = || Search::open(folder.path(), repository.path(), ends(&commits[0], &commits[3]));
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
    let own = folder.path().join("kernels.git");
    let names: Vec<String> = (0..12).map(|at| format!("debian:6.12.{at}")).collect();
    let commits = line(&own, &names).unwrap();
    assert_eq!(line(&own, &names).unwrap(), commits, "the same list");
    assert_ne!(line(&folder.path().join("other.git"), &names[1..]).unwrap()[..], commits[1..]);
    let out = folder.path().join("out");
    let mut it = Search::open(&out, &own, ends(&commits[0], &commits[11])).unwrap();
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
