//! A search that is killed at each system call that changes a file, its own and git's: the journal is one of
//! an undisturbed search or absent, and the next search ends with the same bytes.

#[path = "../../runner/tests/common/calls.rs"]
mod calls;

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    thread,
    time::Duration,
};

use preemptlab_analysis::bisection::{Answer, Tested};
use preemptlab_files::OutFolder;
use preemptlab_lab::bisect::{BisectError, Claim, Ends, Next, Revert, Search};

/// The system calls that change files, as strace names them.
const WRITING: &str = "write,pwrite64,openat,rename,renameat,renameat2,unlink,unlinkat,fsync,fdatasync,\
    ftruncate,link,linkat,fchmod,chmod,mkdir,mkdirat,rmdir,flock";

/// Variable that names the folder of the disturbed process.
const FOLDER: &str = "PREEMPTLAB_FAULTS_FOLDER";

/// Options by which strace follows this program alone, or the git that it starts, too.
const OWN: &[&str] = &["-f", "-b", "execve"];
const WITH_GIT: &[&str] = &["-f"];

/// Searches among names, to the end, and takes the commit back that it finds.
fn work(folder: &Path) -> Result<String, BisectError> {
    let claim = claim(folder)?;
    let names: Vec<String> = (0..6).map(|at| format!("debian:6.12.{at}")).collect();
    let (repository, commits) = claim.line(&names)?;
    let (good, bad) = (commits[0].clone(), commits[5].clone());
    let ends = Ends { good, bad, question: "is it worse?".to_owned() };
    let mut search = Search::open(claim, &repository, ends)?;
    search.follow("a mechanism".to_owned())?;
    let found = loop {
        let commit = match search.next()? {
            Next::Test { commit, .. } => commit,
            Next::Found(commit) => break commit,
            Next::Hidden(commits) => panic!("{commits:?}"),
        };
        let answer = match commits.iter().position(|it| *it == commit).unwrap() {
            2 => Answer::Skip,
            4.. => Answer::Bad,
            _ => Answer::Good,
        };
        search.answer(Tested { commit, answer, reason: "a test".to_owned() })?;
    };
    assert!(matches!(search.reverted(&found)?, Revert::Commit(_)));
    Ok(found)
}

/// Claims the folder, whose lock a killed process's child may have for a moment.
fn claim(folder: &Path) -> Result<Claim, BisectError> {
    let folder = OutFolder::named(folder.join("search"));
    for _ in 0..1000 {
        match Claim::new(&folder) {
            Err(BisectError::Busy { .. }) => thread::sleep(Duration::from_millis(10)),
            claimed => return claimed,
        }
    }
    Claim::new(&folder)
}

/// Is the process that is disturbed; alone it does nothing.
#[test]
fn disturbed() {
    if let Some(folder) = env::var_os(FOLDER) {
        work(Path::new(&folder)).unwrap();
    }
}

fn below_strace(folder: &Path, options: &[&[&str]]) -> ExitStatus {
    let mut command = Command::new("strace");
    command.arg("-qq").args(options.concat()).arg(env::current_exe().unwrap());
    command.args(["--exact", "disturbed", "--test-threads=1"]);
    command.env(FOLDER, folder).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().expect("strace is installed")
}

/// Returns the number of calls of each kind.
fn calls(folder: &Path, followed: &[&str]) -> BTreeMap<String, u32> {
    let log = folder.join("strace.log");
    let place = tempfile::tempdir_in(folder).unwrap();
    let trace = format!("trace={WRITING}");
    let options = ["-o", log.to_str().unwrap(), "-e", &trace];
    assert!(below_strace(place.path(), &[followed, &options]).success());
    calls::most(&log)
}

fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_owned();
                let mut bytes = fs::read(&path).unwrap();
                // It names a folder by its whole path.
                if path.ends_with("alternates") {
                    let text = String::from_utf8(bytes).unwrap();
                    bytes = text.replace(folder.to_str().unwrap(), "").into_bytes();
                }
                found.insert(name, bytes);
            }
        }
    }
    found
}

/// Checks that a journal says nothing that the whole one does not say.
fn is_begun(journal: &[u8], whole: &[u8]) -> bool {
    let parsed = |bytes| serde_json::from_slice::<serde_json::Value>(bytes).unwrap();
    let (now, whole) = (parsed(journal), parsed(whole));
    let steps = |of: &serde_json::Value| of["steps"].as_array().unwrap().clone();
    now["ends"] == whole["ends"] && steps(&whole).starts_with(&steps(&now))
}

/// Kills the search at every `step`-th call of each name.
fn kill(followed: &[&str], step: usize) {
    let folder = tempfile::tempdir().unwrap();
    let undisturbed = folder.path().join("undisturbed");
    fs::create_dir(&undisturbed).unwrap();
    let found = work(&undisturbed).unwrap();
    let expected = tree(&undisturbed);
    let journal = Path::new("search/bisect.json");
    assert!(expected.contains_key(journal), "{:?}", expected.keys());
    let mut disturbed = 0;
    for (name, count) in calls(folder.path(), followed) {
        for number in (1..=count).step_by(step) {
            let context = format!("killed at {name} {number}");
            let place = tempfile::tempdir_in(folder.path()).unwrap();
            let (trace, inject) =
                (format!("trace={name}"), format!("inject={name}:signal=KILL:when={number}"));
            let options = ["-o", "/dev/null", "-e", &trace, "-e", &inject];
            let status = below_strace(place.path(), &[followed, &options]);
            // git opens more files in one execution than in another one.
            if status.success() {
                assert!(followed == WITH_GIT, "{context}: nothing was killed");
                continue;
            }
            if let Ok(now) = fs::read(place.path().join(journal)) {
                assert!(is_begun(&now, &expected[journal]), "{context}: another journal");
            }
            let then = work(place.path()).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_eq!(then, found, "{context}");
            let now = tree(place.path());
            let paths = now.keys().chain(expected.keys());
            let differ: Vec<_> = paths.filter(|it| now.get(*it) != expected.get(*it)).collect();
            assert!(differ.is_empty(), "{context}: then {differ:?} differ");
            disturbed += 1;
        }
    }
    assert!(disturbed > 8, "only {disturbed} calls were disturbed");
}

#[test]
fn a_search_is_killed() {
    kill(OWN, 8);
}

#[test]
fn the_git_of_a_search_is_killed() {
    kill(WITH_GIT, 8);
}

#[test]
#[ignore = "takes long: a part of make nightly"]
fn a_search_and_its_git_are_killed_at_every_call() {
    kill(OWN, 1);
    kill(WITH_GIT, 1);
}
