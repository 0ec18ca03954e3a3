use std::collections::BTreeMap;

use crate::{Arch, PreemptMode};

/// A kernel's build configuration, as in `/boot/config-*`.
///
/// A symbol that is absent from the file cannot be set in that kernel, because its dependencies
/// are not met; that is how a config file tells which models a kernel can have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelConfig {
    symbols: BTreeMap<String, Option<String>>,
}

impl KernelConfig {
    /// Reads a config file; lines that are neither `CONFIG_X=value` nor `# CONFIG_X is not set`
    /// are passed over.
    pub fn parse(text: &str) -> Self {
        let mut symbols = BTreeMap::new();
        for line in text.lines() {
            if let Some(symbol) =
                line.strip_prefix("# CONFIG_").and_then(|rest| rest.strip_suffix(" is not set"))
            {
                symbols.insert(symbol.to_owned(), None);
            } else if let Some((symbol, value)) =
                line.strip_prefix("CONFIG_").and_then(|rest| rest.split_once('='))
            {
                symbols.insert(symbol.to_owned(), Some(value.trim_matches('"').to_owned()));
            }
        }
        Self { symbols }
    }

    /// Returns the value of `CONFIG_<symbol>`; `None` when it is not set.
    pub fn get(&self, symbol: &str) -> Option<&str> {
        self.symbols.get(symbol)?.as_deref()
    }

    /// Returns whether `CONFIG_<symbol>` is `y`.
    pub fn is_builtin(&self, symbol: &str) -> bool {
        self.get(symbol) == Some("y")
    }

    /// Returns the architecture that a whole configuration is for; `None` where it names none, as one that
    /// `make savedefconfig` wrote.
    pub fn arch(&self) -> Option<Arch> {
        Arch::ALL.into_iter().find(|arch| self.is_builtin(arch.platform().config_symbol))
    }

    /// Returns whether the kernel is built with `PREEMPT_RT`.
    pub fn is_rt(&self) -> bool {
        self.is_builtin("PREEMPT_RT")
    }

    /// Returns whether the mode can be chosen at boot and at run time (`PREEMPT_DYNAMIC`).
    pub fn is_dynamic(&self) -> bool {
        self.is_builtin("PREEMPT_DYNAMIC")
    }

    /// Returns the tick's frequency in Hz.
    pub fn hz(&self) -> Option<u32> {
        self.get("HZ")?.parse().ok()
    }

    /// Returns the mode that the kernel boots with.
    pub fn default_mode(&self) -> Option<PreemptMode> {
        MODE_SYMBOLS
            .into_iter()
            .find(|(symbol, _)| self.is_builtin(symbol))
            .map(|(_, mode)| mode)
            .or_else(|| self.is_rt().then_some(PreemptMode::Full))
    }

    /// Returns the modes that the kernel can run in.
    ///
    /// With `PREEMPT_DYNAMIC` these are the modes whose symbols could be set at all: from 7.0 on
    /// `PREEMPT_NONE` and `PREEMPT_VOLUNTARY` depend on the lack of `ARCH_HAS_PREEMPT_LAZY`, and
    /// under `PREEMPT_RT` on its lack (kernel/Kconfig.preempt). Without it there is just one.
    pub fn offered_modes(&self) -> Vec<PreemptMode> {
        if !self.is_dynamic() {
            return self.default_mode().into_iter().collect();
        }
        PreemptMode::ALL
            .into_iter()
            .filter(|mode| {
                MODE_SYMBOLS
                    .iter()
                    .any(|(symbol, of)| of == mode && self.symbols.contains_key(*symbol))
            })
            .collect()
    }
}

/// Lazy stands first because the old `-rt` patch set it beside `PREEMPT_RT`.
const MODE_SYMBOLS: [(&str, PreemptMode); 4] = [
    ("PREEMPT_LAZY", PreemptMode::Lazy),
    ("PREEMPT_NONE", PreemptMode::None),
    ("PREEMPT_VOLUNTARY", PreemptMode::Voluntary),
    ("PREEMPT", PreemptMode::Full),
];

#[cfg(test)]
mod tests {
    use PreemptMode::{Full, Lazy, None, Voluntary};

    use super::*;

    fn modes(text: &str) -> Vec<PreemptMode> {
        KernelConfig::parse(text).offered_modes()
    }

    #[test]
    fn a_whole_configuration_names_its_architecture() {
        let arch = |text: &str| KernelConfig::parse(text).arch();
        assert_eq!(arch("CONFIG_64BIT=y\nCONFIG_X86_64=y\nCONFIG_X86=y\n"), Some(Arch::Amd64));
        assert_eq!(arch("CONFIG_64BIT=y\nCONFIG_ARM64=y\n"), Some(Arch::Arm64));
        assert_eq!(arch("CONFIG_64BIT=y\n# CONFIG_X86_64 is not set\n"), Option::None);
    }

    /// The symbols are the preemption symbols of Debian's kernels, read from their packages.
    #[test]
    fn offered_modes_of_debian_kernels() {
        let generic_6_12 = "CONFIG_PREEMPT_BUILD=y\n# CONFIG_PREEMPT_NONE is not set\n\
            CONFIG_PREEMPT_VOLUNTARY=y\n# CONFIG_PREEMPT is not set\n\
            # CONFIG_PREEMPT_RT is not set\nCONFIG_PREEMPT_DYNAMIC=y\nCONFIG_HZ=250\n";
        assert_eq!(modes(generic_6_12), [None, Voluntary, Full]);
        assert_eq!(KernelConfig::parse(generic_6_12).hz(), Some(250));

        let rt_6_12 = "CONFIG_ARCH_HAS_PREEMPT_LAZY=y\n# CONFIG_PREEMPT is not set\n\
            CONFIG_PREEMPT_LAZY=y\nCONFIG_PREEMPT_RT=y\nCONFIG_PREEMPT_DYNAMIC=y\n";
        assert_eq!(modes(rt_6_12), [Full, Lazy]);
        assert_eq!(KernelConfig::parse(rt_6_12).default_mode(), Some(Lazy));

        let rt_6_1 = "CONFIG_PREEMPT_LAZY=y\n# CONFIG_PREEMPT_NONE is not set\n\
            # CONFIG_PREEMPT_VOLUNTARY is not set\n# CONFIG_PREEMPT is not set\n\
            CONFIG_PREEMPT_RT=y\n";
        assert_eq!(modes(rt_6_1), [Lazy]);

        let generic_7_2 = "CONFIG_ARCH_HAS_PREEMPT_LAZY=y\n# CONFIG_PREEMPT is not set\n\
            CONFIG_PREEMPT_LAZY=y\n# CONFIG_PREEMPT_RT is not set\nCONFIG_PREEMPT_DYNAMIC=y\n";
        assert_eq!(modes(generic_7_2), [Full, Lazy]);
    }

    #[test]
    fn a_kernel_without_a_config_offers_nothing_known() {
        assert!(modes("").is_empty());
    }
}
