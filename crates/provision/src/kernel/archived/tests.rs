//! Kernels of archives that a test makes and signs: first Ubuntu's, then Fedora's.

use std::{
    fs,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use preemptlab_model::{Arch, Digest, KernelRef};
use preemptlab_testkit::packages::Package as Made;

use super::*;
use crate::{
    Event, FedoraRepositories, ModuleError, Options, Provision, UbuntuArchive,
    distribution::{
        debian::{
            release::tests::xz,
            signature::tests::{ARCHIVE, IN_2026, STRANGER, keyring, sign, sign_bytes},
        },
        web::tests::{Answer, serve},
    },
    kernel::package::tests::{fedora_of, image, module, ubuntu_of},
};

const OLD: &str = "6.8.0-9-generic";
const NEW: &str = "6.8.0-31-generic";
const LOW: &str = "6.8.0-31-lowlatency";

/// A mirror in a folder, and a store.
struct Desk {
    folder: tempfile::TempDir,
    store: Store,
    options: Options,
}

/// A list as it is published.
struct Published<'a> {
    key: &'a str,
    suite: &'a str,
    ending: &'a str,
    change: fn(String) -> String,
}

const SOUND: Published<'static> =
    Published { key: ARCHIVE, suite: "noble", ending: "xz", change: |list| list };

