//! Lists and packages without the machine's apt, from archives that a test makes and signs.

use std::{
    cmp::Ordering,
    os::unix::fs::symlink,
    sync::{Arc, Mutex},
};

use super::*;
use crate::{
    Proxies,
    distribution::{
        Distribution,
        debian::{
            apt::{Apt, lists::Way, snapshot, tests::run},
            release::tests::xz,
            signature::tests::{ARCHIVE, IN_2026, STRANGER, keyring, sign},
        },
        web::tests::{Answer, impatient, serve},
    },
};

/// The loader of the archive's apt: a script that starts the machine's, whose answers tests need.
const LOADER: &str = "#!/bin/sh\nshift 3\nprogram=/usr/bin/${1##*/}\nshift\nexec $program \"$@\"\n";

const TOOL: (&str, &str, &str) = ("tool", "1.0", "library");
const LIBRARY: (&str, &str, &str) = ("library", "1:2+b1", "");

/// A signed archive in a folder, and a store.
struct Fixture {
    folder: tempfile::TempDir,
    store: Store,
}

/// A suite as it is signed.
struct Signing<'a> {
    key: &'a str,
    date: &'a str,
    until: &'a str,
    codename: &'a str,
}

const SOUND: Signing<'static> =
    Signing { key: ARCHIVE, date: "Wed, 01 Jan 2025 00:00:00 UTC", until: "", codename: "trixie" };

