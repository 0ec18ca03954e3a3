//! Tests of the OCI image: its bytes, digests and needs.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use preemptlab_model::Digest;
use serde_json::Value;

/// Builds the image into a folder, as on some day, and returns the archive.
fn build(folder: &Path) -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_preemptlab"));
    let target = program.parent().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/build-image");
    let output = Command::new(script)
        .args([target, folder, program])
        .env("SOURCE_DATE_EPOCH", "1750000000")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim_end())
}

fn unpack(archive: &Path, folder: &Path) {
    fs::create_dir(folder).unwrap();
    let status = Command::new("tar").arg("-xpf").arg(archive).arg("-C").arg(folder).status();
    assert!(status.unwrap().success(), "{}", archive.display());
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn an_image_has_the_same_bytes_each_time_and_what_the_program_needs() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| build(&folder.path().join(name)));
    assert!(fs::read(&one).unwrap() == fs::read(&two).unwrap(), "the bytes differ");

    let image = folder.path().join("image");
    unpack(&one, &image);
    let mut blobs = BTreeMap::new();
    for entry in fs::read_dir(image.join("blobs/sha256")).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        assert_eq!(path.file_name().unwrap().to_str().unwrap(), Digest::of(&bytes).to_string());
        blobs.insert(format!("sha256:{}", Digest::of(&bytes)), bytes);
    }
    // A descriptor names a blob that is there, by its digest and its size.
    let blob = |descriptor: &Value| {
        let bytes = &blobs[descriptor["digest"].as_str().unwrap()];
        assert_eq!(descriptor["size"], bytes.len(), "{descriptor}");
        bytes
    };
    let index = json(&fs::read(image.join("index.json")).unwrap());
    let manifest = json(blob(&index["manifests"][0]));
    let config = json(blob(&manifest["config"]));
    let layer = &manifest["layers"][0];
    blob(layer);
    assert_eq!((index["manifests"].as_array().unwrap().len(), blobs.len()), (1, 3));
    assert_eq!(config["rootfs"]["diff_ids"], serde_json::json!([layer["digest"]]));
    assert_eq!(config["created"], "2025-06-15T15:06:40Z");
    assert_eq!(config["config"]["User"], "65532:65532");
    let docker = json(&fs::read(image.join("manifest.json")).unwrap());
    let name = |digest: &Value| digest.as_str().unwrap().replace(':', "/");
    assert_eq!(docker[0]["Layers"][0], format!("blobs/{}", name(&layer["digest"])));
    assert_eq!(docker[0]["Config"], format!("blobs/{}", name(&manifest["config"]["digest"])));

    // With the loader and the libraries of the image alone the program starts.
    let root = folder.path().join("root");
    unpack(&image.join(docker[0]["Layers"][0].as_str().unwrap()), &root);
    let output = Command::new(root.join("lib64/ld-linux-x86-64.so.2"))
        .args(["--inhibit-cache", "--library-path"])
        .arg(root.join("lib/x86_64-linux-gnu"))
        .arg(root.join("usr/bin/preemptlab"))
        .arg("--version")
        .env_clear()
        .output()
        .unwrap();
    let version = String::from_utf8_lossy(&output.stdout);
    assert_eq!(version.trim_end(), concat!("preemptlab ", env!("CARGO_PKG_VERSION")), "{output:?}");
    // A worker's store may be in it: it has the sticky bit.
    let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(root.join("tmp")).unwrap());
    assert_eq!(mode & 0o7777, 0o1777);
}