impl Desk {
    /// Makes a mirror that nothing is on.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store")).unwrap();
        let keys = folder.path().join("keys.pgp");
        fs::write(&keys, keyring(ARCHIVE)).unwrap();
        let ubuntu = UbuntuArchive {
            mirror: Some(format!("file:{}/mirror/", folder.path().display())),
            suites: vec!["noble".to_owned()],
            keys: Some(keys.clone()),
        };
        let fedora = FedoraRepositories {
            repositories: vec![format!("file:{}/mirror/", folder.path().display())],
            keys: Some(keys),
        };
        Self { folder, store, options: Options { ubuntu, fedora, ..Options::default() } }
    }

    /// Makes a repository of Fedora with these kernels.
    fn of_fedora(versions: &[&str]) -> Self {
        let desk = Self::new();
        let rpms: Vec<_> = versions.iter().flat_map(|version| signed(version)).collect();
        desk.repository(&rpms, "zst", |list| list);
        desk
    }

    /// Publishes rpms, each with the description that the list has, in a repository.
    fn repository(&self, rpms: &[(Made, Vec<u8>)], ending: &str, change: fn(String) -> String) {
        fs::create_dir_all(self.mirror().join("Packages")).unwrap();
        fs::create_dir_all(self.mirror().join("repodata")).unwrap();
        let mut list = String::from("<?xml version=\"1.0\"?>\n<metadata>\n");
        for (Made { name, version, arch, .. }, bytes) in rpms {
            let (upstream, release) = version.rsplit_once('-').unwrap();
            let path = format!("Packages/{name}-{version}.{arch}.rpm");
            list.push_str(&format!(
                "<package type=\"rpm\"><name>{name}</name><arch>{arch}</arch>\
                 <version epoch=\"0\" ver=\"{upstream}\" rel=\"{release}\"/>\
                 <checksum type=\"sha256\" pkgid=\"YES\">{}</checksum>\
                 <size package=\"{}\" installed=\"1\"/><location href=\"{path}\"/>\
                 <format><rpm:license>GPL</rpm:license></format></package>\n",
                Digest::of(bytes),
                bytes.len()
            ));
            fs::write(self.mirror().join(path), bytes).unwrap();
        }
        let list = change(list + "</metadata>\n");
        let packed = match ending {
            "xz" => xz(list.as_bytes()),
            "gz" => gz(list.as_bytes()),
            "zst" => zstd::encode_all(list.as_bytes(), 1).unwrap(),
            _ => list.into_bytes(),
        };
        let path = format!("repodata/primary.xml.{ending}");
        let repomd = format!(
            "<repomd><data type=\"primary\"><checksum type=\"sha256\">{}</checksum>\
             <location href=\"{path}\"/><size>{}</size></data></repomd>",
            Digest::of(&packed),
            packed.len()
        );
        fs::write(self.mirror().join(path), packed).unwrap();
        fs::write(self.mirror().join("repodata/repomd.xml"), repomd).unwrap();
    }

    /// Makes a mirror of Ubuntu with these kernels.
    fn of_ubuntu(releases: &[&str]) -> Self {
        let desk = Self::new();
        let packages: Vec<Made> = releases.iter().flat_map(|release| ubuntu_of(release)).collect();
        desk.publish(&packages, &SOUND);
        desk
    }

    fn mirror(&self) -> PathBuf {
        self.folder.path().join("mirror")
    }

    /// Publishes packages in a suite.
    fn publish(&self, packages: &[Made], published: &Published<'_>) {
        let mut list = String::new();
        fs::create_dir_all(self.mirror().join("pool")).unwrap();
        for package in packages {
            let Made { name, version, arch, .. } = package;
            let (bytes, file) = (package.deb(), format!("pool/{name}_{version}_{arch}.deb"));
            list.push_str(&format!(
                "Package: {name}\nArchitecture: {arch}\nVersion: {version}\nFilename: {file}\n\
                 Size: {}\nSHA256: {}\n\n",
                bytes.len(),
                Digest::of(&bytes)
            ));
            fs::write(self.mirror().join(file), bytes).unwrap();
        }
        let Published { key, suite, ending, change } = published;
        let list = change(list);
        let packed = match *ending {
            "xz" => xz(list.as_bytes()),
            _ => gz(list.as_bytes()),
        };
        let path = format!("main/binary-amd64/Packages.{ending}");
        let dist = self.mirror().join("dists").join(suite);
        let file = dist.join(&path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let (sha256, bytes) = (Digest::of(&packed), packed.len());
        fs::write(file, packed).unwrap();
        let text = format!(
            "Origin: Ubuntu\nSuite: {suite}\nCodename: noble\nDate: Thu, 01 Jan 2026 00:00:00 UTC\n\
             SHA256:\n {sha256} {bytes} {path}\n"
        );
        fs::write(dist.join("InRelease"), sign(&text, &[(key, IN_2026)])).unwrap();
    }

    fn provision(&self) -> Provision<'static> {
        Provision::new(self.store.clone(), Arch::default(), self.options.clone(), &|_| ())
    }

    fn kernel(&self, name: &str) -> Result<ProvisionedKernel, KernelError> {
        self.provision().kernel(&name.parse().unwrap())
    }

    /// Returns the message that refuses a kernel, of which the store keeps nothing.
    fn refused(&self, name: &str) -> String {
        let error = self.kernel(name).unwrap_err();
        for folder in ["packages", "unpacked", "kernels", "modules", "configs"] {
            let left = fs::read_dir(self.store.root().join(folder)).unwrap().count();
            assert_eq!(left, 0, "{folder} after {error}");
        }
        let left: Vec<_> = fs::read_dir(self.store.archives())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some())
            .collect();
        assert!(left.is_empty(), "{left:?} after {error}");
        error.to_string()
    }

    /// Makes another store, and leaves the mirror as it is.
    fn with_new_store(&mut self) {
        let root = self.folder.path().join("other");
        let _ = fs::remove_dir_all(&root);
        self.store = Store::open(root).unwrap();
    }
}

/// Packs bytes with gzip.
fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, bytes).unwrap();
    packed.finish().unwrap()
}

/// Returns Fedora's packages of a kernel: the image with the configuration, and modules.
fn fedora_packages(version: &str) -> [Made; 2] {
    let modules = Made::new("kernel-modules-core", version, "x86_64")
        .with(&format!("./lib/modules/{version}.x86_64/kernel/fs/one-two.ko.zst"), &module());
    let image =
        fedora_of(version).with("./usr/share/licenses/kernel-core/COPYING", b"GPL-2.0-only");
    [image, modules]
}

/// Returns the signed packages of a kernel of Fedora's, each with its description.
fn signed(version: &str) -> Vec<(Made, Vec<u8>)> {
    let sign = |header: &[u8]| sign_bytes(header, (ARCHIVE, IN_2026));
    let packages = fedora_packages(version).into_iter();
    packages.map(|made| (made.clone(), made.rpm_signed(sign))).collect()
}

