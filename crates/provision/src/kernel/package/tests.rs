use std::fs;

use preemptlab_model::{Arch, Package as Used};
use preemptlab_testkit::packages::{Kind, Package};

use super::*;
use crate::{ModuleError, Options, Provision};

const RELEASE: &str = "6.8.0-45-generic";

/// Returns the start of a bzImage with this release (Documentation/arch/x86/boot.rst).
pub(crate) fn image(release: &str) -> Vec<u8> {
    let mut image = vec![0; 0x400];
    image[0x202..0x208].copy_from_slice(b"HdrS\x0f\x02");
    image[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
    image[0x300..0x300 + release.len()].copy_from_slice(release.as_bytes());
    image
}

/// Returns a module that depends on none, compressed as Ubuntu does it.
pub(crate) fn module() -> Vec<u8> {
    // An object of assembler with an empty `.modinfo`, as `objcopy` leaves it.
    let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
    elf.resize(16, 0);
    elf.extend([1, 0, 62, 0, 1, 0, 0, 0]);
    elf.extend([0; 16]);
    let names = b"\0.modinfo\0.shstrtab\0";
    let sections_at = 64 + names.len() as u64;
    elf.extend(sections_at.to_le_bytes());
    elf.extend([0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 64, 0, 3, 0, 2, 0]);
    elf.extend(names);
    for (name, kind, size) in [(0_u32, 0_u32, 0), (1, 1, 0), (10, 3, names.len() as u64)] {
        elf.extend(name.to_le_bytes());
        elf.extend(kind.to_le_bytes());
        elf.extend([0; 16]);
        elf.extend(64_u64.to_le_bytes());
        elf.extend(u64::to_le_bytes(size));
        elf.extend([0; 8]);
        elf.extend(1_u64.to_le_bytes());
        elf.extend([0; 8]);
    }
    zstd::encode_all(&*elf, 1).unwrap()
}

fn ubuntu() -> [Package; 2] {
    ubuntu_of(RELEASE)
}

/// Returns Ubuntu's packages of a kernel: the image, and the modules with the configuration.
pub(crate) fn ubuntu_of(release: &str) -> [Package; 2] {
    let of = |kind: &str| Package::new(&format!("{kind}-{release}"), "6.8.0-45.45", "amd64");
    let image = of("linux-image-unsigned")
        .needing("kmod")
        .needing(&format!("linux-modules-{release}"))
        .with_entry("./boot/", Kind::Folder, b"")
        .with(&format!("./boot/vmlinuz-{release}"), &image(release));
    let modules = of("linux-modules")
        .with(&format!("./boot/System.map-{release}"), b"0 T start")
        .with(&format!("./boot/config-{release}"), b"CONFIG_HZ=1000\nCONFIG_PREEMPT_DYNAMIC=y\n")
        .with(&format!("./lib/modules/{release}/modules.builtin"), b"kernel/lib/built.ko\n")
        .with(&format!("./lib/modules/{release}/kernel/fs/one-two.ko.zst"), &module());
    [image, modules]
}

fn fedora() -> Package {
    fedora_of("6.11.4-301.fc41")
}

/// Returns Fedora's package of a kernel without its modules.
pub(crate) fn fedora_of(version: &str) -> Package {
    let release = format!("{version}.x86_64");
    Package::new("kernel-core", version, "x86_64")
        .needing("kernel-modules-core-uname-r")
        .needing("/bin/sh")
        .with_entry("./boot/vmlinuz", Kind::Symlink, b"x")
        .with(&format!("./lib/modules/{release}/vmlinuz"), &image(&release))
        .with(&format!("./lib/modules/{release}/config"), b"CONFIG_PREEMPT_RT=y\n")
        .with_entry(&format!("./lib/modules/{release}/build"), Kind::Symlink, b"/usr/src/x")
}

/// A folder with packages and a store.
struct Desk {
    folder: tempfile::TempDir,
    store: Store,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store")).unwrap();
        Self { folder, store }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn provision(&self) -> Provision<'static> {
        Provision::new(self.store.clone(), Arch::default(), Options::default(), &|_| ())
    }

    fn name(files: &[PathBuf]) -> KernelRef {
        KernelRef::Package { files: files.to_vec() }
    }

    fn kernel(&self, files: &[PathBuf]) -> Result<ProvisionedKernel, KernelError> {
        self.provision().kernel(&Self::name(files))
    }

    /// Returns the message that refuses packages, of which the store keeps nothing.
    fn refused(&self, files: &[PathBuf]) -> String {
        let error = self.kernel(files).unwrap_err();
        assert!(matches!(error, KernelError::Package { .. }), "{error}");
        for folder in ["unpacked", "kernels", "modules"] {
            let left = fs::read_dir(self.store.root().join(folder)).unwrap().count();
            assert_eq!(left, 0, "{folder} after {error}");
        }
        error.to_string()
    }

    fn refused_deb(&self, package: &Package) -> String {
        self.refused(&[self.write("a.deb", &package.deb())])
    }
}

