//! Seeds of strangers, which are small files and become gigabytes, or lead out of the store: a worker
//! refuses each with a sentence.

use std::{
    fs::{self, File},
    io::{Seek, SeekFrom, Write},
    os::unix::fs::symlink,
    path::Path,
    process::Command,
};

use crate::common::Desk;
use crate::hostile::not_refused;
use crate::hostile::tar::{Entry, Part, begin, frame};
use preemptlab_experiment::Recording;
use preemptlab_lab::Build;

const SEED: &str = "check.shards/seed.tar.zst";
const GIB: u64 = 1 << 30;

/// Names of the entries that a worker wants.
struct Wanted {
    about: String,
    qemu: String,
    kernel: String,
    image: String,
}

impl Wanted {
    fn of(run: &Path) -> Self {
        let recording = Recording::open(run).unwrap();
        let manifest = recording.manifest();
        let about = serde_json::json!({
            "format": 1,
            "manifest_sha256": preemptlab_recording::manifest_sha256(run).unwrap(),
            "build": Build::this(),
        });
        Self {
            about: about.to_string(),
            qemu: format!("qemu/{}", manifest.qemu.as_ref().unwrap().build.digest),
            kernel: format!("kernels/{}/vmlinuz", manifest.kernels[0].image_sha256),
            image: format!("images/{}", manifest.images[0].sha256),
        }
    }
}

type Case = (&'static str, Vec<Entry>, &'static str);

/// Archives whose names and extensions have no end.
fn endless(wanted: &Wanted) -> Vec<Case> {
    let zeros = |kind, bytes| Entry::extension(kind, vec![Part::Zeros(bytes)]);
    let text = |kind, text: &str| Entry::extension(kind, vec![Part::Bytes(text.into())]);
    let qemu = &wanted.qemu;
    let under = |name: &str| format!("{qemu}/{name}");
    let deep = |levels| under(&"a/".repeat(levels));
    let levels: Vec<Entry> =
        (1..40).flat_map(|levels| Entry::long(&format!("{}b", deep(levels)))).collect();
    let one = || Entry::file(&under("a"), "x");
    let many = |count| (0..count).map(|number| Entry::file(&under(&number.to_string()), ""));
    vec![
        ("a long name", vec![zeros(b'L', 4 * GIB), one()], "path of 4294967296 bytes"),
        ("a long target", vec![zeros(b'K', 4 * GIB), one()], "path of 4294967296 bytes"),
        ("a long name of little", vec![zeros(b'L', 1_002), one()], "path of 1002 bytes"),
        ("extensions", vec![zeros(b'x', 4 * GIB), one()], "neither file, folder nor link"),
        ("extensions of all", vec![zeros(b'g', 4 * GIB), one()], "neither file, folder nor link"),
        ("an extended path", vec![text(b'x', "17 path=../../x\n"), one()], "neither file"),
        ("an extended size", vec![text(b'x', "20 size=99999999999\n"), one()], "neither file"),
        ("two names", vec![text(b'L', "a\0"), text(b'L', "b\0"), one()], "has two names"),
        ("two targets", vec![text(b'K', "a\0"), text(b'K', "b\0"), one()], "has two names"),
        ("a name alone", vec![text(b'L', "a\0")], "its QEMU is not whole"),
        ("1,900 levels", Entry::long(&deep(1_900)).into(), "more than 1000"),
        ("400 levels", Entry::long(&deep(400)).into(), "more than 32 levels"),
        ("level by level", levels, "more than 32 levels"),
        ("30,001 files", many(30_001).collect(), "more than 30000 files, folders and links"),
        ("one folder often", vec![Entry::folder(&under("a")); 30_001], "more than 30000 files"),
        (
            "a file of zeros",
            vec![Entry::new(b'0', wanted.image.as_bytes(), vec![Part::Zeros(7 * GIB)])],
            "unpacks to more than 1 GiB and 32 times its own size",
        ),
        (
            "zeros after the end",
            vec![Entry::end(4 * GIB)],
            "unpacks to more than 1 GiB and 32 times its own size",
        ),
        (
            "a file that ends early",
            vec![one().with_size(b"77777777777\0")],
            "unexpected end of file",
        ),
        ("a size in another base", vec![one().with_size(&[255; 12])], ""),
        ("a size of 2^62", vec![one().with_size(b"\x80\0\0\0\x40\0\0\0\0\0\0\0")], ""),
        ("a size that is no number", vec![one().with_size(b"-1 x; touch \0")], "is damaged"),
        ("a header that is damaged", vec![one().damaged()], "is damaged"),
        ("nothing", Vec::new(), "its QEMU is not whole"),
    ]
}