#[test]
fn a_series_means_its_newest_kernel_and_a_version_itself() {
    let desk = Desk::of_ubuntu(&[NEW, LOW, OLD]);
    for (name, release) in [
        ("ubuntu:6.8", NEW),
        ("ubuntu:6.8.0", NEW),
        ("ubuntu:6.8.0-9", OLD),
        ("ubuntu:6.8-lowlatency", LOW),
        ("ubuntu:6.8.0-31-lowlatency", LOW),
    ] {
        let found = desk.kernel(name).unwrap();
        assert_eq!(found.kernel.release, release, "{name}");
        assert_eq!(found.kernel.name.to_string(), name);
        assert_eq!(fs::read(&found.image).unwrap(), image(release));
    }
    let said = desk.kernel("ubuntu:6.11").unwrap_err().to_string();
    assert_eq!(said, "no kernel `ubuntu:6.11` is on offer; did you mean `ubuntu:6.8`?");
    let ends = ["ubuntu:6.8.0-9", "ubuntu:6.8"].map(|name| name.parse::<KernelRef>().unwrap());
    let between = desk.provision().builds_between(ends.each_ref()).unwrap();
    let between: Vec<_> = between.iter().map(ToString::to_string).collect();
    assert_eq!(between, ["ubuntu:6.8.0-9", "ubuntu:6.8.0-31"]);
    let is_offered = |name: &str| desk.provision().is_offered(&name.parse().unwrap()).unwrap();
    assert!(is_offered("ubuntu:6.8") && !is_offered("ubuntu:6.11"));
}

#[test]
fn a_kernel_comes_with_its_packages_configuration_and_modules() {
    let desk = Desk::of_ubuntu(&[NEW]);
    let found = desk.kernel("ubuntu:6.8").unwrap();
    assert_eq!((found.kernel.hz, found.kernel.rt), (Some(1000), Some(false)));
    let wanted = ubuntu_of(NEW)
        .map(|package| (package.name.clone(), package.version.clone(), Digest::of(&package.deb())));
    let used = found.kernel.packages.iter();
    let used: Vec<_> =
        used.map(|it| (it.name.to_string(), it.version.to_string(), it.sha256)).collect();
    assert_eq!(used, wanted);
    let provision = desk.provision();
    let modules = provision.modules(&found, &["one_two", "built"]).unwrap();
    assert_eq!(modules.len(), 1);
    let missing = provision.modules(&found, &["three"]).unwrap_err().to_string();
    let place = "the kernel 6.8.0-31-generic of Ubuntu";
    assert_eq!(missing, format!("{place} has no module `three`, and it is not built in"));
    let own = provision.modules(&found, &["preemptlab_hold"]).unwrap_err();
    assert!(matches!(own, ModuleError::Build(_)), "{own}");
    assert!(own.to_string().contains("no headers of Ubuntu's kernels are brought here"), "{own}");
}

#[test]
fn the_signed_image_is_preferred_and_further_modules_come_with_it() {
    let desk = Desk::new();
    let [unsigned, modules] = ubuntu_of(NEW);
    let mut signed = unsigned.clone();
    signed.name = format!("linux-image-{NEW}");
    let mut newer = signed.clone();
    newer.version = "6.8.0-45.46".to_owned();
    let extra = Made::new(&format!("linux-modules-extra-{NEW}"), "6.8.0-45.45", "amd64")
        .with(&format!("./lib/modules/{NEW}/kernel/net/three.ko"), b"no module");
    let others = ["linux-image-generic", "linux-image-6.8.0-31-aws", "linux-modules-nvidia"];
    let others = others.map(|name| Made::new(name, "6.8.0-31.31", "amd64"));
    desk.publish(&[signed, unsigned, modules, extra], &Published { ending: "gz", ..SOUND });
    desk.publish(&[&[newer][..], &others].concat(), &Published { suite: "noble-updates", ..SOUND });
    let mut desk = desk;
    desk.options.ubuntu.suites.push("noble-updates".to_owned());
    let found = desk.kernel("ubuntu:6.8").unwrap();
    let used: Vec<_> = found.kernel.packages.iter().map(|it| it.name.to_string()).collect();
    let wanted = ["linux-image-", "linux-modules-", "linux-modules-extra-"];
    assert_eq!(used, wanted.map(|kind| format!("{kind}{NEW}")));
    assert_eq!(found.kernel.packages[0].version, "6.8.0-45.46");
    let unreadable = desk.provision().modules(&found, &["three"]).unwrap_err();
    assert!(matches!(unreadable, ModuleError::Unreadable { .. }), "{unreadable}");
}

