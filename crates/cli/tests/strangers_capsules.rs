//! Capsules of strangers: `verify` refuses each with a sentence, and leaves nothing of it in the store.

use std::{fs, path::Path};

use crate::common::{Desk, tree};
use crate::hostile::not_refused;
use crate::hostile::tar::{self, Entry, Part, frame};
use preemptlab_experiment::{Recording, manifest};
use preemptlab_model::{Digest, Kernel, Package, QemuBuild, seal, unseal};
use preemptlab_recording::{Image, QemuUsed};

const GIB: u64 = 1 << 30;
const CAPSULE: &str = "x.capsule";
const ABOUT: &str = r#"{"format":1,"packed_by":"0.1.0"}"#;

type Case = (&'static str, Vec<Entry>, &'static str);

fn check() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/check")
}

/// Returns the word about a capsule, and the files of a recording.
fn begin(recording: &Path) -> Vec<Entry> {
    let mut entries = vec![Entry::file("capsule.json", ABOUT)];
    for (name, bytes) in tree(recording) {
        if name.starts_with("cells") || name.to_str() == Some("recording.json") {
            let text = String::from_utf8(bytes).unwrap();
            entries.push(Entry::file(&format!("recording/{}", name.display()), &text));
        }
    }
    entries
}

fn not_taken(desk: &Desk, name: &str, options: &[&str], said: &str) -> Option<String> {
    let command = [&["verify", CAPSULE], options].concat();
    let wrong = not_refused(desk, name, &command, &[CAPSULE, said]);
    let stray =
        ["canary", "../canary", "/tmp/canary"].into_iter().find(|path| desk.path(path).exists());
    let count = |folder: &str| fs::read_dir(desk.path(folder)).map_or(0, |entries| entries.count());
    let left: usize = ["capsules", "packages", "kernels", "images", "qemu"]
        .iter()
        .map(|folder| count(&format!("store/{folder}")))
        .sum();
    wrong
        .or_else(|| stray.map(|path| format!("{name}: {path} is there")))
        .or_else(|| (left > 0).then(|| format!("{name}: the store has it")))
}