/// Archives whose entries lead to other places, or are something else than files.
fn leading_out(wanted: &Wanted) -> Vec<Case> {
    let qemu = &wanted.qemu;
    let under = |name: &str| format!("{qemu}/{name}");
    let file = |name: &str| Entry::file(name, "x");
    let special = |kind| vec![Entry::new(kind, under("a").as_bytes(), Vec::new())];
    let not_text = Entry::new(b'0', &[under("a").as_bytes(), b"\xff"].concat(), Vec::new());
    let mut cases = vec![
        ("above", vec![file("../canary")], "which may lead out of it"),
        ("above its folder", vec![file(&under("../../../../canary"))], "which may lead out of it"),
        ("from the root", vec![file("/tmp/canary")], "which may lead out of it"),
        ("a dot", vec![file(&under("./a"))], "which may lead out of it"),
        ("two slashes", vec![file(&under("/a"))], "which may lead out of it"),
        ("no name", vec![file("")], "which may lead out of it"),
        ("a name that steers", vec![file(&under("\u{1b}[2J"))], "which no reader could see"),
        ("a name of two lines", vec![file(&under("a\n::error::x"))], "which no reader could see"),
        ("a name that is no text", vec![not_text], "which is no text"),
        ("something else", vec![file("canary")], "no part of what is wanted"),
        ("another store's file", vec![file("lock")], "no part of what is wanted"),
        ("another QEMU", vec![file(&format!("qemu/{}/a", "0".repeat(64)))], "no part of"),
        ("another kernel", vec![file(&format!("kernels/{}/vmlinuz", "0".repeat(64)))], "no part"),
        ("a kernel's other file", vec![file(&wanted.kernel.replace("vmlinuz", "x"))], "no part of"),
        ("a folder of an image", vec![file(&format!("{}/x", wanted.image))], "no part of"),
        ("whose it is, again", vec![file("seed.json")], "another entry of that name"),
        (
            "a file through a link",
            vec![Entry::link(&under("a"), "/tmp"), file(&under("a/canary"))],
            "another entry of that name",
        ),
        (
            "a folder through a link",
            vec![Entry::link(&under("a"), "../../.."), Entry::folder(&under("a/b"))],
            "another entry of that name",
        ),
        (
            "a link in a folder's place",
            vec![file(&under("a/b")), Entry::link(&under("a"), "/")],
            "another entry",
        ),
        ("QEMU is a link", vec![Entry::link(qemu, "/usr"), file(&under("a"))], "another entry"),
        (
            "an image is a link",
            vec![Entry::link(&wanted.image, "/etc/passwd")],
            "its QEMU is not whole",
        ),
        ("a file twice", vec![file(&under("a")), file(&under("a"))], "another entry of that name"),
        ("a file as a folder", vec![file(&under("a")), file(&under("a/b"))], "another entry"),
    ];
    for (name, kind) in [
        ("a hard link", b'1'),
        ("a character device", b'3'),
        ("a block device", b'4'),
        ("a pipe", b'6'),
        ("a contiguous file", b'7'),
        ("a file with holes", b'S'),
        ("a volume", b'V'),
        ("a part of another volume", b'M'),
        ("an unknown kind", b'!'),
    ] {
        cases.push((name, special(kind), "neither file, folder nor link"));
    }
    cases
}

fn desk() -> (Desk, Wanted) {
    let desk = Desk::new();
    let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/check");
    fs::create_dir_all(desk.path("check")).unwrap();
    fs::create_dir(desk.path("check.shards")).unwrap();
    fs::copy(check.join("recording.json"), desk.path("check/recording.json")).unwrap();
    let wanted = Wanted::of(&desk.path("check"));
    (desk, wanted)
}

fn not_taken(desk: &Desk, name: &str, said: &str) -> Option<String> {
    let wrong = not_refused(desk, name, &["cluster", "work", "check", "1/1"], &[SEED, said]);
    let stray =
        ["canary", "../canary", "/tmp/canary"].into_iter().find(|path| desk.path(path).exists());
    let left = fs::read_dir(desk.path("store/qemu")).map_or(0, |entries| entries.count());
    let left = left + fs::read_dir(desk.path("store/images")).map_or(0, |entries| entries.count());
    wrong
        .or_else(|| stray.map(|path| format!("{name}: {path} is there")))
        .or_else(|| (left > 0).then(|| format!("{name}: the store has it")))
}

