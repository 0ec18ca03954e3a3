use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use preemptlab_model::{Digest, Package};
use preemptlab_testkit::packages::{Kind, Package as Own};
use serde_json::json;

use super::*;
use crate::{Store, distribution::deb::tests::build};

struct Made {
    folder: tempfile::TempDir,
    needs: Needs,
    others: Vec<(Package, PathBuf)>,
    own: Vec<(Package, PathBuf)>,
}

/// Makes a store with QEMU's packages, a kernel and an image, and a recording of two files.
fn made() -> Made {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("store")).unwrap();
    let package = |name: &str| {
        let deb = build(folder.path(), name, "1.0", "");
        let sha256 = Digest::of(&fs::read(&deb).unwrap());
        fs::rename(deb, store.package(sha256)).unwrap();
        Package { name: name.parse().unwrap(), version: "1.0".parse().unwrap(), sha256 }
    };
    let needs = Needs {
        qemu: ["qemu", "library"].map(package).into(),
        kernels: [Digest::of(b"kernel")].into(),
        images: [Digest::of(b"image")].into(),
    };
    let program = package("program");
    let others = vec![(program.clone(), store.package(program.sha256))];
    fs::create_dir(store.kernel(Digest::of(b"kernel"))).unwrap();
    fs::write(store.kernel_image(Digest::of(b"kernel")), "kernel").unwrap();
    fs::write(store.image(Digest::of(b"image")), "image").unwrap();
    fs::create_dir_all(folder.path().join("run/cells")).unwrap();
    fs::write(folder.path().join("run/recording.json"), "{}").unwrap();
    fs::write(folder.path().join("run/cells/1.json"), "{}").unwrap();
    Made { folder, needs, others, own: Vec::new() }
}

const FILES: [&str; 2] = ["cells/1.json", "recording.json"];

impl Made {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn contents(&self) -> Result<Contents, CapsuleError> {
        let store = Store::open(self.path("store")).unwrap();
        let files = FILES.map(|name| (name.to_owned(), self.path("run").join(name))).into();
        Contents::collect(&store, self.needs.clone(), files, &self.others, &self.own, &|_| ())
    }

    /// Adds the package of a kernel of the user's own.
    fn add_own(&mut self, file: &str, package: &Own, bytes: &[u8]) {
        fs::write(self.path(file), bytes).unwrap();
        let (name, version) = (package.name.parse().unwrap(), package.version.parse().unwrap());
        let package = Package { name, version, sha256: Digest::of(bytes) };
        self.own.push((package, self.path(file)));
    }

    /// Returns the entry about a package in the capsule's `sources.json`, and the licence that it names.
    fn source(&self, package: &str) -> (serde_json::Value, String) {
        let unpacked = tempfile::tempdir().unwrap();
        open::unfold(&self.path("capsule"), unpacked.path()).unwrap();
        let read = |name: &str| fs::read_to_string(unpacked.path().join(name));
        let sources: Vec<serde_json::Value> =
            serde_json::from_str(&read("sources.json").unwrap()).unwrap();
        let found = sources.into_iter().find(|source| source["package"] == package).unwrap();
        let licence = found["licence"].as_str().map(|name| read(name).unwrap_or_default());
        (found, licence.unwrap_or_default())
    }

    fn pack(&self) -> Vec<u8> {
        let path = self.path("capsule");
        let contents = self.contents().unwrap();
        let bytes = contents.write("mine".to_owned(), &path, &|_| (), &|| false).unwrap();
        let packed = fs::read(&path).unwrap();
        assert_eq!(packed.len() as u64, bytes);
        packed
    }

    /// Opens the capsule in another store, and provides what its recording needs.
    fn provide(&self, trust: Trust) -> Result<Vouched, String> {
        let store = Store::open(self.path("other")).unwrap();
        let provided = Capsule::open(&store, &self.path("capsule"), &|_| ()).and_then(|capsule| {
            assert_eq!(capsule.packed_by(), "mine");
            let files = FILES.map(str::to_owned);
            let (own, vouched) = capsule.provide(&self.needs, &files, trust, &|_| ())?;
            let qemu = fs::read_dir(own.root().join("qemu")).unwrap().next().unwrap().unwrap();
            assert_eq!(fs::read_to_string(qemu.path().join("usr/share/qemu")).unwrap(), "1.0");
            assert!(own.kernel_image(Digest::of(b"kernel")).exists());
            assert!(own.image(Digest::of(b"image")).exists());
            assert!(capsule.recording().join("cells/1.json").exists());
            Ok(vouched)
        });
        // Whatever happened, nothing of it is left.
        let left = |folder: &str| fs::read_dir(self.path("other").join(folder)).unwrap().count();
        assert_eq!(["capsules", "packages", "kernels", "images", "qemu"].map(left), [0; 5]);
        provided.map_err(|error| error.to_string())
    }