#[track_caller]
fn none_is_taken(cases: &[Case]) {
    let desk = Desk::new();
    let wrong = cases.iter().filter_map(|(name, entries, said)| {
        fs::write(desk.path(CAPSULE), frame(entries)).unwrap();
        not_taken(&desk, name, &[], said)
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn a_capsule_that_leads_out_or_has_no_end_is_refused() {
    let sound = begin(&check());
    let with = |entries: Vec<Entry>| [&sound[..], &entries].concat();
    let file = |name: &str| Entry::file(name, "x");
    let image = format!("images/{}", "0".repeat(64));
    let many = (0..30_001).map(|number| Entry::file(&format!("licences/{number}"), ""));
    let no_part = "no part of what is wanted";
    none_is_taken(&[
        ("above", with(vec![file("../canary")]), "which may lead out of it"),
        (
            "above its folder",
            with(vec![file("recording/../../canary")]),
            "which may lead out of it",
        ),
        ("from the root", with(vec![file("/tmp/canary")]), "which may lead out of it"),
        ("a name that steers", with(vec![file("licences/\u{1b}[2J")]), "which no reader could see"),
        ("a link", with(vec![Entry::link("licences/a", "/etc/passwd")]), no_part),
        ("a link in a folder's place", with(vec![Entry::link("images", "/tmp")]), no_part),
        ("a hard link", with(vec![Entry::new(b'1', b"licences/a", vec![])]), "neither file"),
        ("a pipe", with(vec![Entry::new(b'6', b"licences/a", vec![])]), "neither file"),
        ("a folder", with(vec![Entry::folder("licences")]), no_part),
        ("something else", with(vec![file("canary")]), no_part),
        ("a folder too deep", with(vec![file("licences/a/b")]), no_part),
        ("an image without a digest", with(vec![file("images/abc")]), no_part),
        (
            "a kernel's other file",
            with(vec![file(&format!("kernels/{}/x", "0".repeat(64)))]),
            no_part,
        ),
        ("a 17th list", with(vec![file("lists/16/InRelease")]), no_part),
        ("a list of another number", with(vec![file("lists/00/InRelease")]), no_part),
        ("the recording's lock", with(vec![file("recording/.lock")]), no_part),
        ("an entry twice", with(vec![file("licences/a"), file("licences/a")]), "another entry of"),
        ("whose it is, twice", with(vec![file("capsule.json")]), "another entry of that name"),
        ("a file as a folder", with(vec![file("licences/a"), file("recording/cells")]), no_part),
        ("30,001 files", with(many.collect()), "more than 30000 files"),
        (
            "a bomb",
            with(vec![Entry::new(b'0', image.as_bytes(), vec![Part::Zeros(7 * GIB)])]),
            "unpacks to more than 1 GiB and 32 times its own size",
        ),
        ("zeros after the end", with(vec![Entry::end(4 * GIB)]), "unpacks to more than 1 GiB"),
        ("half a file", with(vec![file("licences/a").with_size(b"77777777777\0")]), "end of file"),
        ("a long name", with(vec![Entry::extension(b'L', vec![Part::Zeros(GIB)])]), "a path of"),
    ]);
}

#[test]
fn a_capsule_without_what_its_recording_names_is_refused() {
    let sound = begin(&check());
    let with = |entries: Vec<Entry>| [&sound[..], &entries].concat();
    let manifest = Recording::open(&check()).unwrap();
    let manifest = manifest.manifest();
    let digest = |digest: Digest, form: &str| form.replace('*', &digest.to_string());
    let mut wanted: Vec<String> = Vec::new();
    wanted.extend(
        manifest
            .qemu
            .as_ref()
            .unwrap()
            .packages
            .iter()
            .map(|it| digest(it.sha256, "packages/*.deb")),
    );
    wanted.push(digest(manifest.kernels[0].image_sha256, "kernels/*/vmlinuz"));
    wanted.push(digest(manifest.images[0].sha256, "images/*"));
    let other: Vec<Entry> = wanted.iter().map(|name| Entry::file(name, "x")).collect();
    let foreign = |form: &str| with(vec![Entry::file(&form.replace('*', &"0".repeat(64)), "x")]);
    none_is_taken(&[
        ("the recording alone", sound.clone(), "it lacks packages/"),
        ("all but the image", with(other[..other.len() - 1].to_vec()), "the content of packages/"),
        ("other contents", with(other), "is another"),
        ("another package", foreign("packages/*.deb"), "which its recording does not name"),
        ("another kernel", foreign("kernels/*/vmlinuz"), "which its recording does not name"),
        ("another image", foreign("images/*"), "which its recording does not name"),
        ("another cell", foreign("recording/cells/*.json"), "which its recording does not name"),
        ("other findings", foreign("recording/traces/*.findings.zst"), "does not name"),
        ("no recording", sound[..1].to_vec(), "it lacks recording.json"),
        ("no word about it", sound[1..].to_vec(), "it does not begin with capsule.json"),
        ("nothing", Vec::new(), "it does not begin with capsule.json"),
    ]);
}

/// Returns the manifest of studies/check with a change of its text, whose seal is made again. What is changed
/// stands behind a key.
fn changed(key: &str, change: impl FnOnce(&str) -> String) -> String {
    let mut bytes = fs::read(check().join("recording.json")).unwrap();
    unseal(&mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (before, behind) = text.split_at(text.rfind(key).unwrap() + key.len());
    String::from_utf8(seal([before, &change(behind)].concat().into_bytes())).unwrap()
}

fn resealed(key: &str, change: impl FnOnce(&str) -> String) -> Vec<Entry> {
    let text = changed(key, change);
    vec![Entry::file("capsule.json", ABOUT), Entry::file("recording/recording.json", &text)]
}

#[test]
fn a_recording_that_is_not_what_its_experiment_comes_to_is_refused() {
    let text = fs::read_to_string(check().join("recording.json")).unwrap();
    let damaged = text.replacen("cyclictest", "cyclictesT", 1);
    let about = |text: &str| vec![Entry::file("capsule.json", text)];
    none_is_taken(&[
        (
            "another seed",
            resealed("\"seed\":", |behind| format!("1{behind}")),
            "is not what its experiment comes to",
        ),
        (
            "a newer recording",
            resealed("{\"format\":3", |behind| format!("9{behind}")),
            "it needs a newer preemptlab",
        ),
        (
            "a damaged recording",
            [about(ABOUT), vec![Entry::file("recording/recording.json", &damaged)]].concat(),
            "is no whole capsule",
        ),
        (
            "a newer capsule",
            about(r#"{"format":2,"packed_by":"9","new":[1]}"#),
            "has format 2, and this preemptlab reads 1: it needs a newer preemptlab",
        ),
        ("no format", about("{}"), "missing field `format`"),
        ("format 0", about(r#"{"format":0,"packed_by":""}"#), "no capsule has format 0"),
        ("no JSON", about("x"), "is no whole capsule"),
        ("an unknown key", about(r#"{"format":1,"packed_by":"","x":1}"#), "unknown field"),
    ]);
}

#[test]
fn a_capsule_whose_frame_is_none_is_refused() {
    let desk = Desk::new();
    let sound = frame(&begin(&check()));
    for (name, bytes, said) in [
        ("a tail", [&sound[..], b"x"].concat(), "something follows its end"),
        ("another frame", [&sound[..], &sound].concat(), "something follows its end"),
        ("a wide window", tar::begin(31), "is no whole capsule"),
        ("half of it", sound[..sound.len() / 2].to_vec(), "is no whole capsule"),
        ("without its end", sound[..sound.len() - 2].to_vec(), "is no whole capsule"),
        ("text", b"no capsule".to_vec(), "is not a recording"),
        ("no bytes", Vec::new(), "is not a recording"),
    ] {
        fs::write(desk.path(CAPSULE), bytes).unwrap();
        assert_eq!(not_taken(&desk, name, &[], said), None);
    }
}

/// A capsule whose recording a stranger planned: everything in it is as the recording says, and QEMU is the
/// stranger's program.
#[test]
fn a_strangers_qemu_is_not_executed() {
    let desk = Desk::new();
    let recorded = Recording::open(&check()).unwrap();
    let recorded = recorded.manifest();
    let sha256 = Digest::of(b"a program");
    let package = Package { sha256, ..recorded.qemu.as_ref().unwrap().packages[0].clone() };
    let build = QemuBuild {
        digest: Digest::of_json(&[sha256]),
        ..recorded.qemu.as_ref().unwrap().build.clone()
    };
    let kernel = Kernel { image_sha256: Digest::of(b"a kernel"), ..recorded.kernels[0].clone() };
    let image = Image { sha256: Digest::of(b"an image"), ..recorded.images[0].clone() };
    let qemu = QemuUsed { build, packages: vec![package] };
    let planned = manifest(recorded.experiment.clone(), vec![kernel], qemu, vec![image]);
    let text = seal(serde_json::to_vec(&planned).unwrap());
    let mut entries = vec![
        Entry::file("capsule.json", ABOUT),
        Entry::file("recording/recording.json", str::from_utf8(&text).unwrap()),
        Entry::file(&format!("packages/{sha256}.deb"), "a program"),
        Entry::file(&format!("kernels/{}/vmlinuz", Digest::of(b"a kernel")), "a kernel"),
        Entry::file(&format!("images/{}", Digest::of(b"an image")), "an image"),
    ];
    fs::write(desk.path(CAPSULE), frame(&entries)).unwrap();
    let said =
        "nothing shows that it is Debian's: no list that Debian signed names the package adduser";
    assert_eq!(not_taken(&desk, "no list", &[], said), None);
    entries.push(Entry::file("lists/0/InRelease", "Suite: stable"));
    entries.push(Entry::file("lists/0/Packages", &format!("Package: a\nSHA256: {sha256}\n")));
    fs::write(desk.path(CAPSULE), frame(&entries)).unwrap();
    assert_eq!(not_taken(&desk, "an unsigned list", &[], "it is no signed text"), None);
}

#[test]
fn a_recording_that_nobody_else_can_execute_is_not_packed() {
    let desk = Desk::new();
    let pack = |text: String| {
        fs::create_dir_all(desk.path("own")).unwrap();
        fs::write(desk.path("own/recording.json"), text).unwrap();
        desk.run(&["util", "pack", "own"])
    };
    let own = pack(changed("\"build\":{", |behind| {
        let (build, packages) = behind.split_once("\"packages\":[").unwrap();
        format!("{build}\"packages\":[{}", &packages[packages.find(']').unwrap()..])
    }));
    own.fails(2, &["own cannot be in a capsule: it was made with a QEMU of somebody's own"]);
    let other = pack(changed("\"plan\":", |_| "[]}".to_owned()));
    other.fails(2, &["own is not what its experiment comes to"]);
    desk.run(&["util", "pack", "nowhere"]).fails(2, &["there is no folder nowhere"]);
    desk.run(&["util", "pack", "own", "--out", "no/x"]).fails(4, &["cannot write no/x"]);
    assert!(!desk.path("own.capsule").exists());
}

#[test]
fn trust_is_for_a_capsule() {
    let desk = Desk::new();
    let check = check();
    let said = desk.run(&["verify", check.to_str().unwrap(), "--trust-qemu"]);
    said.fails(2, &["--trust-qemu is for a capsule"]);
}
