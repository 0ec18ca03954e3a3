//! Builds with a make that is a script, in a source that is a Makefile.

use std::{cell::RefCell, io::Read, os::unix::fs::PermissionsExt};

use preemptlab_model::{Arch, SymbolValue};

use super::*;
use crate::{
    PackageError,
    distribution::{deb, debian::apt::Architecture},
};

const IMAGE: &[u8] = b"the image";

/// A make with the effects of the kernel's own when a build succeeds: it takes every symbol but
/// `NEEDY`.
const MAKE: &str = r#"
for word in "$@"; do
    case $word in KCONFIG_ALLCONFIG=*) cp "${word#KCONFIG_ALLCONFIG=}" .config ;; esac
done
case "$*" in
*olddefconfig) sed -i '/CONFIG_NEEDY/d' .config ;;
*bzImage)
    echo "  CC      kernel/fork.o"
    echo "  CC      kernel/exit.o"
    echo "at $KBUILD_BUILD_TIMESTAMP, home '$HOME', $* in $PWD"
    mkdir -p arch/x86/boot
    printf 'the image' > arch/x86/boot/bzImage
    echo kernel/fs/unix.ko > modules.builtin ;;
esac
"#;

struct Fixture {
    folder: tempfile::TempDir,
    store: Store,
}

impl Fixture {
    fn new(make: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store")).unwrap();
        let programs = folder.path().join("tools/usr/bin");
        fs::create_dir_all(&programs).unwrap();
        fs::write(programs.join("make"), format!("#!/bin/sh\n{make}")).unwrap();
        fs::set_permissions(programs.join("make"), fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder, store }
    }

    /// Puts the package `linux-source-6.12` into the store, with a source of two files.
    fn source(&self) -> Candidate {
        let root = self.folder.path().join("deb");
        let source = self.folder.path().join("linux-source-6.12");
        for folder in [&root.join("DEBIAN"), &root.join("usr/src"), &source] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(source.join("Makefile"), "").unwrap();
        fs::write(
            source.join("Kconfig"),
            "config HZ_1000\nconfig NEEDY\nconfig SCHED_DEBUG\nconfig PREEMPT_DYNAMIC\n",
        )
        .unwrap();
        let mut tar = tar::Builder::new(Vec::new());
        tar.append_dir_all("linux-source-6.12", &source).unwrap();
        let mut packed = Vec::new();
        liblzma::read::XzEncoder::new(tar.into_inner().unwrap().as_slice(), 0)
            .read_to_end(&mut packed)
            .unwrap();
        fs::write(root.join("usr/src/linux-source-6.12.tar.xz"), packed).unwrap();
        let control = "Package: linux-source-6.12\nVersion: 6.12.9-1\nArchitecture: all\n\
            Maintainer: nobody <nobody@invalid>\nDescription: a test\n";
        fs::write(root.join("DEBIAN/control"), control).unwrap();
        deb::tests::pack(&root, &self.folder.path().join("source.deb"));
        let deb = fs::read(self.folder.path().join("source.deb")).unwrap();
        let found = candidate("linux-source-6.12", Digest::of(&deb));
        fs::write(self.store.package(found.package.sha256), deb).unwrap();
        found
    }

    fn recipe(&self, symbols: &str) -> Recipe {
        let name: KernelRef = format!("source:6.12{symbols}").parse().unwrap();
        let KernelRef::Source { configured, .. } = &name else { panic!("{name}") };
        Recipe {
            configured: (**configured).clone(),
            name,
            source: self.source(),
            config: candidate("linux-config-6.12", Digest::of(b"config")),
            base: "CONFIG_HZ=250\nCONFIG_XFS_FS=m\n".to_owned(),
            compiler: "gcc-14".to_owned(),
            toolchain: toolchain(vec![candidate("make", Digest::of(b"make"))]),
        }
    }

    fn build(&self, recipe: &Recipe, on_event: &dyn Fn(Event)) -> Result<(), KbuildError> {
        let programs = Programs::at(&self.folder.path().join("tools"));
        let keep = |image: &[u8]| {
            let _lock = self.store.lock(&|_| ())?;
            crate::kernel::keep_image(&self.store, image)
        };
        recipe.build(&self.store, &programs, keep, on_event)
    }