#[track_caller]
fn none_is_taken(cases: impl Fn(&Wanted) -> Vec<Case>) {
    let (desk, wanted) = desk();
    let cases = cases(&wanted);
    let mut wrong = Vec::new();
    for (name, entries, said) in &cases {
        let about = Entry::file("seed.json", &wanted.about);
        fs::write(desk.path(SEED), frame(&[&[about], &entries[..]].concat())).unwrap();
        wrong.extend(not_taken(&desk, name, said));
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn a_seed_without_end_is_refused() {
    none_is_taken(endless);
}

#[test]
fn a_seed_that_leads_out_is_refused() {
    none_is_taken(leading_out);
}

#[test]
fn a_seed_that_does_not_say_whose_it_is_is_refused() {
    let (desk, wanted) = desk();
    let about = |text: &str| Entry::file("seed.json", text);
    let changed = |from: &str, to: &str| about(&wanted.about.replacen(from, to, 1));
    let nested = format!("{{\"build\":{}", "{\"version\":".repeat(5_000));
    let no = "does not say whose it is";
    let [long_name, long] = Entry::long(&"seed.json/".repeat(30));
    for (name, entries, said) in [
        ("nothing", vec![], no),
        ("another first", vec![Entry::file(&wanted.kernel, "x"), about(&wanted.about)], no),
        ("a link", vec![Entry::link("seed.json", "/etc/passwd")], no),
        ("a folder", vec![Entry::folder("seed.json")], no),
        ("a long name", vec![long_name, long], no),
        ("an extension", vec![Entry::extension(b'x', vec![Part::Zeros(4 * GIB)])], no),
        ("a name without end", vec![Entry::extension(b'L', vec![Part::Zeros(4 * GIB)])], no),
        ("zeros", vec![Entry::new(b'0', b"seed.json", vec![Part::Zeros(4 * GIB)])], no),
        ("no JSON", vec![about("x")], "expected value"),
        ("nested", vec![about(&nested)], "is damaged"),
        ("another format", vec![changed("format", "formed")], "unknown field"),
        ("another recording", vec![changed("sha256\":\"", "sha256\":\"0")], "SHA-256"),
        ("a version that steers", vec![changed("version\":\"", "version\":\"\\u001b[2J")], ""),
    ] {
        fs::write(desk.path(SEED), frame(&entries)).unwrap();
        let said = if said.is_empty() { "prepare" } else { said };
        let wrong = not_refused(&desk, name, &["cluster", "work", "check", "1/1"], &[said]);
        assert_eq!(wrong, None, "{name}");
    }
}

#[test]
fn a_seed_whose_frame_is_none_is_refused() {
    let (desk, wanted) = desk();
    let sound = frame(&[Entry::file("seed.json", &wanted.about)]);
    let path = desk.path(SEED);
    let hole = |from: &[u8], bytes: u64| {
        let mut file = File::create(&path).unwrap();
        file.write_all(from).unwrap();
        file.seek(SeekFrom::Start(bytes)).unwrap();
        file.write_all(b"x").unwrap();
    };
    let refused = |name: &str, said: &str| {
        let wrong = not_taken(&desk, name, said);
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
        assert_eq!(wrong, None);
    };
    // A hole takes no room on the disk, and its zeros are blocks of nothing.
    hole(&begin(23), 1 << 40);
    refused("blocks of nothing", "more than 1 MiB of it hold nothing");
    hole(&sound[..sound.len() - 3], 1 << 40);
    refused("blocks of nothing at the end", "more than 1 MiB of it hold nothing");
    hole(&[0x50, 0x2a, 0x4d, 0x18, 255, 255, 255, 255], 1 << 40);
    refused("a frame to skip", "is damaged");
    hole(b"", 1 << 40);
    refused("a hole", "is damaged");
    for (name, bytes, said) in [
        ("something behind it", [&sound[..], b"x"].concat(), "something follows its end"),
        ("another frame", [&sound[..], &sound].concat(), "something follows its end"),
        ("a wide window", begin(31), "is damaged"),
        ("no bytes", Vec::new(), "is damaged"),
        ("no frame", b"no seed".to_vec(), "is damaged"),
        ("half of it", sound[..sound.len() / 2].to_vec(), "is damaged"),
        ("without its end", sound[..sound.len() - 2].to_vec(), "is damaged"),
    ] {
        fs::write(&path, bytes).unwrap();
        refused(name, said);
    }
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    refused("a pipe", "it is no regular file");
    for device in ["/dev/zero", "/dev/null", "/dev/full", "/dev/tty"] {
        symlink(device, &path).unwrap();
        refused(device, "it is no regular file");
    }
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    refused("a socket", "it is no regular file");
    fs::create_dir(&path).unwrap();
    refused("a folder", "Is a directory");
}