#[test]
fn a_kernel_in_two_packages_is_one() {
    let desk = Desk::new();
    let files = ["i.deb", "m.deb"].into_iter().zip(ubuntu());
    let files: Vec<_> = files.map(|(name, package)| desk.write(name, &package.deb())).collect();
    let found = desk.kernel(&files).unwrap();
    assert_eq!(found.kernel.release, RELEASE);
    assert_eq!(found.kernel.image_sha256, Digest::of(&image(RELEASE)));
    assert_eq!(fs::read(&found.image).unwrap(), image(RELEASE));
    assert_eq!((found.kernel.hz, found.kernel.rt), (Some(1000), Some(false)));
    assert!(found.kernel.modes.is_some());
    let used: Vec<_> = found.kernel.packages.iter().map(|it| (&*it.name, it.sha256)).collect();
    let hash = |path: &PathBuf| Digest::of(&fs::read(path).unwrap());
    let wanted = [
        ("linux-image-unsigned-6.8.0-45-generic", hash(&files[0])),
        ("linux-modules-6.8.0-45-generic", hash(&files[1])),
    ];
    assert_eq!(used, wanted);

    let provision = desk.provision();
    let modules = provision.modules(&found, &["one_two", "built"]).unwrap();
    assert_eq!(modules.len(), 1);
    assert_eq!(modules[0].path, "/lib/modules/one_two.ko");
    let missing = provision.modules(&found, &["three"]).unwrap_err().to_string();
    let [image, modules] = [&files[0], &files[1]].map(|path| path.display());
    assert_eq!(
        missing,
        format!(
            "the kernel of `{image}` and `{modules}` has no module `three`, and it is not built in; \
             name the file of `linux-modules-extra-{RELEASE}` too, behind a comma"
        )
    );
    let own = provision.modules(&found, &["preemptlab_hold"]).unwrap_err().to_string();
    assert!(own.ends_with("its packages hold no headers"), "{own}");

    // Their order makes another name and the same kernel, of which the store has one copy.
    let turned = desk.kernel(&[files[1].clone(), files[0].clone()]).unwrap();
    assert_eq!(turned.kernel.image_sha256, found.kernel.image_sha256);
    assert_eq!(turned.kernel.packages[0], found.kernel.packages[1]);
    assert_eq!(fs::read_dir(desk.store.root().join("unpacked")).unwrap().count(), 1);
}

#[test]
fn the_package_that_is_missing_is_named() {
    let desk = Desk::new();
    let [image, modules] = ubuntu();
    let path = desk.write("i.deb", &image.deb());
    let alone = desk.kernel(std::slice::from_ref(&path)).unwrap();
    assert_eq!((alone.kernel.hz, &alone.kernel.modes), (None, &None));
    let error = desk.provision().modules(&alone, &["one_two"]).unwrap_err();
    assert!(matches!(error, ModuleError::NoModules { .. }));
    let said = error.to_string();
    let further = format!("name the file of `linux-modules-{RELEASE}` too, behind a comma");
    assert!(said.contains("came without modules; ") && said.ends_with(&further), "{said}");

    let desk = Desk::new();
    let said = desk.refused_deb(&modules);
    let wanted = format!(
        "holds no kernel image; it has modules of {RELEASE}: name a package such as \
         `linux-image-{RELEASE}` before it"
    );
    assert!(said.ends_with(&wanted), "{said}");
    let meta = Package::new("linux-image-amd64", "6.12.107-1", "amd64")
        .needing("linux-image-6.12.107+deb13-amd64")
        .with("./usr/share/doc/linux-image-amd64/copyright", b"");
    let said = desk.refused_deb(&meta);
    let wanted =
        "; it depends on `linux-image-6.12.107+deb13-amd64`: name the file of that package";
    assert!(said.ends_with(wanted), "{said}");
    let said = desk.refused_deb(&Package::new("bash", "5.2-1", "amd64").with("./bin/bash", b""));
    assert!(said.ends_with("holds no kernel image: it is no kernel's package"), "{said}");
}

