//! The parts of packages that make a kernel: regular files at the places where distributions have them,
//! all of one release.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use preemptlab_model::{Arch, Digest, Package, is_release};
use preemptlab_symbols::{ImageError, is_arm64_image, is_bzimage, is_zboot};
use serde::{Deserialize, Serialize};

use super::{
    super::{
        modules::{MODULE_BYTES_MAX, module_name},
        provisioned::{FILE_BYTES_MAX as IMAGE_BYTES_MAX, KernelError, read_bounded, write},
    },
    named::{Named, fault},
};
use crate::{
    PackageFault, StoreError, arch,
    package::{self, Facts, Format, Item, Kind, OWN_BOUNDS, damaged},
};

/// The largest configuration and list of built-in modules, in bytes.
const TEXT_BYTES_MAX: u64 = 16 << 20;

/// The file that describes the unpacked packages.
const ABOUT: &str = "about.json";

/// Further packages that are named in a message.
const FURTHER_MAX: usize = 4;

/// A description of unpacked packages.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct About {
    /// Release of the kernel.
    pub(crate) release: String,
    pub(crate) has_modules: bool,
    packages: Vec<Package>,
    /// Names of packages that may hold further modules.
    further: Vec<String>,
}

impl About {
    /// Reads the description in a folder of the store.
    pub(super) fn read(folder: &Path) -> Result<Self, KernelError> {
        let path = folder.join(ABOUT);
        let damaged = |error: serde_json::Error| KernelError::File {
            path: path.clone(),
            error: io::Error::new(io::ErrorKind::InvalidData, error),
        };
        serde_json::from_slice(&read_bounded(&path)?).map_err(damaged)
    }

    /// Returns the package of a hash.
    pub(super) fn package(&self, sha256: Digest) -> Option<&Package> {
        self.packages.iter().find(|package| package.sha256 == sha256)
    }

    /// Returns the advice about modules that are missing, to follow a message; empty where there is none.
    pub(super) fn further(&self) -> String {
        match self.further.as_slice() {
            [] => String::new(),
            names => format!("; name the file of {} too, behind a comma", either(names)),
        }
    }
}

fn either(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ")
}

/// A part of a kernel that is taken out of packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Image,
    Config,
    Builtin,
    Module,
}

impl Part {
    /// Returns the part at a path in a package, and the release in the path. Places differ between
    /// distributions and over their releases: `boot/vmlinuz-RELEASE`, `lib/modules/RELEASE/vmlinuz`,
    /// `usr/lib/modules/RELEASE/vmlinuz`.
    fn of(path: &str) -> Option<(Self, &str)> {
        let path = path.strip_prefix("usr/").unwrap_or(path);
        let found = match path.strip_prefix("boot/") {
            Some(name) => match name.strip_prefix("vmlinuz-") {
                Some(release) => Some((Self::Image, release)),
                None => name.strip_prefix("config-").map(|release| (Self::Config, release)),
            },
            None => {
                let (release, name) = path.strip_prefix("lib/modules/")?.split_once('/')?;
                match name {
                    "vmlinuz" => Some((Self::Image, release)),
                    "config" => Some((Self::Config, release)),
                    "modules.builtin" => Some((Self::Builtin, release)),
                    _ => module_name(Path::new(name)).map(|_| (Self::Module, release)),
                }
            }
        };
        found.filter(|(_, release)| is_release(release))
    }
}

/// Reason why an entry cannot be unpacked.
enum Trouble {
    Fault(PackageFault),
    Store(StoreError),
}

