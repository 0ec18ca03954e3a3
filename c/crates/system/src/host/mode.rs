use preemptlab_model::{KernelConfig, ModeFile, PreemptMode};
use schemars::JsonSchema;
use serde::Serialize;

/// The preemption mode of the running kernel, with the evidence for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HostMode {
    /// The mode; `None` when no file shows it.
    pub active: Option<PreemptMode>,
    /// The modes that the kernel offers.
    pub offered: Vec<PreemptMode>,
    /// The evidence for the active mode.
    pub evidence: Evidence,
}

/// The evidence for a mode, the surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The kernel's own file, debugfs `sched/preempt`.
    Kernel,
    /// The config offers no other mode.
    Config,
    /// The config has it as the default, or `preempt=` asks for it; only root can see whether it
    /// was changed since.
    Inferred,
    /// No file shows the mode.
    None,
}

/// Works out the mode from the files that could be read.
pub fn work_out(mode_file: Option<&str>, config: Option<&KernelConfig>, cmdline: &str) -> HostMode {
    if let Some(file) = mode_file.map(ModeFile::parse)
        && file.active.is_some()
    {
        return HostMode { active: file.active, offered: file.offered, evidence: Evidence::Kernel };
    }
    let Some(config) = config else {
        return HostMode { active: None, offered: Vec::new(), evidence: Evidence::None };
    };
    let offered = config.offered_modes();
    if !config.is_dynamic() {
        let active = config.default_mode();
        return HostMode { active, offered, evidence: Evidence::Config };
    }
    // The last one counts, and one that the kernel does not offer is ignored.
    let requested = cmdline
        .split_whitespace()
        .filter_map(|parameter| parameter.strip_prefix("preempt=")?.parse().ok())
        .rfind(|mode| offered.contains(mode));
    HostMode {
        active: requested.or_else(|| config.default_mode()),
        offered,
        evidence: Evidence::Inferred,
    }
}

#[cfg(test)]
mod tests {
    use PreemptMode::{Full, None as NoneMode, Voluntary};

    use super::*;

    fn dynamic() -> KernelConfig {
        KernelConfig::parse(
            "# CONFIG_PREEMPT_NONE is not set\nCONFIG_PREEMPT_VOLUNTARY=y\n\
             # CONFIG_PREEMPT is not set\nCONFIG_PREEMPT_DYNAMIC=y\n",
        )
    }

    #[test]
    fn the_kernel_itself_is_believed_first() {
        let mode = work_out(Some("none voluntary (full)\n"), Some(&dynamic()), "preempt=none");
        assert_eq!((mode.active, mode.evidence), (Some(Full), Evidence::Kernel));
    }

    #[test]
    fn the_command_line_is_an_inference() {
        let mode = work_out(None, Some(&dynamic()), "quiet preempt=full preempt=none");
        assert_eq!((mode.active, mode.evidence), (Some(NoneMode), Evidence::Inferred));
    }

    #[test]
    fn a_mode_that_is_not_offered_is_ignored_as_the_kernel_does() {
        let mode = work_out(None, Some(&dynamic()), "preempt=lazy");
        assert_eq!(mode.active, Some(Voluntary));
    }

    #[test]
    fn an_empty_mode_file_is_no_evidence() {
        let mode = work_out(Some("\n"), None, "");
        assert_eq!((mode.active, mode.evidence), (None, Evidence::None));
    }

    #[test]
    fn a_fixed_mode_is_certain() {
        let config = KernelConfig::parse("CONFIG_PREEMPT_RT=y\n");
        let mode = work_out(None, Some(&config), "");
        assert_eq!((mode.active, mode.evidence), (Some(Full), Evidence::Config));
    }
}