#[test]
fn an_rpm_is_a_kernel_too() {
    let desk = Desk::new();
    let path = desk.write("kernel-core.rpm", &fedora().rpm());
    let found = desk.kernel(&[path]).unwrap();
    assert_eq!(found.kernel.release, "6.11.4-301.fc41.x86_64");
    assert_eq!(found.kernel.rt, Some(true));
    let Used { name, version, .. } = &found.kernel.packages[0];
    assert_eq!((&**name, &**version), ("kernel-core", "6.11.4-301.fc41"));
    let said = desk.provision().modules(&found, &["x"]).unwrap_err().to_string();
    assert!(
        said.ends_with("; name the file of `kernel-modules-core` too, behind a comma"),
        "{said}"
    );

    // The kernel's own `make rpm-pkg` writes `_` for `-`, which no version of Debian has.
    let own = Package::new("kernel-PAE", "6.12.0_rc1-3", "x86_64")
        .with("./lib/modules/6.12.0-rc1/vmlinuz", &image("6.12.0-rc1"));
    let found = desk.kernel(&[desk.write("own.rpm", &own.rpm())]).unwrap();
    let Used { name, version, .. } = &found.kernel.packages[0];
    assert_eq!((&**name, &**version), ("kernel-pae", "6.12.0+rc1-3"));
    // What a recording holds is read again.
    let json = serde_json::to_string(&found.kernel).unwrap();
    assert_eq!(serde_json::from_str::<Kernel>(&json).unwrap(), found.kernel);
}

#[test]
fn what_is_no_kernels_package_is_refused_and_leaves_nothing() {
    let desk = Desk::new();
    let base = || Package::new("linux-image-6.12", "6.12-1", "amd64");
    let place = "./boot/vmlinuz-6.12";
    let sound = || base().with(place, &image("6.12"));
    let module = "./lib/modules/6.12/kernel/a.ko";
    for (package, said) in [
        (
            Package { arch: "arm64".into(), ..sound() },
            "is for arm64, and the guest is amd64: name the package for amd64",
        ),
        (sound().with("./../x", b""), "holds `./../x`, a path that may lead out of the package"),
        (base().with_entry(place, Kind::Device, b""), "a device, where a file is expected"),
        (base().with_entry(place, Kind::Hardlink, b"./x"), "a hard link, where a file is expected"),
        (sound().with_entry(module, Kind::Hardlink, b"/etc/shadow"), "a hard link"),
        (
            base().with_entry(place, Kind::Symlink, b"/etc/shadow"),
            "holds no kernel image: `boot/vmlinuz-6.12` is a link, and only a bzImage that is a \
             regular file can be booted",
        ),
        (
            base().with("./lib/modules/6.12/vmlinuz-virt.efi", b"MZ"),
            "`lib/modules/6.12/vmlinuz-virt.efi` is another form of one",
        ),
        (
            sound().with("./boot/vmlinuz-6.13", &image("6.13")),
            "holds files of two kernels, 6.12 and 6.13; a package of one kernel is expected",
        ),
        (sound().with("./lib/modules/6.13/a.ko", b""), "two kernels, 6.12 and 6.13"),
        (base().with(place, &image("6.13")), "two kernels, 6.12 and 6.13"),
        (
            sound().with("./lib/modules/6.12/vmlinuz", &[image("6.12"), vec![1]].concat()),
            "a second image of the same kernel",
        ),
        (
            base().with(place, b"\x7fELF"),
            "holds `boot/vmlinuz-6.12`, which is an ELF file; only a bzImage can be booted",
        ),
        (base().with(place, &[0x1f, 0x8b, 8]), "compressed by gzip as a whole"),
        (base().with(place, &[0x28, 0xb5, 0x2f, 0xfd]), "compressed by zstd as a whole"),
        (base().with(place, b"MZ\0\0zimg"), "a compressed EFI program (zboot)"),
        (base().with(place, &[b"MZ".as_slice(), &[0; 0x36], b"ARMd"].concat()), "arm64"),
        (base().with(place, b""), "which is empty"),
        (
            Package { name: "Linux Image".into(), ..sound() },
            "says of itself that it is `Linux Image`, which is no package's name",
        ),
        (Package { version: "one\u{1b}".into(), ..sound() }, "no package's version"),
    ] {
        let refused = desk.refused_deb(&package);
        assert!(refused.contains(said), "{refused}");
        assert!(!refused.contains('\u{1b}'));
        if !said.contains("amd64") {
            let package = Package { arch: "x86_64".into(), ..package };
            let refused = desk.refused(&[desk.write("a.rpm", &package.rpm())]);
            let is_name = said.contains("Linux Image");
            assert!(refused.contains(said) || is_name, "{refused}");
        }
    }
    let whole = sound().deb();
    let refused = desk.refused(&[desk.write("a.deb", &whole[..whole.len() / 2])]);
    assert!(refused.contains("is cut short or damaged"), "{refused}");
    let refused = desk.refused(&[desk.write("a.deb", b"no package")]);
    assert!(refused.contains("is neither a .deb nor an .rpm"), "{refused}");
    // The ending of the name says nothing.
    desk.kernel(&[desk.write("b.rpm", &whole)]).unwrap();
}

