//! A kernel's source tree.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use liblzma::read::XzDecoder;
use preemptlab_model::Platform;
use tar::Archive;

use super::KbuildError;
use crate::{PackageError, StoreError, distribution::deb, package::Kind};

/// The most that a source may unpack to, in bytes.
const BYTES_MAX: u64 = 8 << 30;

/// Depth to which folders are searched for symbols.
const DEPTH_MAX: u32 = 16;

/// The largest Kconfig file that is read, in bytes.
const KCONFIG_BYTES_MAX: u64 = 16 << 20;

/// Unpacks the source in a package, and returns its folder.
pub(super) fn unpack(deb: &Path, package: &str, folder: &Path) -> Result<PathBuf, KbuildError> {
    deb::visit(deb, |item, content| {
        let path = item.path;
        if item.kind != Kind::File || !path.starts_with("usr/src/") || !path.ends_with(".tar.xz") {
            return Ok(());
        }
        let mut archive = Archive::new(XzDecoder::new(content).take(BYTES_MAX));
        archive.unpack(folder)
    })?;
    let tree = folder.join(package);
    match tree.join("Makefile").is_file() {
        true => Ok(tree),
        false => {
            let (package, what) = (package.to_owned(), "Makefile".to_owned());
            Err(PackageError::Lacks { package, what }.into())
        }
    }
}

/// Returns whether the kernel has a symbol on an architecture, whatever it depends on.
pub(crate) fn has_symbol(tree: &Path, guest: &Platform, symbol: &str) -> Result<bool, StoreError> {
    let of_others = tree.join("arch");
    let is_of_another = |folder: &Path| {
        folder.parent() == Some(&of_others) && !folder.ends_with(guest.kernel_folder)
    };
    has_symbol_in(tree, &is_of_another, symbol, DEPTH_MAX).map_err(StoreError::at(tree))
}

fn has_symbol_in(
    folder: &Path,
    is_left_out: &dyn Fn(&Path) -> bool,
    symbol: &str,
    depth: u32,
) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let found = if kind.is_dir() && depth > 0 {
            let folder = entry.path();
            !is_left_out(&folder) && has_symbol_in(&folder, is_left_out, symbol, depth - 1)?
        } else if kind.is_file() && entry.file_name().to_string_lossy().starts_with("Kconfig") {
            let mut text = Vec::new();
            fs::File::open(entry.path())?.take(KCONFIG_BYTES_MAX).read_to_end(&mut text)?;
            String::from_utf8_lossy(&text).lines().any(|line| defines(line, symbol))
        } else {
            false
        };
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

fn defines(line: &str, symbol: &str) -> bool {
    let mut words = line.split_whitespace();
    matches!(words.next(), Some("config" | "menuconfig")) && words.next() == Some(symbol)
}

#[cfg(test)]
mod tests {
    use preemptlab_model::Arch;

    use super::*;

    #[test]
    fn symbols_are_found_where_they_are_defined() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("kernel")).unwrap();
        fs::write(folder.path().join("kernel/Kconfig.hz"), "\tconfig HZ_1000\n\tselect HZ_ODD\n")
            .unwrap();
        fs::write(folder.path().join("kernel/other"), "config OTHER\n").unwrap();
        for (arch, symbol) in [("x86", "X86_MSR"), ("arm64", "ARM64_PAN")] {
            let arch = folder.path().join("arch").join(arch);
            fs::create_dir_all(&arch).unwrap();
            fs::write(arch.join("Kconfig"), format!("config {symbol}\n")).unwrap();
        }
        let of = |arch: Arch, symbol| has_symbol(folder.path(), arch.platform(), symbol).unwrap();
        assert!(of(Arch::Amd64, "X86_MSR") && !of(Arch::Amd64, "ARM64_PAN"));
        assert!(of(Arch::Arm64, "ARM64_PAN") && !of(Arch::Arm64, "X86_MSR"));
        let has = |symbol| of(Arch::Amd64, symbol);
        assert!(has("HZ_1000"));
        assert!(!has("HZ_ODD") && !has("HZ_10") && !has("OTHER"));
    }
}