impl From<PackageFault> for Trouble {
    fn from(fault: PackageFault) -> Self {
        Self::Fault(fault)
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Packages while they are unpacked into a draft.
pub(super) struct Unpacking<'a> {
    draft: &'a Path,
    arch: Arch,
    /// Release of the kernel, and the package that told it.
    release: Option<(String, PathBuf)>,
    /// SHA-256 of the image.
    image: Option<Digest>,
    has_modules: bool,
    /// An image that was passed over, with the reason.
    passed_over: Option<String>,
    packages: Vec<(PathBuf, Facts, Package)>,
}

impl<'a> Unpacking<'a> {
    pub(super) fn new(draft: &'a Path, arch: Arch) -> Self {
        Self {
            draft,
            arch,
            release: None,
            image: None,
            has_modules: false,
            passed_over: None,
            packages: Vec::new(),
        }
    }

    /// Unpacks a package's parts of a kernel.
    pub(super) fn add(&mut self, named: &Named<'_>) -> Result<(), KernelError> {
        let of = fault(named.path);
        let opened = package::open(named.again()?).map_err(&of)?;
        self.check_arch(&opened.facts).map_err(&of)?;
        let package = opened.facts.package(named.sha256).map_err(&of)?;
        self.packages.push((named.path.to_owned(), opened.facts.clone(), package));
        let taken = opened.each(OWN_BOUNDS, |item, content| self.take(named.path, item, content));
        taken.map_err(|trouble| match trouble {
            Trouble::Fault(fault) => of(fault),
            Trouble::Store(error) => error.into(),
        })?;
        named.check_unchanged()
    }

    fn check_arch(&self, facts: &Facts) -> Result<(), PackageFault> {
        let platform = self.arch.platform();
        let (wanted, any) = match facts.format {
            Format::Deb => (platform.debian, "all"),
            Format::Rpm => (platform.rpm, "noarch"),
        };
        if facts.arch == wanted || facts.arch == any {
            return Ok(());
        }
        let is = facts.arch.chars().take(40).collect::<String>().escape_debug().to_string();
        Err(PackageFault::Arch { is, wanted })
    }

    /// Unpacks an entry, if it is a part of a kernel.
    fn take(
        &mut self,
        path: &Path,
        item: &Item<'_>,
        content: &mut dyn Read,
    ) -> Result<(), Trouble> {
        let Some((part, release)) = Part::of(item.path) else {
            if is_other_image(item.path) && item.kind == Kind::File {
                self.passed_over = Some(format!("`{}` is another form of one", item.path));
            }
            return Ok(());
        };
        let refused = |why| PackageFault::Entry { path: item.path.to_owned(), why };
        match item.kind {
            Kind::File => {}
            Kind::Folder => return Ok(()),
            Kind::Symlink => {
                if part == Part::Image {
                    self.passed_over = Some(format!("`{}` is a link", item.path));
                }
                return Ok(());
            }
            Kind::Hardlink => return Err(refused("a hard link, where a file is expected").into()),
            Kind::Special => return Err(refused("a device, where a file is expected").into()),
        }
        self.check_release(path, release)?;
        match part {
            Part::Image => {
                let image = whole(item, content, IMAGE_BYTES_MAX)?;
                self.check_image(item.path, release, &image)?;
                let sha256 = Digest::of(&image);
                if self.image.is_some_and(|other| other != sha256) {
                    return Err(refused("a second image of the same kernel").into());
                }
                write(&self.draft.join("vmlinuz"), &image)?;
                self.image = Some(sha256);
            }
            // The first one counts, as the file that is there is kept.
            Part::Config => {
                write(&self.draft.join("config"), &whole(item, content, TEXT_BYTES_MAX)?)?;
            }
            Part::Builtin => {
                write(&self.draft.join("modules.builtin"), &whole(item, content, TEXT_BYTES_MAX)?)?;
            }
            Part::Module => {
                let folder = self.draft.join("modules");
                fs::create_dir_all(&folder).map_err(StoreError::at(&folder))?;
                let name = Path::new(item.path).file_name().unwrap_or_default();
                let file = folder.join(name);
                let module = whole(item, content, MODULE_BYTES_MAX)?;
                fs::write(&file, module).map_err(StoreError::at(&file))?;
                self.has_modules = true;
            }
        }
        Ok(())
    }