#[test]
fn a_recorded_kernel_comes_from_the_store_or_is_found_by_its_hash() {
    let mut desk = Desk::of_ubuntu(&[OLD, NEW]);
    let recorded = desk.kernel("ubuntu:6.8.0-9").unwrap().kernel;
    let packages = desk.provision().archived_packages(&recorded).unwrap();
    assert!(packages.iter().all(|(package, path)| {
        Digest::of(&fs::read(path).unwrap()) == package.sha256
            && recorded.packages.contains(package)
    }));
    // What was unpacked needs neither the packages nor a mirror.
    for (_, path) in packages {
        fs::remove_file(path).unwrap();
    }
    let archive = desk.options.ubuntu.clone();
    desk.options.ubuntu = UbuntuArchive::default();
    assert_eq!(desk.provision().kernel_again(&recorded).unwrap().kernel, recorded);
    let said = desk.provision().archived_packages(&recorded).unwrap_err().to_string();
    assert!(
        said.starts_with("no mirror of Ubuntu is known; name one with `--set ubuntu.mirror=URL`")
    );

    desk.options.ubuntu = archive;
    desk.with_new_store();
    assert_eq!(desk.provision().kernel_again(&recorded).unwrap().kernel, recorded);
    // Other packages under the names of the recorded ones are none of them.
    desk.with_new_store();
    let changed = ubuntu_of(OLD).map(|package| package.with("./usr/share/doc/x", b"another"));
    desk.publish(&changed, &SOUND);
    let said = desk.provision().kernel_again(&recorded).unwrap_err().to_string();
    assert_eq!(
        said,
        "the mirror of Ubuntu no longer offers the package linux-image-unsigned-6.8.0-9-generic 6.8.0-45.45, and \
         the store lacks it; `ubuntu.mirror` may name another"
    );
    // The packages of a capsule or of another preemptlab are enough.
    for (package, made) in recorded.packages.iter().zip(ubuntu_of(OLD)) {
        fs::write(desk.store.package(package.sha256), made.deb()).unwrap();
    }
    assert_eq!(desk.provision().kernel_again(&recorded).unwrap().kernel, recorded);
}

#[test]
fn what_nobody_vouches_for_is_refused() {
    let desk = Desk::of_ubuntu(&[NEW]);
    let [image, modules] = ubuntu_of(NEW);
    let pool = |name: &str| desk.mirror().join(format!("pool/{name}_6.8.0-45.45_amd64.deb"));
    // Another file under the right name.
    fs::write(pool(&image.name), modules.deb()).unwrap();
    let said = desk.refused("ubuntu:6.8");
    let begin =
        format!("the package `{}_6.8.0-45.45_amd64.deb` of Ubuntu cannot be had: ", image.name);
    assert!(said.starts_with(&format!("{begin}it came corrupted (")), "{said}");
    assert!(said.contains("--set ubuntu.mirror=URL"), "{said}");
    fs::remove_file(pool(&image.name)).unwrap();
    let said = desk.refused("ubuntu:6.8");
    assert!(said.starts_with(&format!("{begin}the mirror does not have it")), "{said}");

    let refused = |packages: &[Made], published: &Published<'_>| {
        let desk = Desk::new();
        desk.publish(packages, published);
        desk.refused("ubuntu:6.8")
    };
    let sound = ubuntu_of(NEW);
    let said = refused(&sound, &Published { key: STRANGER, ..SOUND });
    let begin = "the list of kernels in `noble` of Ubuntu cannot be had: ";
    assert!(said.starts_with(&format!(
        "{begin}its signature cannot be verified (no accepted key signed it"
    )));
    assert!(said.ends_with("`--set ubuntu.keys=FILE` names further keys of Ubuntu"), "{said}");
    let desk = Desk::of_ubuntu(&[NEW]);
    let list = desk.mirror().join("dists/noble/main/binary-amd64/Packages.xz");
    fs::write(list, [0; 4096]).unwrap();
    let said = desk.refused("ubuntu:6.8");
    assert!(said.starts_with(&format!("{begin}it came corrupted (")), "{said}");
    // A list of another suite, and one that is no list.
    let desk = Desk::new();
    desk.publish(&sound, &Published { suite: "jammy", ..SOUND });
    fs::rename(desk.mirror().join("dists/jammy"), desk.mirror().join("dists/other")).unwrap();
    let mut desk = desk;
    desk.options.ubuntu.suites = vec!["other".to_owned()];
    let said = desk.refused("ubuntu:6.8");
    assert!(said.contains("it is the release file of noble"), "{said}");

    // Lists without a kernel: an empty one, one of another architecture, one whose files climb.
    for (packages, change) in [
        (&[][..], SOUND.change),
        (&sound, |list: String| list.replace("amd64\n", "arm64\n")),
        (&sound, |list: String| list.replace("pool/", "../pool/")),
        (&sound, |list: String| list.replace("linux-image", "lunix-image")),
    ] {
        let said = refused(packages, &Published { change, ..SOUND });
        assert_eq!(said, "no kernel `ubuntu:6.8` is on offer");
    }
    // A package that the list says to be of this architecture, and that is of another one.
    let mut foreign = sound.clone();
    foreign[0].arch = "arm64".to_owned();
    let desk = Desk::new();
    desk.publish(
        &foreign,
        &Published { change: |list| list.replace(": arm64", ": amd64"), ..SOUND },
    );
    let error = desk.kernel("ubuntu:6.8").unwrap_err().to_string();
    assert!(
        error.ends_with(
            "_arm64.deb` is for arm64, and the guest is amd64: name the package for amd64"
        ),
        "{error}"
    );
    assert_eq!(fs::read_dir(desk.store.root().join("unpacked")).unwrap().count(), 0);
}

