use std::cmp::Ordering;

use super::KernelRef;
use crate::{ConfigBase, Configured, Distro, Flavour};

fn of(distribution: Distro, version: &str, flavour: Flavour) -> KernelRef {
    KernelRef::Packaged { distribution, version: version.into(), flavour }
}

fn debian(version: &str, flavour: Flavour) -> KernelRef {
    of(Distro::Debian, version, flavour)
}

#[test]
fn names_are_read_and_printed() {
    for (text, kernel) in [
        ("debian:6.12", debian("6.12", Flavour::Generic)),
        ("debian:6.12-rt", debian("6.12", Flavour::Rt)),
        ("debian:7.2-cloud", debian("7.2", Flavour::Cloud)),
        ("debian:6.12.107+deb13-rt", debian("6.12.107+deb13", Flavour::Rt)),
        ("debian:6.1.0-56", debian("6.1.0-56", Flavour::Generic)),
        ("ubuntu:6.8", of(Distro::Ubuntu, "6.8", Flavour::Generic)),
        ("ubuntu:6.8.0-31", of(Distro::Ubuntu, "6.8.0-31", Flavour::Generic)),
        ("ubuntu:6.8-lowlatency", of(Distro::Ubuntu, "6.8", Flavour::Lowlatency)),
        ("fedora:6.14", of(Distro::Fedora, "6.14", Flavour::Generic)),
        ("fedora:6.14.5-300.fc42", of(Distro::Fedora, "6.14.5-300.fc42", Flavour::Generic)),
        ("file:/tmp/bzImage", KernelRef::File { image: "/tmp/bzImage".into(), modules: None }),
        ("host", KernelRef::Host { release: None }),
        ("host:6.1.0-37-amd64", KernelRef::Host { release: Some("6.1.0-37-amd64".into()) }),
        ("file:b,modules=m", KernelRef::File { image: "b".into(), modules: Some("m".into()) }),
        ("package:a.deb", KernelRef::Package { files: vec!["a.deb".into()] }),
        (
            "package:/k/a,b_1.deb,./c.rpm,d.deb.deb",
            KernelRef::Package {
                files: ["/k/a,b_1.deb", "./c.rpm", "d.deb.deb"].map(Into::into).to_vec(),
            },
        ),
    ] {
        assert_eq!(text.parse::<KernelRef>().unwrap(), kernel);
        assert_eq!(kernel.to_string(), text);
    }
    for (release, kernel) in [
        ("debian:6.12.107+deb13-rt-amd64", debian("6.12.107+deb13", Flavour::Rt)),
        ("ubuntu:6.8.0-31-generic", of(Distro::Ubuntu, "6.8.0-31", Flavour::Generic)),
        ("fedora:6.14.5-300.fc42.x86_64", of(Distro::Fedora, "6.14.5-300.fc42", Flavour::Generic)),
    ] {
        assert_eq!(release.parse(), Ok(kernel));
    }
    // A flavour that a distribution lacks is none of its kernels'.
    let ubuntu: KernelRef = "ubuntu:6.8".parse().unwrap();
    assert_eq!(ubuntu.in_flavour(Flavour::Rt), ubuntu);
    assert_eq!(ubuntu.in_flavour(Flavour::Lowlatency).to_string(), "ubuntu:6.8-lowlatency");
}

#[test]
fn every_kernel_has_a_place_in_a_line() {
    for (text, line, place) in [
        ("debian:6.12", "generic", "6.12"),
        ("debian:6.12.107+deb13-rt", "-rt", "6.12.107+deb13"),
        ("ubuntu:6.8", "ubuntu", "6.8"),
        ("ubuntu:6.8-lowlatency", "ubuntu-lowlatency", "6.8"),
        ("fedora:6.14", "fedora", "6.14"),
        ("source:6.12", "source", "6.12"),
        ("source:6.12-rt+HZ_1000=y", "source -rt+HZ_1000=y", "6.12"),
        ("git:/src/linux@v7", "others", "v7"),
        ("tree:../linux", "others", "linux"),
        ("file:/b/bzImage", "others", "bzImage"),
        ("package:/k/linux-image.deb,/k/linux-modules.deb", "others", "linux-image.deb"),
        ("host", "others", "host"),
        ("host:6.1.0-37-amd64", "others", "6.1.0-37-amd64"),
    ] {
        let kernel: KernelRef = text.parse().unwrap();
        assert_eq!((kernel.line().as_str(), kernel.place_in_line().as_str()), (line, place));
    }
}

#[test]
fn versions_are_ordered_and_names_without_one_are_last() {
    let kernel = |text: &str| text.parse::<KernelRef>().unwrap();
    let ascending = ["debian:6.9", "debian:6.12-rc6", "source:6.12", "debian:7.2", "host"];
    for pair in ascending.windows(2) {
        assert_eq!(kernel(pair[0]).version_order(&kernel(pair[1])), Ordering::Less, "{pair:?}");
    }
    assert_eq!(kernel("host").version_order(&kernel("tree:.")), Ordering::Equal);
}

