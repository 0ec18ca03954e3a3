//! apt against small archives in a folder, without any network.

use std::{
    cell::RefCell,
    fs,
    path::{Path, PathBuf},
};

use preemptlab_model::{Arch, Digest};

use super::{config::Trust, lists::Way, *};
use crate::{Mirror, Options, distribution::deb, platform::HOST};

/// Gives apt, with the lists that it reads in this way, to a function. Returns its result and all events.
pub(super) fn run<T>(
    store: &Store,
    way: Way<'_>,
    options: &Options,
    work: impl FnOnce(&Apt<'_>) -> Result<T, AptError>,
) -> (Result<T, AptError>, Vec<Event>) {
    let events = RefCell::new(Vec::new());
    let on_event = |event| events.borrow_mut().push(event);
    let root = store.apt(HOST);
    let lock = store.lock(&on_event).unwrap();
    let lists = Lists::prepare_from((store, &lock), HOST, way, options, &on_event);
    let result = lists.and_then(|lists| {
        work(&Apt::new(store, (&root, &lock), &lists, (Arch::HOST, HOST), options, &on_event))
    });
    (result, events.into_inner())
}

/// An archive and a store.
struct Fixture {
    folder: tempfile::TempDir,
    store: Store,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store")).unwrap();
        fs::create_dir_all(folder.path().join("archive/pool")).unwrap();
        Self { folder, store }
    }

    fn archive(&self) -> PathBuf {
        self.folder.path().join("archive")
    }

    /// Adds a suite with packages, each a name, a version and its dependencies.
    fn suite(&self, suite: &str, valid_until: &str, packages: &[(&str, &str, &str)]) -> &Self {
        let mut index = String::new();
        for (name, version, depends) in packages {
            let deb = deb::tests::build(self.folder.path(), name, version, depends);
            let bytes = fs::read(&deb).unwrap();
            let file = format!("pool/{}", deb.file_name().unwrap().to_str().unwrap());
            fs::rename(&deb, self.archive().join(&file)).unwrap();
            let depends = match *depends {
                "" => String::new(),
                depends => format!("Depends: {depends}\n"),
            };
            index.push_str(&format!(
                "Package: {name}\nVersion: {version}\nArchitecture: amd64\n{depends}\
                 Filename: {file}\nSize: {}\nSHA256: {}\n\n",
                bytes.len(),
                Digest::of(&bytes)
            ));
        }
        let dist = self.archive().join("dists").join(suite);
        fs::create_dir_all(dist.join("main/binary-amd64")).unwrap();
        fs::write(dist.join("main/binary-amd64/Packages"), &index).unwrap();
        let release = format!(
            "Origin: Debian\nSuite: {suite}\nCodename: {suite}\nComponents: main\n\
             Architectures: amd64\nDate: Wed, 01 Jan 2025 00:00:00 UTC\n{valid_until}SHA256:\n \
             {} {} main/binary-amd64/Packages\n",
            Digest::of(index.as_bytes()),
            index.len()
        );
        fs::write(dist.join("Release"), release).unwrap();
        self
    }

    fn run<T>(
        &self,
        trust: &Trust,
        options: &Options,
        work: impl FnOnce(&Apt<'_>) -> Result<T, AptError>,
    ) -> (Result<T, AptError>, Vec<Event>) {
        // Not `file:`, for which apt copies nothing and keeps links into the archive.
        let url = format!("copy:{}", self.archive().display());
        let mirror = Mirror { main: url.clone(), security: format!("{url}-security") };
        run(&self.store, Way::Machine(&mirror, trust, ""), options, work)
    }

    /// Runs against the archive as if it were signed.
    fn trusting<T>(
        &self,
        work: impl FnOnce(&Apt<'_>) -> Result<T, AptError>,
    ) -> Result<T, AptError> {
        self.run(&Trust::Blind, &Options::default(), work).0
    }

    fn fetch(&self, name: &str) -> Result<PathBuf, AptError> {
        self.trusting(|apt| Ok(apt.fetch(&apt.show(&[name])?)?.remove(0)))
    }

    fn pool(&self, file: &str) -> PathBuf {
        self.archive().join("pool").join(file)
    }
}

fn trouble(result: Result<PathBuf, AptError>) -> Trouble {
    match result {
        Err(AptError::Download { trouble, .. }) => trouble,
        other => panic!("expected a failed download, not {other:?}"),
    }
}

fn files(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

const EXPIRED: &str = "Valid-Until: Wed, 08 Jan 2025 00:00:00 UTC\n";
const TOOL: (&str, &str, &str) = ("tool", "1.0", "");

#[test]
fn a_package_is_fetched_once() {
    let fixture = Fixture::new();
    fixture.suite("trixie", "", &[TOOL]);
    let path = fixture.fetch("tool").unwrap();
    let digest = Digest::of(&fs::read(&path).unwrap());
    assert_eq!(path, fixture.store.package(digest));
    fs::remove_file(fixture.pool("tool_1.0_amd64.deb")).unwrap();
    assert_eq!(fixture.fetch("tool").unwrap(), path);

    // A spoilt copy is not used, and here no other is available.
    fs::write(&path, b"spoilt").unwrap();
    assert_eq!(trouble(fixture.fetch("tool")), Trouble::Missing);
    assert!(!path.exists());
}

#[test]
fn a_file_that_the_mirror_has_lost_comes_from_a_snapshot_archive() {
    let fixture = Fixture::new();
    fixture.suite("trixie", "", &[TOOL, ("library", "1:2+b1", "")]);
    let file = fixture.pool("library_1:2+b1_amd64.deb");
    let library = fs::read(&file).unwrap();
    fs::remove_file(file).unwrap();
    let fetch = |snapshot: Option<String>| {
        let options = Options { snapshot, ..Options::default() };
        let work = |apt: &Apt<'_>| apt.fetch_each(&apt.show(&["tool", "library"])?);
        let mut fetched = fixture.run(&Trust::Blind, &options, work).0.unwrap().into_iter();
        fetched.next().unwrap().unwrap();
        fetched.next().unwrap().map_err(|error| error.to_string())
    };
    assert!(fetch(None).unwrap_err().contains("--set snapshot=URL"));
    let lacks = own::tests::snapshots(Vec::new(), |_| None);
    let error = fetch(Some(lacks)).unwrap_err();
    assert!(error.contains("`library 1:2+b1` is neither on the mirror nor in"), "{error}");
    assert_eq!(files(&fixture.store.packages()), 1);
    let keeps = own::tests::snapshots(vec![("library", library.clone())], |_| None);
    assert_eq!(fs::read(fetch(Some(keeps)).unwrap()).unwrap(), library);
}

#[test]
fn a_damaged_package_is_refused() {
    let fixture = Fixture::new();
    fixture.suite("trixie", "", &[TOOL]);
    let file = fixture.pool("tool_1.0_amd64.deb");
    let mut bytes = fs::read(&file).unwrap();
    let whole = bytes.clone();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    for damaged in [&bytes[..], &bytes[..last], &bytes[..20], b""] {
        fs::write(&file, damaged).unwrap();
        let trouble = trouble(fixture.fetch("tool"));
        assert!(matches!(trouble, Trouble::Corrupted(_)), "{trouble:?}");
        assert_eq!(files(&fixture.store.packages()), 0);
    }
    fs::write(&file, whole).unwrap();
    fixture.fetch("tool").unwrap();
}

#[test]
fn an_interrupted_download_is_not_trusted() {
    let fixture = Fixture::new();
    fixture.suite("trixie", "", &[TOOL]);
    let size = fs::metadata(fixture.pool("tool_1.0_amd64.deb")).unwrap().len() as usize;
    let downloads = fixture.store.apt(HOST).join("downloads");
    // The second is one that apt takes for a finished download, judging by its size.
    for left_behind in [vec![1; size / 2], vec![1; size]] {
        fs::create_dir_all(&downloads).unwrap();
        fs::write(downloads.join("tool_1.0_amd64.deb"), left_behind).unwrap();
        let path = fixture.fetch("tool").unwrap();
        fs::remove_file(path).unwrap();
        assert!(!downloads.exists());
    }
}

#[test]
fn an_unsigned_archive_is_refused() {
    let fixture = Fixture::new();
    fixture.suite("trixie", "", &[TOOL]);
    let keyring = fixture.folder.path().join("keyring.gpg");
    fs::write(&keyring, b"").unwrap();
    let (result, _) =
        fixture.run(&Trust::Keyring(keyring), &Options::default(), |apt| apt.show(&["tool"]));
    let Err(AptError::NoStable { left_out, .. }) = result else { panic!("{result:?}") };
    let trixie = left_out.iter().find(|out| out.suite == "trixie").unwrap();
    assert!(matches!(trixie.trouble, Trouble::Signature(_)), "{trixie:?}");
}

#[test]
fn an_expired_suite_is_left_out_until_it_is_allowed() {
    let fixture = Fixture::new();
    fixture.suite("trixie", "", &[TOOL]).suite("experimental", EXPIRED, &[("new", "2", "")]);
    let allowed = Options { allow_expired: true, ..Options::default() };

    for _ in 0..2 {
        let error = fixture.trusting(|apt| apt.show(&["new"])).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("experimental: ") && text.contains("allow_expired=true"), "{text}");
        let (result, _) = fixture.run(&Trust::Blind, &allowed, |apt| apt.show(&["new"]));
        assert_eq!(result.unwrap()[0].package.version, "2");
    }
    fixture.trusting(|apt| apt.show(&["tool"])).unwrap();
}

#[test]
fn a_mirror_without_release_13_is_an_error() {
    let fixture = Fixture::new();
    fixture.suite("trixie", EXPIRED, &[TOOL]).suite("bookworm", "", &[("old", "1", "")]);
    let error = fixture.trusting(|apt| apt.show(&["tool"])).unwrap_err();
    assert!(matches!(error, AptError::NoStable { .. }), "{error}");
    assert!(error.to_string().contains("allow_expired=true"), "{error}");
}

#[test]
fn a_mirror_that_is_down_does_not_take_the_lists_away() {
    let fixture = Fixture::new();
    fixture.suite("trixie", "", &[TOOL]);
    fixture.fetch("tool").unwrap();
    fs::rename(fixture.archive(), fixture.folder.path().join("away")).unwrap();
    let refresh = Options { refresh: true, ..Options::default() };
    let (result, events) =
        fixture.run(&Trust::Blind, &refresh, |apt| apt.fetch(&apt.show(&["tool"])?));
    result.unwrap();
    assert!(events.iter().any(|event| matches!(event, Event::Warning(_))), "{events:?}");
}

#[test]
fn lists_are_refreshed_when_due() {
    let fixture = Fixture::new();
    fixture.suite("trixie", "", &[TOOL]);
    let refreshed = |options: &Options| {
        let (result, events) = fixture.run(&Trust::Blind, options, |apt| apt.show(&["tool"]));
        result.unwrap();
        events.contains(&Event::Refreshing)
    };
    assert!(refreshed(&Options::default()));
    assert!(!refreshed(&Options::default()));
    assert!(refreshed(&Options { refresh: true, ..Options::default() }));
    assert!(refreshed(&Options { allow_expired: true, ..Options::default() }));
}

#[test]
fn release_13_goes_before_newer_versions_elsewhere() {
    let fixture = Fixture::new();
    fixture
        .suite("bookworm", "", &[("tool", "3", ""), ("old", "1", "")])
        .suite("trixie-backports", "", &[("tool", "2", "")])
        .suite("trixie", "", &[("tool", "1", "")])
        .suite("trixie-updates", "", &[("tool", "1.1", "")]);
    let shown = fixture.trusting(|apt| apt.show(&["tool", "old", "tool=1.1"])).unwrap();
    let versions: Vec<_> = shown.iter().map(|c| c.package.version.as_str()).collect();
    assert_eq!(versions, ["1.1", "1", "1.1"]);
    assert!(fixture.trusting(|apt| apt.show(&["tool=9"])).is_err());
    assert!(fixture.trusting(|apt| apt.show(&["t.ol"])).is_err());
    assert_eq!(fixture.trusting(|apt| apt.versions("t.ol")).unwrap(), []);
    assert_eq!(fixture.trusting(|apt| apt.versions("tool")).unwrap().len(), 4);
}

#[test]
fn a_closure_leaves_out_what_is_assumed() {
    let fixture = Fixture::new();
    fixture.suite(
        "trixie",
        "",
        &[
            ("tests", "1", "library (>= 1), script:any | nothing"),
            ("library", "1:1.5", ""),
            ("script", "3", "runtime"),
            ("runtime", "3", ""),
            ("broken", "1", "nowhere"),
        ],
    );
    let names = |names: &[&str], assumed: &[&str]| {
        fixture.trusting(|apt| apt.closure(names, assumed)).map(|closure| {
            closure.into_iter().map(|candidate| candidate.package.name).collect::<Vec<_>>()
        })
    };
    assert_eq!(names(&["script"], &[]).unwrap(), ["runtime", "script"]);
    assert_eq!(names(&["script", "library"], &["runtime"]).unwrap(), ["library", "script"]);
    assert!(matches!(names(&["nowhere"], &[]), Err(AptError::Unknown { .. })));
    // No suite has it, so nothing depends on it.
    assert_eq!(names(&["script"], &["nowhere"]).unwrap(), ["runtime", "script"]);
    assert!(matches!(names(&["broken"], &[]), Err(AptError::Unsatisfiable { .. })));
    // apt reads these as patterns, which fit `script` and `runtime`.
    for pattern in ["scr.pt", "runt.me", "script+"] {
        assert!(matches!(names(&[pattern], &[]), Err(AptError::Unknown { .. })), "{pattern}");
        assert_eq!(names(&["script"], &[pattern]).unwrap(), ["runtime", "script"]);
    }
    for option in ["-oDir::State::status=/x", "tests-", "tests/trixie", "tests*", "tests:amd64"] {
        assert!(matches!(names(&[option], &[]), Err(AptError::Name(_))), "{option}");
    }
}

/// Returns whether apt has run, which leaves a cache behind, and removes the cache.
fn traces_of_apt(fixture: &Fixture) -> bool {
    let cache = fixture.store.apt(HOST).join("cache");
    let ran = cache.join("pkgcache.bin").exists();
    let _ = fs::remove_dir_all(cache);
    ran
}

#[test]
fn what_was_answered_is_not_asked_again() {
    let fixture = Fixture::new();
    fixture.suite(
        "trixie",
        "",
        &[("tests", "1", "library, base"), ("library", "1", "base"), ("base", "1", "")],
    );
    let ask = || {
        let answers = fixture.trusting(|apt| {
            let closure = apt.closure(&["tests"], &["base"])?;
            Ok((apt.names("t")?, closure, apt.find(&["base", "absent"])?, apt.versions("base")?))
        });
        (format!("{:?}", answers.unwrap()), traces_of_apt(&fixture))
    };
    let (first, asked) = ask();
    assert!(asked);
    assert_eq!(ask(), (first.clone(), false));

    // Any damaged answer is asked for again, alone.
    let states = || {
        fs::read_dir(fixture.store.apt(HOST).join("answers"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
    };
    assert_eq!(states().count(), 1);
    let mut damaged = 0;
    for answer in fs::read_dir(states().next().unwrap()).unwrap() {
        let path = answer.unwrap().path();
        let whole = fs::read(&path).unwrap();
        let mut bytes = whole.clone();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&path, bytes).unwrap();
        assert_eq!(ask().0, first);
        assert_eq!(fs::read(&path).unwrap(), whole);
        damaged += 1;
    }
    assert!(damaged >= 5, "{damaged}");

    // Another list, other options: other answers, and those before are gone.
    fixture.suite("trixie-updates", "", &[("base", "2", "")]);
    let refresh = Options { refresh: true, ..Options::default() };
    fixture.run(&Trust::Blind, &refresh, |_| Ok(())).0.unwrap();
    let (second, _) = ask();
    assert_ne!(second, first);
    assert_eq!(states().count(), 1);
    let allowed = Options { allow_expired: true, ..Options::default() };
    fixture.suite("experimental", EXPIRED, &[("base", "3", "")]);
    let find = |options| {
        let versions = fixture.run(&Trust::Blind, options, |apt| apt.versions("base")).0.unwrap();
        versions.into_iter().map(|found| found.package.version).collect::<Vec<_>>()
    };
    assert_eq!(find(&allowed), ["3", "2", "1"]);
    assert_eq!(find(&Options::default()), ["2", "1"]);
}

#[test]
fn an_answer_about_other_lists_is_none() {
    let fixture = Fixture::new();
    fixture.suite("trixie", "", &[("tool", "1", "")]);
    let versions = || fixture.trusting(|apt| apt.versions("tool")).unwrap();
    assert_eq!(versions().len(), 1);
    // By hand, with the time that it had.
    let lists = fixture.store.apt(HOST).join("state/lists");
    let is_index = |path: &PathBuf| path.to_str().unwrap().ends_with("Packages");
    let index = fs::read_dir(lists).unwrap().map(|entry| entry.unwrap().path()).find(is_index);
    let index = index.unwrap();
    let modified = fs::metadata(&index).unwrap().modified().unwrap();
    fs::write(
        &index,
        fs::read_to_string(&index).unwrap().replace("Package: tool", "Package: fool"),
    )
    .unwrap();
    let file = fs::File::options().write(true).open(&index).unwrap();
    file.set_times(fs::FileTimes::new().set_modified(modified)).unwrap();
    // apt keeps an index of its own, by that time.
    fs::remove_dir_all(fixture.store.apt(HOST).join("cache")).unwrap();
    assert!(versions().is_empty());
}
