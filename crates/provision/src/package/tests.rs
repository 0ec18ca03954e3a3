use std::io::Write;

use preemptlab_testkit::packages::{Kind as Made, Package};

use super::*;

const BOUNDS: Bounds = Bounds { bytes: 1 << 20, entries: 100 };

/// A function that makes the file of a package.
type Maker = fn(&Package) -> Vec<u8>;

const MAKERS: [(&str, Maker); 2] = [("deb", Package::deb), ("rpm", Package::rpm)];

fn package() -> Package {
    Package::new("kernel-core", "6.12.1-3", "amd64")
}

/// Returns every entry of a package and the content of its files.
fn read_within(file: &[u8], bounds: Bounds) -> Result<Vec<(String, Kind, Vec<u8>)>, PackageFault> {
    let mut entries = Vec::new();
    open(file)?.each(bounds, |item, content| {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes).map_err(damaged)?;
        entries.push((item.path.to_owned(), item.kind, bytes));
        Ok::<_, PackageFault>(())
    })?;
    Ok(entries)
}

fn read(file: &[u8]) -> Result<Vec<(String, Kind, Vec<u8>)>, PackageFault> {
    read_within(file, BOUNDS)
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
    xz.write_all(bytes).unwrap();
    xz.finish().unwrap()
}

fn zst(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(bytes).unwrap();
    gz.finish().unwrap()
}

/// As a packer writes it that works on several cores.
fn frames(bytes: &[u8]) -> Vec<u8> {
    bytes.chunks(300).flat_map(zst).collect()
}

fn streams(bytes: &[u8]) -> Vec<u8> {
    bytes.chunks(300).flat_map(xz).collect()
}

fn members(bytes: &[u8]) -> Vec<u8> {
    bytes.chunks(300).flat_map(gz).collect()
}

#[test]
fn packages_are_read_however_they_are_compressed() {
    let long = format!("./usr/{}/file", ["folder"; 40].join("/"));
    for pack in [<[u8]>::to_vec, xz, zst, gz, frames, streams, members] {
        let package = Package { pack, ..package() }
            .needing("kernel-modules-core")
            .needing("linux-base")
            .with_entry("./", Made::Folder, b"")
            .with_entry("./boot/", Made::Folder, b"")
            .with("./boot/vmlinuz-6.12.1", b"image")
            .with_entry("./boot/vmlinuz", Made::Symlink, b"vmlinuz-6.12.1")
            .with(&long, &[7; 1000])
            .with_entry("./dev/null", Made::Device, b"");
        for (format, make) in MAKERS {
            let file = make(&package);
            let facts = open(&*file).unwrap().facts;
            assert_eq!((&*facts.name, &*facts.version), ("kernel-core", "6.12.1-3"), "{format}");
            assert_eq!(facts.arch, "amd64");
            assert_eq!(facts.needs, ["kernel-modules-core", "linux-base"]);
            let entries = read(&file).unwrap();
            let paths: Vec<_> = entries.iter().map(|(path, kind, _)| (&**path, *kind)).collect();
            let wanted = [
                ("boot", Kind::Folder),
                ("boot/vmlinuz-6.12.1", Kind::File),
                ("boot/vmlinuz", Kind::Symlink),
                (&long[2..], Kind::File),
                ("dev/null", Kind::Special),
            ];
            assert_eq!(paths, wanted);
            assert_eq!((&*entries[1].2, &*entries[3].2), (&b"image"[..], &[7; 1000][..]));
        }
    }
}

#[test]
fn a_path_that_climbs_refuses_the_package() {
    let (long, far) = ("a".repeat(300), "a/".repeat(3000));
    for (path, said) in [
        ("./boot/../../etc/passwd", "may lead out"),
        ("../x", "may lead out"),
        ("boot//x", "may lead out"),
        ("boot/./x", "may lead out"),
        ("/boot/x", "from the machine's root"),
        (".//boot/x", "from the machine's root"),
        ("boot/\u{1b}[2J", "no reader could see"),
        ("boot/a\nb", "no reader could see"),
        (&*long, "a name that is too long"),
        (&*far, "too long"),
    ] {
        for (format, make) in MAKERS {
            let refused = read(&make(&package().with(path, b"x"))).unwrap_err().to_string();
            assert!(refused.contains(said), "{format} {path}: {refused}");
            assert!(!refused.contains(['\u{1b}', '\n']) && refused.len() < 400, "{refused}");
        }
    }
    let mut rpm = package().with("./boot/x", b"").rpm();
    let place = rpm.windows(8).position(|it| it == b"./boot/x").unwrap();
    rpm[place + 2] = 0xff;
    assert!(read(&rpm).unwrap_err().to_string().contains("no text"));
}

#[test]
fn links_are_told_from_files() {
    for (format, make) in MAKERS {
        let package = package()
            .with("./a", b"1")
            .with_entry("./b", Made::Hardlink, b"./a")
            .with_entry("./c", Made::Symlink, b"a");
        let entries = read(&make(&package)).unwrap();
        let links = [("b", Kind::Hardlink, b"./a".to_vec()), ("c", Kind::Symlink, b"a".to_vec())];
        assert_eq!(
            entries[1..],
            links.map(|(path, kind, to)| (path.to_owned(), kind, to)),
            "{format}"
        );
    }
}

