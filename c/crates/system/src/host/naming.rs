use crate::host::{Evidence, HostKernel};

/// Explains in one sentence how `uname -v` names the kernel, and which mode runs.
///
/// `PREEMPT` stands for `CONFIG_PREEMPT_BUILD`, which full and lazy have alike, `PREEMPT_DYNAMIC`
/// for any mode that can be chosen, and `PREEMPT_RT` for rt, whose mode it does not tell; a kernel
/// of none or voluntary alone has no word (init/Makefile, Linux 6.12).
pub fn naming(kernel: &HostKernel) -> String {
    let word = kernel.version.split_whitespace().find(|word| word.starts_with("PREEMPT"));
    let means = match word {
        Some("PREEMPT_DYNAMIC") => "any mode that can be chosen at boot",
        Some("PREEMPT_RT") => "rt, in whatever mode",
        Some("PREEMPT") => "full and lazy alike",
        Some(_) => "what its builder meant by it",
        None => "none or voluntary",
    };
    let says = match word {
        Some(word) => format!("uname says {word}, which stands for {means}"),
        None => format!("uname names no preemption model, which stands for {means}"),
    };
    let rt = if kernel.rt { " on PREEMPT_RT" } else { "" };
    match (kernel.mode.active, kernel.mode.evidence) {
        (Some(mode), Evidence::Inferred) => {
            format!("{says}; what runs is probably {mode}{rt}, unless it was changed since boot.")
        }
        (Some(mode), _) => format!("{says}; what runs is {mode}{rt}."),
        (None, _) => format!("{says}; what runs is not to be seen here."),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use preemptlab_model::PreemptMode;

    use super::*;
    use crate::host::HostMode;

    #[test]
    fn what_runs_is_told_from_its_name() {
        let of = |version: &str, rt, active, evidence| {
            let mode = HostMode { active, offered: Vec::new(), evidence };
            let version = version.to_owned();
            naming(&HostKernel { version, rt, mode, ..HostKernel::observe(Path::new("/nowhere")) })
        };
        let lazy = Some(PreemptMode::Lazy);
        assert_eq!(
            of("#1 SMP PREEMPT Debian", false, lazy, Evidence::Config),
            "uname says PREEMPT, which stands for full and lazy alike; what runs is lazy."
        );
        let dynamic = of("#1 SMP PREEMPT_DYNAMIC", false, lazy, Evidence::Inferred);
        assert!(dynamic.contains("probably lazy"), "{dynamic}");
        let rt = of("#1 SMP PREEMPT_RT", true, Some(PreemptMode::Full), Evidence::Kernel);
        assert!(rt.ends_with("full on PREEMPT_RT."), "{rt}");
        let plain = of("#1 SMP", false, None, Evidence::None);
        assert!(plain.contains("none or voluntary") && plain.contains("not to be seen"));
    }
}