#[test]
fn mistakes_in_the_configuration_are_told_before_anything_is_asked() {
    let told = |change: &dyn Fn(&mut UbuntuArchive)| {
        let mut desk = Desk::new();
        change(&mut desk.options.ubuntu);
        let checked = desk.provision().check_sources(&["ubuntu:6.8".parse().unwrap()]);
        checked.unwrap_err().to_string()
    };
    let said = told(&|ubuntu| ubuntu.mirror = None);
    assert!(
        said.starts_with("no mirror of Ubuntu is known; name one with `--set ubuntu.mirror=URL`")
    );
    let said = told(&|ubuntu| ubuntu.mirror = Some("mirror.invalid".to_owned()));
    let wanted = "`mirror.invalid` is no mirror's URL; `ubuntu.mirror` should look like `http://HOST/ubuntu`";
    assert_eq!(said, wanted);
    for suite in ["", "../noble", "noble updates", "-x"] {
        let said = told(&|ubuntu| ubuntu.suites = vec![suite.to_owned()]);
        assert!(said.starts_with(&format!("`{suite}` is no suite of Ubuntu")), "{said}");
    }
    let said = told(&|ubuntu| ubuntu.keys = Some("/nonexistent".into()));
    assert!(said.starts_with("the keys in `/nonexistent` cannot be read"), "{said}");
    let file = tempfile::NamedTempFile::new().unwrap();
    let said = told(&|ubuntu| ubuntu.keys = Some(file.path().to_owned()));
    assert!(said.contains("cannot be used: the keyring cannot be read"), "{said}");
}

