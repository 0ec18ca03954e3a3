//! The configuration `lab`.

use preemptlab_model::{Arch, KernelConfig, Platform};

use crate::arch;

/// Returns the configuration for guests of an architecture, as `make allnoconfig` reads it.
pub(crate) fn lab(arch: Arch) -> String {
    [include_str!("lab.head.config"), arch::of(arch).lab, include_str!("lab.config")].concat()
}

/// The line after which symbols are only wished for.
const OPTIONAL: &str = "# Optional: ";

/// Returns the first symbol of the configuration `lab` that cells need and that a configuration lacks, among those
/// that the kernel has.
pub(crate) fn missing(
    lab: &str,
    config: &KernelConfig,
    exists: impl Fn(&str) -> bool,
) -> Option<String> {
    let needed = lab.lines().take_while(|line| !line.starts_with(OPTIONAL));
    needed
        .filter_map(|line| line.strip_prefix("CONFIG_")?.strip_suffix("=y"))
        .find(|symbol| !config.is_builtin(symbol) && exists(symbol))
        .map(str::to_owned)
}

/// Options that the guest's init needs, whatever configuration a kernel starts from, besides those of its devices.
const OF_INIT: [&str; 7] =
    ["BLK_DEV_INITRD", "BINFMT_ELF", "PROC_FS", "SYSFS", "DEVTMPFS", "TMPFS", "DEBUG_FS"];

/// The file by which a mode is set, for kernels that can change theirs.
const OF_MODES: &str = "SCHED_DEBUG";

/// Returns the first symbol without which no cell can run, among those that the kernel has.
pub(crate) fn needed(
    config: &KernelConfig,
    guest: &Platform,
    exists: impl Fn(&str) -> bool,
) -> Option<&'static str> {
    let of_modes = config.is_dynamic().then_some(OF_MODES);
    let of_devices = guest.device_symbols.iter().copied();
    let mut needed = OF_INIT.into_iter().chain(of_devices).chain(of_modes);
    needed.find(|symbol| !config.is_builtin(symbol) && exists(symbol))
}

#[cfg(test)]
mod tests {
    use preemptlab_model::Digest;

    use super::*;

    #[test]
    fn what_no_cell_can_do_without_is_found() {
        let guest = Arch::Amd64.platform();
        let lab_of = |arch| format!("{}CONFIG_SYSFS=y\n", lab(arch));
        let lab = lab_of(Arch::Amd64);
        let needed_of = |text: &str| needed(&KernelConfig::parse(text), guest, |_| true);
        assert_eq!(needed_of(&lab), None);
        assert_eq!(needed_of(&lab.replace("CONFIG_DEBUG_FS=y", "")), Some("DEBUG_FS"));
        let silent = lab.replace("CONFIG_SCHED_DEBUG=y", "");
        assert_eq!(needed_of(&silent), Some("SCHED_DEBUG"));
        // A kernel of one mode sets none.
        assert_eq!(needed_of(&silent.replace("CONFIG_PREEMPT_DYNAMIC=y", "")), None);
        assert_eq!(needed(&KernelConfig::parse(&silent), guest, |_| false), None);
        // The devices of each architecture's guests.
        for arch in Arch::ALL {
            for symbol in arch.platform().device_symbols {
                let lacks = lab_of(arch).replace(&format!("CONFIG_{symbol}=y\n"), "");
                let found = needed(&KernelConfig::parse(&lacks), arch.platform(), |_| true);
                assert_eq!(found, Some(*symbol));
            }
        }
    }

    /// Kernels that were built from it have its bytes in their identity.
    #[test]
    fn amd64_s_configuration_keeps_its_bytes() {
        let digest = Digest::of(lab(Arch::Amd64).as_bytes()).to_string();
        assert_eq!(digest, "898446c438b180106f5c7be73b54bb47b10d1aae9b12b4115e8107ae957afdd6");
    }

    #[test]
    fn a_symbol_that_cannot_be_set_is_found() {
        for arch in Arch::ALL {
            let lab = lab(arch);
            assert_eq!(missing(&lab, &KernelConfig::parse(&lab), |_| true), None);
            let lacking = |symbol: &str, exists: bool| {
                let line = format!("CONFIG_{symbol}=y\n");
                assert!(lab.contains(&line), "{symbol}");
                missing(&lab, &KernelConfig::parse(&lab.replace(&line, "")), |_| exists)
            };
            assert_eq!(lacking("SCHED_DEBUG", true).as_deref(), Some("SCHED_DEBUG"));
            // A series that has no such symbol needs none.
            assert_eq!(lacking("SCHED_DEBUG", false), None);
            assert_eq!(lacking("RETPOLINE", true), None);
        }
    }
}
