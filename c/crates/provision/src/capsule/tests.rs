use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use preemptlab_model::{Digest, Package};

use super::*;
use crate::{Store, distribution::deb::tests::build};

struct Made {
    folder: tempfile::TempDir,
    needs: Needs,
    others: Vec<(Package, PathBuf)>,
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
    Made { folder, needs, others }
}

const FILES: [&str; 2] = ["cells/1.json", "recording.json"];

impl Made {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn contents(&self) -> Result<Contents, CapsuleError> {
        let store = Store::open(self.path("store")).unwrap();
        let files = FILES.map(|name| (name.to_owned(), self.path("run").join(name))).into();
        Contents::collect(&store, self.needs.clone(), files, &self.others, &|_| ())
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