#[test]
fn lists_are_read_once_a_day() {
    let mut desk = Desk::of_ubuntu(&[OLD]);
    let (mirror, is_up) = (desk.mirror(), Arc::new(AtomicBool::new(true)));
    let up = is_up.clone();
    let (url, requests) = serve(move |path| match up.load(Ordering::Relaxed) {
        false => Answer::Status("503 Service Unavailable"),
        true => match fs::read(mirror.join(path.trim_start_matches('/'))) {
            Ok(bytes) => Answer::File(bytes),
            Err(_) => Answer::Status("404 Not Found"),
        },
    });
    desk.options.ubuntu.mirror = Some(url);
    let asked = || std::mem::take(&mut *requests.lock().unwrap()).len();
    desk.kernel("ubuntu:6.8").unwrap();
    assert_eq!(asked(), 4);
    desk.kernel("ubuntu:6.8").unwrap();
    assert_eq!(asked(), 0);
    desk.options.offline = true;
    desk.options.refresh = true;
    desk.kernel("ubuntu:6.8").unwrap();
    assert_eq!(asked(), 0);
    desk.options.offline = false;
    desk.publish(&[ubuntu_of(OLD), ubuntu_of(NEW)].concat(), &SOUND);
    assert_eq!(desk.kernel("ubuntu:6.8").unwrap().kernel.release, NEW);
    assert_eq!(asked(), 4);

    // A mirror that is down leaves the lists as they were; one without them is told.
    is_up.store(false, Ordering::Relaxed);
    let warnings = Mutex::new(Vec::new());
    let on_event = |event| {
        if let Event::Warning(text) = event {
            warnings.lock().unwrap().push(text);
        }
    };
    let provision =
        Provision::new(desk.store.clone(), Arch::default(), desk.options.clone(), &on_event);
    provision.kernel(&"ubuntu:6.8".parse().unwrap()).unwrap();
    let said = warnings.lock().unwrap().concat();
    assert!(
        said.starts_with(
            "the package list stays as it was: the list of kernels in `noble` of Ubuntu"
        ),
        "{said}"
    );
    desk.with_new_store();
    let said = desk.refused("ubuntu:6.8");
    assert!(said.contains("the mirror cannot be reached (it answers 503"), "{said}");
    desk.options.offline = true;
    let said = desk.refused("ubuntu:6.8");
    assert!(said.starts_with(
        "the store lacks the list of kernels in `noble` of Ubuntu, and `offline` is set"
    ));
    desk.options.offline = false;
    is_up.store(true, Ordering::Relaxed);
    desk.options.ubuntu.suites = vec!["jammy".to_owned()];
    let said = desk.refused("ubuntu:6.8");
    let wanted = "the list of kernels in `jammy` of Ubuntu cannot be had: the mirror does not have it; name another with \
                  `--set ubuntu.mirror=URL`";
    assert_eq!(said, wanted);
}

#[test]
fn the_configuration_of_a_kernel_on_offer_is_read_from_its_headers() {
    let desk = Desk::new();
    let headers = Made::new(&format!("linux-headers-{NEW}"), "6.8.0-31.31", "amd64")
        .with(&format!("./usr/src/linux-headers-{NEW}/.config"), b"CONFIG_HZ=250\n");
    desk.publish(
        &[&ubuntu_of(NEW)[..], &ubuntu_of(LOW), &ubuntu_of(OLD), &[headers]].concat(),
        &SOUND,
    );
    let on_event = |_| ();
    let supplies =
        || Supplies::new(desk.store.clone(), Arch::default(), desk.options.clone(), &on_event);
    for _ in 0..2 {
        let offers = offered(&supplies(), Other::Ubuntu).unwrap();
        let names: Vec<_> =
            offers.iter().map(|offer| offer.build.exact_name().to_string()).collect();
        assert_eq!(names, ["ubuntu:6.8.0-31", "ubuntu:6.8.0-31-lowlatency"]);
        assert_eq!(offers[0].config.as_ref().unwrap().hz(), Some(250));
        assert!(offers[1].config.is_err());
        // The next time the store has it.
        let _ = fs::remove_dir_all(desk.mirror().join("pool"));
    }
}

#[test]
fn ubuntu_s_own_key_is_brought() {
    let mut desk = Desk::of_ubuntu(&[NEW]);
    desk.options.ubuntu.keys = None;
    let said = desk.refused("ubuntu:6.8");
    assert!(said.contains("no accepted key signed it"), "{said}");
}

const FC42: &str = "6.14.5-300.fc42";