    /// Refuses a file of another kernel than those before it.
    fn check_release(&mut self, path: &Path, release: &str) -> Result<(), PackageFault> {
        match &self.release {
            None => {
                self.release = Some((release.to_owned(), path.to_owned()));
                Ok(())
            }
            Some((other, _)) if other == release => Ok(()),
            Some((other, beside)) if beside == path => {
                Err(PackageFault::TwoKernels(other.clone(), release.to_owned()))
            }
            Some((other, beside)) => Err(PackageFault::OtherKernel {
                is: release.to_owned(),
                beside: beside.clone(),
                other: other.clone(),
            }),
        }
    }

    fn check_image(&self, path: &str, release: &str, image: &[u8]) -> Result<(), PackageFault> {
        let is = |what: &str| PackageFault::Image { path: path.to_owned(), what: what.to_owned() };
        let said = (arch::of(self.arch).release_of)(image).map_err(|error| match error {
            ImageError::Protocol => is("a bzImage of a boot protocol that is too old"),
            _ => is(&kind_of(image)),
        })?;
        match said.is_empty() || said == release {
            true => Ok(()),
            false => Err(PackageFault::TwoKernels(release.to_owned(), said)),
        }
    }

    /// Writes the description, if the packages hold a kernel.
    pub(super) fn finish(self) -> Result<(), KernelError> {
        let Some((release, _)) = self.release.as_ref().filter(|_| self.image.is_some()) else {
            return Err(self.no_image());
        };
        let about = About {
            release: release.clone(),
            has_modules: self.has_modules,
            further: self.further(release),
            packages: self.packages.into_iter().map(|(_, _, package)| package).collect(),
        };
        let text = serde_json::to_vec(&about).expect("it has a JSON form");
        Ok(write(&self.draft.join(ABOUT), &text)?)
    }

    /// Returns the error of packages without a kernel's image, which says where one may be.
    fn no_image(&self) -> KernelError {
        let needs = self.packages.iter().flat_map(|(_, facts, _)| &facts.needs);
        let mut with_image = needs.map(|name| plain(name)).filter(|name| has_image(name));
        let advice = match (with_image.next(), &self.passed_over, &self.release) {
            (Some(name), ..) => format!("; it depends on `{name}`: name the file of that package"),
            (None, Some(reason), _) => {
                format!(": {reason}, and only a bzImage that is a regular file can be booted")
            }
            (None, None, Some((release, _))) => {
                let is_deb = |(_, facts, _): &(_, Facts, _)| facts.format == Format::Deb;
                let name = match self.packages.iter().any(is_deb) {
                    true => format!("`linux-image-{release}`"),
                    false => "`kernel-core`".to_owned(),
                };
                let has = if self.has_modules { "modules" } else { "other files" };
                format!("; it has {has} of {release}: name a package such as {name} before it")
            }
            (None, None, None) => ": it is no kernel's package".to_owned(),
        };
        let path = self.packages.first().map(|(path, ..)| path.clone()).unwrap_or_default();
        KernelError::Package { path, fault: PackageFault::NoImage(advice) }
    }