impl Fixture {
    /// Makes an archive whose release 13 has apt and these packages.
    fn new(packages: &[(&str, &str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store")).unwrap();
        fs::create_dir_all(folder.path().join("debian/pool")).unwrap();
        let fixture = Self { folder, store };
        fixture.suite(packages, &SOUND);
        fixture
    }

    fn archive(&self) -> PathBuf {
        self.folder.path().join("debian")
    }

    fn pool(&self, file: &str) -> PathBuf {
        self.archive().join("pool").join(file)
    }

    /// Signs release 13 with apt and these packages.
    fn suite(&self, packages: &[(&str, &str, &str)], signing: &Signing<'_>) {
        let mut debs = vec![("apt", "3.0", "", self.apt())];
        for (name, version, depends) in packages {
            let deb = deb::tests::build(self.folder.path(), name, version, depends);
            debs.push((name, version, depends, deb));
        }
        let mut list = String::new();
        for (name, version, depends, deb) in debs {
            let bytes = fs::read(&deb).unwrap();
            let file = format!("pool/{name}_{}_amd64.deb", version.replace(':', "_"));
            fs::rename(&deb, self.archive().join(&file)).unwrap();
            list.push_str(&format!(
                "Package: {name}\nVersion: {version}\nArchitecture: amd64\nSection: libs\nDepends: {depends}\n\
                 Filename: {file}\nSize: {}\nSHA256: {}\n\n",
                bytes.len(),
                Digest::of(&bytes)
            ));
        }
        let list = xz(list.replace("Depends: \n", "").as_bytes());
        let dist = self.archive().join("dists/trixie");
        let folder = dist.join("main/binary-amd64");
        fs::create_dir_all(folder.join("by-hash/SHA256")).unwrap();
        fs::write(folder.join("Packages.xz"), &list).unwrap();
        let sha256 = Digest::of(&list);
        fs::write(folder.join("by-hash/SHA256").join(sha256.to_string()), &list).unwrap();
        let Signing { key, date, until, codename } = signing;
        let text = format!(
            "Origin: Debian\nSuite: stable\nCodename: {codename}\nDate: {date}\n{until}\
             Acquire-By-Hash: yes\nArchitectures: amd64\nComponents: main\nSHA256:\n {sha256} {} {}\n",
            list.len(),
            list_path(HOST)
        );
        fs::write(dist.join("InRelease"), sign(&text, &[(key, IN_2026)])).unwrap();
    }

    /// Builds the package `apt`.
    fn apt(&self) -> PathBuf {
        let tree = self.folder.path().join("apt");
        let loader = tree.join("usr/lib").join(HOST.triplet).join(HOST.loader);
        for folder in [&tree.join("DEBIAN"), &tree.join("usr/bin"), loader.parent().unwrap()] {
            fs::create_dir_all(folder).unwrap();
        }
        let control = "Package: apt\nVersion: 3.0\nArchitecture: amd64\n";
        fs::write(tree.join("DEBIAN/control"), control).unwrap();
        fs::write(&loader, LOADER).unwrap();
        fs::set_permissions(&loader, fs::Permissions::from_mode(0o755)).unwrap();
        for program in ["apt-get", "apt-cache"] {
            let _ = symlink("unused", tree.join("usr/bin").join(program));
        }
        let deb = self.folder.path().join("apt.deb");
        deb::tests::pack(&tree, &deb);
        deb
    }

    fn by_folder(&self) -> String {
        format!("file:{}", self.archive().display())
    }

    /// Serves the archive, where `answer` has nothing else to say.
    fn by_web(
        &self,
        answer: impl Fn(&str, &Path) -> Option<Answer> + Send + Sync + 'static,
    ) -> (String, Arc<Mutex<Vec<String>>>) {
        let root = self.folder.path().to_owned();
        let (address, requests) = serve(move |path| {
            let file = root.join(path.trim_start_matches('/').replace("%2b", "+"));
            answer(path, &file).unwrap_or_else(|| match fs::read(&file) {
                Ok(bytes) => Answer::File(bytes),
                Err(_) => Answer::Status("404 Not Found"),
            })
        });
        (format!("{address}/debian"), requests)
    }

    fn run<T>(
        &self,
        url: &str,
        options: &Options,
        work: impl FnOnce(&Apt<'_>) -> Result<T, AptError>,
    ) -> (Result<T, AptError>, Vec<Event>) {
        let mirror = Mirror { main: url.to_owned(), security: format!("{url}-security") };
        let keys = Keys::read(&keyring(ARCHIVE)).unwrap();
        let way = Way::Own(Own::new(HOST, mirror, keys, impatient(&Proxies::default())));
        run(&self.store, way, options, work)
    }

    /// Brings the tool and what it depends on.
    fn fetch(&self, url: &str, options: &Options) -> Result<Vec<PathBuf>, AptError> {
        self.run(url, options, |apt| apt.fetch(&apt.closure(&["tool"], &[])?)).0
    }

    /// Returns the packages in the store, without apt.
    fn packages(&self) -> usize {
        fs::read_dir(self.store.packages()).unwrap().count().saturating_sub(1)
    }

    /// Returns the message of an error about the lists, where nothing of them was kept.
    fn refused(&self, url: &str) -> String {
        let lists = self.store.apt(HOST).join("state/lists");
        let _ = fs::remove_dir_all(&lists);
        let error = self.fetch(url, &Options::default()).unwrap_err();
        assert!(matches!(error, AptError::NoStable { .. }), "{error}");
        assert_eq!(
            error.is_refused(),
            !error.to_string().contains("set this machine's clock, which")
        );
        let kept = fs::read_dir(&lists).unwrap().flatten().map(|entry| entry.file_name());
        assert_eq!(kept.filter(|name| name != "partial").count(), 0);
        error.to_string()
    }
}

fn trouble<T: std::fmt::Debug>(result: Result<T, AptError>) -> Trouble {
    match result {
        Err(AptError::Download { trouble, .. }) => trouble,
        other => panic!("expected a failed download, not {other:?}"),
    }
}

#[test]
fn packages_come_from_a_folder_and_by_http() {
    let fixture = Fixture::new(&[TOOL, LIBRARY]);
    let (web, requests) = fixture.by_web(|_, _| None);
    for url in [web, fixture.by_folder()] {
        let options = Options::default();
        let debs = fixture.fetch(&url, &options).unwrap();
        assert_eq!(debs.len(), 2);
        for deb in &debs {
            assert_eq!(*deb, fixture.store.package(sha256(deb).unwrap()));
        }
        // The lists are fresh, and everything is here.
        let (again, events) = fixture.run(&url, &options, |apt| apt.show(&["tool=1.0"]));
        assert_eq!((again.unwrap().len(), events), (1, vec![]));
        debs.iter().for_each(|deb| fs::remove_file(deb).unwrap());
    }
    let requests = requests.lock().unwrap();
    assert!(requests.iter().any(|path| path.contains("/by-hash/SHA256/")), "{requests:?}");
    assert!(!requests.iter().any(|path| path.ends_with("Packages.xz")), "{requests:?}");
}

#[test]
fn another_file_under_the_right_name_is_refused() {
    let fixture = Fixture::new(&[TOOL, LIBRARY]);
    let url = fixture.by_folder();
    let path = fixture.pool("tool_1.0_amd64.deb");
    let whole = fs::read(&path).unwrap();
    let mut flipped = whole.clone();
    flipped[70] ^= 1;
    for other in [&b"another"[..], &flipped, &[&whole[..], b"more"].concat()] {
        fs::write(&path, other).unwrap();
        let error = fixture.fetch(&url, &Options::default()).unwrap_err();
        let said = match other.len().cmp(&whole.len()) {
            Ordering::Less => "it came corrupted (it has 7 bytes, not ",
            Ordering::Equal => "it came corrupted (its SHA-256 starts with ",
            Ordering::Greater => "it came corrupted (it is larger than ",
        };
        let text = error.to_string();
        assert!(text.starts_with("the package tool 1.0 cannot be downloaded: "), "{text}");
        assert!(text.contains(said) && error.is_refused(), "{text}");
        // The library is whole.
        assert_eq!(fixture.packages(), 1);
    }
    fs::write(&path, whole).unwrap();
    fixture.fetch(&url, &Options::default()).unwrap();
}

#[test]
fn a_mirror_that_vanishes_is_resumed() {
    let fixture = Fixture::new(&[TOOL, LIBRARY]);
    let is_up = Arc::new(Mutex::new(false));
    let up = is_up.clone();
    let (url, requests) = fixture.by_web(move |path, file| {
        let is_cut = path.contains("/tool_") && !*up.lock().unwrap();
        is_cut.then(|| Answer::Cut(fs::read(file).unwrap(), 100))
    });
    let broken = trouble(fixture.fetch(&url, &Options::default()));
    assert!(matches!(broken, Trouble::Unreachable(_)), "{broken:?}");
    assert_eq!(fixture.packages(), 1);
    *is_up.lock().unwrap() = true;
    fixture.fetch(&url, &Options::default()).unwrap();
    let last = requests.lock().unwrap().last().unwrap().clone();
    assert!(last.ends_with("/pool/tool_1.0_amd64.deb 100-"), "{last}");
}

#[test]
fn a_release_that_nothing_vouches_for_is_refused() {
    let fixture = Fixture::new(&[TOOL, LIBRARY]);
    let url = fixture.by_folder();
    let today = crate::distribution::debian::release::date(SystemTime::now());
    for (signing, said) in [
        (Signing { key: STRANGER, ..SOUND }, "no accepted key signed it"),
        (Signing { codename: "bookworm", ..SOUND }, "it is the release file of bookworm"),
        (
            Signing { until: "Valid-Until: Wed, 08 Jan 2025 00:00:00 UTC\n", ..SOUND },
            "`--set allow_expired=true` accepts it",
        ),
        (Signing { date: "Mon, 01 Jan 2099 00:00:00 UTC", ..SOUND }, "set this machine's clock"),
    ] {
        fixture.suite(&[TOOL, LIBRARY], &signing);
        let error = fixture.refused(&url);
        assert!(error.contains(said), "{said}: {error}");
        // A clock that is off by a year has its date named.
        let is_of_time = signing.until != SOUND.until || signing.date != SOUND.date;
        assert_eq!(error.contains(&today), is_of_time, "{error}");
    }
    fixture.suite(
        &[TOOL, LIBRARY],
        &Signing { until: "Valid-Until: Wed, 08 Jan 2025 00:00:00 UTC\n", ..SOUND },
    );
    let allowed = Options { allow_expired: true, ..Options::default() };
    fixture.fetch(&url, &allowed).unwrap();
    let path = fixture.archive().join("dists/trixie/InRelease");
    let text = fs::read_to_string(&path).unwrap().replace("stable", "stabel");
    fs::write(path, text).unwrap();
    assert!(fixture.refused(&url).contains("does not fit the text"));
}

#[test]
fn a_mirror_in_the_midst_of_an_update_is_asked_again() {
    let fixture = Fixture::new(&[TOOL, LIBRARY]);
    let asked = Mutex::new(0);
    // The list comes after its release file.
    let (url, _) = fixture.by_web(move |path, _| {
        let mut asked = asked.lock().unwrap();
        *asked += i32::from(path.contains("/binary-amd64/"));
        match *asked {
            1 if path.contains("by-hash") => Some(Answer::Status("404 Not Found")),
            2 if path.ends_with("Packages.xz") => Some(Answer::Status("404 Not Found")),
            _ => None,
        }
    });
    fixture.fetch(&url, &Options::default()).unwrap();

    let (url, _) = fixture.by_web(|path, _| {
        path.contains("/binary-amd64/").then_some(Answer::Status("404 Not Found"))
    });
    assert!(fixture.refused(&url).contains("so it is being updated"));
    let (url, _) = fixture.by_web(|path, _| {
        path.contains("/binary-amd64/").then(|| Answer::File(b"another list".to_vec()))
    });
    fixture.refused(&url);
}

#[test]
fn a_mirror_that_is_down_does_not_take_the_lists_away() {
    let fixture = Fixture::new(&[TOOL, LIBRARY]);
    let url = fixture.by_folder();
    fixture.fetch(&url, &Options::default()).unwrap();
    fs::rename(fixture.archive(), fixture.folder.path().join("away")).unwrap();
    let refresh = Options { refresh: true, ..Options::default() };
    let (result, events) =
        fixture.run(&url, &refresh, |apt| apt.fetch(&apt.closure(&["tool"], &[])?));
    assert_eq!(result.unwrap().len(), 2);
    assert!(events.iter().any(|event| matches!(event, Event::Warning(_))), "{events:?}");
}

#[test]
fn offline_means_the_store_alone() {
    let fixture = Fixture::new(&[TOOL, LIBRARY]);
    let (url, requests) = fixture.by_web(|_, _| None);
    let offline = Options { offline: true, ..Options::default() };
    let lacks = |said: &str| {
        let error = fixture.fetch(&url, &offline).unwrap_err().to_string();
        assert!(error.contains(said) && error.contains("without `--set offline=true`"), "{error}");
    };
    lacks("lists of packages");
    assert!(requests.lock().unwrap().is_empty());
    let tool = fixture.run(&url, &Options::default(), |apt| apt.show(&["tool"])).0.unwrap();
    lacks("the package library 1:2+b1 and 1 more");
    fixture.fetch(&url, &Options::default()).unwrap();
    let before = requests.lock().unwrap().len();
    let refresh = Options { refresh: true, ..offline.clone() };
    assert_eq!(fixture.fetch(&url, &refresh).unwrap().len(), 2);
    assert_eq!(requests.lock().unwrap().len(), before);

    // Even without lists, a package that a recording names is found.
    fs::remove_file(fixture.store.apt(HOST).join("refreshed.json")).unwrap();
    let exact = |packages: &[Package]| fixture.run(&url, &offline, |apt| apt.exact(packages)).0;
    assert_eq!(exact(&[tool[0].package.clone()]).unwrap()[0].package, tool[0].package);
    let other = Package { sha256: Digest::of(b"other"), ..tool[0].package.clone() };
    assert!(matches!(exact(&[other]), Err(AptError::Offline(_))));
}

/// Serves an archive that keeps every version, of these files.
pub(in super::super) fn snapshots(
    files: Vec<(&'static str, Vec<u8>)>,
    other: impl Fn(&str) -> Option<Answer> + Send + Sync + 'static,
) -> String {
    let (address, _) = serve(move |path| {
        if let Some(answer) = other(path) {
            return answer;
        }
        let sha1 = |name: &str| format!("{:0>40}", name.len());
        for (name, bytes) in &files {
            let is_of =
                |version: &str| path == format!("/mr/binary/{name}/{version}/binfiles?fileinfo=1");
            if is_of("1%3A2%2Bb1") || is_of("3.0") {
                let (sha1, size) = (sha1(name), bytes.len());
                let answer = format!(
                    "{{\"_comment\": \"x\", \"binary\": \"{name}\", \"result\": [\
                     {{\"architecture\": \"arm64\", \"hash\": \"{}\"}},\
                     {{\"architecture\": \"amd64\", \"hash\": \"{sha1}\"}}],\
                     \"fileinfo\": {{\"{sha1}\": [{{\"name\": \"x.deb\", \"size\": {size}}}]}}}}",
                    "f".repeat(40)
                );
                return Answer::File(answer.into_bytes());
            }
            if path == format!("/file/{}", sha1(name)) {
                return Answer::File(bytes.clone());
            }
        }
        Answer::Status("404 Not Found")
    });
    address
}

#[test]
fn versions_that_the_mirror_no_longer_has_come_from_a_snapshot_archive() {
    let fixture = Fixture::new(&[TOOL, LIBRARY]);
    let url = fixture.by_folder();
    // Forty packages of a recording, none of which the mirror has today.
    let names: Vec<&'static str> =
        (0..40).map(|number| &*format!("old{}", "x".repeat(number)).leak()).collect();
    let files: Vec<_> =
        names.iter().map(|name| (*name, format!("the package {name}").into_bytes())).collect();
    let packages: Vec<Package> = files
        .iter()
        .map(|(name, bytes)| Package {
            name: name.parse().unwrap(),
            version: "1:2+b1".parse().unwrap(),
            sha256: Digest::of(bytes),
        })
        .collect();
    let exact = |snapshot: Option<String>| {
        let options = Options { snapshot, ..Options::default() };
        let fetched = fixture.run(&url, &options, |apt| apt.fetch(&apt.exact(&packages)?)).0;
        if let Err(error) = &fetched {
            let is_away = error.to_string().contains("cannot be reached");
            assert_eq!(error.is_refused(), !is_away, "{error}");
        }
        fetched
    };
    let error = exact(None).unwrap_err().to_string();
    assert!(error.contains("`old=1:2+b1`") && error.contains("--set snapshot=URL"), "{error}");

    // An archive that lacks one of them, one that gives another file, and one that cannot be understood.
    let lacks = snapshots(files.clone(), |path| {
        path.starts_with("/mr/binary/oldxxxxx/").then_some(Answer::Status("404 Not Found"))
    });
    let error = exact(Some(lacks.clone())).unwrap_err().to_string();
    assert!(
        error.contains("`oldxxxxx 1:2+b1`") && error.contains("not have that version"),
        "{error}"
    );
    assert!(error.contains(&lacks), "{error}");
    // It is asked for all of them before the first comes.
    assert_eq!(fixture.packages(), 0);
    let size = files[5].1.len();
    let gives = snapshots(files.clone(), move |path| {
        path.ends_with("008").then(|| Answer::File(vec![b'x'; size]))
    });
    let error = exact(Some(gives)).unwrap_err().to_string();
    assert!(error.contains("`oldxxxxx 1:2+b1`") && error.contains("gives another file"), "{error}");
    assert_eq!(fixture.packages(), 5);
    let odd = snapshots(files.clone(), |_| Some(Answer::File(b"<html>".to_vec())));
    let error = exact(Some(odd)).unwrap_err().to_string();
    assert!(error.contains("its answer about the package cannot be read"), "{error}");

    // One that cuts off in the middle, and is then continued.
    let cut = snapshots(files.clone(), |path| {
        path.ends_with("008").then(|| Answer::Cut(b"the package oldxxxxx".to_vec(), 10))
    });
    let error = exact(Some(cut)).unwrap_err().to_string();
    assert!(error.contains("`oldxxxxx 1:2+b1`") && error.contains("cannot be reached"), "{error}");
    assert_eq!(fixture.packages(), 5);
    assert_eq!(exact(Some(snapshots(files.clone(), |_| None))).unwrap().len(), 40);
    // The store's own packages need no archive.
    assert_eq!(exact(None).unwrap().len(), 40);
}

#[test]
fn files_that_the_mirror_has_lost_come_from_a_snapshot_archive() {
    let fixture = Fixture::new(&[TOOL, LIBRARY]);
    let url = fixture.by_folder();
    let lost = [("library", "library_1_2+b1_amd64.deb"), ("apt", "apt_3.0_amd64.deb")];
    let [library, apt] = lost.map(|(name, file)| {
        let bytes = fs::read(fixture.pool(file)).unwrap();
        fs::remove_file(fixture.pool(file)).unwrap();
        (name, bytes)
    });
    let refused = |snapshot: Option<String>, said: &[&str], here: usize| {
        let options = Options { snapshot, ..Options::default() };
        let error = fixture.fetch(&url, &options).unwrap_err().to_string();
        assert!(said.iter().all(|said| error.contains(said)), "{error}");
        assert_eq!(fixture.packages(), here, "{error}");
    };
    // The first is apt itself, which chooses the packages. It is no package of theirs.
    refused(None, &["the package apt 3.0 cannot be downloaded", "--set snapshot=URL"], 0);
    let neither = "is neither on the mirror nor in the snapshot archive";
    let lacks = ["`apt 3.0`", neither, "does not have that version"];
    refused(Some(snapshots(vec![library.clone()], |_| None)), &lacks, 0);

    let lacks = ["`library 1:2+b1`", neither, "does not have that version"];
    refused(Some(snapshots(vec![apt.clone()], |_| None)), &lacks, 1);
    refused(None, &["the package library 1:2+b1 cannot be downloaded", "--set snapshot=URL"], 1);
    let other = ("library", vec![b'x'; library.1.len()]);
    let gives = ["`library 1:2+b1`", neither, "it gives another file"];
    refused(Some(snapshots(vec![other], |_| None)), &gives, 1);
    let down = ["`library 1:2+b1`", neither, "it cannot be reached"];
    refused(Some("http://127.0.0.1:9".to_owned()), &down, 1);
    let plain = ["`library 1:2+b1`", "its address must begin with `https:`"];
    refused(Some("http://m.invalid".to_owned()), &plain, 1);

    let snapshot = Some(snapshots(vec![library.clone()], |_| None));
    let debs = fixture.fetch(&url, &Options { snapshot, ..Options::default() }).unwrap();
    let all: Vec<_> = debs.iter().map(|deb| fs::read(deb).unwrap()).collect();
    assert!(all.len() == 2 && all.contains(&library.1));
    // The store's own packages need no archive.
    fixture.fetch(&url, &Options::default()).unwrap();
}

#[test]
fn answers_of_a_snapshot_archive_are_read_with_care() {
    let read = |text: &str| snapshot::files(HOST, text.as_bytes());
    let (a, b) = ("a".repeat(40), "../".repeat(14));
    assert_eq!(read("{\"result\": []}"), Ok(vec![]));
    let answer = format!(
        "{{\"result\": [{{\"architecture\": \"all\", \"hash\": \"{a}\"}},\
         {{\"architecture\": \"all\", \"hash\": \"{b}\"}}],\
         \"fileinfo\": {{\"{a}\": [{{\"size\": 7}}], \"{b}\": [{{\"size\": 7}}]}}}}"
    );
    assert_eq!(read(&answer), Ok(vec![(a, 7)]));
    for address in ["http://m.invalid/", "http://127.0.0.1.m.invalid:80/", "ftp://127.0.0.1:1/"] {
        assert!(!snapshot::is_unchanged(address), "{address}");
    }
    assert!(
        snapshot::is_unchanged("https://m.invalid/") && snapshot::is_unchanged("http://[::1]:80/")
    );
    for text in ["", "[]", "{\"result\": 1}", "{\"result\": [{}]}"] {
        assert!(matches!(read(text), Err(Trouble::Other(_))), "{text}");
    }
}

#[test]
fn apt_is_found_with_its_libraries() {
    let stanza = |name: &str, depends: &str| {
        format!(
            "Package: {name}\nVersion: 1\nSection: {}\nDepends: {depends}\nFilename: pool/{name}.deb\n\
             Size: 7\nSHA256: {}\n\n",
            if name.contains("lib") { "libs" } else { "admin" },
            Digest::of(name.as_bytes())
        )
    };
    let list = [
        stanza("apt", "base, libapt (>= 3), sqv | gpgv, libnone | libc6:any"),
        stanza("libapt", "libc6 (>= 2), zlib1g (>= 1:1.2) | libc6"),
        stanza("libc6", "libapt"),
        stanza("zlib1g", ""),
        stanza("libother", ""),
        stanza("base", "libother"),
    ];
    let parts = parts(list.concat().as_bytes()).unwrap();
    let names: Vec<_> = parts.iter().map(|part| part.package.name.as_str()).collect();
    assert_eq!(names, ["apt", "libapt", "libc6", "zlib1g"]);
    assert_eq!((parts[0].path.as_str(), parts[0].bytes), ("pool/apt.deb", 7));
    assert!(super::parts(stanza("libc6", "").as_bytes()).is_err());
}

#[test]
fn addresses_are_read() {
    let line = "'http://main.invalid/pool/z_1%2b1_amd64.deb' z_1%3a1+1_amd64.deb 7 SHA256:00";
    assert_eq!(
        printed(line),
        Some(("z_1%3a1+1_amd64.deb", "http://main.invalid/pool/z_1%2b1_amd64.deb"))
    );
    assert_eq!(printed("Reading package lists..."), None);
}