#[test]
fn packages_of_two_kernels_are_refused() {
    let desk = Desk::new();
    let of = |release: &str| {
        let image = image(release);
        Package::new("linux-image", "1-1", "amd64")
            .with(&format!("./boot/vmlinuz-{release}"), &image)
    };
    let files = [("a.deb", of("6.12")), ("b.deb", of("6.13"))];
    let files = files.map(|(name, package)| desk.write(name, &package.deb()));
    let refused = desk.refused(&files);
    assert!(refused.contains("b.deb` is of the kernel 6.13, and `"), "{refused}");
    assert!(refused.ends_with("a.deb` of 6.12: name packages of one kernel"), "{refused}");
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    let desk = Desk::new();
    let pipe = desk.folder.path().join("pipe.deb");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let folder = desk.folder.path().join("folder.deb");
    fs::create_dir(&folder).unwrap();
    let endless = desk.folder.path().join("zero.rpm");
    std::os::unix::fs::symlink("/dev/zero", &endless).unwrap();
    let large = desk.folder.path().join("large.deb");
    fs::File::create(&large).unwrap().set_len(1 << 40).unwrap();
    for path in [pipe, folder, endless, large, desk.folder.path().join("absent.deb")] {
        let error = desk.kernel(&[path]).unwrap_err();
        assert!(matches!(error, KernelError::Own { .. }), "{error}");
    }
}

#[test]
fn a_recorded_kernel_is_that_of_the_same_packages() {
    let desk = Desk::new();
    let sound = |version: &str| {
        Package::new("linux-image", version, "amd64")
            .with("./boot/vmlinuz-6.12", &image("6.12"))
            .with("./boot/config-6.12", b"CONFIG_HZ=250\n")
            .deb()
    };
    let path = desk.write("a.deb", &sound("1-1"));
    let recorded = desk.kernel(std::slice::from_ref(&path)).unwrap().kernel;
    let again = || desk.provision().kernel_image_again(&recorded);
    assert_eq!(again().unwrap(), desk.store.kernel_image(recorded.image_sha256));
    // The same image in another package.
    desk.write("a.deb", &sound("1-2"));
    let refused = again().unwrap_err().to_string();
    let (was, is) = (Digest::of(&sound("1-1")).short(), Digest::of(&sound("1-2")).short());
    assert!(refused.ends_with(&format!("a.deb` had the SHA-256 {was}, and has {is}")), "{refused}");
    // A package that is no longer there is still in the store.
    fs::remove_file(&path).unwrap();
    again().unwrap();
    fs::remove_file(desk.store.kernel_image(recorded.image_sha256)).unwrap();
    again().unwrap();
    // Of a capsule the store has the image alone.
    let unpacked = desk.store.root().join("unpacked");
    fs::remove_dir_all(&unpacked).unwrap();
    fs::create_dir(&unpacked).unwrap();
    again().unwrap();
    fs::remove_file(desk.store.kernel_image(recorded.image_sha256)).unwrap();
    assert!(matches!(again(), Err(KernelError::Own { .. })));
    let other = Kernel { packages: Vec::new(), ..recorded.clone() };
    assert!(matches!(desk.provision().kernel_again(&other), Err(KernelError::NotAgain(_))));
}

#[test]
fn a_spoilt_copy_is_unpacked_again() {
    let desk = Desk::new();
    let [image, modules] = ubuntu();
    let files = [("i.deb", image), ("m.deb", modules)];
    let files = files.map(|(name, package)| desk.write(name, &package.deb()));
    let found = desk.kernel(&files).unwrap();
    let unpacked = fs::read_dir(desk.store.root().join("unpacked")).unwrap();
    let folder = unpacked.map(|entry| entry.unwrap().path()).next().unwrap();
    fs::write(folder.join("config"), b"CONFIG_HZ=100\n").unwrap();
    fs::write(&found.image, b"spoilt").unwrap();
    let again = desk.kernel(&files).unwrap();
    assert_eq!(again.kernel, found.kernel);
    assert_eq!(Digest::of(&fs::read(&again.image).unwrap()), again.kernel.image_sha256);
}