    fn change(&self, archive: impl FnOnce(Vec<u8>) -> Vec<u8>) {
        let whole =
            zstd::stream::decode_all(fs::File::open(self.path("capsule")).unwrap()).unwrap();
        let mut packed = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        packed.write_all(&archive(whole)).unwrap();
        fs::write(self.path("capsule"), packed.finish().unwrap()).unwrap();
    }
}

/// Returns the place of some bytes in others.
fn place(whole: &[u8], part: &[u8]) -> usize {
    whole.windows(part.len()).position(|window| window == part).unwrap()
}

#[test]
fn a_capsule_gives_what_was_packed() {
    let made = made();
    let bytes = made.pack();
    assert_eq!(made.pack(), bytes);
    assert!(may_be_one(&made.path("capsule")) && !may_be_one(&made.path("run/recording.json")));
    assert_eq!(made.provide(Trust::User).unwrap(), Vouched::User);
    let whole = zstd::stream::decode_all(bytes.as_slice()).unwrap();
    let sources = String::from_utf8_lossy(&whole[place(&whole, b"[{\"package\"")..]).into_owned();
    assert!(sources.contains("\"source\":\"program\",\"source_version\":\"1.0\""), "{sources}");
}

#[test]
fn a_package_of_the_users_own_brings_its_licence_and_names_its_source() {
    let mut made = made();
    let image = |name: &str, arch: &str| {
        Own::new(name, "6.8.0-45.45", arch).with("./boot/vmlinuz-6.8", b"x")
    };
    let mut deb = image("linux-image-6.8", "amd64")
        .with("./usr/share/doc/linux-image-6.8/copyright", b"GPL-2, of Debian's form")
        .with("./usr/share/doc/linux-image-6.8/changelog", b"other");
    deb.source = "linux-signed (6.8.0-45.45)".to_owned();
    made.add_own("image.deb", &deb, &deb.deb());
    let linked = image("linux-modules-6.8", "amd64").with_entry(
        "./usr/share/doc/linux-modules-6.8",
        Kind::Symlink,
        b"linux-image-6.8",
    );
    made.add_own("modules.deb", &linked, &linked.deb());
    let mut rpm = image("kernel-core", "x86_64")
        .with("./usr/share/licenses/kernel-core/COPYING", b"GPL-2")
        .with("./usr/share/licenses/kernel-core/more/note", b"syscall note");
    rpm.source = "kernel-6.8.0-45.src.rpm".to_owned();
    rpm.licence = "GPL-2.0-only WITH Linux-syscall-note".to_owned();
    made.add_own("kernel-core.rpm", &rpm, &rpm.rpm());
    let silent = image("kernel-pae", "x86_64");
    made.add_own("silent.rpm", &silent, &silent.rpm());

    assert_eq!(made.pack(), made.pack());
    assert_eq!(made.provide(Trust::User).unwrap(), Vouched::User);
    let (source, licence) = made.source("linux-image-6.8");
    let wanted = json!({
        "package": "linux-image-6.8", "version": "6.8.0-45.45", "sha256": made.own[0].0.sha256,
        "source": "linux-signed", "source_version": "6.8.0-45.45", "built_using": "",
        "licence": "licences/linux-image-6.8_6.8.0-45.45",
        "licence_name": "", "maker": "nobody <nobody@invalid>", "home": "",
    });
    assert_eq!((source, &*licence), (wanted, "GPL-2, of Debian's form"));
    let (source, _) = made.source("linux-modules-6.8");
    assert_eq!(source["licence"], "that of linux-image-6.8");
    assert_eq!(
        (&source["source"], &source["source_version"]),
        (&json!("linux-modules-6.8"), &json!("6.8.0-45.45"))
    );
    let (source, licence) = made.source("kernel-core");
    let said = ["source", "source_version", "licence_name", "maker"]
        .map(|key| source[key].as_str().unwrap());
    assert_eq!(said, ["kernel", "6.8.0-45", "GPL-2.0-only WITH Linux-syscall-note", "nobody"]);
    assert_eq!(
        licence,
        "usr/share/licenses/kernel-core/COPYING:\n\nGPL-2\n\
         usr/share/licenses/kernel-core/more/note:\n\nsyscall note\n"
    );
    let (source, _) = made.source("kernel-pae");
    assert_eq!((&source["source"], &source["licence"]), (&json!(""), &json!(null)));
    // A distribution's have none of these words.
    assert_eq!(made.source("program").0.get("maker"), None);
}

