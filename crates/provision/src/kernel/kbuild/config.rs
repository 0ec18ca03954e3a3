//! A kernel's configuration: Debian's, without the parts that take long to build, and with the
//! wanted symbols.

use preemptlab_model::{KernelConfig, Platform, SymbolValue, Symbols};

/// Symbols that are off in every built kernel, or would need a key that a build makes up. The
/// verification of signatures stays, as Debian has it.
const STRIPPED: [(&str, &str); 3] =
    [("MODULE_SIG_ALL", "n"), ("MODULE_SIG_KEY", "\"\""), ("SYSTEM_TRUSTED_KEYS", "\"\"")];

/// Modules of Debian's that are built in: workloads have their files on ext4, on the disk in memory, and ext4 takes its
/// checksums by an instruction of the processor.
const BUILT_IN: [&str; 3] = ["BLK_DEV_RAM", "EXT4_FS", "CRYPTO_CRC32C_INTEL"];

/// The compiler's name, as the configuration has it.
const COMPILER: &str = "CC_VERSION_TEXT";

/// Returns Debian's configuration with every module but [`BUILT_IN`] switched off and these symbols set, which the
/// kernel's own tools complete. Among the members of a choice the last one wins.
pub(crate) fn start(debian: &str, symbols: &Symbols) -> String {
    let is_ours = |name: &str| {
        symbols.contains(name) || STRIPPED.iter().any(|(stripped, _)| *stripped == name)
    };
    let mut text = String::with_capacity(debian.len());
    for line in debian.lines() {
        let name = line.trim_start_matches("# ").strip_prefix("CONFIG_");
        let name = name.and_then(|rest| rest.split(['=', ' ']).next()).unwrap_or_default();
        match line.strip_suffix("=m") {
            _ if is_ours(name) => {}
            Some(_) if BUILT_IN.contains(&name) => text.push_str(&format!("CONFIG_{name}=y\n")),
            Some(_) => text.push_str(&format!("# CONFIG_{name} is not set\n")),
            None => text.extend([line, "\n"]),
        }
    }
    let stripped = STRIPPED.iter().filter(|(name, _)| !symbols.contains(name));
    let mut set = |name: &str, value: &str| match value {
        "n" => text.push_str(&format!("# CONFIG_{name} is not set\n")),
        value => text.push_str(&format!("CONFIG_{name}={value}\n")),
    };
    stripped.for_each(|(name, value)| set(name, value));
    symbols.iter().for_each(|(name, value)| set(name, &value.to_string()));
    text
}

/// Returns the first symbol whose value is not the wanted one, with the wanted value. A symbol that
/// is absent, and is to be absent, counts if the kernel does not have it at all.
pub(super) fn refused<'a>(
    config: &KernelConfig,
    symbols: &'a Symbols,
    exists: impl Fn(&str) -> bool,
) -> Option<(&'a str, &'a SymbolValue)> {
    symbols.iter().find(|(name, value)| match (value, config.get(name)) {
        (SymbolValue::No, None) => !exists(name),
        (SymbolValue::No, Some(_)) | (_, None) => true,
        (SymbolValue::Yes, Some(became)) => became != "y",
        (SymbolValue::Number(text) | SymbolValue::Text(text), Some(became)) => became != text,
    })
}

/// Returns the compiler that Debian built with, as `gcc-14`; `None` where the configuration names
/// none of that form.
pub(crate) fn compiler(debian: &str, guest: &Platform) -> Option<String> {
    let config = KernelConfig::parse(debian);
    let program = config.get(COMPILER)?.split(' ').next()?;
    let version = program.strip_prefix(guest.triplet).and_then(|rest| rest.strip_prefix('-'));
    let version = version.unwrap_or(program);
    let version: u32 = version.strip_prefix("gcc-")?.parse().ok()?;
    Some(format!("gcc-{version}"))
}

#[cfg(test)]
mod tests {
    use preemptlab_model::Arch;

    use super::*;

    const DEBIAN: &str = "CONFIG_CC_VERSION_TEXT=\"x86_64-linux-gnu-gcc-14 (Debian 14.2.0-19)\"\n\
        CONFIG_HZ_250=y\n# CONFIG_HZ_1000 is not set\nCONFIG_HZ=250\nCONFIG_EXT4_FS=m\nCONFIG_XFS_FS=m\n\
        CONFIG_CC_OPT=\"-f=memset=m\"\nCONFIG_MODULE_SIG_ALL=y\nCONFIG_UNIX=y\n";

    fn of_amd64(debian: &str) -> Option<String> {
        compiler(debian, Arch::Amd64.platform())
    }

    #[test]
    fn modules_go_and_what_was_asked_for_stands_last() {
        let text =
            start(DEBIAN, &"+HZ_1000=y+UNIX=n+LOG_BUF_SHIFT=18+CMDLINE=\"b\"".parse().unwrap());
        assert!(text.contains("# CONFIG_XFS_FS is not set\n"), "{text}");
        assert!(text.contains("CONFIG_EXT4_FS=y\n"), "{text}");
        assert!(text.contains("CONFIG_CC_OPT=\"-f=memset=m\"\n"), "{text}");
        assert_eq!(text.matches("HZ_1000").count(), 1);
        assert_eq!(text.matches("MODULE_SIG_ALL").count(), 1);
        let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what} in {text}"));
        assert!(place("CONFIG_HZ_250=y") < place("CONFIG_HZ_1000=y"));
        place("# CONFIG_UNIX is not set");
        place("CONFIG_LOG_BUF_SHIFT=18");
        place("CONFIG_CMDLINE=\"b\"");
        // A user can ask for a symbol that is otherwise stripped.
        let text = start(DEBIAN, &"+MODULE_SIG_ALL=y".parse().unwrap());
        assert!(
            text.contains("CONFIG_MODULE_SIG_ALL=y") && !text.contains("# CONFIG_MODULE_SIG_ALL")
        );
    }

    #[test]
    fn a_symbol_must_have_its_value() {
        let config = KernelConfig::parse(
            "CONFIG_HZ_1000=y\nCONFIG_HZ=1000\n# CONFIG_OFF is not set\nCONFIG_CMDLINE=\"a b\"\n",
        );
        let refused = |text: &str| {
            let symbols: Symbols = text.parse().unwrap();
            refused(&config, &symbols, |name| ["HIDDEN", "OFF"].contains(&name))
                .map(|(name, _)| name.to_owned())
        };
        assert_eq!(refused("+HZ_1000=y+HZ=1000+OFF=n+CMDLINE=\"a b\"+HIDDEN=n"), None);
        for text in ["+HZ_250=y", "+HZ=250", "+HZ_1000=n", "+OFF=y", "+CMDLINE=\"a\"", "+NOWHERE=n"]
        {
            assert!(refused(text).is_some(), "{text}");
        }
    }

    #[test]
    fn the_compiler_is_that_of_debian() {
        assert_eq!(of_amd64(DEBIAN).unwrap(), "gcc-14");
        assert_eq!(of_amd64("CONFIG_CC_VERSION_TEXT=\"gcc-12 (x) 12.2.0\"").unwrap(), "gcc-12");
        assert_eq!(of_amd64("CONFIG_CC_VERSION_TEXT=\"clang version 19\""), None);
        assert_eq!(of_amd64("CONFIG_CC_VERSION_TEXT=\"gcc-;rm -rf /\""), None);
    }
}