#[test]
fn what_unpacks_without_end_is_refused() {
    for (format, make) in MAKERS {
        for pack in [<[u8]>::to_vec, xz, zst, gz] {
            let large = Package { pack, ..package() }.with("./boot/x", &vec![0; 2 << 20]);
            let refused = read(&make(&large)).unwrap_err().to_string();
            assert_eq!(refused, "unpacks to more than 1 MiB", "{format}");
        }
        let many = (0..200).fold(package(), |package, number| {
            package.with_entry(&format!("./{number}"), Made::Folder, b"")
        });
        let refused = read(&make(&many)).unwrap_err().to_string();
        assert_eq!(refused, "unpacks to more than 100 files", "{format}");
    }
    // A length of which nothing is there.
    let mut rpm = package().with("./boot/x", b"12345").rpm();
    let place = rpm.windows(8).position(|it| it == b"00000005").unwrap();
    rpm[place..place + 8].copy_from_slice(b"ffffffff");
    assert!(matches!(read(&rpm), Err(PackageFault::Damaged(_))));
}

#[test]
fn a_name_without_end_takes_no_memory() {
    // The path of an entry of tar, which says that it has a TiB.
    let mut deb = package().with(&"a/".repeat(100), b"x").deb();
    let place = deb.windows(13).position(|it| it == b"././@LongLink").unwrap();
    let header = &mut deb[place..place + 512];
    header[124..136].copy_from_slice(b"77777777777\0");
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let refused = read(&deb).unwrap_err().to_string();
    assert!(refused.contains("too long") || refused.contains("cut short"), "{refused}");
    // The headers of an rpm.
    for (place, number) in [(96 + 8, 0xffff_ffff_u32), (96 + 12, 0x0fff_ffff), (96 + 12, 50 << 20)]
    {
        let mut rpm = package().rpm();
        rpm[place..place + 4].copy_from_slice(&number.to_be_bytes());
        assert!(matches!(read(&rpm), Err(PackageFault::Damaged(_))), "{number}");
    }
}

#[test]
fn a_file_that_is_cut_short_is_refused_wherever_it_ends() {
    for (format, make) in MAKERS {
        for pack in [<[u8]>::to_vec, xz, zst, gz] {
            let package = Package { pack, ..package() }
                .with("./boot/x", &[1; 100])
                .with("./boot/y", &[2; 700]);
            let whole = make(&package);
            assert_eq!(read(&whole).unwrap().len(), 2);
            // The last byte of a .deb may be padding.
            for length in 0..whole.len() - 1 {
                assert!(read(&whole[..length]).is_err(), "{format} of {length} bytes");
            }
        }
    }
}

#[test]
fn no_damaged_byte_leads_astray() {
    for (_, make) in MAKERS {
        let whole = make(&package().needing("a").with("./boot/x", b"123"));
        for place in 0..whole.len() {
            for mask in [0x01, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[place] ^= mask;
                let Ok(entries) = read(&damaged) else { continue };
                assert!(entries.iter().all(|(path, ..)| path.split('/').all(|part| part != "..")));
            }
        }
    }
}

#[test]
fn other_files_are_told_apart() {
    let deb = package().deb();
    let archive = [b"!<arch>\n", &deb[8 + 60 + 4..]].concat();
    let mut version = deb.clone();
    version[68] = b'3';
    for (file, said) in [
        (&b""[..], "is neither a .deb nor an .rpm: the file is empty"),
        (b"<html>", "as a web page does"),
        (b"\x7fELF", "as neither of them does"),
        (b"!<arch>\n", "no data.tar"),
        (&archive, "another archive of ar"),
        (&version, "another version than 2"),
        (&Package { pack: |_| b"BZh91AY".to_vec(), ..package() }.rpm(), "compressed with bzip2"),
        (&Package { pack: |_| vec![0x5d, 0, 0, 1], ..package() }.rpm(), "compressed with lzma"),
    ] {
        let refused = read(file).unwrap_err().to_string();
        assert!(refused.contains(said), "{refused}");
    }
    let mut source = package().rpm();
    source[7] = 1;
    assert!(matches!(read(&source), Err(PackageFault::Source)));
    let mut delta = package().rpm();
    let place = delta.windows(5).position(|it| it == b"cpio\0").unwrap();
    delta[place..place + 4].copy_from_slice(b"drpm");
    assert!(read(&delta).unwrap_err().to_string().contains("`drpm`"));
    let mut stripped = package().with("./x", b"").rpm();
    let place = stripped.windows(6).position(|it| it == b"070701").unwrap();
    stripped[place + 5] = b'X';
    assert!(read(&stripped).unwrap_err().to_string().contains("only rpm can read"));
}

#[test]
fn the_window_of_a_compressor_is_bounded() {
    // A frame that asks for a window of 2 GiB (RFC 8878, 3.1.1.1.2).
    let pack = |_: &[u8]| vec![0x28, 0xb5, 0x2f, 0xfd, 0, 21 << 3, 1, 0, 0];
    let refused = read(&Package { pack, ..package() }.rpm()).unwrap_err();
    assert!(matches!(refused, PackageFault::Damaged(_)), "{refused}");
}

#[test]
fn fields_are_read_over_several_lines() {
    let control = "Package: a\nDepends: kmod, linux-base-6.12+deb13 (= 1)\n | x,\n\tb:any\nD: c\n";
    assert_eq!(deb::field(control, "depends").unwrap().split(',').count(), 3);
    let names = deb::names(&deb::field(control, "Depends").unwrap());
    assert_eq!(names, ["kmod", "linux-base-6.12+deb13", "b"]);
    assert_eq!(deb::field(control, "Version"), None);
}