#[test]
fn a_package_of_the_users_own_that_is_gone_is_told() {
    let mut made = made();
    let rpm =
        Own::new("kernel-core", "6.8-1", "x86_64").with("./usr/share/licenses/k/COPYING", b"GPL-2");
    made.add_own("kernel-core.rpm", &rpm, &rpm.rpm());
    let warned = |made: &Made| {
        let store = Store::open(made.path("store")).unwrap();
        let said = std::cell::RefCell::new(Vec::new());
        let on_event = |event| {
            if let crate::Event::Warning(text) = event {
                said.borrow_mut().push(text);
            }
        };
        let (needs, files) = (made.needs.clone(), Vec::new());
        let contents = Contents::collect(&store, needs, files, &made.others, &made.own, &on_event);
        (contents.map(drop).map_err(|error| error.to_string()), said.into_inner())
    };
    assert_eq!(warned(&made), (Ok(()), vec![]));
    // Another one under the name, and none.
    let path = made.path("kernel-core.rpm");
    for change in [|path: &Path| fs::write(path, "other"), |path: &Path| fs::remove_file(path)] {
        change(&path).unwrap();
        let (contents, said) = warned(&made);
        assert_eq!((contents, said.len()), (Ok(()), 1));
        let begin = "the capsule has neither the licence nor the source of kernel-core 6.8-1: ";
        assert!(
            said[0].starts_with(begin) && said[0].ends_with("is not there any more"),
            "{said:?}"
        );
    }
    made.pack();
    let (source, _) = made.source("kernel-core");
    assert_eq!((&source["source"], &source["licence"]), (&json!(""), &json!(null)));
    // Licences without end, which no recording has met before.
    let endless = Own::new("kernel-core", "6.8-2", "x86_64")
        .with("./usr/share/licenses/k/COPYING", &vec![b'x'; (16 << 20) + 1]);
    made.add_own("endless.rpm", &endless, &endless.rpm());
    let (contents, _) = warned(&made);
    assert!(
        contents.unwrap_err().ends_with("endless.rpm` unpacks to more than 16 MiB of licences")
    );
}

#[test]
fn a_qemu_for_which_nobody_vouches_is_refused() {
    let made = made();
    made.pack();
    assert!(made.contents().unwrap().unlisted().unwrap().contains("Debian signed"));
    let said = made.provide(Trust::Debian).unwrap_err();
    assert!(
        said.contains("nothing shows that it is Debian's") && said.contains("--trust-qemu"),
        "{said}"
    );
}

#[test]
fn whatever_is_changed_is_refused() {
    let made = made();
    let bytes = made.pack();
    for place in (0..bytes.len()).step_by(41) {
        let mut damaged = bytes.clone();
        damaged[place] ^= 0x10;
        fs::write(made.path("capsule"), &damaged).unwrap();
        // A bit that no reader uses changes nothing.
        let _ = made.provide(Trust::User);
    }
    for length in [4, bytes.len() / 2, bytes.len() - 1] {
        fs::write(made.path("capsule"), &bytes[..length]).unwrap();
        let said = made.provide(Trust::User).unwrap_err();
        assert!(said.contains("no whole capsule"), "{length}: {said}");
    }
    fs::write(made.path("capsule"), [&bytes[..], b"x"].concat()).unwrap();
    assert!(made.provide(Trust::User).unwrap_err().contains("something follows its end"));

    for (part, name) in [("!<arch>", "packages/"), ("image", "images/"), ("kernel", "kernels/")] {
        made.pack();
        made.change(|mut whole| {
            let data = place(&whole, name.as_bytes()) + 512;
            let at = data + place(&whole[data..], part.as_bytes());
            whole[at] ^= 1;
            whole
        });
        let said = made.provide(Trust::User).unwrap_err();
        let words = format!("the content of {name}");
        assert!(said.contains(&words) && said.contains("is another"), "{name}: {said}");
    }
}

#[test]
fn a_newer_capsule_needs_a_newer_preemptlab() {
    let made = made();
    made.pack();
    made.change(|mut whole| {
        let at = place(&whole, b"\"format\":1");
        whole[at + 9] = b'2';
        whole
    });
    assert!(made.provide(Trust::User).unwrap_err().contains("it needs a newer preemptlab"));
}

#[test]
fn a_damaged_store_is_not_packed() {
    let made = made();
    let store = Store::open(made.path("store")).unwrap();
    fs::write(store.image(Digest::of(b"image")), "imagf").unwrap();
    assert!(made.contents().unwrap_err().to_string().contains("in the store is damaged"));
}

#[test]
fn an_interrupted_capsule_is_not_written() {
    let made = made();
    let path = made.path("capsule");
    let written = made.contents().unwrap().write("mine".to_owned(), &path, &|_| (), &|| true);
    assert!(written.is_err() && !Path::new(&path).exists());
}