#[test]
fn a_kernel_of_fedora_comes_in_packages_of_one_version() {
    for ending in ["zst", "gz", "xz", "xml"] {
        let desk = Desk::new();
        let more = ["6.14.0-63.fc42", FC42, "6.13.9-200.fc41"].map(signed).concat();
        desk.repository(&more, ending, |list| list);
        for (name, version) in [
            ("fedora:6.14", FC42),
            ("fedora:6.14.0", "6.14.0-63.fc42"),
            ("fedora:6.14.0-63.fc42", "6.14.0-63.fc42"),
            ("fedora:6.13", "6.13.9-200.fc41"),
        ] {
            let found = desk.kernel(name).unwrap();
            assert_eq!(found.kernel.release, format!("{version}.x86_64"), "{name}");
            let used = found.kernel.packages.iter();
            let used: Vec<_> = used.map(|it| (&*it.name, &*it.version)).collect();
            assert_eq!(used, [("kernel-core", version), ("kernel-modules-core", version)]);
            assert_eq!(found.kernel.rt, Some(true));
            assert_eq!(desk.provision().modules(&found, &["one_two"]).unwrap().len(), 1);
        }
    }
    let desk = Desk::of_fedora(&[FC42]);
    let said = desk.refused("fedora:6.15");
    assert_eq!(said, "no kernel `fedora:6.15` is on offer; did you mean `fedora:6.14`?");
    let on_event = |_| ();
    let (store, options) = (desk.store.clone(), desk.options.clone());
    let supplies = Supplies::new(store, Arch::default(), options, &on_event);
    let offers = offered(&supplies, Other::Fedora).unwrap();
    assert!(offers[0].config.as_ref().unwrap().is_rt() && offers.len() == 1);
}

#[test]
fn a_recorded_kernel_of_fedora_is_found_by_its_hash() {
    let mut desk = Desk::of_fedora(&[FC42, "6.14.0-63.fc42"]);
    let recorded = desk.kernel("fedora:6.14.0").unwrap().kernel;
    desk.with_new_store();
    assert_eq!(desk.provision().kernel_again(&recorded).unwrap().kernel, recorded);
    desk.with_new_store();
    desk.repository(&signed(FC42), "gz", |list| list);
    let said = desk.provision().kernel_again(&recorded).unwrap_err().to_string();
    assert!(said.starts_with(
        "the mirror of Fedora no longer offers the package kernel-core 6.14.0-63.fc42"
    ));
    assert!(said.ends_with("`fedora.repositories` may name another"), "{said}");
}

#[test]
fn an_rpm_that_fedora_did_not_sign_is_refused() {
    let refused = |rpm: &dyn Fn(&Made) -> Vec<u8>| {
        let desk = Desk::new();
        let [image, modules] = fedora_packages(FC42);
        let sound = signed(FC42).remove(1);
        desk.repository(&[(image.clone(), rpm(&image)), sound], "zst", |list| list);
        assert_eq!(modules.name, "kernel-modules-core");
        desk.refused("fedora:6.14")
    };
    let by = |key: &'static str, at| move |header: &[u8]| sign_bytes(header, (key, at));
    let begin = format!("the package `kernel-core-{FC42}.x86_64.rpm` of Fedora cannot be had: ");
    let signature = format!("{begin}its signature cannot be verified (");
    for (said, words) in [
        (refused(&Made::rpm), "no accepted key signed it; it names no signature"),
        (
            refused(&|made| made.rpm_signed(by(STRANGER, IN_2026))),
            "no accepted key signed it; it names ",
        ),
        (refused(&|made| made.rpm_signed(by(ARCHIVE, 1_500_000_000))), "was not valid at the time"),
        (
            refused(&|made| made.rpm_signed(|_| sign_bytes(b"x", (ARCHIVE, IN_2026)))),
            "does not fit the text",
        ),
        (
            refused(&|made| made.rpm_signed(|_| b"no packet".to_vec())),
            "a signature of it cannot be read: ",
        ),
    ] {
        assert!(said.starts_with(&signature) && said.contains(words), "{said}");
        assert!(said.ends_with("`--set fedora.keys=FILE` names further keys of Fedora"), "{said}");
    }
    // A content that the signed header does not name.
    let said = refused(&|made| {
        let mut rpm = made.rpm_signed(by(ARCHIVE, IN_2026));
        let last = rpm.len() - 200;
        rpm[last] ^= 1;
        rpm
    });
    assert!(
        said.starts_with(&format!("{signature}its signed header names another SHA-256")),
        "{said}"
    );
    // Another package of Fedora's under the name: an old kernel, one for another architecture.
    let said = refused(&|_| fedora_of("6.1.0-1.fc41").rpm_signed(by(ARCHIVE, IN_2026)));
    assert_eq!(
        said,
        format!("{begin}it is kernel-core 6.1.0-1.fc41 for x86_64, and not what the list names")
    );
    let said = refused(&|made| {
        let made = Made { arch: "aarch64".to_owned(), ..made.clone() };
        made.rpm_signed(by(ARCHIVE, IN_2026))
    });
    assert!(said.contains("for aarch64, and not what the list names"), "{said}");
    let said = refused(&|made| made.deb());
    assert!(
        said.starts_with(&format!("{begin}it came corrupted (it is cut short or damaged")),
        "{said}"
    );
    // The form of rpm 6, in which a package may have several signatures.
    let desk = Desk::new();
    let base64 = |header: &[u8]| {
        use base64::Engine;
        let engine = base64::engine::general_purpose::STANDARD;
        let of = |key| engine.encode(sign_bytes(header, (key, IN_2026))) + "\0";
        (278, 8, (of(STRANGER) + &of(ARCHIVE)).into_bytes(), 2)
    };
    let rpms = fedora_packages(FC42).map(|made| (made.clone(), made.rpm_with(base64)));
    desk.repository(&rpms, "zst", |list| list);
    desk.kernel("fedora:6.14").unwrap();
}

