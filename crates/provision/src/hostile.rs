//! Entry points of the parsers of outside data, for the fuzzer.

use std::{fs, io, path::Path, sync::LazyLock};

use crate::{
    Keys, Release, capsule,
    distribution::{
        deb,
        debian::{
            apt,
            mirror::Archives,
            release::{for_each_stanza, package},
            signature::check_signed,
        },
        fedora,
    },
    kernel::ktree,
    package::{Bounds, Kind, PackageFault, Vouched, open},
    signed_text,
    store::seed,
};

/// Reads a text in every way in which apt's output is read.
pub fn apt(text: &str) {
    apt::read_in_every_way(text);
    let _ = Archives::choose(text);
}

/// Reads bytes as the files of a mirror: a signed text, a release, a list of packages, and a package, which
/// is unpacked into an empty folder.
pub fn archive(bytes: &[u8], folder: &Path) {
    static KEYS: LazyLock<Keys> = LazyLock::new(|| Keys::debian().expect("they are brought"));
    let _ = signed_text(bytes, &KEYS);
    let _ = Release::parse(&String::from_utf8_lossy(bytes));
    let _ = for_each_stanza(bytes, |stanza| drop(package(stanza)));
    let (file, unpacked) = (folder.join("deb"), folder.join("unpacked"));
    let sound = fs::write(&file, bytes).and_then(|()| fs::create_dir(&unpacked));
    sound.expect("there is room in the folder");
    let _ = deb::unpack(&file, &unpacked);
    fs::remove_file(&file).and_then(|()| fs::remove_dir_all(&unpacked)).expect("they were made");
    assert_eq!(fs::read_dir(folder).expect("it is there").count(), 0, "it left its folder");
}

/// Reads bytes as the lists of a repository of rpms.
pub fn repodata(bytes: &[u8]) {
    fedora::read_in_every_way(bytes);
}

/// Reads bytes as an rpm that is to be signed, and its signatures.
fn signatures(mut bytes: &[u8]) {
    static KEYS: LazyLock<Keys> = LazyLock::new(|| Keys::debian().expect("they are brought"));
    if let Ok(rpm) = Vouched::read(&mut bytes) {
        assert!(
            check_signed(&rpm.header, &rpm.signatures, &KEYS).is_err(),
            "no key of Debian's signs rpms"
        );
    }
}

/// Reads bytes as a seed, and as the archive in one, which is unpacked into an empty folder.
pub fn seed(bytes: &[u8], folder: &Path) {
    let (file, unpacked) = (folder.join("seed"), folder.join("unpacked"));
    let sound = fs::write(&file, bytes).and_then(|()| fs::create_dir(&unpacked));
    sound.expect("there is room in the folder");
    let _ = seed::about::<serde_json::Value>(&file);
    let _ = seed::unfold(&file, bytes, &unpacked);
    fs::remove_file(&file).and_then(|()| fs::remove_dir_all(&unpacked)).expect("they were made");
    assert_eq!(fs::read_dir(folder).expect("it is there").count(), 0, "it left its folder");
}

/// Reads bytes as a capsule, and as the archive in one, which is unpacked into an empty folder.
pub fn capsule(bytes: &[u8], folder: &Path) {
    let (file, unpacked) = (folder.join("capsule"), folder.join("unpacked"));
    let packed = zstd::stream::encode_all(bytes, 1).expect("there is memory");
    for bytes in [bytes, &packed] {
        let sound = fs::write(&file, bytes).and_then(|()| fs::create_dir(&unpacked));
        sound.expect("there is room in the folder");
        capsule::read_in_every_way(&file, &unpacked);
        fs::remove_file(&file)
            .and_then(|()| fs::remove_dir_all(&unpacked))
            .expect("they were made");
    }
    assert_eq!(fs::read_dir(folder).expect("it is there").count(), 0, "it left its folder");
}

/// Reads bytes in every way in which git's answers and the files of a repository are read.
pub fn git(bytes: &[u8]) {
    ktree::read_in_every_way(bytes);
}

/// Reads bytes as a package's file, with its signatures and all that it unpacks to.
pub fn packages(bytes: &[u8]) {
    signatures(bytes);
    let Ok(opened) = open(bytes) else { return };
    let _ = opened.each(Bounds { bytes: 4 << 20, entries: 1_000 }, |item, content| {
        let parts: Vec<&str> = item.path.split('/').collect();
        assert!(!parts.iter().any(|part| matches!(*part, "" | "." | "..")), "{item:?}");
        if item.kind != Kind::File {
            return Ok(());
        }
        let length = io::copy(content, &mut io::sink());
        let length = length.map_err(|error| PackageFault::Damaged(error.to_string()))?;
        assert!(length <= item.bytes, "{item:?} has {length} bytes");
        Ok::<_, PackageFault>(())
    });
}
