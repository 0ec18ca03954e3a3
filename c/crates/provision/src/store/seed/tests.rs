use std::os::unix::fs::symlink;

use tar::{Builder, EntryType, Header};

use super::*;

struct Made {
    folder: tempfile::TempDir,
    contents: Contents,
}

/// Makes a store with a QEMU, a kernel and an image.
fn made() -> Made {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("store")).unwrap();
    let contents = Contents {
        qemu: Some(Digest::of(b"qemu")),
        kernels: [Digest::of(b"kernel")].into(),
        images: [Digest::of(b"image")].into(),
    };
    let lock = store.lock(&|_| ()).unwrap();
    lock.fill(&store.qemu(Digest::of(b"qemu")), |to| {
        fs::create_dir(to.join("bin")).unwrap();
        fs::write(to.join("bin/qemu"), "qemu").unwrap();
        symlink("bin/qemu", to.join("qemu")).unwrap();
        Ok::<(), StoreError>(())
    })
    .unwrap();
    fs::create_dir(store.kernel(Digest::of(b"kernel"))).unwrap();
    fs::write(store.kernel_image(Digest::of(b"kernel")), "kernel").unwrap();
    fs::write(store.image(Digest::of(b"image")), "image").unwrap();
    Made { folder, contents }
}

impl Made {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn pack(&self) -> PathBuf {
        let store = Store::open(self.path("store")).unwrap();
        pack(&store, &self.contents, &"mine", &self.path("seed")).unwrap();
        self.path("seed")
    }

    fn unpack(&self, store: &str) -> Result<Store, String> {
        let store = Store::open(self.path(store)).unwrap();
        let unpacked = unpack(&store, &self.contents, &self.path("seed"), &|_| ());
        unpacked.map(|()| store).map_err(|error| error.to_string())
    }
}

#[test]
fn a_seed_grows_into_the_same_store() {
    let made = made();
    let bytes = fs::read(made.pack()).unwrap();
    assert_eq!(fs::read(made.pack()).unwrap(), bytes);
    assert_eq!(about::<String>(&made.path("seed")).unwrap(), "mine");
    let store = made.unpack("worker").unwrap();
    assert!(has(&store, &made.contents));
    let qemu = store.qemu(made.contents.qemu.unwrap());
    assert_eq!(fs::read_to_string(qemu.join("qemu")).unwrap(), "qemu");

    // A damaged store is mended.
    fs::write(store.image(Digest::of(b"image")), "imagf").unwrap();
    fs::write(qemu.join("bin/qemu"), "qemv").unwrap();
    fs::remove_file(store.kernel_image(Digest::of(b"kernel"))).unwrap();
    assert!(!has(&store, &made.contents));
    assert!(has(&made.unpack("worker").unwrap(), &made.contents));
    // A complete store needs no seed.
    fs::remove_file(made.path("seed")).unwrap();
    made.unpack("worker").unwrap();
    assert!(made.unpack("other").unwrap_err().contains("cluster prepare"));
}

#[test]
fn a_damaged_seed_is_refused() {
    let made = made();
    let seed = made.pack();
    let bytes = fs::read(&seed).unwrap();
    for place in (0..bytes.len()).step_by(7) {
        let mut damaged = bytes.clone();
        damaged[place] ^= 0x10;
        fs::write(&seed, &damaged).unwrap();
        // A bit that no reader uses changes nothing.
        if let Ok(store) = made.unpack(&format!("at-{place}")) {
            assert!(has(&store, &made.contents), "{place}");
        }
    }
    for length in [0, 1, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&seed, &bytes[..length]).unwrap();
        assert!(made.unpack(&format!("of-{length}")).is_err(), "{length}");
    }
}

fn hostile(entries: &[(EntryType, &str, &str)]) -> Vec<u8> {
    let mut archive = Builder::new(Vec::new());
    for (kind, name, content) in entries {
        let mut header = Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        if matches!(kind, EntryType::Symlink | EntryType::Link) {
            header.set_size(0);
            header.set_link_name_literal(content).unwrap();
            header.set_cksum();
            archive.append(&header, io::empty()).unwrap();
        } else {
            header.set_size(content.len() as u64);
            header.set_cksum();
            archive.append(&header, content.as_bytes()).unwrap();
        }
    }
    zstd::stream::encode_all(archive.into_inner().unwrap().as_slice(), 3).unwrap()
}

#[test]
fn nothing_of_a_seed_reaches_outside() {
    let made = made();
    let image = format!("images/{}", Digest::of(b"image"));
    let attacks: [&[(EntryType, &str, &str)]; 6] = [
        &[(EntryType::Regular, "../escaped", "x")],
        &[(EntryType::Regular, "/tmp/preemptlab-escaped", "x")],
        &[(EntryType::Symlink, "out", "/tmp"), (EntryType::Regular, "out/preemptlab-escaped", "x")],
        &[(EntryType::Link, "images", "/etc/passwd")],
        &[(EntryType::Fifo, "images", "")],
        &[(EntryType::Regular, &image, "another content")],
    ];
    for (number, attack) in attacks.iter().enumerate() {
        fs::write(made.path("seed"), hostile(attack)).unwrap();
        let store = format!("store-{number}");
        assert!(made.unpack(&store).is_err(), "{number}");
        assert!(!made.path("escaped").exists());
        assert!(!Path::new("/tmp/preemptlab-escaped").exists());
        let left = fs::read_dir(made.path(&store).join("qemu")).unwrap().count();
        assert_eq!(left, 0, "{number}");
    }
}