#[test]
fn a_repository_that_makes_no_sense_is_refused() {
    let refused = |change: fn(String) -> String| {
        let desk = Desk::new();
        desk.repository(&signed(FC42), "zst", change);
        desk.refused("fedora:6.14").replace(&desk.folder.path().display().to_string(), "DESK")
    };
    let begin = "the list of kernels in `file:DESK/mirror` of Fedora cannot be had: ";
    let deep = |list: String| list.replace("<format>", &"<format>".repeat(20));
    assert_eq!(
        refused(deep),
        format!("{begin}it cannot be read (its elements are too deep in each other)")
    );
    let large = |list: String| {
        let comment = format!("<!--{}--><format>", "x".repeat(9 << 20));
        list.replace("<format>", &comment)
    };
    assert_eq!(refused(large), format!("{begin}it cannot be read (I/O error: it is too large)"));
    let many = |list: String| {
        let package = &list[list.find("<package").unwrap()..list.find("</metadata>").unwrap()];
        list.replace("</metadata>", &(package.repeat(2_000) + "</metadata>"))
    };
    let said = "it cannot be read (it names more kernels than a distribution has)";
    assert_eq!(refused(many), format!("{begin}{said}"));
    let cut = |list: String| list.replace("</metadata>", "");
    assert_eq!(refused(cut), format!("{begin}it cannot be read (it ends early)"));
    for change in [
        |list: String| list.replace("kernel-core", "kernel-corn"),
        |list: String| list.replace("x86_64", "aarch64"),
        |list: String| list.replace("Packages/", "../Packages/"),
        |list: String| list.replace("sha256", "sha1"),
        |list: String| list.replace("package=\"", "package=\"9000000"),
    ] {
        assert_eq!(refused(change), "no kernel `fedora:6.14` is on offer");
    }

    let desk = Desk::of_fedora(&[FC42]);
    fs::write(desk.mirror().join("repodata/primary.xml.zst"), [0; 4096]).unwrap();
    assert!(desk.refused("fedora:6.14").contains("it came corrupted ("));
    fs::remove_file(desk.mirror().join("repodata/primary.xml.zst")).unwrap();
    assert!(desk.refused("fedora:6.14").contains("the mirror does not have it"));
    fs::write(desk.mirror().join("repodata/repomd.xml"), "<html></html>").unwrap();
    assert!(desk.refused("fedora:6.14").contains("it names no list `primary`"));
    let mut desk = desk;
    desk.options.fedora.repositories.clear();
    let said = desk.refused("fedora:6.14");
    assert!(said.starts_with(
        "no mirror of Fedora is known; name one with `--set fedora.repositories=URL`"
    ));
    desk.options.fedora.repositories.push("x".to_owned());
    assert!(
        desk.refused("fedora:6.14")
            .starts_with("`x` is no mirror's URL; `fedora.repositories` should")
    );
}

#[test]
fn fedora_s_own_keys_are_brought() {
    let mut desk = Desk::of_fedora(&[FC42]);
    desk.options.fedora.keys = None;
    assert!(desk.refused("fedora:6.14").contains("no accepted key signed it"));
}