    /// Returns the names in the folder of builds.
    fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(self.store.root().join("builds")).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

fn toolchain(candidates: Vec<Candidate>) -> Toolchain {
    Toolchain::new(candidates, Arch::Amd64.platform())
}

fn candidate(name: &str, sha256: Digest) -> Candidate {
    let package =
        Package { name: name.parse().unwrap(), version: "6.12.9-1".parse().unwrap(), sha256 };
    Candidate { package, architecture: Architecture::Of(Arch::HOST), bytes: 1 }
}

#[test]
fn a_kernel_is_built_once_and_its_tree_is_removed() {
    let fixture = Fixture::new(MAKE);
    let recipe = fixture.recipe("+HZ_1000=y");
    assert!(recipe.built(&fixture.store).is_none());
    let events = RefCell::default();
    fixture.build(&recipe, &|event| Vec::push(&mut events.borrow_mut(), event)).unwrap();
    let steps: Vec<_> = events
        .take()
        .into_iter()
        .filter_map(|event| match event {
            Event::Compiling { what, steps, .. } => Some((what, steps)),
            _ => None,
        })
        .collect();
    let name = || "source:6.12+HZ_1000=y".to_owned();
    assert_eq!(steps, [(name(), 0), (name(), 1)]);

    let built = recipe.built(&fixture.store).unwrap();
    assert_eq!(built.image_sha256, Digest::of(IMAGE));
    let config = fs::read_to_string(&built.config).unwrap();
    assert!(config.contains("CONFIG_HZ_1000=y") && config.contains("# CONFIG_XFS_FS is not set"));
    let mut kept: Vec<_> =
        fs::read_dir(&built.folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    kept.sort();
    assert_eq!(kept, [".contents", "config", "image", "log", "modules.builtin"]);

    // Nothing says when and where it was built.
    let log = fs::read_to_string(built.folder.join("log")).unwrap();
    let said = log.lines().find(|line| line.starts_with("at ")).unwrap();
    let (arguments, tree) = said.split_once(" in ").unwrap();
    assert!(arguments.starts_with("at 1970-01-01 UTC, home '', "), "{said}");
    for flags in ["KCFLAGS", "KAFLAGS"] {
        assert!(arguments.contains(&format!("{flags}=-ffile-prefix-map={tree}=.")), "{said}");
    }

    fixture.build(&recipe, &|event| panic!("{event:?}")).unwrap();
    // An image that the disk has spoilt is built again.
    fs::write(fixture.store.kernel_image(built.image_sha256), b"spoilt").unwrap();
    assert!(recipe.built(&fixture.store).is_none());
    fixture.build(&recipe, &|_| ()).unwrap();
    assert!(recipe.built(&fixture.store).is_some());
}

#[test]
fn the_configuration_lab_is_checked_as_that_of_a_tree() {
    let fixture = Fixture::new(MAKE);
    let whole = lab(Arch::Amd64);
    let lab = |text: &str, symbols: &str| {
        let recipe = fixture.recipe(&format!(",config=lab{symbols}"));
        Recipe { base: text.to_owned(), ..recipe }
    };
    let recipe = lab(&whole, "+HZ_1000=y");
    fixture.build(&recipe, &|_| ()).unwrap();
    let config = fs::read_to_string(recipe.built(&fixture.store).unwrap().config).unwrap();
    assert!(config.starts_with(&whole) && config.contains("CONFIG_HZ_1000=y"), "{config}");
    // One bit more is another kernel, and so is another configuration to start from.
    assert!(lab(&whole, "").built(&fixture.store).is_none());
    assert_ne!(lab("CONFIG_A=y\n", "").digest(), lab(&whole, "").digest());
    // The kernel has this symbol, and does not switch it on.
    let refuses = MAKE
        .replace("case \"$*\" in\n", "sed -i /CONFIG_SCHED_DEBUG=y/d .config\ncase \"$*\" in\n");
    let refusing = Fixture::new(&refuses);
    let recipe = Recipe { base: whole.clone(), ..refusing.recipe(",config=lab") };
    let error = refusing.build(&recipe, &|_| ()).unwrap_err();
    assert!(
        matches!(&error, KbuildError::Lab { symbol, .. } if symbol == "SCHED_DEBUG"),
        "{error}"
    );
    assert!(fixture.build(&lab(&whole, "+NEEDY=y"), &|_| ()).unwrap_err().is_of_kernel());
    // A user can switch off options of lab, but not those that every cell needs.
    fixture.build(&lab(&whole, "+PREEMPT_DYNAMIC=n+SCHED_DEBUG=n"), &|_| ()).unwrap();
    let error = fixture.build(&lab(&whole, "+SCHED_DEBUG=n"), &|_| ()).unwrap_err();
    assert!(matches!(error, KbuildError::Off { symbol: "SCHED_DEBUG" }), "{error}");
}

#[test]
fn a_build_that_fails_leaves_its_log_alone() {
    let fixture =
        Fixture::new("echo \"$PREEMPTLAB_TOOLS/a.c:1:2: error: odd\"\necho '  CC b.o'\nexit 2");
    let recipe = fixture.recipe("");
    let error = fixture.build(&recipe, &|_| ()).unwrap_err();
    assert!(error.is_of_kernel());
    let KbuildError::Failed { target, reason, log } = error else { panic!("{error}") };
    assert_eq!((target, reason.as_str()), ("olddefconfig", "/a.c:1:2: error: odd"));
    let text = fs::read_to_string(fixture.store.root().join(&log)).unwrap();
    assert!(text.ends_with("  CC b.o\n"), "{text}");
    assert_eq!(fixture.left(), [log.strip_prefix("builds/").unwrap()]);

    // The next one that goes well takes it away.
    let again = Fixture { store: fixture.store.clone(), ..Fixture::new(MAKE) };
    again.build(&recipe, &|_| ()).unwrap();
    assert_eq!(again.left(), [recipe.digest().to_string()]);
}

#[test]
fn what_stops_a_build_is_told_apart() {
    // The symbol is there, and its dependencies are not met.
    let fixture = Fixture::new(MAKE);
    let refused = |symbols: &str| fixture.build(&fixture.recipe(symbols), &|_| ()).unwrap_err();
    let error = refused("+NEEDY=y");
    let wanted = |asked: &SymbolValue| *asked == SymbolValue::Yes;
    assert!(matches!(&error, KbuildError::Symbol { asked, became: None, .. } if wanted(asked)));
    assert!(error.to_string().contains("CONFIG_NEEDY is to be y"), "{error}");
    assert!(refused("+NOWHERE=n").to_string().contains("6.12.9 has no such symbol"));
    // `n` is met by a symbol that cannot be set.
    fixture.build(&fixture.recipe("+NEEDY=n"), &|_| ()).unwrap();

    let killed = Fixture::new("kill -KILL $$");
    let error = killed.build(&killed.recipe(""), &|_| ()).unwrap_err();
    assert!(matches!(error, KbuildError::Interrupted) && !error.is_of_kernel());
    let full = Fixture::new("echo 'cc1: error: No space left on device'; exit 1");
    let error = full.build(&full.recipe(""), &|_| ()).unwrap_err();
    assert!(matches!(error, KbuildError::Packages(PackageError::Store(StoreError::Full(_)))));
    assert_eq!((killed.left(), full.left()), (Vec::new(), Vec::new()));
}

#[test]
fn what_a_killed_process_left_is_removed() {
    let fixture = Fixture::new(MAKE);
    let draft = fixture.store.root().join("builds/.unpack-killed");
    fs::create_dir(&draft).unwrap();
    // The store's lock is not that of the builds, which may still run.
    drop(fixture.store.lock(&|_| ()).unwrap());
    assert!(draft.exists());
    fixture.build(&fixture.recipe(""), &|_| ()).unwrap();
    assert!(!draft.exists());
}

#[test]
fn every_input_makes_another_kernel() {
    let fixture = Fixture::new(MAKE);
    // A package holds the time at which it was packed.
    let source = fixture.source();
    let digest = |change: fn(&mut Recipe)| {
        let mut recipe = Recipe { source: source.clone(), ..fixture.recipe("+A=y") };
        change(&mut recipe);
        recipe.digest()
    };
    let same = digest(|_| ());
    assert_eq!(digest(|recipe| recipe.name = "source:6.12.9+A=y".parse().unwrap()), same);
    // The package's digest covers its configuration already.
    assert_eq!(digest(|recipe| recipe.base.push_str("CONFIG_B=y")), same);
    let changes: [fn(&mut Recipe); 6] = [
        |recipe| recipe.configured.symbols = "+A=n".parse().unwrap(),
        |recipe| recipe.configured.base = ConfigBase::Debian(Flavour::Rt),
        |recipe| recipe.configured.base = ConfigBase::Lab,
        |recipe| recipe.source.package.sha256 = Digest::of(b"x"),
        |recipe| recipe.config.package.sha256 = Digest::of(b"x"),
        |recipe| recipe.toolchain = toolchain(vec![]),
    ];
    assert!(changes.into_iter().all(|change| digest(change) != same));
}

#[test]
fn the_kernels_version_is_not_that_of_the_package() {
    assert_eq!(sources::upstream("6.12.117-1~deb12u1"), "6.12.117");
    assert_eq!(sources::upstream("7.2.12-1~bpo13+1"), "7.2.12");
    assert_eq!(sources::upstream("7.4~rc1-1~exp1"), "7.4~rc1");
}