    /// Returns the names of packages that may hold further modules: those that the named ones depend
    /// on, and their neighbours by the distributions' way to name them.
    fn further(&self, release: &str) -> Vec<String> {
        let needs = self.packages.iter().flat_map(|(_, facts, _)| &facts.needs);
        let needs = needs.map(|name| plain(name).to_owned()).filter(|name| {
            let is_kernels = ["linux-", "kernel-"].iter().any(|start| name.starts_with(start));
            is_kernels && name.contains("-modules")
        });
        let neighbours = self
            .packages
            .iter()
            .flat_map(|(_, facts, _)| neighbours(&facts.name, release, self.has_modules));
        let is_named =
            |name: &String| self.packages.iter().any(|(_, facts, _)| facts.name == *name);
        let mut names: Vec<String> = needs.chain(neighbours).filter(|it| !is_named(it)).collect();
        names.retain(|name| name.len() <= 128 && !name.contains(|c: char| !c.is_ascii_graphic()));
        let mut seen = std::collections::BTreeSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names.truncate(FURTHER_MAX);
        names
    }
}

/// Returns the packages beside one that hold further modules of its kernel: of Debian and Ubuntu
/// (`linux-image-RELEASE`, `linux-modules-RELEASE`, `linux-modules-extra-RELEASE`), of Fedora
/// (`kernel-core`, `kernel-modules-core`, `kernel-modules`, `kernel-modules-extra`), of openSUSE
/// (`kernel-default`, `kernel-default-extra`).
fn neighbours(name: &str, release: &str, has_modules: bool) -> Option<String> {
    if let Some(kind) = name.strip_suffix(release) {
        return match kind {
            "linux-modules-" => Some(format!("linux-modules-extra-{release}")),
            "linux-image-" | "linux-image-unsigned-" | "linux-binary-" if !has_modules => {
                Some(format!("linux-modules-{release}"))
            }
            _ => None,
        };
    }
    if !name.starts_with("kernel-") {
        return None;
    }
    if let Some(first) = name.strip_suffix("-modules-core") {
        return Some(format!("{first}-modules"));
    }
    if let Some(first) = name.strip_suffix("-core") {
        return Some(format!("{first}-modules-core"));
    }
    (name.ends_with("-modules") || name.ends_with("-default")).then(|| format!("{name}-extra"))
}

/// Returns the name of a package from a dependency: Fedora's packages depend on `NAME-uname-r` in the
/// version RELEASE.
fn plain(need: &str) -> &str {
    need.strip_suffix("-uname-r").unwrap_or(need)
}

/// Returns whether a package has a kernel's image, by its name.
fn has_image(name: &str) -> bool {
    let starts = ["linux-image-", "linux-binary-"].iter().any(|start| name.starts_with(start));
    starts || name.starts_with("kernel-") && name.ends_with("-core") && !name.contains("modules")
}

/// Returns whether a path is that of a kernel's image which is no bzImage: an ELF file, or an EFI
/// program with the initramfs in it.
fn is_other_image(path: &str) -> bool {
    let path = path.strip_prefix("usr/").unwrap_or(path);
    let name = path.rsplit('/').next().unwrap_or_default();
    (path.starts_with("boot/") || path.starts_with("lib/modules/"))
        && (name.starts_with("vmlinux") || name.starts_with("vmlinuz") || name.starts_with("Image"))
}

/// Returns the kind of an image that is no bzImage, in words.
fn kind_of(image: &[u8]) -> String {
    let what = match image {
        [0x1f, 0x8b, ..] => "compressed by gzip as a whole",
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => "compressed by xz as a whole",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "compressed by zstd as a whole",
        [0x7f, b'E', b'L', b'F', ..] => "an ELF file",
        _ if is_zboot(image) => "a compressed EFI program (zboot)",
        _ if is_arm64_image(image) => "an image for arm64",
        _ if is_bzimage(image) => "an image for amd64",
        [b'M', b'Z', ..] => "another EFI program",
        [] => "empty",
        _ => "of an unknown kind",
    };
    what.to_owned()
}

/// Returns the content of an entry.
fn whole(item: &Item<'_>, content: &mut dyn Read, bytes_max: u64) -> Result<Vec<u8>, PackageFault> {
    if item.bytes > bytes_max {
        let (path, why) = (item.path.to_owned(), "a file that is too large");
        return Err(PackageFault::Entry { path, why });
    }
    let mut bytes = Vec::new();
    content.take(bytes_max).read_to_end(&mut bytes).map_err(damaged)?;
    match bytes.len() as u64 == item.bytes {
        true => Ok(bytes),
        false => Err(PackageFault::Damaged("the file ends early".to_owned())),
    }
}