#[test]
fn sources_are_read_and_printed() {
    let debian = ConfigBase::Debian;
    for (text, version, base, symbols) in [
        ("source:6.12", "6.12", debian(Flavour::Generic), ""),
        ("source:6.12.107-rt", "6.12.107", debian(Flavour::Rt), ""),
        ("source:6.12+HZ_1000=y", "6.12", debian(Flavour::Generic), "+HZ_1000=y"),
        ("source:7.2-cloud+HZ=9+NO_HZ_FULL=n", "7.2", debian(Flavour::Cloud), "+HZ=9+NO_HZ_FULL=n"),
        ("source:6.12,config=lab", "6.12", ConfigBase::Lab, ""),
        ("source:6.12.107,config=lab+A=y+B=n", "6.12.107", ConfigBase::Lab, "+A=y+B=n"),
        ("source:6.12,config=../a,b+c+A=y", "6.12", ConfigBase::File("../a,b+c".into()), "+A=y"),
    ] {
        let configured = Box::new(Configured { base, symbols: symbols.parse().unwrap() });
        let kernel = KernelRef::Source { version: version.into(), configured };
        assert_eq!(text.parse::<KernelRef>().as_ref(), Ok(&kernel), "{text}");
        assert_eq!(kernel.to_string(), text);
    }
    for (text, plain) in [
        ("source:6.12,config=debian", "source:6.12"),
        ("source:6.12,config=debian-rt+A=y", "source:6.12-rt+A=y"),
        ("source:6.12-rt,config=debian", "source:6.12-rt"),
        ("source:6.12-rt,config=debian-rt", "source:6.12-rt"),
    ] {
        assert_eq!(text.parse::<KernelRef>().unwrap().to_string(), plain);
    }
    // The order of the symbols makes no other kernel.
    let kernel = |text: &str| text.parse::<KernelRef>().unwrap();
    assert_eq!(kernel("source:6.12+B=y+A=n"), kernel("source:6.12+A=n+B=y"));
    // Only Debian's configuration has flavours.
    assert_eq!(kernel("source:6.12+A=n").in_flavour(Flavour::Rt), kernel("source:6.12-rt+A=n"));
    let lab = kernel("source:6.12,config=lab");
    assert_eq!((lab.in_flavour(Flavour::Rt), lab.flavour()), (lab.clone(), None));
}

#[test]
fn trees_and_revisions_are_read_and_printed() {
    let configured = |base, symbols: &str| Configured { base, symbols: symbols.parse().unwrap() };
    let tree = |path: &str, configured, clean| KernelRef::Tree {
        path: path.into(),
        configured: Box::new(configured),
        clean,
        nodiff: false,
    };
    let git = |path: &str, revision: &str, configured| KernelRef::Git {
        path: path.into(),
        revision: revision.into(),
        configured: Box::new(configured),
    };
    let lab = || configured(ConfigBase::Lab, "");
    for (text, kernel) in [
        ("tree:.", tree(".", lab(), false)),
        ("tree:/src/linux-6.12+deb13,x", tree("/src/linux-6.12+deb13,x", lab(), false)),
        ("tree:.,clean", tree(".", lab(), true)),
        ("tree:a b+HZ_1000=y", tree("a b", configured(ConfigBase::Lab, "+HZ_1000=y"), false)),
        (
            "tree:l,config=debian-rt,clean+HZ=9",
            tree("l", configured(ConfigBase::Debian(Flavour::Rt), "+HZ=9"), true),
        ),
        (
            "tree:l,config=../a,b.config+A=y",
            tree("l", configured(ConfigBase::File("../a,b.config".into()), "+A=y"), false),
        ),
        ("git:.@v6.12", git(".", "v6.12", lab())),
        ("git:/a@b/linux@HEAD~3^2", git("/a@b/linux", "HEAD~3^2", lab())),
        ("git:l@main@{1}", git("l", "main@{1}", lab())),
        (
            "git:l@v7.0,config=debian+A=y+B=n",
            git("l", "v7.0", configured(ConfigBase::Debian(Flavour::Generic), "+A=y+B=n")),
        ),
    ] {
        assert_eq!(text.parse::<KernelRef>().as_ref(), Ok(&kernel), "{text}");
        assert_eq!(kernel.to_string(), text);
    }
    let read = |text: &str| text.parse::<KernelRef>().unwrap();
    assert_eq!(read("tree:.,clean,config=debian"), read("tree:.,config=debian,clean"));
    assert_eq!(read("tree:.,config=lab"), read("tree:."));
    let without = read("tree:.,nodiff,config=debian,clean+A=y");
    assert!(matches!(without, KernelRef::Tree { nodiff: true, clean: true, .. }));
    assert_eq!(without.to_string(), "tree:.,config=debian,clean,nodiff+A=y");
}

#[test]
fn a_name_that_is_nearly_one_gets_it_suggested() {
    for (text, wanted) in [
        ("6.12", "debian:6.12"),
        ("6.12-rt", "debian:6.12-rt"),
        ("6.12rt", "debian:6.12-rt"),
        ("v7.2", "debian:7.2"),
        ("rt:6.12", "debian:6.12-rt"),
        ("linux-6.12", "debian:6.12"),
        ("debain:6.12-rt", "debian:6.12-rt"),
        ("Debian:6.12", "debian:6.12"),
        ("debian-6.12", "debian:6.12"),
        ("debian 6.12 rt", "debian:6.12-rt"),
        ("debian:v6.12", "debian:6.12"),
        ("ubunut:6.8", "ubuntu:6.8"),
        ("ubuntu:v6.8-lowlatency", "ubuntu:6.8-lowlatency"),
        ("fedroa:6.14", "fedora:6.14"),
        ("sorce:6.12", "source:6.12"),
        ("source/6.12-cloud", "source:6.12-cloud"),
        ("tre:../linux", "tree:../linux"),
        (".", "tree:."),
        ("./linux-image-6.12_amd64.deb", "package:./linux-image-6.12_amd64.deb"),
        ("kernel-core.rpm", "package:kernel-core.rpm"),
        ("packge:a.deb,b.deb", "package:a.deb,b.deb"),
        ("/src/linux-6.12", "tree:/src/linux-6.12"),
        ("gti:.@HEAD", "git:.@HEAD"),
        ("tree:.,confg=debian+A=y", "tree:.,config=debian+A=y"),
        ("tree:.,clena", "tree:.,clean"),
        ("tree:.,nodif", "tree:.,nodiff"),
        ("sorce:6.12,config=lab+A=y", "source:6.12,config=lab+A=y"),
        ("source:6.12,confg=lab+A=y", "source:6.12,config=lab+A=y"),
        ("source:6.12-rt,confg=debian", "source:6.12-rt,config=debian"),
        ("source:6.12-rt,config=lab", "source:6.12,config=lab+EXPERT=y+PREEMPT_RT=y"),
        ("debian:6.12,config=lab", "source:6.12,config=lab"),
        ("debian:6.12+HZ_1000=y", "source:6.12+HZ_1000=y"),
        ("6.12,config=lab", "source:6.12,config=lab"),
    ] {
        let error = text.parse::<KernelRef>().unwrap_err();
        assert_eq!(error.nearest.as_deref(), Some(wanted), "{text}");
        wanted.parse::<KernelRef>().unwrap();
        assert!(error.to_string().ends_with(&format!("; did you mean `{wanted}`?")));
    }
    for text in ["ubuntu:24.04", "debian:", "debian:6", "rt", "source:6.12+HZ", "6.12; rm", ""] {
        let error = text.parse::<KernelRef>().unwrap_err();
        let wanted = error.nearest.as_deref();
        assert!(wanted.is_none_or(|name| name.parse::<KernelRef>().is_ok()), "{text}");
        assert!(text != "ubuntu:24.04" || wanted.is_none(), "{wanted:?}");
    }
}

#[test]
fn what_names_no_kernel_is_refused() {
    for text in [
        "",
        "6.12",
        "debian:",
        "debian:rt",
        "debian:6.12;rm",
        "debian:6.12;-lowlatency",
        "ubuntu:6.8-rt",
        "ubuntu:6.8-cloud",
        "ubuntu:6.8.0-31-aws",
        "ubuntu:",
        "fedora:",
        "fedora:42",
        "fedora:6.14/..",
        "file:",
        "ubuntu:24.04",
        "source:",
        "source:6",
        "source:6.",
        "source:6.12/..",
        "source:6.12-hardened",
        "source:6.12+",
        "source:6.12+HZ_1000",
        "source:6.12+HZ-1000=y",
        "source:6.12-1+HZ_1000=y",
        "source:6.12,",
        "source:6.12,lab",
        "source:6.12,config=",
        "source:6.12,config=lab,",
        "source:6.12,config=laboratory",
        "source:6.12,config=lab,config=lab",
        "source:6.12,config=lab,clean",
        "source:6.12,config=lab+HZ_1000=m",
        "source:6.12-cloud,config=lab",
        "source:6.12-rt,config=debian-cloud",
        "source:6.12-rt,config=./x",
        "source:6.12/..,config=lab",
        "source:,config=lab",
        "source:6.12,config=./a\u{202e}b",
        "source:6.12+HZ_1000=y,config=lab",
        "tree:",
        "tree:,clean",
        "tree:.+HZ=x",
        "tree:.,config=lab,config=debian",
        "tree:.,config=",
        "tree:.,config=laboratory",
        "tree:a\u{202e}b",
        "git:",
        "git:.",
        "git:@HEAD",
        "git:.@",
        "git:.@-x",
        "git:.@a b",
        "git:.@a:b",
        "git:.@HEAD,clean",
        "git:.@HEAD,nodiff",
        "git:.@$(x)",
        "package:",
        "package:.deb",
        "package:/k/.deb",
        "package:bzImage",
        "package:a.deb,",
        "package:,a.deb",
        "package:a.deb,,b.deb",
        "package:a.deb,b.tar",
        "package:a.deb,b.deb,a.deb",
        "package:a\u{202e}b.deb",
        "host:",
        "host:../x",
        "host:6.1 quiet",
    ] {
        assert!(text.parse::<KernelRef>().is_err(), "{text}");
    }
}
